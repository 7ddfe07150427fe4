"""Writes results/tables/width.md and its figure: how wide one layer must be for words of a length.

Run: python tools/width_table.py certify [NAME …]   builds and certifies what results/proofs/width.jsonl lacks
     python tools/width_table.py page [--check]     writes the page and the figure from these (seconds)
"""

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from size_table import PAPER_AUTOMATA, SizeTable

import krohn
from krohn.base.portable import FLOATS
from krohn.depth.block_scheme import BlockScheme
from krohn.depth.layer_size import LayerSize, heads_needed
from krohn.depth.lower_bound import Witness, find_witness

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "results" / "tables" / "width.md"
FIGURE = ROOT / "results" / "tables" / "width"
POINTS = ROOT / "results" / "proofs" / "width.jsonl"
CONSTANT = (*(f"C{n}" for n in range(2, 9)), "C2xC2", "C2xC2xC2", "D8")
"""Automata that one layer with constant heads does at every length (results/tables/sizes.md)."""
OTHERS = tuple(name for name in PAPER_AUTOMATA if name not in CONSTANT)
LENGTHS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
PRECISIONS = (8, 24, 53)
USUAL = 24
TESTED = dict.fromkeys(CONSTANT, (2, 8, 32, 128))
TESTED |= dict.fromkeys(("D6", "A4", "S4", "Grid4"), (2, 4, 8, 16, 32, 64, 100))
TESTED |= {"A5": (2, 4, 8, 16, 32, 64), "S5": (2, 4, 8, 16, 32, 64), "Q8": (2, 4, 8, 16, 32, 64)}
TESTED |= {"Grid9": (2, 4, 8, 16, 32, 40), "Dyck4,2": (2, 3)}
"""The lengths at which one layer is built and certified; a map of Dyck4,2 has 32 points."""
FORMAT = {"Dyck4,2": "float64"}
"""Float format of the certificate, where it is not float32."""


@dataclass(frozen=True)
class Point:
    """One layer that was built: the length of words, its size, and whether it is proved."""

    automaton: str
    length: int
    dtype: str
    heads: int
    head_dim: int
    parameters: int
    certified: bool

    @property
    def width(self) -> int:
        """The numbers that its heads return."""
        return self.heads * self.head_dim


@cache
def witness(name: str) -> Witness | None:
    """The witness against one layer for long words; for ``CONSTANT``, where one is enough, against zero."""
    return find_witness(krohn.parse_spec(name), most=1 if name in CONSTANT else None)


