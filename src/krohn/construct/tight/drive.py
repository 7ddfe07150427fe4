"""A function of (state before the letter, letter): what drives the next part of a serial plan."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.finite import Finite, Track
from krohn.network.operations import Row


@dataclass(frozen=True)
class Drive:
    """``function(state before, letter)`` of an automaton's run; ``at_bos`` at every padding position."""

    automaton: Semiautomaton
    function: Callable[[int, int], int]
    at_bos: int

    def by_after(self, states: set[int]) -> dict[tuple[int, int], int] | None:
        """The same as a function of (state after, letter), if it is one (as it is for permutations)."""
        answers: dict[tuple[int, int], int] = {}
        for state in states:
            for letter in range(self.automaton.num_letters):
                answer = self.function(state, letter)
                if answers.setdefault((self.automaton.step(state, letter), letter), answer) != answer:
                    return None
        return answers

    def by_before(self, states: set[int]) -> dict[tuple[int, int], int]:
        """The function as a table."""
        letters = range(self.automaton.num_letters)
        return {(state, letter): self.function(state, letter) for state in states for letter in letters}


def driven(draft: ProgramDraft, track: Track, letter: str, drive: Drive, name: str) -> str:
    """A register with the drive's value.

    Under a causal mask the state before is fetched by a look-back, unless the state after the letter
    and the letter already determine the answer.
    """
    states = track.after.values
    if draft.strict:
        return _tabled(draft, track.before, letter, drive.by_before(states), drive, name)
    answers = drive.by_after(states)
    if answers is not None:
        return _tabled(draft, track.after, letter, answers, drive, name)
    held = track.after.register(draft, f"{name} state")
    reached: dict[Row, int] = {(q,): q for q in track.after.all_rows.values()}
    earlier = Finite((draft.look_back(held),), reached) if held else track.after
    return _tabled(draft, earlier, letter, drive.by_before(states), drive, name)


def _tabled(
    draft: ProgramDraft,
    state: Finite,
    letter: str,
    answers: Mapping[tuple[int, int], int],
    drive: Drive,
    name: str,
) -> str:
    bos = drive.automaton.num_letters
    rows: dict[Row, int] = {(*row, bos): drive.at_bos for row in state.all_rows}
    for row, value in state.rows.items():
        rows |= {(*row, a): answers[value, a] for a in range(bos) if (value, a) in answers}
    return Finite((*state.inputs, letter), rows).register(draft, name)
