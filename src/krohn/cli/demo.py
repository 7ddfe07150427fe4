"""``make demo``: the main job on one small example, each step as the command a user would type."""

import shlex
import sys
from pathlib import Path

import click

from krohn.cli.app import run

FOLDER = Path("demo")
STEPS = (
    (
        "The weights of a Transformer for S4, four people in four chairs: written down, not trained",
        f"compile S4 --length 100 --out {FOLDER}/S4",
    ),
    (
        "A proof, from the weights alone, that it is right on each of the 8¹⁰⁰ words of 100 letters",
        f"verify {FOLDER}/S4 --dtype float32",
    ),
    (
        "The network in your browser, beside one that reads brackets",
        f"explore S4 Dyck4,2 --out {FOLDER}/explore.html",
    ),
)
"""What a step is for, and its command."""


def main() -> int:
    """Compiles S4, proves it, writes its page; stops at the first step that fails."""
    FOLDER.mkdir(exist_ok=True)
    for number, (purpose, step) in enumerate(STEPS, start=1):
        click.secho(f"\n{number}. {purpose}", bold=True)
        click.secho(f"$ krohn {step}", fg="cyan")
        if status := run(shlex.split(step)):
            return status
    page = (FOLDER / "explore.html").resolve().as_uri()
    click.secho(f"\nNow look: open {page} in a browser and press Play.", bold=True)
    click.echo(
        f"Then: krohn analyze S4, krohn decompose S4, krohn explain {FOLDER}/S4 1023 1230 "
        "(docs/tour.md of the repository)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
