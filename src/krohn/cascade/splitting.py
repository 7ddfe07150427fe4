"""Smaller automata inside an automaton (fibres, completions), and merged classes.

This module only proposes; the plan nodes check.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from krohn.automata.graph import strong_components
from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.cascade.congruences import Partition
from krohn.cascade.skeleton import Permutation, SetClass, Skeleton, tile_moves

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
        for block in queue:
            sources = sorted(members[block], key=labels.__getitem__)
            for letter in automaton.letters:
                images = [letter[state] for state in sources]
                target = members[blocks[images[0]]]
                if len(set(images)) < len(images) or all(labels[state] >= 0 for state in target):
                    continue
                if all(labels[state] < 0 for state in target):
                    queue.append(blocks[images[0]])
                    for state, image in zip(sources, images, strict=True):
                        labels[image] = labels[state]
                _number(images, target, labels)
        for block in queue:
            _number(members[block], members[block], labels)
    return tuple(labels)


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


# Merging classes whose tiles correspond: fewer levels, at the price of larger groups.
#
# If every letter that leads from a set P of class A to a set of class B carries the tiles of P one to one
# onto the tiles of P·a, the two classes can share one coordinate: the crossing becomes a permutation of
# tile numbers and no longer forces B below A. (Sets of equal size are the usual case, not the only one.)
# The group of the merged component is generated by the old groups and the crossings; it may have elements
# that no word realises, which is harmless as long as it is solvable. The covering of the result is proved
# like that of any cascade.


Crossing = tuple[int, int]


def mergeable(frame: Skeleton) -> list[Crossing]:
    """Pairs of classes that a letter connects, and only by bijections of tiles; equal sizes first."""
    good: dict[Crossing, bool] = {}
    for row in frame.images:
        for source, target in enumerate(row):
            pair = (frame.class_of[source], frame.class_of[target])
            if pair[0] != pair[1] and min(pair) >= 0 and good.get(pair, True):
                good[pair] = _tiles_correspond(frame, row, source)
    sizes = [frame.masks[part.representative].bit_count() for part in frame.classes]
    return sorted(
        (pair for pair, onto in good.items() if onto),
        key=lambda pair: (sizes[pair[0]] != sizes[pair[1]], pair),
    )


def _tiles_correspond(frame: Skeleton, row: Sequence[int], source: int) -> bool:
    """Whether a letter carries the tiles of a set one to one onto the tiles of its image."""
    tiles, goal = frame.tiles[source], frame.tiles[row[source]]
    return len(tiles) == len(goal) and {row[tile] for tile in tiles} == set(goal)


def merge_classes(frame: Skeleton, groups: Sequence[Sequence[int]]) -> Skeleton | None:
    """The skeleton with each group of classes merged into one; None if that is impossible.

    Impossible: a crossing inside a group that is not a bijection of tiles, a group that crossings do not
    connect, a tile in the group of its own set, or a path that leaves a group and returns.
    """
    label = {old: new for new, group in enumerate(groups) for old in group}
    tiles = list(frame.tiles)
    for group in groups:
        if len(group) > 1 and not _renumber_tiles(frame, group, tiles):
            return None
    levels = _levels(frame, label, len(groups))
    if levels is None:
        return None
    order = sorted(range(len(groups)), key=lambda new: (levels[new], new))
    place = {new: position for position, new in enumerate(order)}
    class_of = [place[label[old]] if old >= 0 else -1 for old in frame.class_of]
    num_levels = max(levels, default=-1) + 1
    depth = [levels[label[old]] if old >= 0 else num_levels for old in frame.class_of]
    draft = replace(
        frame, class_of=class_of, depth=depth, tiles=tiles, num_levels=num_levels, classes=(),
        parent=[None if old < 0 or len(groups[label[old]]) > 1 else parent
                for old, parent in zip(frame.class_of, frame.parent, strict=True)],
    )  # fmt: skip
    classes = tuple(
        _merge_class(draft, frame, position, levels[new], groups[new]) for position, new in enumerate(order)
    )
    return replace(draft, classes=classes)


def _merge_class(draft: Skeleton, frame: Skeleton, number: int, level: int, group: Sequence[int]) -> SetClass:
    parts = [frame.classes[old] for old in group]
    if len(parts) == 1:
        return replace(parts[0], number=number, level=level)
    members = tuple(member for part in parts for member in part.members)
    generators: dict[Permutation, Crossing] = {}
    for move, origin in tile_moves(draft.images, draft.tiles, draft.class_of, number, members):
        generators.setdefault(move, origin)
    return SetClass(number, level, members, draft.tiles[members[0]], generators, True)


def _renumber_tiles(frame: Skeleton, group: Sequence[int], tiles: list[tuple[int, ...]]) -> bool:
    """Propagates one numbering of tiles through a whole group, along letters and their inverses."""
    members = [member for old in group for member in frame.classes[old].members]
    inside = set(members)
    before: dict[int, list[Crossing]] = {member: [] for member in members}
    for letter, row in enumerate(frame.images):
        for member in members:
            if row[member] in inside:
                if not _tiles_correspond(frame, row, member):
                    return False
                before[row[member]].append((member, letter))
    queue = [members[0]]
    seen = {members[0]}
    for current in queue:
        for row in frame.images:
            target = row[current]
            if target in inside and target not in seen:
                tiles[target] = tuple([row[tile] for tile in tiles[current]])
                seen.add(target)
                queue.append(target)
        for source, letter in before[current]:
            if source not in seen:
                back: Mapping[int, int] = {frame.images[letter][tile]: tile for tile in frame.tiles[source]}
                tiles[source] = tuple([back[tile] for tile in tiles[current]])
                seen.add(source)
                queue.append(source)
    return len(seen) == len(members)


def _levels(frame: Skeleton, label: Mapping[int, int], count: int) -> list[int] | None:
    """Longest paths between the merged classes; None if there is a cycle or a tile beside its set."""
    below: list[set[int]] = [set() for _ in range(count)]
    for part in frame.classes:
        source = label[part.number]
        targets = {frame.class_of[tile] for member in part.members for tile in frame.tiles[member]}
        if any(label[target] == source for target in targets if target >= 0):
            return None  # a tile must lie below its set
        targets.update(frame.class_of[row[member]] for row in frame.images for member in part.members)
        below[source].update(label[target] for target in targets if target >= 0)
        below[source].discard(source)
    components = strong_components([list(targets) for targets in below])
    if len(components) < count:
        return None
    levels = [0] * count
    for (index,) in reversed(components):  # every edge leads to a later one
        for target in below[index]:
            levels[target] = max(levels[target], levels[index] + 1)
    return levels
