"""The search for parts that do not interact: which channels to prove apart, and a witness for each.

Each channel that is read out shows something of the automaton's state. The smallest automaton that shows as
much is what its part must simulate; channels whose automaton is a factor of another's join that part.
"""

import numpy as np

from krohn.check.files.reader import Automaton, Network
from krohn.check.files.witness import Part, Parts
from krohn.check.ground import Array, Integers, Refused, Work, distinct, inside
from krohn.check.transformer.parts import factor_of, slice_of
from krohn.proving.witness.machines import compares_repeating_codes
from krohn.proving.witness.search import WitnessWalk, begin_walk, read_off, walk_through

LEAST, SAVED = 100, 2
"""Transitions of an automaton, and how many times those of all factors together, for a proof by parts."""
GRAIN = 2.0**20


def factors(network: Network, automaton: Automaton) -> list[tuple[Integers, Integers]]:
    """Channels and labels of the states, part by part; none if one machine for all is about as small."""
    states, letters = automaton.table.shape
    ends = np.flatnonzero(network.readout.any(axis=1))
    if states * letters < LEAST or len(ends) < 2:
        return []
    alone = [(end, _minimal(automaton, network.readout[end][automaton.shows])) for end in ends.tolist()]
    parts: list[tuple[list[int], Integers]] = []
    for end, labels in sorted(alone, key=lambda pair: -int(pair[1].max())):
        for channels, finer in parts:
            if len(distinct(np.stack([finer, labels], axis=1))[0]) == finer.max() + 1:
                channels.append(end)
                break
        else:
            parts.append(([end], labels))
    if SAVED * sum(int(labels.max()) + 1 for _, labels in parts) > states:
        return []
    return [(np.array(sorted(channels)), labels) for channels, labels in parts]


def _minimal(automaton: Automaton, shown: Array) -> Integers:
    """A label for each state: the coarsest that follows from label and letter and tells what is shown."""
    labels = np.unique(shown, return_inverse=True)[1].reshape(-1)
    columns = distinct(automaton.table.T)[0]  # letters that act alike say nothing new
    while True:
        finer = labels
        for column in columns:
            finer = np.unique(finer * (labels.max() + 1) + labels[column], return_inverse=True)[1].reshape(-1)
        if finer.max() == labels.max():
            return labels
        labels = finer


def witness_apart(
    network: Network, automaton: Automaton, dtype: str, length: int, budget: Work
) -> tuple[Parts, list[WitnessWalk]] | None:
    """A witness by parts, and how each was found; nothing if there is one part; may raise ``Refused``."""
    found = factors(network, automaton)
    if not found:
        return None
    parts, walks = [], []
    worth = _worth(network, [channels for channels, _ in found])
    for number, ((channels, labels), own) in enumerate(zip(found, worth, strict=True), 1):
        with inside(f"part {number}"):
            cut = slice_of(network, channels, own)
            walk = _walk(cut.network, factor_of(automaton, cut, labels), dtype, length, budget)
        parts.append(Part(channels, own, labels, walk.witness))
        walks.append(walk)
    return Parts(tuple(parts)), walks


def _walk(network: Network, automaton: Automaton, dtype: str, length: int, budget: Work) -> WitnessWalk:
    """The first way through the slice that reads off what the factor shows."""
    refused: Refused | None = None
    walk: WitnessWalk | None = None
    for choices, clock in ((True, True), (False, True), (True, False)):
        # Where the first way chose nothing, the second would be the same.
        differs = choices or (walk is not None and walk.guessed)
        if differs and (clock or compares_repeating_codes(network)):
            try:
                walk = begin_walk(network, dtype, length, budget, clock=clock)
                walk_through(walk, choices=choices)
                read_off(walk, automaton, length)
            except Refused as error:
                refused = refused or error
            else:
                return walk
    raise refused or Refused("no form of proof fits the part")


def _worth(network: Network, parts: list[Integers]) -> list[Array]:
    """What each column of a part adds to the biases of outputs, as nearly as sums of such numbers can."""
    columns = [distinct(network.readout[channels].T)[1] for channels in parts]
    table = np.concatenate([np.eye(int(own.max()) + 1)[own] for own in columns], axis=1)
    found = np.split(
        np.linalg.lstsq(table, network.readout_bias, rcond=None)[0],
        np.cumsum([own.max() + 1 for own in columns])[:-1],
    )
    shift = sum(float(own[0]) for own in found[1:])  # a constant may stand in any part: in the first
    moved = [found[0] + shift, *(own - own[0] for own in found[1:])]
    return [np.rint(own * GRAIN) / GRAIN for own in moved]
