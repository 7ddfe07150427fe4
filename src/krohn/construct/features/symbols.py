"""The symbols that heads see: letters, or letters together with registers of the layer before."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from krohn.construct.tight.draft import Finite, ProgramDraft
from krohn.network.position_maps import Row


@dataclass(frozen=True, eq=False)
class Symbols:
    """``number[row]`` is the symbol where the input registers hold the row; BOS has a row of its own."""

    inputs: tuple[str, ...]
    number: Mapping[Row, int]
    at_bos: Row
    made: dict[frozenset[tuple[Row, int]], str] = field(default_factory=dict)

    @property
    def bos(self) -> int:
        """The number that stands for BOS."""
        return max(self.number.values()) + 1

    def flag(self, draft: ProgramDraft, members: Set[int], at_bos: int, name: str) -> str:
        """A register that is 1 on the members, and has the given value at BOS."""
        rows = {row: int(symbol in members) for row, symbol in self.number.items()}
        return self._held(draft, {**rows, self.at_bos: at_bos}, name)

    def label(self, draft: ProgramDraft, labels: Mapping[int, int], at_bos: int, name: str) -> str:
        """A register with a label for every symbol; symbols without one have the label of BOS."""
        rows = {row: labels.get(symbol, at_bos) for row, symbol in self.number.items()}
        return self._held(draft, {**rows, self.at_bos: at_bos}, name)

    def _held(self, draft: ProgramDraft, rows: dict[Row, int], name: str) -> str:
        if len(set(rows.values())) == 1:
            return draft.source(draft.fresh(name), [rows[self.at_bos]] * draft.num_letters, rows[self.at_bos])
        key = frozenset(rows.items())
        if key not in self.made:  # features that look for the same symbols share a register
            self.made[key] = Finite(self.inputs, rows).register(draft, name)
        return self.made[key]
