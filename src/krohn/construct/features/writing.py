"""A plan of features as a program: the registers of each layer, and one table that reads the state off."""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.construct.features.cheapest_set import Annotated, Determined
from krohn.construct.features.feature import Feature, Symbols
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row
from krohn.network.program import Program


@dataclass(frozen=True, eq=False)
class FeatureLayers:
    """Features of an optional first layer, features over the resulting symbols, and the rows.

    ``letters[a]`` is the class of letter a: features do not distinguish letters that act alike.
    """

    annotated: Annotated
    features: tuple[Feature, ...]
    determined: Determined
    letters: tuple[int, ...]

    @property
    def layers(self) -> int:
        """1, or 2 where letters are annotated first."""
        return 2 if self.annotated.features else 1

    @property
    def titles(self) -> tuple[str, ...]:
        """What the layers see, one line each."""
        first, second = self.annotated.features, self.features
        return tuple(", ".join(f.name for f in part) or "the letter" for part in (first, second) if part) or (
            "the letter",
        )

    def program(self, num_outputs: int) -> Program:
        """The operations, and a read-out by one table."""
        draft = ProgramDraft(len(self.letters), "strict" if self.annotated.strict else "causal")
        count = max(self.letters) + 1
        draft.source("letter", self.letters, count)
        plain = Symbols(("letter",), {(x,): x for x in range(count)}, (count,))
        held, at_bos = _written(draft, plain, self.annotated.features)
        symbols = plain
        if held:
            number = self.annotated.number
            symbols = Symbols(("letter", *held), number, (count, *at_bos))
        last, last_bos = _written(draft, symbols, self.features)
        rows = self.annotated.rows
        states = {(*rows[row[0]], *row[1:]): state for row, state in self.determined.rows.items()}
        names = ("letter", *held, *last)
        bos: Row = (count, *at_bos, *last_bos)
        return _finished(draft, names, states, bos, num_outputs)


def _written(
    draft: ProgramDraft, symbols: Symbols, features: Sequence[Feature]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The registers of all features, and what they hold at BOS."""
    names: list[str] = []
    values: list[int] = []
    for feature in features:
        names += feature.registers(draft, symbols)
        values += feature.show(feature.start)
    return tuple(names), tuple(values)


def _finished(
    draft: ProgramDraft, names: tuple[str, ...], states: dict[Row, int], bos: Row, num_outputs: int
) -> Program:
    """Drops redundant columns, the first ones first."""
    kept = list(range(len(names)))
    for column in range(len(names)):
        fewer = [c for c in kept if c != column]
        if fewer and _is_function(states, fewer):
            kept = fewer
    rows = {tuple(row[c] for c in kept): state for row, state in states.items()}
    elsewhere = {tuple(bos[c] for c in kept): next(iter(rows.values()))}
    inputs = [names[c] for c in kept]
    if not draft.heads:  # without heads, the one layer is an MLP
        draft.table(inputs, ("read off",), {k: (v,) for k, v in {**elsewhere, **rows}.items()}, hold=True)
        inputs, rows = ["read off"], {(state,): state for state in rows.values()}
    return draft.finish_outputs(inputs, rows, num_outputs, elsewhere if draft.heads else {})


def _is_function(states: dict[Row, int], columns: Sequence[int]) -> bool:
    known: dict[Row, int] = {}
    return all(
        known.setdefault(tuple(row[c] for c in columns), state) == state for row, state in states.items()
    )
