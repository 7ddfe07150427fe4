"""The search for a witness: step by step through the network, heads by the rule they follow.

The search may use any heuristic: the checker trusts none of it.
"""

from dataclasses import replace

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.arithmetic.format import FORMATS
from krohn.check.files.reader import Automaton, Network, network_of, stored
from krohn.check.files.witness import (
    Layered,
    Step,
    Tabulate,
    assert_moderate,
)
from krohn.check.ground import Real, Work, inside, require
from krohn.check.transformer.checker import SCAN_WORK, embed, follow_step
from krohn.check.transformer.mlp import Block, Strand, decode, simulate, tabulate
from krohn.check.transformer.stream import Moment, Setting
from krohn.network.transformer import Transformer
from krohn.proving.witness.head_search import attention_step
from krohn.proving.witness.machines import (
    Numbers,
    live_channels,
    merge_alike,
    middle,
    tabulate_step,
)


def checkable(network: Transformer, automaton: Semiautomaton) -> tuple[Network, Automaton]:
    """The same matrices and table for the checker, which reads nothing else."""
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.layers]
    return network_of(network.tensors(), shape, "causal"), checkable_table(automaton)


def checkable_table(automaton: Semiautomaton) -> Automaton:
    """Table and outputs alone, without names."""
    shows = np.array(automaton.outputs, dtype=np.int64)
    return Automaton(np.asarray(automaton.table, dtype=np.int64), automaton.start, shows)


GRAIN, NEAR = 2.0**10, 2.0**-12


def begin_walk(
    network: Network, dtype: str, length: int, budget: Work, *, rough: bool = False, clock: bool = True
) -> "WitnessWalk":
    """The claim about embedded letters, from which the search sets out."""
    require(len(network.padding) > 0, "the proof starts from a padding position; there is none")
    fmt = FORMATS[dtype]
    with np.errstate(all="ignore"):
        held = stored(network, fmt)
        walk = WitnessWalk(Setting(fmt, budget), held, embed(held, length, fmt, clock=clock))
    walk.clock, walk.rough = clock, rough
    return walk


def walk_through(walk: "WitnessWalk", *, choices: bool = True) -> None:
    """Searches a witness for the layer-by-layer proof; raises ``Refused`` where the checker would."""
    held, live = walk.network, live_channels(walk.network)
    with np.errstate(all="ignore"):
        # Each step multiplies the states by what it remembers. Merging after each by what is read later
        # keeps the machine near the size of the automaton's.
        walk.take(merge_alike(walk.moment, live[0]))
        for number, layer in enumerate(held.layers):
            if 2 * number < walk.done:
                continue
            with inside(f"layer {number + 1}", number + 1):
                walk.take(attention_step(walk.moment, layer, live[2 * number + 2]), moment=True)
                walk.take(merge_alike(walk.moment, live[2 * number + 1]))
                step = tabulate_step(walk.moment, layer, walk.setting.budget, choices=choices)
                walk.guessed |= step.lift.follow.shape[1] > walk.moment.machine.follow.shape[1]
                walk.take(step, moment=True)
                walk.take(merge_alike(walk.moment, live[walk.done]))
    walk.complete = True


def read_off(walk: "WitnessWalk", table: Automaton, length: int) -> None:
    """The end of a proof: every class decodes, and the machine agrees with the automaton."""
    setting = replace(walk.setting, budget=Work(SCAN_WORK))
    with np.errstate(all="ignore"), inside("read-out", len(walk.network.layers) + 1):
        states, _ = decode(setting, walk.moment, walk.network)
        simulate(setting, walk.moment.machine, states, table, length)


class WitnessWalk:
    """The claim so far, and the steps that led to it."""

    def __init__(self, setting: Setting, network: Network, moment: Moment) -> None:
        self.setting, self.network, self.moment = setting, network, moment
        self.steps: list[Step] = []
        self.moments = [moment]
        self.done, self.guessed, self.clock, self.rough = 0, False, True, False
        self.complete, self.alike = False, False

    @property
    def witness(self) -> Layered:
        """The witness for the checker."""
        return Layered(tuple(self.steps), self.clock, self.alike)

    def take(self, step: Step, *, moment: bool = False) -> None:
        """Takes the checker's own step: its boxes guide the rest of the search."""
        assert_moderate([*self.steps, step], len(self.moment.wide))
        if self.rough and isinstance(step, Tabulate):
            # An export's LayerNorm widens every box; its middles still say which machine to propose.
            layer = self.network.layers[self.done // 2]
            self.moment, self.done = tabulate(Middles(self.setting, self.moment, step), layer), self.done + 1
        else:
            self.moment, self.done = follow_step(self.setting, self.network, self.moment, step, self.done)
        if self.rough:
            self.moment = without_errors(self.moment)
        self.steps.append(step)
        if moment:
            self.moments.append(self.moment)


class Middles(Block):
    """For the search alone: MLPs run on the middles of boxes."""

    def evaluate(self, strand: Strand, inputs: Real) -> Real:
        """The outputs in plain float64."""
        values = strand.passed(Numbers(strand.place), middle(inputs))
        return Real(values, values)


def without_errors(moment: Moment) -> Moment:
    """For the search alone: the middles of boxes, rounded to short numbers where they are close to one.

    Sums of short numbers are exact, so they do not widen the boxes of the checker's steps.
    """

    def meant(box: Real) -> Real:
        value = middle(box)
        short = np.rint(value * GRAIN) / GRAIN
        value = np.where(np.abs(short - value) <= NEAR, short, value)
        return Real(value, value)

    return replace(moment, box=meant(moment.box), pads=meant(moment.pads))
