"""A stack of bounded height with a sink for errors (Dyck languages) as a leaf of a plan.

Its parts are a counter for the height, one memory for every place of the stack, written by the push that
reaches it, and a bit that remembers the first error: three levels, whatever the height.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.bulk import States, Words
from krohn.cascade.plan import Component, Coordinates, Plan
from krohn.errors import InvalidInput

Content = tuple[int, ...]

PUSH, POP, REST = 1, -1, 0


@dataclass(frozen=True)
class Stack:
    """What letters do to a stack: ``acts[a]`` is the change of the height and the symbol that is meant.

    ``content`` maps every state but the sink to what is on the stack, lowest first.
    """

    height: int
    num_symbols: int
    acts: tuple[tuple[int, int], ...]
    sink: int
    content: dict[int, Content]


def recognise_stack(automaton: Semiautomaton) -> Stack | None:
    """The stack that the automaton is, started empty, under any names; ``None`` if it is none.

    Several letters may push or pop the same symbol, and letters that change nothing are allowed.
    """
    letters, start, step = range(automaton.num_letters), automaton.start, automaton.step
    sinks = [q for q in range(automaton.num_states) if all(step(q, a) == q for a in letters)]
    if len(sinks) != 1 or sinks[0] == start:
        return None
    symbols = list(dict.fromkeys(step(start, a) for a in letters if step(start, a) not in (sinks[0], start)))
    acts = []
    for a in letters:
        taken = [symbol for symbol, held in enumerate(symbols) if step(held, a) == start]
        if step(start, a) in symbols:
            acts.append((PUSH, symbols.index(step(start, a))))
        else:
            acts.append((POP, taken[0]) if taken else (REST, 0))
    content = _contents(automaton, acts, sinks[0])
    height = max(map(len, content.values()))
    stack = Stack(height, len(symbols), tuple(acts), sinks[0], content)
    return stack if symbols and not stack_fault(automaton, stack) else None


def _contents(automaton: Semiautomaton, acts: list[tuple[int, int]], sink: int) -> dict[int, Content]:
    """What a state holds if it is reached by pushes alone."""
    content: dict[int, Content] = {automaton.start: ()}
    queue = [automaton.start]
    for state in queue:
        for letter, (act, symbol) in enumerate(acts):
            target = automaton.step(state, letter)
            if act == PUSH and target != sink and target not in content:
                content[target] = (*content[state], symbol)
                queue.append(target)
    return content


def stack_fault(automaton: Semiautomaton, stack: Stack) -> str:
    """Every letter must do to every content what its act says, and lead to the sink where it cannot."""
    state = {content: q for q, content in stack.content.items()}
    if len(state) + 1 != automaton.num_states or len(stack.acts) != automaton.num_letters:
        return "the contents must be those of all states but the sink"
    if any(automaton.step(stack.sink, letter) != stack.sink for letter in range(automaton.num_letters)):
        return f"state {stack.sink} is not fixed by every letter"
    if state.get(()) != automaton.start:
        return "the stack is not empty at the start"
    for q, content in stack.content.items():
        for letter, (act, symbol) in enumerate(stack.acts):
            if act == PUSH:
                wanted = state.get((*content, symbol)) if len(content) < stack.height else stack.sink
            elif act == POP:
                wanted = state.get(content[:-1]) if content[-1:] == (symbol,) else stack.sink
            else:
                wanted = q
            if automaton.step(q, letter) != wanted:
                return f"state {q}, letter {letter}: not what the stack does"
    return ""


@dataclass(frozen=True, eq=False)
class StackPlan(Plan):
    """A bounded stack: its height, its places, and a bit for errors."""

    stack: Stack

    def fault(self) -> str:
        """The automaton must be this stack, in every state under every letter."""
        return stack_fault(self.automaton, self.stack)

    @property
    def levels(self) -> int:
        """Height, places, error bit."""
        return 3

    @property
    def layers(self) -> int:
        """One for each: the places and the symbol that a pop removes are found side by side."""
        return 3

    @property
    def size(self) -> int:
        """The states of all components."""
        return sum(part.tiles for part in self.components)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """A counter, one memory for each place, an error bit."""
        stack = self.stack
        places = (Component(1, stack.num_symbols, 1, "1", True, True, "stack place"),) * stack.height
        return (
            Component(0, stack.height + 1, 1, "1", True, True, "stack height"),
            *places,
            Component(2, 2, 1, "1", True, True, "error bit"),
        )

    @property
    def title(self) -> str:
        """Its height and symbols."""
        return f"stack of height {self.stack.height} over {self.stack.num_symbols} symbols, and an error bit"

    @property
    def num_coordinates(self) -> int:
        """The height, the places, the bit."""
        return self.stack.height + 2

    def coordinates(self, state: int) -> Coordinates:
        """Height and content; places above the height hold 0; the sink is an empty stack that has failed."""
        if not 0 <= state < self.automaton.num_states:
            raise InvalidInput(f"a state must lie in [0, {self.automaton.num_states}); got {state}")
        content = self.stack.content.get(state, ())
        rest = (0,) * (self.stack.height - len(content))
        return (len(content), *content, *rest, int(state == self.stack.sink))

    @cached_property
    def _holding(self) -> dict[Content, int]:
        return {content: state for state, content in self.stack.content.items()}

    def state(self, coordinates: Coordinates) -> int:
        """The sink once the bit is set, else the state with that content."""
        if len(coordinates) != self.num_coordinates:
            raise InvalidInput(f"there must be {self.num_coordinates} coordinates; got {len(coordinates)}")
        height, *places, failed = coordinates
        if failed:
            return self.stack.sink
        content = tuple(places[:height])
        if height < 0 or content not in self._holding:
            raise InvalidInput(f"the coordinates must be those of a state; {coordinates} name none")
        return self._holding[content]

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """The height moves, a push writes its place, and a letter that cannot be read sets the bit."""
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

    def simulate(self, words: Words, start: int | None = None) -> States:
        """Steps the coordinates of every word; each coordinate tuple is stepped once per letter."""
        origin = self.coordinates(self._origin(start))
        known: dict[tuple[Coordinates, int], Coordinates] = {}
        result = np.empty(words.shape, dtype=np.int32)
        for row, word in enumerate(words.tolist()):
            held = origin
            for place, letter in enumerate(word):
                if (held, letter) not in known:
                    known[held, letter] = self.step(held, letter)
                held = known[held, letter]
                result[row, place] = self.state(held)
        return result
