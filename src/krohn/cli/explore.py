"""``krohn explore``: a page that runs the compiled network in the browser."""

from pathlib import Path

import click

from krohn.atomic import write_text
from krohn.automata.spec import parse_spec
from krohn.cli.output import emit, json_option, note
from krohn.web.gallery import GALLERY
from krohn.web.machine import LENGTH, build_machine
from krohn.web.page import render_page

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
    help="The longest word the networks read.",
)
@json_option
def command(specs: tuple[str, ...], out: Path | None, gallery: bool, length: int, as_json: bool) -> None:
    """Compiles automata and writes a page that runs the networks: diagram, attention, registers, certificate.

    The page needs no network and no program but a browser.

    \b
    Example:  krohn explore S4 Dyck4,2 --out page.html
              krohn explore --gallery --out gallery.html
    """
    names = (*specs, *(GALLERY if gallery else ())) or ("S4",)
    if out is None:
        raise click.UsageError("say where to write the page: krohn explore S4 --out page.html")
    machines = []
    for name in names:
        note(f"compiling and certifying {name}")
        machines.append(build_machine(parse_spec(name), length))
    page = render_page({"machines": machines, "gallery": gallery})
    write_text(out, page)
    size = f"{len(page.encode()):,} bytes"
    emit(
        {"out": str(out), "machines": list(names), "length": length},
        as_json=as_json,
        text=lambda: f"{out}: {size}",
    )
