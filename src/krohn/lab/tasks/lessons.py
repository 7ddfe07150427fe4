"""What hints ask for: intermediate results of a construction, as labels for every letter of a word.

Doubling is Theorem 1 as a lesson: after block l the product of the last 2^l letters, an element of the
transition monoid (from the first letter on where there are fewer). Cascade is Theorem 2: for a group the
coset of the state by each term of its derived series, else the coordinates of the holonomy cascade.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import orbits
from krohn.automata.distributions import feasible_letters
from krohn.automata.graph import explore
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import holonomy_cascade
from krohn.errors import Unsupported, counted

# With more elements than this, a hint asks for the image of each state: |Q| answers of |Q| classes.
MOST_ELEMENTS = 2048
MOST_IMAGE_STATES = 64
# Coordinates of a cascade are run as one automaton with this many states at most.
MOST_COORDINATES = 65_536

Row = tuple[int, ...]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Hint:
    """What is asked after one block.

    Attributes:
        block: 1 for the first.
        about: for people: ``last 4 letters`` or ``level 1``.
        classes: number of answers.
        parts: answers at each letter: 1, or one for each state.
    """

    block: int
    about: str
    classes: int
    parts: int = 1


@dataclass(frozen=True, eq=False)
class Lessons:
    """The hints of a run and their labels.

    Attributes:
        hints: by block.
        labels: for letters [..., T] the classes [hints, ..., T, parts].
    """

    hints: tuple[Hint, ...]
    labels: Callable[[Tensor], Tensor]


# Doubling.


@dataclass(frozen=True, eq=False)
class Products:
    """The elements of a transition monoid that factors of the words can induce, by length of their words.

    Attributes:
        rows: images of the states, one row for each element; the identity is the first.
        letters: the number of each letter; the number of elements if no word has the letter.
        within: ``within[k]`` elements are products of at most k letters.
    """

    rows: Ints
    letters: Ints
    within: tuple[int, ...]

    @cached_property
    def table(self) -> Ints:
        """Products of any two [m + 1, m + 1], the earlier one first; m where no word has such a factor."""
        count, states = self.rows.shape
        # A hash finds the candidate, a comparison decides.
        factors = np.random.default_rng(0).integers(2**63, size=states, dtype=np.uint64)
        hashes = (self.rows.astype(np.uint64) * factors).sum(1)
        order = np.argsort(hashes)
        result = np.full((count + 1, count + 1), count, dtype=np.int64)
        for number, row in enumerate(self.rows):
            composed = self.rows[:, row]
            near = np.searchsorted(hashes[order], (composed.astype(np.uint64) * factors).sum(1))
            found = order[np.minimum(near, count - 1)]
            result[number, :count] = np.where((self.rows[found] == composed).all(1), found, count)
        return result


def products(automaton: Semiautomaton, *, feasible: bool, most: int = MOST_ELEMENTS) -> Products | None:
    """The elements, in breadth-first order; ``None`` if there are more than ``most``.

    With ``feasible`` only factors of words that take, from the start, letters which avoid the sinks.
    """
    letters = [tuple(column) for column in automaton.table.T.tolist()]
    allowed = [set(np.flatnonzero(row).tolist()) for row in feasible_letters(automaton)] if feasible else None
    one = tuple(range(automaton.num_states))
    numbers: dict[Row, int] = {one: 0}
    # A factor is followed from every state where it may begin.
    front = [(one, frozenset(one if allowed is None else _reachable(automaton, allowed)))]
    seen, within = set(front), [1]
    while front:
        following = []
        for row, origins in front:
            for letter, images in enumerate(letters):
                rest = origins
                if allowed is not None:
                    rest = frozenset(state for state in origins if letter in allowed[row[state]])
                product = tuple(images[state] for state in row)
                if not rest or (product, rest) in seen:
                    continue
                if len(numbers) == most and product not in numbers:
                    return None
                numbers.setdefault(product, len(numbers))
                seen.add((product, rest))
                following.append((product, rest))
        front = following
        within.append(len(numbers))
    single = np.array([numbers.get(letter, len(numbers)) for letter in letters])
    return Products(np.array(list(numbers)), single, tuple(within))


def _reachable(automaton: Semiautomaton, allowed: list[set[int]]) -> set[int]:
    """The states that feasible words reach."""
    result, front = {automaton.start}, [automaton.start]
    while front:
        state = front.pop()
        for target in (int(automaton.table[state, letter]) for letter in allowed[state]):
            if target not in result:
                result.add(target)
                front.append(target)
    return result


def doubling(
    automaton: Semiautomaton, places: Iterable[tuple[int, int]], device: torch.device, *, feasible: bool
) -> Lessons:
    """Hints for the products of the last 2, 4, … letters; ``places`` are blocks and numbers of letters."""
    hinted = tuple(places)
    found = products(automaton, feasible=feasible)
    if found is None and automaton.num_states > MOST_IMAGE_STATES:
        raise Unsupported(
            f"doubling hints need a transition monoid of at most {MOST_ELEMENTS:,} elements or at most "
            f"{MOST_IMAGE_STATES} states; {automaton.name or 'this automaton'} has more: use --teach none"
        )
    windows = [window for _, window in hinted]
    if found is None:
        states = automaton.num_states
        hints = (Hint(block, _about(window), states, states) for block, window in hinted)
        return Lessons(tuple(hints), _images_of(automaton, windows, device))
    most = len(found.within) - 1
    hints = (Hint(block, _about(window), found.within[min(window, most)]) for block, window in hinted)
    return Lessons(tuple(hints), _elements_of(found, windows, device))


def _about(window: int) -> str:
    return f"last {window} letters"


def _elements_of(found: Products, windows: list[int], device: torch.device) -> Callable[[Tensor], Tensor]:
    size = len(found.rows) + 1
    table = torch.tensor(found.table.reshape(-1), device=device)
    single = torch.tensor(found.letters, device=device)

    def compose(earlier: Tensor, later: Tensor) -> Tensor:
        return table[earlier * size + later]

    return lambda words: _windows(single[words.long()][..., None], windows, compose)


def _images_of(
    automaton: Semiautomaton, windows: list[int], device: torch.device
) -> Callable[[Tensor], Tensor]:
    images = torch.tensor(automaton.table.T.copy(), dtype=torch.int64, device=device)
    one = torch.arange(automaton.num_states, device=device)
    return lambda words: _windows(
        images[words.long()], windows, lambda earlier, later: later.gather(-1, earlier), one
    )


def _windows(
    single: Tensor,
    windows: list[int],
    compose: Callable[[Tensor, Tensor], Tensor],
    one: Tensor | int = 0,
) -> Tensor:
    """Products of the last 2, 4, … letters, from single letters [..., T, parts], with ``one`` before."""
    length, current, size, result = single.shape[-2], single, 1, {1: single}
    while size < max(windows):
        if size < length:
            before = torch.zeros_like(current[..., :size, :]) + one
            current = compose(torch.cat((before, current[..., :-size, :]), -2), current)
        size *= 2
        result[size] = current
    return torch.stack([result[window] for window in windows])


# Cascade.


def cascade_levels(automaton: Semiautomaton) -> tuple[Ints, list[Ints]]:
    """An automaton that runs the cascade, as a table with start 0, and the label of its states at each level.

    The last level of a group is its state, which the network is asked for anyway: it is left out.
    """
    table = automaton.table
    letters = [tuple(column) for column in table.T.tolist()]
    if all(len(set(letter)) == len(letter) for letter in letters):
        order = [automaton.start, *(q for q in range(automaton.num_states) if q != automaton.start)]
        series = PermutationGroup(letters, automaton.num_states).derived_series
        parts = [orbits(group.generators, group.degree) for group in series[1:] if not group.is_trivial]
        labels = [{q: number for number, orbit in enumerate(part) for q in orbit} for part in parts]
        return np.argsort(order)[table[order]], [np.array([label[q] for q in order]) for label in labels]
    return _coordinates(automaton)


def _coordinates(automaton: Semiautomaton) -> tuple[Ints, list[Ints]]:
    """The coordinates of the holonomy cascade that words reach."""
    covering = holonomy_cascade(automaton)
    reached, rows = explore(
        covering.initial,
        lambda values: [covering.step(values, letter) for letter in range(automaton.num_letters)],
        MOST_COORDINATES,
        f"cascade hints need at most {MOST_COORDINATES:,} coordinates; "
        f"{automaton.name or 'this automaton'} has more: use --teach doubling",
    )
    return np.array(rows), list(np.array(reached).T)


def cascade(automaton: Semiautomaton, layers: int, device: torch.device) -> Lessons:
    """Hints for the levels of the cascade, spread evenly over the blocks before the last."""
    table, levels = cascade_levels(automaton)
    name = automaton.name or "this automaton"
    if len(levels) < 1 or (len(levels) == 1 and len(set(levels[0].tolist())) >= automaton.num_states):
        raise Unsupported(f"cascade hints need two levels or more; {name} has one: use --teach doubling")
    if len(levels) > layers:
        raise Unsupported(
            f"cascade hints need a layer for each level; {name} has {len(levels)} levels and the network "
            f"{counted(layers, 'layer')}: give more"
        )
    step, letters = torch.tensor(table.reshape(-1), device=device), table.shape[1]
    marks = torch.tensor(np.stack(levels), device=device)

    def labels(words: Tensor) -> Tensor:
        state, states = torch.zeros_like(words[..., 0], dtype=torch.int64), []
        for letter in words.long().unbind(-1):
            state = step[state * letters + letter]
            states.append(state)
        return marks[:, torch.stack(states, -1)][..., None]

    blocks = [max(number, number * layers // (len(levels) + 1)) for number in range(1, len(levels) + 1)]
    hints = (
        Hint(block, f"level {number}", int(level.max()) + 1)
        for number, (block, level) in enumerate(zip(blocks, levels, strict=True), 1)
    )
    return Lessons(tuple(hints), labels)
