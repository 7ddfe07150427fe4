"""What the paper's network of a solvable group computes, as a program: the wreath products of Theorem 2.

The construction writes matrices, not a program. Here the same steps are written as operations on registers,
so that the network has a causal model. A group element is a vector of residues, from an embedding into wreath
products N ≀ C_p: p vectors of N, the function f, then the residue k in C_p. A prefix product takes four
stages: count k; turn f by k; take the prefix products of N in each of the p vectors; turn back. The last
layer reads the state off.
"""

from dataclasses import replace
from itertools import product

from krohn.algebra.counters import CounterTower, prime_tower
from krohn.cascade.holonomy import holonomy_cascade
from krohn.network.compiled import CompiledNetwork
from krohn.network.operations import Modulo, PositionMap, PrefixSum, Table
from krohn.network.program import Meaning, Program, ProgramLayer, Readout, Register, RegisterKind, Source
from krohn.paper.component_cascade import ComponentCascade, component_cascade

STATE = "state"
Block = list[int]
"""Components of the group vector: those of f, then k."""


def with_program(network: CompiledNetwork) -> CompiledNetwork:
    """The network with the program of its steps, where it is the paper's and its cascade is one group."""
    if network.program is not None or network.method != "paper" or network.automaton.target != "state":
        return network
    whole = component_cascade(holonomy_cascade(network.automaton))
    if len(whole.components) != 1 or whole.components[0].has_resets:
        return network
    heads = tuple(
        tuple(replace(head, operations=(number,)) for number, head in enumerate(layer))
        for layer in network.layout.heads
    )
    layout = replace(network.layout, heads=heads, registers=())
    return replace(network, program=_Writer(whole, network.automaton.num_states).program(), layout=layout)


class _Writer:
    """Writes the layers in order; ``now`` is the register that holds each component of the vector."""

    def __init__(self, whole: ComponentCascade, states: int) -> None:
        (part,) = whole.components
        self.whole, self.part, self.states = whole, part, states
        self.tower: CounterTower = prime_tower(part.permutations, part.states)
        self.registers: list[Register] = []
        self.layers: list[ProgramLayer] = []
        width = len(next(iter(self.tower.vectors.values())))
        self.sizes = [max(code[i] for code in self.tower.vectors.values()) + 1 for i in range(width)]
        letters = [Meaning("group letter", group=0, number=i) for i in range(width)]
        self.now = [self._register(each, size) for each, size in zip(letters, self.sizes, strict=True)]
        self.letters = tuple(self.now)
        self._products([list(range(width))], len(self.tower.sections))
        self._read_off()

    def _register(self, meaning: Meaning, size: int, kind: RegisterKind = "integer") -> str:
        self.registers.append(Register.holding(meaning, 0, size - 1, kind))
        return meaning.name

    def _meaning(self, kind: str, coordinate: int, *, last: bool = False) -> Meaning:
        """As the network's layout calls what this layer writes; ``last``: no layer writes it again."""
        if last:
            return Meaning("component coordinate", number=0, start=coordinate)
        return Meaning(f"group {kind}", group=0, number=coordinate, start=len(self.layers) + 1)

    def _products(self, blocks: list[Block], height: int) -> None:
        """Prefix products of the subgroup of this height, in each block."""
        prime = self.tower.moduli[-height]
        self._count([block[-1] for block in blocks], prime)
        if height > 1:
            self._turn(blocks, prime, 1)
            inner = [part for block in blocks for part in _copies(block, prime)]
            self._products(inner, height - 1)
            self._turn(blocks, prime, -1)

    def _count(self, components: list[int], prime: int) -> None:
        """Counters: a head adds up, the MLP takes the residue."""
        heads, maps = list[PrefixSum](), list[PositionMap]()
        for i in components:
            total = self._register(self._meaning("sum", i), prime, "wide")
            residue = self._register(self._meaning("product", i, last=len(components) == 1), prime)
            heads.append(PrefixSum((self.now[i],), (total,)))
            maps.append(Modulo(((total, 1),), 0, prime, residue))
            self.now[i] = residue
        self.layers.append(ProgramLayer(tuple(heads), tuple(maps)))

    def _turn(self, blocks: list[Block], prime: int, sign: int) -> None:
        """f(x) ↦ f(x + sign·k) in each block; nothing is attended to."""
        maps = list[PositionMap]()
        for block in blocks:
            function, width = block[:-1], len(block) - 1
            rows = [
                (given, tuple(given[(x + sign * given[-1] * width // prime) % width] for x in range(width)))
                for given in product(*(range(self.sizes[i]) for i in function), range(prime))
            ]
            inputs = tuple(self.now[i] for i in block)
            for i in function:
                turned = self._meaning("turned", i, last=len(blocks) == 1 and sign < 0)
                self.now[i] = self._register(turned, self.sizes[i])
            maps.append(Table(inputs, tuple(self.now[i] for i in function), tuple(rows)))
        self.layers.append(ProgramLayer((), tuple(maps)))

    def _read_off(self) -> None:
        self._register(Meaning("state"), self.states)
        start = self.part.initial
        rows = tuple((code, (self.whole.state[g[start],],)) for g, code in self.tower.vectors.items())
        self.layers.append(ProgramLayer((), (Table(tuple(self.now), (STATE,), rows),)))

    def program(self) -> Program:
        """The program; letters bring their vectors, the beginning brings that of the identity."""
        actions = [row[0] for (before, _), row in self.whole.moves.items() if before == self.whole.initial]
        codes = [self.tower.vectors[a] for a in actions if isinstance(a, tuple)]
        sources = tuple(
            Source(name, tuple(code[i] for code in codes), (0,)) for i, name in enumerate(self.letters)
        )
        reached = set(self.whole.state.values())
        known = tuple((q,) if q in reached else None for q in range(self.states))
        return Program(tuple(self.registers), sources, tuple(self.layers), Readout((STATE,), known))


def _copies(block: Block, prime: int) -> list[Block]:
    """The p vectors of N in a block."""
    step = (len(block) - 1) // prime
    return [block[x * step : (x + 1) * step] for x in range(prime)]
