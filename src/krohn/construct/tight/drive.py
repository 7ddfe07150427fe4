"""A function of (state before the letter, letter): what drives the next part of a serial plan."""

from collections.abc import Callable
from dataclasses import dataclass

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.finite import Finite
from krohn.network.operations import Row
from krohn.network.program import Meaning


@dataclass(frozen=True)
class Drive:
    """``function(state before, letter)`` of an automaton's run; ``at_bos`` at every padding position."""

    automaton: Semiautomaton
    function: Callable[[int, int], int]
    at_bos: int

    def by_after(self, states: set[int]) -> dict[tuple[int, int], int] | None:
        """The same as a function of (state after, letter), if it is one (as it is for permutations)."""
        answers: dict[tuple[int, int], int] = {}
        for (state, letter), answer in self.by_before(states).items():
            if answers.setdefault((self.automaton.step(state, letter), letter), answer) != answer:
                return None
        return answers

    def by_before(self, states: set[int]) -> dict[tuple[int, int], int]:
        """The function as a table."""
        letters = range(self.automaton.num_letters)
        return {(state, letter): self.function(state, letter) for state in states for letter in letters}


def driven(draft: ProgramDraft, now: Finite, letter: str, drive: Drive, target: Meaning) -> str:
    """A register with the drive's value.

    The state before is fetched by a look-back, unless the state after the letter and the letter already
    determine the answer.
    """
    state, answers = now, drive.by_after(now.values)
    if answers is None:
        answers = drive.by_before(now.values)
        held = now.register(draft, Meaning("state for", of=(target,)))
        if held:
            state = Finite((draft.look_back(held),), {(q,): q for q in now.all_rows.values()})
    bos = drive.automaton.num_letters
    rows: dict[Row, int] = {(*row, bos): drive.at_bos for row in state.all_rows}
    for row, value in state.rows.items():
        rows |= {(*row, a): answers[value, a] for a in range(bos) if (value, a) in answers}
    return Finite((*state.inputs, letter), rows).register(draft, target)
