"""Hints of Theorem 1: after block l the product of the last 2^l letters.

A product is an element of the transition monoid, from the first letter on where there are fewer letters; with
too many elements a hint asks for the image of each state.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from krohn.automata.distributions import feasible_letters
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import Unsupported
from krohn.lab.tasks.lessons import Hint, Ints, Lessons

# With more elements than this, a hint asks for the image of each state: |Q| answers of |Q| classes.
MOST_ELEMENTS = 2048


MOST_IMAGE_STATES = 64


Row = tuple[int, ...]


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
