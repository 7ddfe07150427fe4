"""A stack of bounded height with a sink for errors (Dyck languages) as a leaf of a plan.

Its parts are a counter for the height, one memory for every place of the stack, written by the push that
reaches it, and a bit that remembers the first error: three levels, whatever the height.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.plan import Component, Coordinates, Plan
from krohn.errors import InvalidInput

Content = tuple[int, ...]
Numbers = npt.NDArray[np.int64]

PUSH, POP, REST = 1, -1, 0


@dataclass(frozen=True, eq=False)
class BracketStack:
    """What letters do to a stack: ``acts[a]`` is the change of the height and the symbol concerned.

    ``number[q]`` is the number of the stack content in state q, −1 for the sink: 0 is empty, and pushing
    symbol s of k onto content c gives c·k + s + 1, so that contents are numbered without gaps.
    """

    height: int
    num_symbols: int
    acts: tuple[tuple[int, int], ...]
    sink: int
    number: Numbers

    @cached_property
    def content(self) -> dict[int, Content]:
        """The stack content of every state but the sink, bottom first."""
        contents: dict[int, Content] = {0: ()}
        for number in range(1, len(self.number) - 1):
            rest, symbol = divmod(number - 1, self.num_symbols)
            contents[number] = (*contents[rest], symbol)
        return {state: contents[number] for state, number in enumerate(self.number.tolist()) if number >= 0}


def stack_fault(automaton: Semiautomaton, stack: BracketStack) -> str:
    """Every letter must change every content as its act says, or lead to the sink where it cannot."""
    states, symbols = automaton.num_states, stack.num_symbols
    if sum(symbols**level for level in range(stack.height + 1)) + 1 != states:
        return "there must be one state for every content, and the sink"
    if sorted(stack.number.tolist()) != list(range(-1, states - 1)) or stack.number[stack.sink] != -1:
        return "the contents must be those of all states but the sink"
    if (automaton.table[stack.sink] != stack.sink).any() or len(stack.acts) != automaton.num_letters:
        return f"state {stack.sink} is not fixed by every letter, or a letter has no act"
    if stack.number[automaton.start] != 0:
        return "the stack is not empty at the start"
    holding = np.append(np.argsort(stack.number)[1:], stack.sink)  # by number; the last has no content
    numbers = stack.number[holding[:-1]]
    for letter, (act, symbol) in enumerate(stack.acts):
        if act == PUSH:
            wanted = np.minimum(numbers * symbols + symbol + 1, states - 1)
        elif act == POP:
            fits = (numbers > 0) & ((numbers - 1) % symbols == symbol)
            wanted = np.where(fits, (numbers - 1) // symbols, states - 1)
        else:
            wanted = numbers
        wrong = np.flatnonzero(automaton.table[holding[:-1], letter] != holding[wanted])
        if wrong.size:
            return f"state {holding[wrong[0]]}, letter {letter}: not what the stack does"
    return ""


@dataclass(frozen=True, eq=False)
class StackPlan(Plan):
    """A bounded stack: its height, its places, and a bit for errors."""

    stack: BracketStack
    layers = 3  # one per level: the places and the symbol that a pop removes are found in parallel

    def fault(self) -> str:
        """The automaton must be this stack, in every state under every letter."""
        return stack_fault(self.automaton, self.stack)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """A counter, one memory for each place, an error bit."""
        stack = self.stack
        places = (Component(1, stack.num_symbols, "stack place"),) * stack.height
        return (Component(0, stack.height + 1, "stack height"), *places, Component(2, 2, "error bit"))

    @property
    def title(self) -> str:
        """Its height and symbols."""
        return f"stack of height {self.stack.height} over {self.stack.num_symbols} symbols, and an error bit"

    def coordinates(self, state: int) -> Coordinates:
        """Height and content; places above the height hold 0; the sink is an empty stack with the bit set."""
        content = self.stack.content.get(self._known(state), ())
        rest = (0,) * (self.stack.height - len(content))
        return (len(content), *content, *rest, int(state == self.stack.sink))

    @cached_property
    def _holding(self) -> dict[Content, int]:
        return {content: state for state, content in self.stack.content.items()}

    def state(self, coordinates: Coordinates) -> int:
        """The sink once the bit is set, else the state with that content."""
        self._split(coordinates)
        height, *places, failed = coordinates
        if failed:
            return self.stack.sink
        content = tuple(places[:height])
        if height < 0 or content not in self._holding:
            raise InvalidInput(f"the coordinates must name a state; {coordinates} do not")
        return self._holding[content]

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """Updates the height, a push writes its place, and an illegal letter sets the error bit."""
        self.state(coordinates)
        height, *places, failed = coordinates
        act, symbol = self.stack.acts[letter]
        if failed:
            return coordinates
        if act == PUSH and height < self.stack.height:
            places[height] = symbol
        fits = act == REST or (
            height < self.stack.height if act == PUSH else height > 0 and places[height - 1] == symbol
        )
        return (height + act, *places, 0) if fits else (0, *places, 1)
