"""DeltaNet: every automaton with a single reflection or write for each letter, by more layers.

Letters come in blocks of m. What a block does to a layer of ``delta_weights`` is at most m steps, and it is
done while the next block is read, one step at each letter. So each such layer becomes m + 1 layers: m − 1
slots for what the letters of the block so far do, the *pending* work of the block before, and the places,
which lag behind. The first layers count the letters modulo m in binary; m is a power of two.

Where counters modulo 2 and 3 suffice there are no blocks: the levels of the cascade count
(``CountingMachine``), with a layer for each section C2 or C3. Modulo 2 a letter swaps two points or not.
Modulo 3 it must turn three points, which is two swaps; but −x + c is a single swap of three points. So the
layer holds (−1)ᵗ r after t letters, and a letter that adds s sends x to −x − (−1)ᵗ s. The first layer holds t
modulo 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from krohn.algebra.counters import CounterTower, prime_tower
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import UNITS, Budget
from krohn.cascade.holonomy import Cascade, holonomy_cascade
from krohn.check.recurrent.stacks import DeltaStack
from krohn.errors import LimitExceeded, Unsupported
from krohn.recurrent.delta_weights import Columns, Places, in_columns, move
from krohn.recurrent.small_action import swaps_and_merges
from krohn.recurrent.stack_weights import Action, CountingMachine, Held, LayeredMachine, Values, all_actions


def reflect(cascade: Cascade) -> Columns:
    """The cascade's automaton as such layers; refuses groups with sections other than C2 and C3."""
    return _ReflectionMachine(CountingMachine(cascade, _tower)).columns()


def _tower(moves: list[tuple[int, ...]], size: int) -> CounterTower:
    tower = prime_tower(moves, size)
    if set(tower.moduli) - {2, 3}:
        raise Unsupported(f"counters modulo 2 and 3 are swaps; a level needs one modulo {max(tower.moduli)}")
    return tower


class _ReflectionMachine:
    """Values: the letter count modulo 2 if some counter needs it, then tiles and counters, one per layer."""

    def __init__(self, counted: CountingMachine) -> None:
        self.plain, self.layers = counted.machine, counted.layers
        self.signed = any(3 in moduli for _, moduli in self.layers)
        self.points = max(3 if self.signed else 2, counted.tiles)

    def columns(self) -> Columns:
        """The layers, each with one column."""
        machine = LayeredMachine(
            self.plain.automaton,
            self.place(self.plain.start, 0),
            self.step,
            lambda values: self.plain.state(self.hold(values)),
        )
        return Columns(machine, self.points)

    def place(self, held: Values, sign: int) -> Values:
        """Places of the columns for these values of the counting layers and letter count modulo 2."""
        places = [sign] if self.signed else []
        for (start, moduli), (tile, residues) in zip(self.layers, held, strict=True):
            places += [] if start is None else [tile]
            places += [(-r if sign else r) % m for m, r in zip(moduli, residues, strict=True)]
        return tuple((place,) for place in places)

    def hold(self, values: Values) -> Values:
        """The values of the counting layers."""
        places = iter([place for (place,) in values])
        sign = next(places) if self.signed else 0
        result: list[Held] = []
        for (start, moduli), (tile, _) in zip(self.layers, self.plain.start, strict=True):
            value = tile if start is None else next(places)
            result.append((value, tuple((-next(places) if sign else next(places)) % m for m in moduli)))
        return tuple(result)

    def step(self, values: Values, letter: int) -> tuple[tuple[Action, ...], Values]:
        """What a letter does to all layers, and their values after it."""
        sign = values[0][0] if self.signed else 0
        result = [self.swap(1, 2, sign)] if self.signed else []
        actions, after = self.plain.actions(self.hold(values), letter)
        for (start, moduli), (kind, *given) in zip(self.layers, actions, strict=True):
            tiles = 0 if start is None else 1
            if kind == "set":
                result += [("reset", (given[0],))] * tiles + [("reset", (0,))] * len(moduli)
            else:
                result += [self.swap(0, 2, sign)] * tiles
                result += [self.swap(s, m, sign) for s, m in zip(given[0], moduli, strict=True)]
        return tuple(result), self.place(after, 1 - sign if self.signed else 0)

    def swap(self, added: int, modulus: int, sign: int) -> Action:
        """What adding to a counter does to its places: at most one swap."""
        if modulus == 2:
            images = [(x + added) % 2 for x in range(2)]
        else:
            images = [(-x - (-added if sign else added)) % 3 for x in range(3)]
        return "move", (*images, *range(modulus, self.points))


MAX_WORK = 500
"""Most distinct block actions that a layer may have pending."""
MAX_PLACES = 20_000_000
"""Most places that are moved to find them, for one length of blocks."""


def deltanet(automaton: Semiautomaton) -> DeltaStack:
    """Weights with one step per letter, for words of every length; blocks where counters do not suffice."""
    plain = in_columns(automaton, resets_in_one_step=True)
    if all(len(elementary(action)) <= 1 for layer in all_actions(plain.machine) for action in layer):
        return plain.network()
    try:
        return reflect(holonomy_cascade(automaton, budget=Budget(UNITS))).network()
    except (LimitExceeded, Unsupported):
        return with_one_step(plain).network()


@dataclass(frozen=True)
class _StepLevel:
    """A layer of the plain machine: the actions of letters and of blocks on it."""

    actions: list[Action]
    blocks: list[Action]