def needed(name: str, length: int, bits: int) -> int:
    """Lower bound on the width of a layer for all words of the length, however it is divided among heads.

    By Theorem 2, H·(d + 2) ≥ ⌊(T − |z|)/L⌋/(|Σ″|·b), and H·d is at least a third of that.
    """
    scheme = witness(name)
    if not isinstance(scheme, BlockScheme):
        return int(scheme is not None and length > scheme.beyond(LayerSize()))
    letters = len({*scheme.letters, *scheme.fillings[0], *scheme.fillings[1]})
    blocks = max(0, length - len(scheme.prefix)) // scheme.length
    exact = 3 * letters * (bits + length.bit_length() + 3)  # ⌈log₂(T + 1)⌉ is the bit length of T
    return max(1, -(-blocks // exact))


def sufficient(name: str, length: int, bits: int, points: list[Point]) -> int | None:
    """A width that suffices: to return all letters (Theorem 4), or for ``CONSTANT`` the counters built."""
    if name in CONSTANT:
        return max(point.width for point in points if point.automaton == name)
    return heads_needed(len(set(krohn.parse_spec(name).letters)), length, 1, bits)


def build(name: str, length: int) -> Point:
    """A network of one layer, and whether the proof succeeds; of wide ones the first is the smallest."""
    dtype, wide = FORMAT.get(name, "float32"), name not in CONSTANT
    method = "wide" if wide else "auto"
    network = krohn.compile(name, length, method=method, dtype=dtype, unproved=wide)
    shape = network.transformer
    assert shape.depth == 1, name
    returned = max(head.value.shape[1] for head in shape.layers[0].heads)
    proved = krohn.verify(network, dtype=dtype).certified
    return Point(name, length, dtype, shape.heads, returned, shape.num_parameters, proved)


def stored() -> list[Point]:
    """The stored points, in the order of the page."""
    lines = POINTS.read_text().splitlines() if POINTS.exists() else []
    points = [Point(**json.loads(line)) for line in lines]
    return sorted(points, key=lambda point: (PAPER_AUTOMATA.index(point.automaton), point.length))


def certify(names: list[str]) -> None:
    """Builds and certifies the missing points; writes each one at once."""
    done = {(point.automaton, point.length) for point in stored()}
    lengths = sorted({length for tested in TESTED.values() for length in tested})
    for length in lengths:  # short words first
        for name in names or PAPER_AUTOMATA:
            if length in TESTED[name] and (name, length) not in done:
                point = build(name, length)
                print(point)
                with POINTS.open("a") as file:
                    file.write(json.dumps(asdict(point)) + "\n")


TEXT = """# One layer: width against length

Written by `python tools/width_table.py page`, from theorems and `results/proofs/width.jsonl` (`… certify`).

How wide must *one* layer be to do all words of up to T letters? Its **width** W is how many numbers its heads
return in all, H heads of dimension d counting H·d. Two curves, for layers whose answers survive an error of
2^-p in these numbers ([the class of networks](../../docs/lower-bounds.md#the-class-of-networks)):

- **needed**: no layer of the class with fewer numbers is right on all words of up to T letters, however they
  are divided among heads and whatever the MLP is (Theorem 2 with the scheme that `krohn analyze` finds: W is
  at least a third of ⌊(T − |z|)/L⌋/(|Σ″|·b), rounded up; Proposition 1: at least 1).
- **suffices**: some layer of the class with so many numbers is right on all words of up to T letters. For
  nine automata it returns the whole word (Theorem 4, heads of one number each; its MLP is any function). For
  ten it counts, and what `krohn compile` builds has the same width for every length.

And **points**: layers that `krohn compile` built and `krohn verify` proved for all words of up to T letters.
For nine automata these are built by `--method wide --unproved`, with the embedding, heads and MLP of an
ordinary network: a head for every distance 1 … T − 1 returns what the letter there does to n points, and the
MLP composes these maps in ⌈log₂ T⌉ rounds. So they are wider than the curve *suffices*, whose heads see
letter and place jointly and pack several letters into a number.

![Width of one layer against the length of words: needed, sufficient, and built with a proof](width.svg)

*At {usual} bits. Grey: excluded. Filled points: certified in float32; hollow: in float64. The last panel has
the ten automata that one layer with constant heads does; there the two curves do not move.*

For nine automata both curves grow linearly but for a logarithm: at T = 1,000,000 and {usual} bits they are
a factor of {least} to {most} apart. Nothing is excluded where *needed* is 1, for example at T = 100 and
{usual} bits.
"""

BUILT = """## Built and certified

An entry has heads × numbers of each, and parameters. All words of up to T letters are certified, in float32
or, where marked, in float64. Of what *wide* builds, longer words take larger matrices; an MLP may have 40
million weights. Dyck4,2, whose maps have 32 points, is certified for few letters: in float32 the check
refuses it, for rounding in sums of 32 terms.
"""
COUNTED = """Constant width: the MLP grows, the numbers returned do not.
"""


def curves(bits: int, points: list[Point]) -> SizeTable:
    """Needed and sufficient widths for some lengths; counters only at enough bits for all lengths."""
    header = ("automaton", "letters", *(f"T = {length:,}" for length in LENGTHS))
    names = PAPER_AUTOMATA if bits >= USUAL else OTHERS
    rows = []
    for name in names:
        letters = str(len(set(krohn.parse_spec(name).letters)))
        pairs = [(needed(name, length, bits), sufficient(name, length, bits, points)) for length in LENGTHS]
        rows.append(
            (name, letters, *("none" if high is None else f"{low:,} … {high:,}" for low, high in pairs))
        )
    return SizeTable(header, tuple(rows))


def certified(names: tuple[str, ...], points: list[Point]) -> SizeTable:
    """The points, one row for each automaton, one column for each length."""
    lengths = sorted({length for name in names for length in TESTED[name]})
    known = {(point.automaton, point.length): point for point in points}
    rows = []
    for name in names:
        row = [known.get((name, length)) for length in lengths]
        rows.append((name, *("" if point is None else _cell(point) for point in row)))
    return SizeTable(("automaton", *(f"T = {length}" for length in lengths)), tuple(rows))


def _cell(point: Point) -> str:
    size = f"{point.heads} × {point.head_dim}, {point.parameters:,}"
    if not point.certified:
        return f"{size}, not certified"
    return size if point.dtype == "float32" else f"{size} ({point.dtype})"


def beyond(points: list[Point]) -> SizeTable:
    """The greatest length certified, and the length beyond which every layer of that size is excluded."""
    rows = []
    for name in OTHERS:
        point = max(
            (point for point in points if point.automaton == name and point.certified),
            key=lambda point: point.length,
        )
        size = LayerSize(point.heads, point.head_dim, FLOATS[point.dtype].bits)
        scheme = witness(name)
        assert scheme is not None
        rows.append((name, str(point.length), str(size), f"{scheme.beyond(size):,}"))
    return SizeTable(("automaton", "certified up to", "one layer of", "excluded beyond"), tuple(rows))


def page(points: list[Point]) -> str:
    """The whole page."""
    longest = LENGTHS[-1]
    apart = []
    for name in OTHERS:
        high = sufficient(name, longest, USUAL, points)
        assert high is not None
        apart.append(high / needed(name, longest, USUAL))
    text = TEXT.format(usual=USUAL, least=f"{min(apart):.0f}", most=f"{max(apart):.0f}")
    parts = [text]
    for bits in (USUAL, *(bits for bits in PRECISIONS if bits != USUAL)):
        short = (
            ""
            if bits >= USUAL
            else " (at so few bits a counter ends at 2^p letters; those that count are left out)"
        )
        parts.append(f"## Needed … suffices, at {bits} bits{short}\n\n{curves(bits, points).markdown()}\n")
    parts += [BUILT, certified(OTHERS, points).markdown(), "", beyond(points).markdown(), ""]
    parts += [COUNTED, certified(CONSTANT, points).markdown()]
    return "\n".join(parts) + "\n"


def draw(points: list[Point]) -> None:
    """Ten panels: nine automata whose width grows with the length, and one for those that count."""
    from matplotlib.figure import Figure

    from krohn.lab.figures.style import PALETTE, house_style, save

    lengths = sorted({round(10 ** (k / 8)) for k in range(3, 49)})
    with house_style():
        figure = Figure(figsize=(11, 4.8), layout="constrained")
        panels = figure.subplots(2, 5, sharex=True, sharey=True).ravel()
        for axes, name in zip(panels, OTHERS, strict=False):
            low = [needed(name, length, USUAL) for length in lengths]
            high = [sufficient(name, length, USUAL, points) or 0 for length in lengths]
            axes.fill_between(lengths, 0.5, low, color="#cccccc", linewidth=0)
            axes.plot(lengths, low, color="black", linestyle="--", label="needed (Theorem 2)")
            axes.plot(lengths, high, color=PALETTE[0], label="suffices (Theorem 4)")
            for single, filled in (("float32", PALETTE[1]), ("float64", "none")):
                proved = [p for p in points if p.automaton == name and p.certified and p.dtype == single]
                axes.plot(
                    [point.length for point in proved],
                    [point.width for point in proved],
                    color=PALETTE[1],
                    linestyle="",
                    marker="o",
                    markersize=4,
                    markerfacecolor=filled,
                    label="built and certified" if single == "float32" else None,
                )
            axes.set_title(name, loc="left")
        last = panels[len(OTHERS)]
        last.axhline(1, color="black", linestyle="--")
        widths = {name: sufficient(name, 2, USUAL, points) or 0 for name in CONSTANT}
        rows = []
        for width in sorted(set(widths.values())):
            same = [name for name in CONSTANT if widths[name] == width]
            tested = [p for p in points if p.automaton in same and p.certified]
            last.axhline(width, color=PALETTE[0])
            last.plot(
                [p.length for p in tested], [p.width for p in tested], "o", color=PALETTE[1], markersize=4
            )
            rows.append(f"{width}: " + (f"{same[0]} … {same[-1]}" if len(same) > 2 else ", ".join(same)))
        last.annotate("\n".join(reversed(rows)), (0.05, 0.3), xycoords="axes fraction", fontsize=7)
        last.set_title("those that count", loc="left")
        for axes in panels:
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlim(2, 1e6)
            axes.set_ylim(0.7, 1e6)
            axes.grid(color="#dddddd", linewidth=0.5)
        for axes in panels[5:]:
            axes.set_xlabel("letters T of the longest words")
        for axes in panels[::5]:
            axes.set_ylabel("numbers returned")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    save(figure, FIGURE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=("certify", "page"))
    parser.add_argument("names", nargs="*", choices=(*PAPER_AUTOMATA, []), metavar="NAME")
    parser.add_argument("--check", action="store_true", help="exit 1 if the page would change")
    given = parser.parse_args()
    if given.command == "certify":
        certify(given.names)
        return 0
    points = stored()
    text = page(points)
    if given.check:
        same = PAGE.read_text() == text
        print(f"{PAGE.name} is {'up to date' if same else 'out of date'}")
        return int(not same)
    PAGE.write_text(text)
    draw(points)
    return 0


if __name__ == "__main__":
    sys.exit(main())
