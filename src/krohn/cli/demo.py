"""``make demo``: the main job on one small example, each step as the command a user would type."""

import shlex
import sys
from pathlib import Path

import click

from krohn.cli.app import COMMANDS, run

FOLDER = Path("demo")
STEPS = (
    "analyze S4",
    f"zoo S4 --svg {FOLDER}/S4-automaton.svg",
    f"decompose S4 --svg {FOLDER}/S4-cascade.svg",
    f"compile S4 --length 100 --out {FOLDER}/S4",
    f"verify {FOLDER}/S4",
    f"explore S4 Dyck4,2 --out {FOLDER}/explore.html",
)


def main() -> int:
    """Analyses S4, decomposes it, compiles it, certifies it; stops at the first step that fails."""
    FOLDER.mkdir(exist_ok=True)
    for step in STEPS:
        if shlex.split(step)[0] not in COMMANDS:
            continue
        click.secho(f"\n$ krohn {step}", bold=True)
        if status := run(shlex.split(step)):
            return status
    click.secho("\nFiles:", bold=True)
    for path in sorted(path for path in FOLDER.rglob("*") if path.is_file()):
        click.echo(f"  {path}  ({path.stat().st_size:,} bytes)")
    page = (FOLDER / "explore.html").resolve().as_uri()
    click.secho(f"\nLook at it: open {page} in a browser and press Play.", bold=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
