"""The atlas of small automata: their classes and bounds on their depth."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from krohn.algebra.varieties import varieties
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import (
    MOST_LETTERS,
    MOST_STATES,
    require_listable,
    sample_automata,
    small_automata,
)
from krohn.base.notebook import Rows, table
from krohn.construct.depth_bounds import planned_bounds
from krohn.depth.layer_size import LayerSize
from krohn.errors import InvalidInput


class Atlas(Rows[dict[str, Any]]):
    """Small automata, one row each: what ``krohn atlas --json`` lists."""

    def text(self) -> str:
        """The rows, and how many there are with the same bounds."""
        rows = [(_written(row), *_bounds(row), ", ".join(row["classes"])) for row in self]
        counts = Counter((row["lower"], row["depth"] or 0) for row in self)
        summary = [(low, high or "?", number) for (low, high), number in sorted(counts.items())]
        listing = table(("next states", "depth", "at least", "beyond T", "classes"), rows)
        size = f"at least: layers that words of more than T letters need, if each has {LayerSize()}."
        return f"{listing}\n\n{size}\n\n{table(('at least', 'depth', 'automata'), summary)}"


def _bounds(row: dict[str, Any]) -> tuple[str, str, str]:
    upper = "?" if row["depth"] is None else str(row["depth"])
    return upper, str(row["lower"]), f"{row['lower_beyond']:,}" if row["lower"] else ""


def _written(row: dict[str, Any]) -> str:
    """One group of digits for each state: where the letters lead."""
    return " ".join("".join(map(str, states)) for states in row["table"])


def atlas(automata: Iterable[Semiautomaton], effort: float) -> Iterator[dict[str, Any]]:
    """Rows in the order of the automata; ``depth`` is the upper bound, state 0 of the table the start."""
    for automaton in automata:
        bounds = planned_bounds(automaton, effort).to_json(automaton.letter_names)
        shown = {key: bounds[key] for key in ("lower", "lower_beyond", "optimal", "witness")}
        classes, table = list(varieties(automaton)), automaton.table.tolist()
        yield {"table": table, "classes": classes, "depth": bounds["upper"], **shown}


def small_atlas(
    states: int,
    letters: int,
    sample: int | None,
    seed: int,
    effort: float,
    progress: Callable[[int, int], object],
) -> Atlas:
    """All automata of 2 to ``states`` states over ``letters`` letters up to isomorphism, or a sample."""
    if not (2 <= states <= MOST_STATES and 1 <= letters <= MOST_LETTERS):
        raise InvalidInput(
            f"an atlas has automata of 2 to {MOST_STATES} states over 1 to {MOST_LETTERS} letters; "
            f"got {states} and {letters}"
        )
    if seed < 0 or (sample is not None and sample < 1):
        raise InvalidInput(f"a sample must have an automaton and a seed ≥ 0; got {sample} and {seed}")
    if sample is not None:
        chosen = sample_automata(states, letters, sample, seed)
    else:
        require_listable(states, letters)  # fail before the smaller ones are listed
        chosen = [automaton for count in range(2, states + 1) for automaton in small_automata(count, letters)]
    rows = Atlas([])
    for row in atlas(chosen, effort):
        rows.append(row)
        progress(len(rows), len(chosen))
    return rows
