"""Levels of a cascade as counters: the tile of the last reset, and the product of permutations since then.

The product is a tower of counters, the sections of a series of the level's group. Each layer holds the
counters of one section, and the first layer of a level also the tile. What a letter adds to a counter
depends only on the layers above.
"""

from collections.abc import Callable, Sequence

from krohn.algebra.solvable import CounterTower
from krohn.cascade.holonomy import Cascade, Update
from krohn.recurrent.stack_weights import Action, Cascaded, Value, Values

Residues = tuple[int, ...]
Held = tuple[int, Residues]
"""What a layer holds: the tile of the last reset (in the first layer of a level), and counters."""
Towers = Callable[[list[tuple[int, ...]], int], CounterTower]
"""Makes a tower of the group that permutations of so many tiles generate."""


class Counted:
    """An automaton whose levels count; values are ``Held``, actions ("add", steps) or ("set", tile, 0)."""

    def __init__(self, cascade: Cascade, towers: Towers) -> None:
        levels = [_Level(cascade, level, towers) for level in range(cascade.num_levels)]
        self.layers = [layer for level in levels for layer in level.layers()]
        self.tiles = max((level.size for level in levels if level.layers()[0][0] is not None), default=0)
        self.machine = _machine(cascade, levels)


class _Level:
    """One level: its tower of counters and the tile it starts from."""

    def __init__(self, cascade: Cascade, level: int, towers: Towers) -> None:
        self.size, self.start = cascade.sizes[level], cascade.initial[level]
        updates = set(cascade.transitions[level].values())
        moves = sorted(self.padded(update) for update in updates if isinstance(update, tuple))
        self.tower = towers(moves, self.size)
        self.has_resets = cascade.num_levels > 1 or any(isinstance(update, int) for update in updates)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return max(1, len(self.tower.sections))

    def layers(self) -> list[tuple[int | None, Residues]]:
        """For each layer the tile it starts from, if it holds one, and the moduli of its counters."""
        moduli = [*self.tower.moduli_by_section] or [()]
        keeps = self.has_resets or not self.tower.sections
        return [(self.start if keeps and i == 0 else None, counters) for i, counters in enumerate(moduli)]

    def first(self) -> list[Held]:
        """What its layers hold at the start."""
        return [(self.start if i == 0 else 0, (0,) * len(m)) for i, (_, m) in enumerate(self.layers())]

    def tile(self, held: Sequence[Held]) -> int:
        """The coordinate that its layers encode."""
        residues = tuple(r for _, counters in held for r in counters)
        return self.tower.element(residues)[held[0][0]]

    def changed(self, held: Sequence[Held], update: Update) -> tuple[list[Action], list[Held]]:
        """Actions and values after a permutation of tiles or a reset."""
        if isinstance(update, int):
            after = [(update if i == 0 else 0, (0,) * len(r)) for i, (_, r) in enumerate(held)]
            return [("set", *value) for value in after], after
        actions: list[Action] = []
        after, letter = [], self.padded(update)
        for section, (tile, before) in zip(self.tower.sections, held, strict=False):
            actions.append(("add", section.residues[letter]))
            counters, letter = section.next_letter(before, letter)
            after.append((tile, counters))
        return (actions, after) if actions else ([("add", ())], [*held])

    def padded(self, move: tuple[int, ...]) -> tuple[int, ...]:
        """A permutation of all tile numbers of the level."""
        return (*move, *range(len(move), self.size))


def _machine(cascade: Cascade, levels: Sequence[_Level]) -> Cascaded:
    frame = cascade.skeleton

    def split(values: Values) -> list[list[Held]]:
        result, place = [], 0
        for level in levels:
            result.append([*values[place : place + level.depth]])
            place += level.depth
        return result

    def tiles(values: Values) -> tuple[int, ...]:
        return tuple(level.tile(held) for level, held in zip(levels, split(values), strict=True))

    def step(values: Values, letter: int) -> tuple[tuple[Action, ...], Values]:
        actions: list[Action] = []
        after: list[Value] = []
        target = 0
        for number, (source, held) in enumerate(
            zip(cascade.stages(tiles(values)), split(values), strict=True)
        ):
            level = levels[number]
            active = frame.depth[target] == number
            update = cascade.update(source, letter, target) if active else level.start
            done, new = level.changed(held, update)
            if active:
                target = frame.tiles[target][level.tile(new)]
            actions += done
            after += new
        return tuple(actions), tuple(after)

    start: Values = tuple(value for level in levels for value in level.first())
    return Cascaded(cascade.automaton, start, step, lambda values: cascade.state(tiles(values)))
