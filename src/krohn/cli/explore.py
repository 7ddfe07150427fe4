"""``krohn explore``: a page that runs the compiled network in the browser, written and opened."""

import os
import sys
import webbrowser
from itertools import count
from pathlib import Path
from typing import Any

import click

import krohn
from krohn.cli.options import FILE, SPEC, default_of, reading
from krohn.cli.output import emit, json_option, note
from krohn.errors import InvalidInput


@click.command()
@click.argument("specs", type=SPEC, nargs=-1, metavar="[SPEC]...")
@reading
@click.option("--out", type=FILE, help="Write the page here and do not open it.")
@click.option("--gallery", is_flag=True, help="The 19 automata of the paper.")
@click.option(
    "--length",
    "-T",
    type=click.IntRange(min=1),
    default=default_of(krohn.explore, "length"),
    help="Letters of the longest word.",
)
@click.option(
    "--results",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Also show trained networks: files that krohn results export wrote, or a folder of them.",
)
@json_option
def command(
    specs: tuple[str, ...],
    out: Path | None,
    gallery: bool,
    length: int,
    results: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Compile automata and show the networks at work: diagram, attention, registers, logits, certificate.

    It writes one page that needs nothing but a browser: to --out, or to a new folder here, and then opens it.

    \b
    Example:  krohn explore S4 Dyck4,2 --out page.html
              krohn explore --gallery --out gallery.html
              krohn explore S4 --results results --out page.html
              krohn explore
    """
    settings: Any = {"length": length, "gallery": gallery, "results": results, "tell": note}
    if out is not None:
        place, page = out, krohn.explore(*specs, out=out, **settings)
    else:
        folder = _new_folder()
        try:
            place = folder / "page.html"
            page = krohn.explore(*specs, out=place, **settings)
        except BaseException:
            folder.rmdir()
            raise
        if not _opened(place):
            note(f"no browser to open here: open {place} yourself")
    text = f"{place}: {', '.join(page.names)}; {len(page.html.encode()):,} bytes"
    payload = {"out": str(place), "machines": list(page.names), "length": length}
    emit(payload, as_json=as_json, text=lambda: text)


def _new_folder() -> Path:
    """An empty folder beside what is here: browsers in a sandbox read neither /tmp nor hidden folders."""
    names = (Path("krohn-page" + (f"-{number}" if number > 1 else "")) for number in count(1))
    folder = next(path for path in names if not os.path.lexists(path))
    try:
        folder.mkdir()
    except OSError as error:
        raise InvalidInput(
            f"the current folder must be writable ({error.strerror}); choose a place: --out page.html"
        ) from error
    return folder


def _opened(page: Path) -> bool:
    """Whether a browser was started; without a screen one in the terminal would take it over."""
    screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    return screen and webbrowser.open(page.absolute().as_uri())
