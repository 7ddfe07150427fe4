"""What a yes rests on, for ``docs/trust.md``: the files that are read for each kind of claim, and how far the
functions of torch that are assumed to be near were off on this machine.

    python tools/trust.py              prints both tables
    python tools/trust.py --write      writes them into the page; with --files the first alone
"""

import argparse
import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch

from krohn.check.arithmetic.format import BEND, ERF, EXP, ROOT, SINE

ROOT_FOLDER = Path(__file__).parents[1]
SOURCE, PAGE = ROOT_FOLDER / "src", ROOT_FOLDER / "docs" / "trust.md"
PROGRAM = "krohn.check.__main__"
KINDS = {
    "a cascade, compiled": ("transformer.checker",),
    "with positions that are compared": ("transformer.checker", "transformer.order"),
    "in parts, or with letters that act alike": ("transformer.checker", "transformer.parts"),
    "a scan": ("transformer.checker", "transformer.scan"),
    "an export of these as a GPT-2": (
        "transformer.checker",
        "transformer.order",
        "transformer.parts",
        "transformer.scan",
        "transformer.gpt2",
    ),
    "a GPT-2 of others, word by word": ("transformer.words",),
    "recurrent networks, trained LSTMs and GRUs": ("recurrent.rules",),
    "one block in loops": ("looped.rules",),
    "a module of others, by its graph": ("graph.proof",),
}
"""For each kind of claim what is loaded beside the program, on use."""
SAMPLE = 25_000_000


def imported_at_once(path: Path) -> Iterator[str]:
    """The modules of krohn that a file imports when it is loaded, not inside a function."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("krohn"):
            yield node.module or ""


def files_of(module: str) -> Iterator[Path]:
    """The file of a module of krohn, and those of the packages that it is in: Python runs them first."""
    names = module.split(".")
    for length in range(1, len(names) + 1):
        path = SOURCE / Path(*names[:length])
        yield path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def trusted(*modules: str) -> set[Path]:
    """The files that are loaded with these modules."""
    found: set[Path] = set()
    waiting = [path for module in modules for path in files_of(module)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [each for module in imported_at_once(path) for each in files_of(module)]
    return found


def lines_in(paths: set[Path]) -> int:
    """All lines, with comments and blank ones."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def table_of_files() -> str:
    """For each kind of claim the files, and their lines."""
    rows = ["| a yes about | files | lines |", "| --- | ---: | ---: |"]
    for kind, modules in KINDS.items():
        paths = trusted(PROGRAM, *(f"krohn.check.{module}" for module in modules))
        rows.append(f"| {kind} | {len(paths)} | {lines_in(paths):,} |")
    return "\n".join(rows)


class Function(NamedTuple):
    """A function that a claim assumes to be near: what is allowed, and of which size the unit is."""

    name: str
    allowed: float
    of: Callable[[torch.Tensor], torch.Tensor]
    low: float
    high: float
    relative: bool = False


def softmax_of_two(scores: torch.Tensor) -> torch.Tensor:
    """The weight of the smaller of two scores."""
    return torch.stack([torch.zeros_like(scores), scores], dim=1).softmax(dim=1)[:, 1]


FUNCTIONS = (
    Function("exp", EXP, torch.exp, -87.0, 0.0, relative=True),
    Function("exp, in softmax", EXP, softmax_of_two, -87.0, 0.0, relative=True),
    Function("sine", SINE, torch.sin, -40.0, 40.0),
    Function("tanh", BEND, torch.tanh, -110.0, 110.0),
    Function("sigmoid", BEND, torch.sigmoid, -110.0, 110.0),
    Function("erf", ERF, torch.erf, -6.0, 6.0),
    Function("square root", ROOT, torch.sqrt, 0.0, 1e6, relative=True),
    Function("one over it", ROOT, torch.rsqrt, 1e-6, 1e6, relative=True),
)
UNIT = 2.0**-24


def largest_error(function: Function, count: int) -> float:
    """The largest error in float32 on so many numbers, half of them evenly spread, half near 0, in units."""
    dice, worst = torch.Generator().manual_seed(0), 0.0
    for _ in range(0, count, 1 << 20):
        share, small, side = torch.rand(3, min(count, 1 << 20), generator=dice)
        share = torch.where(small < 0.5, share * torch.exp(-40 * small), share)
        ends = torch.tensor([function.low, function.high])
        given = ends[0] + share * (ends[1] - ends[0])
        if function.low < 0:  # near 0 from both sides
            given = share * torch.where(side < 0.5, ends[0], ends[1])
        exact = function.of(given.double())
        off = (function.of(given).double() - exact).abs()
        worst = max(worst, float((off / exact.abs() if function.relative else off).nan_to_num(0.0).max()))
    return worst / UNIT


def table_of_functions(count: int = SAMPLE) -> str:
    """What is allowed and what was found, in roundings: 2⁻²⁴ of 1, or of the result."""
    rows = ["| function | a rounding is of | allowed | found |", "| --- | --- | ---: | ---: |"]
    for one in FUNCTIONS:
        whose, found = "the result" if one.relative else "1", largest_error(one, count)
        rows.append(f"| {one.name} | {whose} | {one.allowed:.0f} | {found:.2f} |")
    return "\n".join(rows)


def parts(text: str) -> list[str]:
    """The page, split at its marks; tables are between them."""
    return text.split("<!-- made by tools/trust.py -->\n")


def main() -> None:
    """Prints the tables, or writes them."""
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--files", action="store_true", help="measure nothing: keep what was measured")
    given = parser.parse_args()
    before, _, between, measured, after = parts(PAGE.read_text(encoding="utf-8"))
    tables = table_of_files(), measured.strip() if given.files else table_of_functions()
    if given.write:
        made = "<!-- made by tools/trust.py -->\n".join(
            [before, tables[0] + "\n", between, tables[1] + "\n", after]
        )
        PAGE.write_text(made, encoding="utf-8")
    sys.stdout.write("\n\n".join(tables) + "\n")


if __name__ == "__main__":
    main()
