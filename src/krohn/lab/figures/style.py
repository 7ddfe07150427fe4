"""How every figure looks and is saved: readable in print, without colour, and by the colour-blind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.figure import Figure as Figure  # re-exported: only this part names matplotlib

from krohn.base.files import write_whole

# Okabe and Ito's palette, distinguishable under every common colour blindness; yellow is left out
# because it vanishes on white paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo")
# Cividis has uniform lightness steps: it survives grey printing.
COLOUR_MAP = "cividis"

_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "hatch.linewidth": 0.5,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    # Ids inside an SVG file are derived from this salt instead of at random.
    "svg.hashsalt": "krohn",
}


class FigureStyle(NamedTuple):
    """One series' colour, marker, dash and hatch: any one of them identifies it."""

    colour: str
    marker: str
    dash: Any
    hatch: str


def looks(count: int) -> list[FigureStyle]:
    """The looks of ``count`` series, in order."""
    series = zip(cycle(PALETTE), cycle(MARKERS), cycle(DASHES), cycle(HATCHES), strict=False)
    return [FigureStyle(*parts) for parts in islice(series, count)]


def ink_on(colour: Sequence[float]) -> str:
    """Black or white, whichever stands out more against ``colour`` (relative luminance of WCAG 2)."""
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if luminance > 0.179 else "white"


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's settings, only while a figure is made or saved."""
    with matplotlib.rc_context(_SETTINGS):
        yield


def save(figure: Figure, stem: Path) -> list[Path]:
    """Writes ``stem``.svg and ``stem``.png; the same figure gives the same bytes."""
    nothing: dict[str, Any] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    paths = []
    for kind, metadata in nothing.items():
        path = stem.with_name(f"{stem.name}.{kind}")
        with house_style():
            write_whole(
                path,
                lambda stream, kind=kind, metadata=metadata: figure.savefig(  # type: ignore[misc]
                    stream, format=kind, metadata=metadata
                ),
            )
        paths.append(path)
    return paths
