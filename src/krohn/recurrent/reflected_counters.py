"""DeltaNet where counters modulo 2 and 3 suffice: one swap of two points for each letter, without blocks.

The levels of the cascade count (``counted_levels``), here with a layer for each step of a series with
sections C2 and C3. Modulo 2 a letter swaps two points or leaves them. Modulo 3 it must turn three points,
which is two swaps; but −x + c is a single swap of three points. So the layer holds (−1)ᵗ r after t letters,
and a letter that adds s sends x to −x − (−1)ᵗ s. The first layer holds t modulo 2.
"""

from krohn.algebra.solvable import CounterTower, prime_tower
from krohn.cascade.holonomy import Cascade
from krohn.errors import Unsupported
from krohn.recurrent.counted_levels import Counted, Held
from krohn.recurrent.delta_weights import Columns
from krohn.recurrent.stack_weights import Action, Cascaded, Values


def reflected(cascade: Cascade) -> Columns:
    """The cascade's automaton as such layers; refuses groups with sections other than C2 and C3."""
    return _Reflected(Counted(cascade, _tower)).columns()


def _tower(moves: list[tuple[int, ...]], size: int) -> CounterTower:
    tower = prime_tower(moves, size)
    if set(tower.moduli) - {2, 3}:
        raise Unsupported(f"counters modulo 2 and 3 are swaps; a level needs one modulo {max(tower.moduli)}")
    return tower


class _Reflected:
    """Values: the letter count modulo 2 if some counter needs it, then tiles and counters, one per layer."""

    def __init__(self, counted: Counted) -> None:
        self.plain, self.layers = counted.machine, counted.layers
        self.signed = any(3 in moduli for _, moduli in self.layers)
        self.points = max(3 if self.signed else 2, counted.tiles)

    def columns(self) -> Columns:
        """The layers, each with one column."""
        machine = Cascaded(
            self.plain.automaton,
            self.placed(self.plain.start, 0),
            self.step,
            lambda values: self.plain.state(self.held(values)),
        )
        return Columns(machine, self.points)

    def placed(self, held: Values, sign: int) -> Values:
        """Places of the columns for these values of the counting layers and letter count modulo 2."""
        places = [sign] if self.signed else []
        for (start, moduli), (tile, residues) in zip(self.layers, held, strict=True):
            places += [] if start is None else [tile]
            places += [(-r if sign else r) % m for m, r in zip(moduli, residues, strict=True)]
        return tuple((place,) for place in places)

    def held(self, values: Values) -> Values:
        """What the counting layers hold."""
        places = iter([place for (place,) in values])
        sign = next(places) if self.signed else 0
        result: list[Held] = []
        for (start, moduli), (tile, _) in zip(self.layers, self.plain.start, strict=True):
            kept = tile if start is None else next(places)
            result.append((kept, tuple((-next(places) if sign else next(places)) % m for m in moduli)))
        return tuple(result)

    def step(self, values: Values, letter: int) -> tuple[tuple[Action, ...], Values]:
        """What a letter does to all layers, and their values after it."""
        sign = values[0][0] if self.signed else 0
        result = [self.swap(1, 2, sign)] if self.signed else []
        actions, after = self.plain.actions(self.held(values), letter)
        for (start, moduli), (kind, *given) in zip(self.layers, actions, strict=True):
            tiles = 0 if start is None else 1
            if kind == "set":
                result += [("reset", (given[0],))] * tiles + [("reset", (0,))] * len(moduli)
            else:
                result += [self.swap(0, 2, sign)] * tiles
                result += [self.swap(s, m, sign) for s, m in zip(given[0], moduli, strict=True)]
        return tuple(result), self.placed(after, 1 - sign if self.signed else 0)

    def swap(self, added: int, modulus: int, sign: int) -> Action:
        """What adding to a counter does to its places: at most one swap."""
        if modulus == 2:
            images = [(x + added) % 2 for x in range(2)]
        else:
            images = [(-x - (-added if sign else added)) % 3 for x in range(3)]
        return "move", (*images, *range(modulus, self.points))
