"""``make demo``: the main job on one small example, each step as the command a user would type."""

import shlex
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

import click

from krohn.cli.app import run

FOLDER = Path("demo")
STEPS = (
    ("S4, the 24 ways to order four things: which groups are inside, and what follows", "analyze S4"),
    (
        "The automaton as a picture, its table in a file",
        f"zoo S4 --svg {FOLDER}/S4-automaton.svg > {FOLDER}/S4-table.txt",
    ),
    (
        "The group taken apart into counters: the Krohn–Rhodes cascade",
        f"decompose S4 --svg {FOLDER}/S4-cascade.svg",
    ),
    (
        "The weights of a Transformer, written down without training",
        f"compile S4 --length 100 --out {FOLDER}/S4",
    ),
    ("A proof, from the weights alone, that it is right on each of the 8¹⁰⁰ words", f"verify {FOLDER}/S4"),
    (
        "What its heads and registers do on one word",
        f"explain {FOLDER}/S4 1023 1230 0132 1230 0213 1032 --out {FOLDER}/S4-word.svg",
    ),
    (
        "The network in your browser, beside one that reads brackets",
        f"explore S4 Dyck4,2 --out {FOLDER}/explore.html",
    ),
)
"""What a step is for, and its command; `>` sends what it prints to a file, as in a shell."""


def main() -> int:
    """Analyses S4, decomposes it, compiles it, certifies it; stops at the first step that fails."""
    FOLDER.mkdir(exist_ok=True)
    for number, (purpose, step) in enumerate(STEPS, start=1):
        click.secho(f"\n{number}. {purpose}", bold=True)
        click.secho(f"$ krohn {step}", fg="cyan")
        words, _, file = step.partition(" > ")
        with (
            open(file, "w", encoding="utf-8") if file else nullcontext(sys.stdout) as out,
            redirect_stdout(out),
        ):
            status = run(shlex.split(words))
        if status:
            return status
    click.secho("\nFiles:", bold=True)
    for path in sorted(path for path in FOLDER.rglob("*") if path.is_file()):
        click.echo(f"  {path}  ({path.stat().st_size:,} bytes)")
    page = (FOLDER / "explore.html").resolve().as_uri()
    click.secho(f"\nNow look: open {page} in a browser and press Play.", bold=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
