"""The true circuit of a known network: read off the weights, then pruned and tested by interventions.

Three steps. An edge can carry something only if the writer's output matrix and the reader's input matrix
share a channel; that is read off the plain weights, before any rotation. Of these, edges on no path from
input to logits are removed. The rest is pruned by patching: an edge is removed if the answers stay the same
on every pair of words tried when it is patched together with all edges removed before. The circuit is then
run on many more pairs, all edges outside patched at once; pairs on which an answer changes are added to those
tried, and the search restarts. So the circuit is *faithful* (no answer changes on any of these pairs) and
*minimal* (patching any one of its edges too changes some answer; that pair of words is kept).

The search is done in the plain network. A disguise adds edges that carry nothing, so it has the same circuit;
there it is tested, not searched for.

Some edges carry the same value for every word: positions, constants. No interchange can detect them, so they
are not in the circuit; those whose removal breaks the network are listed as ``constant``.
"""

from collections import deque
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch

from krohn.automata.sampling import sample
from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.suite.graph import Flags, Graph
from krohn.lab.suite.patching import EdgeModel, Other, PatchedRun, Words
from krohn.network.gpt2.decoder import Decoder

PAIRS = 128
"""Pairs of words on which edges are tried first; half of them differ in one letter."""
MORE_PAIRS = 2048
"""Pairs on which a circuit must be faithful in the end."""
ROUND = 32
"""Most pairs that are added in one round."""
CHUNK = 256
"""Pairs that are run at once."""
PART = 16
"""Pairs on which an edge is tried at once."""
MORE_SEED = 500_009
"""Added to the seed of the first pairs."""


@dataclass(frozen=True)
class CircuitProof:
    """A pair of words and a letter at which patching one edge changes the answer."""

    edge: str
    word: tuple[int, ...]
    other: tuple[int, ...]
    letter: int
    before: int
    after: int


@dataclass(frozen=True, eq=False)
class Truth:
    """The circuit, and its evidence.

    Attributes:
        kept: the edges of the circuit.
        shared: edges whose ends share a channel, on some path from input to logits.
        proofs: for each edge of the circuit a pair of words on which it matters.
        constant: edges outside whose content never varies and whose removal changes an answer.
        pairs: pairs of words that were tried.
        drift: the largest change of a logit when all edges outside are patched.
    """

    graph: Graph
    kept: Flags
    shared: Flags
    proofs: tuple[CircuitProof, ...]
    constant: tuple[str, ...]
    pairs: int
    drift: float


def shared_channels(decoder: Decoder) -> Flags:
    """[reader, writer]: whether they share a channel, in a decoder that is not rotated."""
    graph, tensors = Graph(decoder.layers, decoder.heads, decoder.dim), decoder.tensors
    embedded = (tensors["transformer.wte.weight"] != 0).any(axis=0)
    writes = [embedded | (tensors["transformer.wpe.weight"] != 0).any(axis=0)]
    reads = []
    for layer in range(decoder.layers):
        name, heads, width = f"transformer.h.{layer}", decoder.heads, decoder.width
        into = tensors[f"{name}.attn.c_attn.weight"].reshape(-1, 3, heads, width) != 0
        output = tensors[f"{name}.attn.c_proj.weight"].reshape(heads, width, -1) != 0
        values = tensors[f"{name}.attn.c_attn.weight"].reshape(-1, 3, heads, width)[:, 2] != 0
        gain = _gain(decoder, f"{name}.ln_1")
        for part in range(3):
            reads += [into[:, part, head].any(axis=1) & gain for head in range(heads)]
        used = values.any(axis=0)[..., None] & output  # a value that is always 0 writes nothing
        writes += list(used.any(axis=1))
        reads.append((tensors[f"{name}.mlp.c_fc.weight"] != 0).any(axis=1) & _gain(decoder, f"{name}.ln_2"))
        writes.append((tensors[f"{name}.mlp.c_proj.weight"] != 0).any(axis=0))
    states = list(decoder.vocabulary.states)
    reads.append((tensors["lm_head.weight"][states] != 0).any(axis=0) & _gain(decoder, "transformer.ln_f"))
    out: Flags = (np.array(reads, dtype=np.float64) @ np.array(writes, dtype=np.float64).T) > 0
    return out & graph.possible


def _gain(decoder: Decoder, name: str) -> Flags:
    """The channels that pass a LayerNorm at all."""
    out: Flags = decoder.tensors[f"{name}.weight"] != 0
    return out


def word_pairs(automaton: Semiautomaton, length: int, many: int, seed: int) -> tuple[Words, Words]:
    """Words, and for each another one: half are drawn independently, half differ in a single letter."""
    words = sample(automaton, length=length, count=many, seed=seed).letters.astype(np.int64)
    others = sample(automaton, length=length, count=many, seed=seed + 1).letters.astype(np.int64)
    rng = np.random.default_rng([seed, 1])
    half = many // 2
    single = words[:half].copy()
    place, shift = rng.integers(length, size=half), rng.integers(1, max(2, automaton.num_letters), size=half)
    rows = np.arange(half)
    single[rows, place] = (single[rows, place] + shift) % automaton.num_letters
    others[:half] = single
    return words, others


