"""A congruence as two automata: that of its blocks, and one inside all blocks that they drive.

The states of a block get *places*, so that inside each block a letter is a map of places. Such a map is
partial: blocks have different sizes, and a letter may lead out of what is looked at. It is completed in the
way that makes the least of it, a constant or a permutation where it can be.
"""

from collections.abc import Sequence

from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.cascade.congruences import Partition

FREE = -1  # an undefined entry of a partial map


def block_labels(automaton: Semiautomaton, blocks: Partition) -> tuple[int, ...]:
    """A place for every state inside its block, carried from block to block by injective letters.

    A letter keeps the places of its block where they are free in the next; otherwise the states get the
    next free places in the same order, so that equal structure below gets equal places.
    """
    members: list[list[int]] = [[] for _ in range(max(blocks) + 1)]
    for state, block in enumerate(blocks):
        members[block].append(state)
    labels: list[int] = [-1] * automaton.num_states
    for root in sorted(range(len(members)), key=lambda block: (len(members[block]), block)):
        if labels[members[root][0]] >= 0:
            continue
        _number(members[root], members[root], labels)
        queue = [root]
        for block in queue:  # grows during iteration
            sources = sorted(members[block], key=labels.__getitem__)
            for letter in automaton.letters:
                images = [letter[state] for state in sources]
                queue += _carry(sources, images, members[blocks[images[0]]], blocks, labels)
        for block in queue:
            _number(members[block], members[block], labels)
    return tuple(labels)


def _carry(
    sources: Sequence[int],
    images: Sequence[int],
    target: Sequence[int],
    blocks: Partition,
    labels: list[int],
) -> list[int]:
    """Places the images of a block in their block ``target``; that block, if it had no places before.

    A letter that is not injective, or leads to a block whose states all have places, changes nothing.
    """
    fresh = all(labels[state] < 0 for state in target)
    if len(set(images)) < len(images) or all(labels[state] >= 0 for state in target):
        return []
    if fresh:
        for state, image in zip(sources, images, strict=True):
            labels[image] = labels[state]
    _number(images, target, labels)
    return [blocks[images[0]]] if fresh else []


def _number(states: Sequence[int], block: Sequence[int], labels: list[int]) -> None:
    """Gives each state without a place the least free place of its block."""
    taken = {labels[state] for state in block}
    free = (place for place in range(len(block) + len(taken)) if place not in taken)
    for state in states:
        if labels[state] < 0:
            labels[state] = next(free)


def driven_maps(
    automaton: Semiautomaton, blocks: Partition, labels: Sequence[int]
) -> tuple[list[Transformation], tuple[tuple[int, ...], ...]]:
    """The distinct partial maps of places (−1: not in the block), and which one each (block, letter) uses."""
    number: dict[Transformation, int] = {}
    drive = []
    for block in range(max(blocks) + 1):
        states = [state for state in range(automaton.num_states) if blocks[state] == block]
        row = []
        for letter in automaton.letters:
            partial = [FREE] * (max(labels) + 1)
            for state in states:
                partial[labels[state]] = labels[letter[state]]
            row.append(number.setdefault(tuple(partial), len(number)))
        drive.append(tuple(row))
    return list(number), tuple(drive)


def complete(partial: Sequence[int]) -> Transformation:
    """Extends a partial map to a total one: constant if possible, a permutation if it is injective.

    Of any other map the free places that are images stay, and the rest go to the first image.
    """
    values = set(partial) - {FREE}
    if len(values) == 1:
        return tuple([min(values)] * len(partial))
    if len(values) == len(partial) - partial.count(FREE):
        return _permutation(partial)
    first = min(values)
    filling = [place if place in values else first for place in range(len(partial))]
    return tuple([own if value == FREE else value for own, value in zip(filling, partial, strict=True)])


def _permutation(partial: Sequence[int]) -> Transformation:
    """Closes each path of an injective partial map into a cycle."""
    back = {value: place for place, value in enumerate(partial) if value != FREE}
    result = list(partial)
    for place, value in enumerate(partial):
        if value == FREE:
            start = place
            while start in back:
                start = back[start]
            result[place] = start
    return tuple(result)


def without_sink(automaton: Semiautomaton, sink: int) -> tuple[tuple[int, ...], Semiautomaton]:
    """The states except the sink, and a total automaton on them, arbitrary where a letter leads to the sink.

    Letters that never contradict each other are merged first, so that each borrows the others' moves.
    """
    states = tuple(state for state in range(automaton.num_states) if state != sink)
    place = {state: index for index, state in enumerate(states)}
    partial = [[place.get(letter[state], FREE) for state in states] for letter in automaton.letters]
    united: list[list[int]] = []
    for row in partial:
        union = list(row)
        for other in partial:
            if all(FREE in (a, b) or a == b for a, b in zip(union, other, strict=True)):
                union = [b if a == FREE else a for a, b in zip(union, other, strict=True)]
        united.append(union)
    letters = [complete(row) for row in united]
    inner = Semiautomaton.from_letters(
        letters,
        start=place.get(automaton.start, 0),
        state_names=tuple(automaton.state_names[state] for state in states),
        letter_names=automaton.letter_names,
    )
    return states, inner
