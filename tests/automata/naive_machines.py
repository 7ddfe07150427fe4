"""Every family of the zoo again in plain Python: words of letter names to names of states."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

Step = Callable[[object, str], object]


def follow(start: object, step: Step, name: Callable[[object], str], word: Iterable[str]) -> list[str]:
    """Names of the states after each letter."""
    state, names = start, []
    for letter in word:
        state = step(state, letter)
        names.append(name(state))
    return names


def words(letters: Sequence[str], longest: int) -> Iterator[tuple[str, ...]]:
    """All words of at most that length."""
    for length in range(longest + 1):
        yield from itertools.product(letters, repeat=length)


def closure(generators: Sequence[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """The semigroup of transformations, by brute force; products read left to right."""
    result = set(generators)
    front = list(result)
    while front:
        element = front.pop()
        for generator in generators:
            product = tuple(generator[point] for point in element)
            if product not in result:
                result.add(product)
                front.append(product)
    return result


def bracket_step(depth: int, pairs: dict[str, str]) -> Step:
    """A list as a stack; ``None`` once something illegal was read."""

    def step(stack: object, letter: str) -> object:
        if not isinstance(stack, tuple):
            return None
        if letter in pairs.values():
            return (*stack, letter) if len(stack) < depth else None
        return stack[:-1] if stack and stack[-1] == pairs[letter] else None

    return step


def bracket_name(stack: object) -> str:
    if not isinstance(stack, tuple):
        return "sink"
    return "".join(stack) or "empty"
