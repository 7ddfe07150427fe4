"""Words that lead to states, and smaller automata: reachable states, congruences, quotient, minimisation."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from krohn.automata.graph import Node, explore
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput


def reachable(automaton: Semiautomaton) -> Semiautomaton:
    """The part reachable from the start, in breadth-first order; unchanged if that is everything."""
    order = reachable_states(automaton)
    if len(order) == automaton.num_states:
        return automaton
    place = np.zeros(automaton.num_states, dtype=np.int32)
    place[order] = np.arange(len(order))
    return renumber(automaton, order, place)


def renumber(automaton: Semiautomaton, chosen: Sequence[int], place: np.ndarray) -> Semiautomaton:
    """The automaton on the ``chosen`` states; ``place[q]`` is the new number of the state for q."""
    observe = automaton.observe
    return Semiautomaton(
        place[automaton.table[chosen]],
        start=int(place[automaton.start]),
        state_names=tuple(automaton.state_names[state] for state in chosen),
        letter_names=automaton.letter_names,
        observe=None if observe is None else tuple(observe[state] for state in chosen),
        name=automaton.name,
        observation_names=automaton.observation_names,
        characters=automaton.characters,
    )


def reachable_states(automaton: Semiautomaton) -> list[int]:
    """The states reachable from the start, in breadth-first order."""
    return explore(automaton.start, automaton.table.tolist().__getitem__)[0]


def words_to_states(
    automaton: Semiautomaton, letters: Sequence[int] | None = None
) -> dict[int, tuple[int, ...]]:
    """A shortest word to every state reachable by these letters, all by default; in breadth-first order."""
    words: dict[int, tuple[int, ...]] = {automaton.start: ()}
    for state in (queue := [automaton.start]):
        for letter in range(automaton.num_letters) if letters is None else letters:
            target = automaton.step(state, letter)
            if target not in words:
                words[target] = (*words[state], letter)
                queue.append(target)
    return words


def word_along(origin: Callable[[Node], tuple[Node, int] | None], node: Node) -> tuple[int, ...]:
    """The letters on the way to a node: ``origin`` gives its parent and a letter, nothing for the first."""
    letters = []
    while (step := origin(node)) is not None:
        node, letter = step
        letters.append(letter)
    return tuple(reversed(letters))


def component_numbers(components: Sequence[Sequence[int]]) -> list[int]:
    """The number of each node's component, for components that hold every node once."""
    numbers = [0] * sum(map(len, components))
    for number, members in enumerate(components):
        for member in members:
            numbers[member] = number
    return numbers


def quotient(automaton: Semiautomaton, classes: Sequence[int]) -> Semiautomaton:
    """The automaton of the classes of a congruence; ``classes[q]`` is the class of state q.

    Classes are renumbered in the order of their first states. A partition that is not a congruence, or
    that joins states with different observations, is refused with the two states that show it.
    """
    if len(classes) != automaton.num_states:
        raise InvalidInput(
            f"there must be one class per state; got {len(classes)} for {automaton.num_states} states"
        )
    number: dict[int, int] = {}
    block = np.array([number.setdefault(label, len(number)) for label in classes], dtype=np.int32)
    leaders = np.unique(block, return_index=True)[1]
    _check_congruence(automaton, block, leaders)
    return renumber(automaton, leaders.tolist(), block)


def difference_word(
    one: Semiautomaton,
    other: Semiautomaton,
    mine: Sequence[object],
    theirs: Sequence[object],
    *,
    empty: bool = True,
) -> tuple[int, ...] | None:
    """A shortest word after which ``mine`` of a state of one is not ``theirs`` of the other's, if any.

    In letters of the first; letters go by their names, which must be the same. The ``empty`` word counts too.
    """
    if set(one.letter_names) != set(other.letter_names):
        raise InvalidInput("automata must have the same letters to be compared on words")
    columns = [other.letter_names.index(name) for name in one.letter_names]
    first = one.start, other.start
    if empty and mine[first[0]] != theirs[first[1]]:
        return ()
    words: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {first: None}
    for pair in (queue := [first]):  # grows during iteration
        for letter, column in enumerate(columns):
            after = one.step(pair[0], letter), other.step(pair[1], column)
            if mine[after[0]] != theirs[after[1]]:
                return (*word_along(words.__getitem__, pair), letter)
            if after not in words:
                words[after] = (pair, letter)
                queue.append(after)
    return None


