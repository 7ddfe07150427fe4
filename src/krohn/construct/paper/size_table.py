"""One row per automaton: what was built, what the paper's recipe costs, what the theorems bound."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import decompose
from krohn.construct.paper.bounds import bounds_for
from krohn.construct.paper.grid import build_grid
from krohn.construct.paper.grid_recognition import recognise_grid
from krohn.construct.paper.recipe import paper_recipe_size
from krohn.construct.paper.scan import build_scan
from krohn.construct.paper.theorem2 import build_paper
from krohn.errors import KrohnError
from krohn.network.compiled import CompiledNetwork

PAPER_AUTOMATA = (
    *(f"C{n}" for n in range(2, 9)),
    *("C2xC2", "C2xC2xC2", "D6", "D8", "Q8", "A4", "S4", "A5", "S5", "Grid4", "Grid9", "Dyck4,2"),
)
"""The 19 automata of the paper's experiments."""

Compile = Callable[[Semiautomaton], CompiledNetwork]


@dataclass(frozen=True)
class SizeTable:
    """A table as Markdown."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Header, rule, rows."""
        lines = [self.header, ("---",) * len(self.header), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def compiled_table(automata: Iterable[Semiautomaton], length: int, compile_network: Compile) -> SizeTable:
    """Built sizes beside recipe and bound."""
    header = (
        *("automaton", "states", "letters", "method"),
        *("depth", "dim", "heads", "MLP width", "MLP hidden layers", "max weight", "parameters"),
        *(
            "paper's recipe: depth / dim / heads",
            "Theorem 2: depth / dim / MLP",
            "Theorem 1: depth / dim / MLP",
        ),
    )
    rows = []
    for automaton in automata:
        net = compile_network(automaton)
        sizes = net.sizes()
        built = [f"{sizes[key]:.0f}" for key in ("depth", "dim", "heads", "mlp_width", "mlp_depth")]
        rows.append(
            (
                *(automaton.name, str(automaton.num_states), str(automaton.num_letters), net.method),
                *(*built, f"{sizes['max_weight']:.4g}", f"{sizes['num_parameters']:,.0f}"),
                *(
                    _recipe(automaton, length),
                    _bound("paper", automaton, length),
                    _bound("scan", automaton, length),
                ),
            )
        )
    return SizeTable(header, tuple(rows))


def faithful_table(automata: Iterable[Semiautomaton], length: int) -> SizeTable:
    """Sizes of the paper's own constructions, corrected and built: Theorems 1, 2 and 3."""
    header = (
        "automaton",
        *(f"{name}: depth / dim / heads / MLP / max weight" for name in ("scan", "paper", "grid")),
    )
    rows = []
    for automaton in automata:
        cells = [_cell(build_scan, automaton, length), _cell(build_paper, automaton, length)]
        cells.append(_cell(build_grid, automaton, length) if recognise_grid(automaton) else "—")
        rows.append((automaton.name, *cells))
    return SizeTable(header, tuple(rows))


def _cell(
    build: Callable[[Semiautomaton, int], CompiledNetwork], automaton: Semiautomaton, length: int
) -> str:
    try:
        sizes = build(automaton, length).sizes()
    except KrohnError:
        return "not solvable" if not decompose(automaton).is_solvable else "too many rows"
    shape = " / ".join(str(sizes[key]) for key in ("depth", "dim", "heads", "mlp_width"))
    return f"{shape} / {sizes['max_weight']:.4g}"


def _recipe(automaton: Semiautomaton, length: int) -> str:
    size = paper_recipe_size(decompose(automaton), length)
    return "not solvable" if size is None else f"{size.depth} / {size.dim} / {size.heads}"


def _bound(theorem: str, automaton: Semiautomaton, length: int) -> str:
    if theorem == "paper" and paper_recipe_size(decompose(automaton), length) is None:
        return "not solvable"
    stated = bounds_for(theorem, automaton, length).stated
    log = stated.log10_mlp_width if math.isinf(stated.mlp_width) else math.log10(stated.mlp_width)
    return " / ".join(
        (short(stated.depth), short(stated.dim), f"1e{log:.0f}" if log >= 6 else short(stated.mlp_width))
    )


def short(number: float) -> str:
    """Whole numbers below a million as they are, others as a power of ten."""
    return f"{number:.0f}" if number < 1e6 else f"{number:.1e}".replace("e+0", "e").replace("e+", "e")


def page(tables: Sequence[tuple[str, SizeTable]]) -> str:
    """Titles and tables, one below the other."""
    return "\n\n".join(f"{title}\n\n{table.markdown()}" for title, table in tables) + "\n"
