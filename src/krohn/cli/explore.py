"""``krohn explore``: a page that runs the compiled network in the browser, written or served."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

import krohn
from krohn import functions
from krohn.base.extras import to_install
from krohn.cli.options import FILE, default_of, typed_options
from krohn.cli.output import emit, json_option, note
from krohn.errors import MissingDependency


@click.command()
@click.argument("specs", nargs=-1, metavar="[SPEC]...")
@click.option("--out", type=FILE, help="Write one self-contained page and serve nothing.")
@click.option("--gallery", is_flag=True, help="The 19 automata of the paper.")
@click.option(
    "--length",
    "-T",
    type=click.IntRange(1, functions.LONGEST),
    default=default_of(krohn.explore, "length"),
    help="Letters of the longest word.",
)
@click.option(
    "--results",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Also show trained networks: files that krohn results export wrote, or a folder of them.",
)
@click.option("--host", default="127.0.0.1", help="Address to serve on; other machines need a token.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, help="Port to serve on; 0 takes any free one."
)
@json_option
def command(
    specs: tuple[str, ...],
    out: Path | None,
    gallery: bool,
    length: int,
    results: tuple[Path, ...],
    host: str,
    port: int,
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
    serving = sorted({"--host", "--port"}.intersection(typed_options()))
    if out is not None and serving:
        raise click.UsageError(f"--out writes a page and serves nothing; leave out {', '.join(serving)}")
    if out is None and not (find_spec("starlette") and find_spec("uvicorn")):
        raise MissingDependency(
            f"serving the page needs starlette and uvicorn: {to_install('explore')}; "
            "or write the page: krohn explore S4 --out page.html"
        )
    settings: Any = {"length": length, "gallery": gallery, "results": results, "tell": note}
    if out is None:
        _serve(lambda: krohn.explore(*specs, server=True, **settings).html, host, port, as_json)
        return
    page = krohn.explore(*specs, out=out, **settings)
    text = f"{out}: {', '.join(page.names)}; {len(page.html.encode()):,} bytes"
    payload = {"out": str(out), "machines": list(page.names), "length": length}
    emit(payload, as_json=as_json, text=lambda: text)


def _serve(make_page: Callable[[], str], host: str, port: int, as_json: bool) -> None:
    def announce(url: str) -> None:
        click.echo(json.dumps({"url": url}) if as_json else f"{url}  (Ctrl-C ends it)")

    try:
        functions.serve(make_page, host, port, announce)
    except KeyboardInterrupt:
        note("stopped")