def forget_observation(automaton: Semiautomaton) -> Semiautomaton:
    """The automaton without its observation map, so that any congruence has a quotient."""
    return Semiautomaton(automaton.table, automaton.start, automaton.state_names, automaton.letter_names)


def _check_congruence(automaton: Semiautomaton, block: np.ndarray, leaders: np.ndarray) -> None:
    images = block[automaton.table]
    wrong = np.argwhere(images != images[leaders[block]])
    if len(wrong):
        state, letter = map(int, wrong[0])
        pair = f"{automaton.state_names[leaders[block[state]]]!r} and {automaton.state_names[state]!r}"
        raise InvalidInput(
            f"classes must form a congruence; {pair} are together, "
            f"but letter {automaton.letter_names[letter]!r} takes them apart"
        )
    if automaton.observe is not None:
        seen = np.array(automaton.observe)
        apart = np.flatnonzero(seen != seen[leaders[block]])
        if len(apart):
            state = int(apart[0])
            pair = f"{automaton.state_names[leaders[block[state]]]!r} and {automaton.state_names[state]!r}"
            raise InvalidInput(f"states of one class must look alike; {pair} have different observations")


def finest_congruence(
    letters: Sequence[Sequence[int]], pairs: Iterable[tuple[int, int]], within: Sequence[int] | None = None
) -> tuple[int, ...]:
    """The finest congruence that joins these pairs, and states of one class of ``within`` too.

    Of permutations it is the least block system (Atkinson's algorithm). Union-find; a union joins the images
    of the two leaders under every letter. Classes are numbered in the order of their first states.
    """
    first: dict[int, int] = {}
    labels = range(len(letters[0])) if within is None else within
    leader = [first.setdefault(label, state) for state, label in enumerate(labels)]

    def find(state: int) -> int:
        while leader[state] != state:
            leader[state] = state = leader[leader[state]]
        return state

    queue, classes = list(pairs), len(first)
    while queue and classes > 1:
        one, other = queue.pop()
        left, right = find(one), find(other)
        if left == right:
            continue
        if right < left:
            left, right = right, left
        leader[right] = left
        classes -= 1
        queue += [(letter[left], letter[right]) for letter in letters]
    number: dict[int, int] = {}
    return tuple([number.setdefault(find(state), len(number)) for state in range(len(leader))])


def coarsest_congruence(automaton: Semiautomaton, colours: Sequence[int]) -> list[int]:
    """The coarsest congruence in which states of one class have one colour (Hopcroft's algorithm).

    Runs in O(|Σ| n log n): each time a class splits, only its smaller half is processed again.
    """
    before = [_inverse(column) for column in automaton.letters]
    groups: dict[int, set[int]] = {}
    for state, colour in enumerate(colours):
        groups.setdefault(colour, set()).add(state)
    blocks = list(groups.values())
    block_of = [0] * automaton.num_states
    for index, block in enumerate(blocks):
        for state in block:
            block_of[state] = index
    waiting = {(index, letter) for index in range(len(blocks)) for letter in range(automaton.num_letters)}
    while waiting:
        index, letter = waiting.pop()
        sources = [source for state in blocks[index] for source in before[letter][state]]
        hit: dict[int, set[int]] = {}
        for source in sources:
            hit.setdefault(block_of[source], set()).add(source)
        for target, inside in hit.items():
            if len(inside) < len(blocks[target]):
                _split(target, inside, blocks, block_of, waiting, automaton.num_letters)
    return block_of


def _split(
    target: int,
    inside: set[int],
    blocks: list[set[int]],
    block_of: list[int],
    waiting: set[tuple[int, int]],
    num_letters: int,
) -> None:
    blocks[target] -= inside
    new = len(blocks)
    # The new class takes the smaller half, so that it alone is queued if the old one is not.
    small, large = sorted((inside, blocks[target]), key=len)
    blocks[target] = large
    blocks.append(small)
    for state in small:
        block_of[state] = new
    # If (target, a) is queued, both halves must be; if not, the smaller half is enough.
    waiting.update((new, letter) for letter in range(num_letters))


def _inverse(column: Sequence[int]) -> list[list[int]]:
    sources: list[list[int]] = [[] for _ in column]
    for source, target in enumerate(column):
        sources[target].append(source)
    return sources


def minimize(automaton: Semiautomaton) -> Semiautomaton:
    """The smallest automaton with the same observations on every word from the start.

    Without an observation map all states are distinct, and only unreachable ones are removed.
    """
    part = reachable(automaton)
    if part.observe is None:
        return part
    return quotient(part, coarsest_congruence(part, part.observe))
