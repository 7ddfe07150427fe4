"""What a shortcut is, in one table and one figure: depth, width and parameters against the length.

Run: python tools/shortcut_sizes.py [SPEC] [--length T …] [--write]

Recurrence, √T chunks and memorising are counted by `krohn.paper.shortcuts`; scan (Theorem 1), cascade
(Theorem 2, by krohn's own networks) and the looped block are built and measured, without their proofs.
--write puts the table of S4 into results/tables/shortcuts.md and the figure into results/shortcuts.svg.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import KrohnError
from krohn.lab.figures.charts import Line, Panel, line_chart
from krohn.lab.figures.style import save
from krohn.paper.shortcuts import ShortcutSize, chunked, memorising, recurrence
from krohn.recurrent.looped_weights import looped

LENGTHS = (4, 16, 64)
RESULTS = Path(__file__).parents[1] / "results"


def compiled(method: str) -> Callable[[Semiautomaton, int], ShortcutSize]:
    """The size of the network of a method."""

    def size(automaton: Semiautomaton, length: int) -> ShortcutSize:
        sizes = krohn.compile(automaton, length, method=method, unproved=True).sizes()
        return ShortcutSize(sizes["depth"], max(sizes["dim"], sizes["mlp_width"]), sizes["num_parameters"])

    return size


def loops(automaton: Semiautomaton, length: int) -> ShortcutSize:
    """Of the looped block: its weights are the same for every length."""
    tensors = looped(automaton)
    depth = max(1, (length - 1).bit_length())
    width = max(tensors["h.0.mlp.c_fc.weight"].shape)
    return ShortcutSize(depth, width, sum(tensor.size for tensor in tensors.values()))


WAYS: dict[str, Callable[[Semiautomaton, int], ShortcutSize]] = {
    "recurrence": recurrence,
    "memorising": memorising,
    "√T chunks": chunked,
    "scan (Theorem 1)": compiled("scan"),
    "one block in loops": loops,
    "cascade (Theorem 2)": compiled("cascade"),
}


def rows(spec: str, lengths: tuple[int, ...]) -> Iterator[tuple[str, int, ShortcutSize | None]]:
    """Each way at each length; none where it cannot be built."""
    automaton = parse_spec(spec)
    for name, way in WAYS.items():
        for length in lengths:
            try:
                yield name, length, way(automaton, length)
            except KrohnError:
                yield name, length, None


def number(value: int) -> str:
    """Exact up to seven digits, then a power of ten."""
    text = str(value)
    return f"{value:,}" if len(text) <= 7 else f"{text[0]}.{text[1]}·10^{len(text) - 1}"


def table(spec: str, lengths: tuple[int, ...]) -> str:
    """Depth / width / parameters of each way, a column for each length."""
    found: dict[str, list[str]] = {}
    for name, _, size in rows(spec, lengths):
        cell = "–" if size is None else " / ".join(map(number, (size.depth, size.width, size.parameters)))
        found.setdefault(name, []).append(cell)
    head = [f"| {spec}: depth / width / parameters | " + " | ".join(f"T = {n}" for n in lengths) + " |"]
    head.append("| --- |" + " --- |" * len(lengths))
    return "\n".join([*head, *(f"| {name} | {' | '.join(cells)} |" for name, cells in found.items())])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("spec", nargs="?", default="S4")
    parser.add_argument("--length", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lengths = tuple(options.length)
    text = table(options.spec, lengths)
    print(text)
    if options.write:
        (RESULTS / "tables").mkdir(exist_ok=True)
        (RESULTS / "tables" / "shortcuts.md").write_text(f"{text}\n")
        found: dict[str, list[tuple[int, int]]] = {}
        for name, length, size in rows(options.spec, lengths):
            if size is not None:
                found.setdefault(name, []).append((length, size.depth))
        lines = [
            Line(name=name, x=tuple(x for x, _ in pairs), y=tuple(y for _, y in pairs))
            for name, pairs in found.items()
        ]
        panel = Panel(
            title=options.spec,
            x_axis="letters",
            y_axis="layers one after the other",
            lines=lines,
            y_range=None,
            log_x=True,
        )
        save(line_chart([panel]), RESULTS / "shortcuts")


if __name__ == "__main__":
    main()
