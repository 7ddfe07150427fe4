"""``krohn explore``: a page that runs the compiled network in the browser, written or served."""

import json
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.extras import to_install
from krohn.base.strict_json import short
from krohn.cli.output import emit, json_option, note
from krohn.errors import InvalidInput, MissingDependency
from krohn.explorer.page_data import LENGTH, Page, build_machine, check_page, render_page
from krohn.explorer.trained_results import GALLERY

_file = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("specs", nargs=-1, metavar="[SPEC]...")
@click.option("--out", type=_file, help="Write one self-contained page and serve nothing.")
@click.option("--gallery", is_flag=True, help="The 19 automata of the paper.")
@click.option(
    "--length",
    "-T",
    type=click.IntRange(1, 512),
    default=LENGTH,
    show_default=True,
    help="Letters of the longest word.",
)
@click.option(
    "--results",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Also show trained networks: files that krohn results export wrote, or a folder of them.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to serve on; other machines need a token."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="Port to serve on; 0 takes any free one.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@json_option
def command(
    specs: tuple[str, ...],
    out: Path | None,
    gallery: bool,
    length: int,
    results: tuple[Path, ...],
    host: str,
    port: int,
    opens: bool,
    as_json: bool,
) -> None:
    """Compile automata and show the networks at work: diagram, attention, registers, logits, certificate.

    With --out it writes one page that needs nothing but a browser. Without, it serves the same page on this
    machine, for any name, pattern or file that is typed into it.

    \b
    Example:  krohn explore S4 Dyck4,2 --out page.html
              krohn explore --gallery --out gallery.html
              krohn explore S4 --results results --out page.html
              krohn explore
    """
    if out is None and not (find_spec("starlette") and find_spec("uvicorn")):
        raise MissingDependency(
            f"serving the page needs starlette and uvicorn: {to_install('explore')}; "
            "or write the page: krohn explore S4 --out page.html"
        )
    if out is not None:
        check_page(out)  # fail early
    wanted = (*specs, *(GALLERY if gallery else ())) or ("S4",)
    named = [(name if name.isprintable() else short(name), parse_spec(name)) for name in wanted]
    trained = _trained(results)
    payload = {"machines": _machines(named, length), "gallery": gallery, "server": out is None, **trained}
    if out is None:
        _serve(render_page(payload), host, port, opens, as_json)
        return
    page = Page(render_page(payload))
    page.save(out)
    if opens:
        webbrowser.open(out.resolve().as_uri())
    names = [name for name, _ in named]
    text = f"{out}: {', '.join(names)}; {len(page.html.encode()):,} bytes"
    emit({"out": str(out), "machines": names, "length": length}, as_json=as_json, text=lambda: text)


def _trained(paths: tuple[Path, ...]) -> dict[str, Any]:
    """The data of trained networks for the page, if --results was given."""
    if not paths:
        return {}
    from krohn.explorer.trained_results import results_view
    from krohn.lab.experiments.text_form import parse_text

    files = [file for path in paths for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
    parsed = [parse_text(file) for file in files]
    if not parsed:
        raise InvalidInput(f"--results must name files that krohn results export wrote; none in {paths[0]}")
    return {
        "results": results_view(
            [r for result, _ in parsed for r in result], [m for _, result in parsed for m in result]
        )
    }


def _machines(named: list[tuple[str, Semiautomaton]], length: int) -> list[dict[str, Any]]:
    built = []
    for place, (name, automaton) in enumerate(named, start=1):
        note(f"compiling and proving {name}" + (f" ({place} of {len(named)})" if len(named) > 1 else ""))
        built.append(build_machine(automaton, length))
    return built


def _serve(page: str, host: str, port: int, opens: bool, as_json: bool) -> None:
    from krohn.explorer.server import serve

    def announce(url: str) -> None:
        click.echo(json.dumps({"url": url}) if as_json else f"{url}  (Ctrl-C ends it)")
        if opens:
            webbrowser.open(url)

    try:
        serve(page, host, port, announce)
    except KeyboardInterrupt:
        note("stopped")