def with_one_step(plain: Columns) -> Columns:
    """The same automaton in blocks; unchanged if every action is already one step."""
    block, levels = _blocks(plain)
    if block == 1:
        return plain
    points = max(plain.points, *(max(len(level.actions) + 1, len(level.blocks)) for level in levels))
    blocked = _BlockMachine(plain.machine, block, levels, points)
    machine = LayeredMachine(plain.machine.automaton, blocked.start(), blocked.step, blocked.state)
    return Columns(machine, points)


@dataclass(frozen=True)
class _BlockMachine:
    """The machine in blocks; values: bits of the count, then slots, pending work and places of each level."""

    plain: LayeredMachine
    block: int
    levels: list[_StepLevel]
    points: int

    @property
    def bits(self) -> int:
        return self.block.bit_length() - 1

    @property
    def nothing(self) -> Action:
        return "move", tuple(range(self.points))

    def single(self, place: int) -> Places:
        """A place in a layer with one number to hold: all columns are alike."""
        return (place,) * len(self.plain.start[0])

    def start(self) -> Values:
        """No letter read, nothing pending."""
        values = [self.single(0)] * self.bits
        for places in self.plain.start:
            values += [*([self.single(0)] * self.block), places]
        return tuple(values)

    def state(self, values: Values) -> int:
        """The automaton's state."""
        return self.plain.state(self.catch_up(values))

    def catch_up(self, values: Values) -> Values:
        """The plain machine's values, after the pending work and then the letters of the block so far."""
        result, count = [], self.count(values)
        for number in range(len(self.levels)):
            done, pending, places = self.parts(values, number)
            for action in (*elementary(pending)[count:], *done):
                places = move(places, action)
            result.append(places)
        return tuple(result)

    def count(self, values: Values) -> int:
        """Letters of the block so far."""
        return sum(value[0] << bit for bit, value in enumerate(values[: self.bits]))

    def parts(self, values: Values, number: int) -> tuple[list[Action], Action, Places]:
        """For one level: the actions of the letters read in this block, the pending action, the places."""
        first = self.bits + number * (self.block + 1)
        *slots, pending, places = values[first : first + self.block + 1]
        level = self.levels[number]
        return [level.actions[slot[0] - 1] for slot in slots if slot[0]], level.blocks[pending[0]], places

    def step(self, values: Values, letter: int) -> tuple[tuple[Action, ...], Values]:
        """What a letter does to all layers, and their values after it."""
        count = self.count(values)
        flip: Action = ("move", (1, 0, *range(2, self.points)))
        actions = [flip if (count + 1) % (1 << bit) == 0 else self.nothing for bit in range(self.bits)]
        for number, action in enumerate(self.plain.actions(self.catch_up(values), letter)[0]):
            actions += self.of_level(values, number, action, count)
        return tuple(actions), tuple(map(move, values, actions))

    def of_level(self, values: Values, number: int, action: Action, count: int) -> list[Action]:
        """What a letter does to slots, pending work and places if it does ``action`` to the plain layer."""
        level, last = self.levels[number], count == self.block - 1
        done, pending, _ = self.parts(values, number)
        slots = [self.nothing] * (self.block - 1)
        next_pending = self.nothing
        if last:
            slots = [("reset", self.single(0))] * (self.block - 1)
            next_pending = ("reset", self.single(level.blocks.index(compose_actions((*done, action)))))
        else:
            slots[count] = ("reset", self.single(level.actions.index(action) + 1))
        kind, images = [*elementary(pending), *[self.nothing] * self.block][count]
        padded = images if kind == "reset" else (*images, *range(len(images), self.points))
        return [*slots, next_pending, (kind, padded)]


def block_length(plain: Columns) -> int:
    """Number of letters whose total work is at most one step per letter."""
    return _blocks(plain)[0]


def _blocks(plain: Columns) -> tuple[int, list[_StepLevel]]:
    """The least block length, a power of two, with at most one step per letter; its actions, idle first."""
    result = all_actions(plain.machine)
    # On n points any product of moves is at most n − 1 swaps, and one with a reset is a reset: the loop ends.
    works, block = result, 1
    while any(_work(action) > block for layer in works for action in layer):
        works, block = [_products(layer) for layer in works], 2 * block
    idle: Action = ("move", tuple(range(plain.points)))
    lists = [[idle, *(action for action in layer if action != idle)] for layer in works]
    return block, [_StepLevel(actions, blocks) for actions, blocks in zip(result, lists, strict=True)]


def _products(actions: Sequence[Action]) -> list[Action]:
    found: dict[Action, None] = {}
    most = MAX_PLACES // max(len(images) for _, images in actions)
    for number, pair in enumerate(product(actions, repeat=2)):
        found[compose_actions(pair)] = None
        # As soon as it is: of many letters on many points there are no end of pairs.
        if len(found) > MAX_WORK or number > most:
            raise LimitExceeded(
                f"one step for each letter is built where blocks of letters do at most {MAX_WORK} different "
                "things to a layer; this automaton has more: choose deltaproduct"
            )
    return list(found)


def compose_actions(actions: Sequence[Action]) -> Action:
    """The composition of the actions, in order."""
    kind, images = actions[0]
    for action in actions[1:]:
        kind = "reset" if "reset" in (kind, action[0]) else "move"
        images = move(images, action)
    return kind, images


def _work(action: Action) -> int:
    """How many single steps it takes."""
    return 1 if action[0] == "reset" else len(swaps_and_merges(action[1]))


def elementary(action: Action) -> list[Action]:
    """The action as single steps: swaps of two points, or one reset."""
    kind, images = action
    if kind == "reset":
        return [action]
    steps: list[Action] = []
    for _, i, j in swaps_and_merges(images):
        swap = list(range(len(images)))
        swap[i], swap[j] = j, i
        steps.append(("move", tuple(swap)))
    return steps
