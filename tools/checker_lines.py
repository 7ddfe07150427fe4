"""What the lines of the checker are for: those of each part, and how many networks are not proved without it.

    python tools/checker_lines.py            # both tables
    python tools/checker_lines.py --write    # into research/house.md

The lines are counted from the sources. The networks are those of research/ablation.md, which
``research/checker_ablation.py`` writes; a part that is listed in both of its tables has the sum.
"""

import argparse
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from krohn.check import (
    affine,
    checker,
    chunks,
    closure,
    composition,
    head_rules,
    layer_norm,
    mlp,
    race,
    real,
    scan,
    sums,
)
from krohn.check.format import Format

ROOT = Path(__file__).resolve().parents[1]
CHECKER = ROOT / "src" / "krohn" / "check"
ABLATION, PAGE = (ROOT / "research" / name for name in ("ablation.md", "house.md"))
USES = {
    "a cascade": "checker finite machine head_rules strands mlp affine readout",
    "one arithmetic, for all": "verdict real format",
    "files, claims and witnesses": "__init__ __main__ claim rules files folder net reader witness",
    "scans (Theorem 1)": "scan composition",
    "heads that compare positions": "race",
    "exports: GPT-2's tensors, LayerNorm": "gpt2 layer_norm supposed",
    "recurrent networks: layers, and what a device may compute": "sums cells stacks",
    "recurrent networks, every length": "closure chunks recurrent_rules",
    "recurrent networks, up to a length": "balls",
    "trained LSTMs and GRUs": "boxes",
}
PARTS: dict[str, tuple[Any, ...]] = {
    "affine forms": (affine,),
    "pairs of opposite units": (affine.mirrors, affine.Affine._paired),
    "errors of the left number that cancel": (composition.Adding.added,),
    "exact sums": (Format._exact, real.common_unit),
    "grain of sums that are cut": (affine.Affine.grain, affine.Affine.summary, real.known_sums),
    "strands run as one": (mlp.Block.gathered,),
    "units cut by counters": (mlp.Block.cut,),
    "clocks": (checker.readings_of, checker._rhythm),
    "sums over some letters": (head_rules.Counted, head_rules.counted_by),
    "averages by partial sums": (Format.averaged,),
    "weights that are exactly 0 and 1": (Format.certain,),
    "races": (race,),
    "rounds of a scan": (scan._in_rounds, scan._require_cut, scan._one_window, scan._side_by_side),
    "LayerNorm: few large squares": (layer_norm.positive_sum,),
    "states of a layer merged": (closure.Mealy.forgetting, closure.numbered_rows),
    "chunks": (chunks, sums.Notes),
}
"""The sources of each part that the ablation takes out; one of them is a few lines of ``Format.weights``."""


def lines_of(*sources: Any) -> int:
    """Lines of functions, classes or modules, with their docstrings."""
    return sum(len(inspect.getsource(source).splitlines()) for source in sources)


def lost(page: str) -> dict[str, int]:
    """Networks that are not proved without a part, from the rows of the ablation's tables."""
    counts: dict[str, int] = {}
    for name, count in re.findall(r"^\| ([^|]+) \| (\d+) \| [\d.]+ \|", page, re.MULTILINE):
        counts[name] = counts.get(name, 0) + int(count)
    return counts


def use_table() -> Iterator[str]:
    yield "| the checker's lines | | files |\n| --- | ---: | --- |"
    sizes = {path.stem: len(path.read_text(encoding="utf-8").splitlines()) for path in CHECKER.glob("*.py")}
    for use, names in USES.items():
        size, files = sum(sizes.pop(name) for name in names.split()), names.replace(" ", "`, `")
        yield f"| {use} | {size:,} | `{files}` |"
    assert not sizes, f"files without a use: {', '.join(sizes)}"


def part_table() -> Iterator[str]:
    counts = lost(ABLATION.read_text(encoding="utf-8"))
    rows = [(lines_of(*sources), counts[name], name) for name, sources in PARTS.items()]
    yield "| part | lines | networks not proved without it |\n| --- | ---: | ---: |"
    for size, count, name in sorted(rows, key=lambda row: (-row[1], row[0])):
        yield f"| {name} | {size} | {count} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into research/house.md")
    tables = {"uses": "\n".join(use_table()), "parts": "\n".join(part_table())}
    if not parser.parse_args().write:
        print("\n\n".join(tables.values()))
        return
    page = PAGE.read_text(encoding="utf-8")
    for mark, table in tables.items():
        page, count = re.subn(
            rf"(<!-- {mark} -->\n).*?(\n<!-- end -->)", rf"\g<1>{table}\g<2>", page, flags=re.DOTALL
        )
        assert count == 1, f"the page must have one mark {mark}"
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