class PruningTrial:
    """Pairs of words, run once, on which circuits are tested."""

    def __init__(self, model: EdgeModel, words: Words, others: Words) -> None:
        self.model, self.words, self.others = model, words, others
        with torch.no_grad():
            self.clean, self.other = model.run(words), model.run(others)
        self.answers = self.clean.answers

    def parts(self, size: int) -> "list[PruningTrial]":
        """The same pairs, some at a time."""
        starts = range(0, len(self.words), size)
        sides = self.words, self.others
        return [PruningTrial(self.model, *(side[at : at + size] for side in sides)) for at in starts]

    def run(self, kept: Flags) -> PatchedRun:
        """A run with all other edges patched from the other word."""
        with torch.no_grad():
            return self.model.run(self.words, Other(kept, self.other.written), clean=self.clean)

    def without(self, kept: Flags) -> PatchedRun:
        """A run with all other edges ablated to zero."""
        with torch.no_grad():
            nothing = [torch.zeros_like(part) for part in self.other.written]
            return self.model.run(self.words, Other(kept, nothing), clean=self.clean)

    def change(self, kept: Flags) -> tuple[int, int, int] | None:
        """The first pair and letter whose answer changes, and the answer then; earliest letter first."""
        answers = self.run(kept).answers
        places = (answers != self.answers).T.nonzero()
        if not len(places):
            return None
        letter, row = places[0].tolist()
        return row, letter, int(answers[row, letter])


@dataclass(frozen=True, eq=False)
class CircuitSearch:
    """The circuit's edges, the pairs of words used in the search, further pairs, and those that it fails."""

    names: tuple[str, ...]
    words: Words
    others: Words
    more: tuple[Words, Words]
    wrong: Words


def search(
    plain: Decoder,
    automaton: Semiautomaton,
    *,
    seed: int,
    pairs: int = PAIRS,
    more: int = MORE_PAIRS,
    rounds: int | None = None,
) -> CircuitSearch:
    """The circuit of a network that is not rotated; after ``rounds`` it may fail on some ``more`` pairs."""
    model = EdgeModel(plain)
    shared = model.graph.prune(shared_channels(plain))
    words, others = word_pairs(automaton, plain.length, pairs, seed)
    held = word_pairs(automaton, plain.length, more, seed + MORE_SEED)
    # Pruned anew each time: an edge that few pairs need is easily cut before a pair that needs it is known.
    for tried in count(1):
        kept = _cut_down(model.graph, shared, PruningTrial(model, words, others))
        wrong = unfaithful(model, kept, held)
        if not len(wrong) or tried == rounds:
            return CircuitSearch(tuple(model.graph.names_of(kept)), words, others, held, wrong)
        words, others = (
            np.concatenate([side, more_of[wrong[:ROUND]]])
            for side, more_of in zip((words, others), held, strict=True)
        )
    raise AssertionError("a search ends")


def unfaithful(model: EdgeModel, kept: Flags, pairs: tuple[Words, Words]) -> Words:
    """Indices of the pairs of words with an answer that changes when all other edges are patched."""
    wrong = []
    for start in range(0, len(pairs[0]), CHUNK):
        trial = PruningTrial(model, *(side[start : start + CHUNK] for side in pairs))
        changed = (trial.run(kept).answers != trial.answers).any(dim=1)
        wrong.append(start + np.flatnonzero(changed.numpy()))
    return np.concatenate(wrong)


def truth_of(plain: Decoder, decoder: Decoder, search: CircuitSearch) -> Truth:
    """The circuit of ``decoder``, which computes as ``plain`` does but may be rotated."""
    model = EdgeModel(decoder)
    graph = model.graph
    kept = graph.flags_of(search.names)
    if len(unfaithful(model, kept, search.more)):
        raise AssertionError("a disguise must leave the circuit faithful")
    trial = PruningTrial(model, search.words, search.others)
    proofs = tuple(_proof(graph, kept, trial, name) for name in search.names)
    drift = float((trial.run(kept).logits - trial.clean.logits).abs().max())
    shared = graph.prune(shared_channels(plain))
    tried = len(search.words) + len(search.more[0])
    return Truth(graph, kept, shared, proofs, _constants(graph, kept, shared, trial), tried, drift)


def _cut_down(graph: Graph, shared: Flags, trial: PruningTrial) -> Flags:
    """Prunes edges, later ones first: removing what the last readers do not need frees earlier edges.

    Pairs of words that showed a change last are tried first: most edges that matter show it there again.
    """
    kept, parts = shared.copy(), deque(trial.parts(PART))

    def changes(fewer: Flags) -> bool:
        for number, part in enumerate(parts):
            if part.change(fewer) is not None:
                parts.rotate(-number)
                return True
        return False

    if changes(kept):
        raise AssertionError("an edge without a common channel changes an answer")
    changed = True
    while changed:
        changed = False
        for place in reversed([place for place in graph.edges.values() if kept[place]]):
            if not kept[place]:
                continue
            fewer = kept.copy()
            fewer[place] = False
            fewer = graph.prune(fewer)
            if not changes(fewer):
                kept, changed = fewer, True
    return kept


def _proof(graph: Graph, kept: Flags, trial: PruningTrial, name: str) -> CircuitProof:
    fewer = kept.copy()
    fewer[graph.edges[name]] = False
    result = trial.change(fewer)
    assert result is not None, "an edge of a minimal circuit matters"
    row, letter, after = result
    word, other = (tuple(side[row].tolist()) for side in (trial.words, trial.others))
    return CircuitProof(name, word, other, letter, int(trial.answers[row, letter]), after)


def _constants(graph: Graph, kept: Flags, shared: Flags, trial: PruningTrial) -> tuple[str, ...]:
    """Edges outside that carry the same value for both words of every pair, but cannot be removed."""
    same = [bool(torch.equal(a, b)) for a, b in zip(trial.clean.written, trial.other.written, strict=True)]
    result = []
    for name, (reader, writer) in graph.edges.items():
        if shared[reader, writer] and not kept[reader, writer]:
            alone = np.ones_like(kept)
            alone[reader, writer] = False
            changed = bool((trial.without(alone).answers != trial.answers).any())
            if changed and (same[writer] or trial.change(alone) is None):
                result.append(name)
    return tuple(result)
