"""The second opinion: every word up to a length, run on the real network, independently of the proof."""

from dataclasses import dataclass

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic
from krohn.certify.certificate import Counterexample, SecondOpinion
from krohn.certify.word_tree import Subtree, outputs_below, prefixes
from krohn.network.transformer import Transformer

MAX_WORDS = 10**6
MAX_WORK = 5 * 10**10
"""Multiplications that the run may cost: two to six seconds."""
PER_SCORE = 250
"""What scoring one position costs, in multiplications of a large matrix product: small ones are slow."""
PER_UNIT, PER_MATRIX = 40, 400
FACTORS = {"float32": 1, "float64": 2, "float16": 8, "bfloat16": 8}
"""What a format costs beside float32; rounding to half types is done in software."""


@dataclass(frozen=True)
class _Errors:
    """What one subtree showed: the earliest wrong prefix, and how many of its words have an error."""

    found: Counterexample | None
    words: int
    wrong: int


def exhaustive(
    network: Transformer, automaton: Semiautomaton, arith: Arithmetic, length: int, max_work: float = MAX_WORK
) -> tuple[SecondOpinion, Counterexample | None]:
    """All words of the largest length that fits; they contain all shorter ones as beginnings."""
    longest, why = _longest(network, automaton.num_letters, arith, length, max_work)
    if longest == 0:
        return SecondOpinion(0, 0, 0, why), None
    with np.errstate(all="ignore"):
        parts = [
            _errors(automaton, outputs_below(network, prefix, below, arith))
            for prefix, below in prefixes(automaton.num_letters, longest)
        ]
    found = [part.found for part in parts if part.found is not None]
    first = min(found, key=lambda item: (len(item.word), item.word), default=None)
    words, wrong = sum(part.words for part in parts), sum(part.wrong for part in parts)
    return SecondOpinion(longest, words, wrong, why), first


def _longest(
    network: Transformer, letters: int, arith: Arithmetic, length: int, max_work: float
) -> tuple[int, str]:
    """The largest length to run, and what stops a larger one (nothing: empty)."""
    for longest in range(1, length + 1):
        if letters**longest > MAX_WORDS:
            return longest - 1, f"there are more than {MAX_WORDS:,} words of length {longest}"
        if work_of(network, letters, longest, arith) > max_work:
            size = sum(matrix.size for _, matrix in network.named_parameters())
            return longest - 1, f"longer words would take too long with {size:,} weights"
    return length, ""


def work_of(network: Transformer, letters: int, length: int, arith: Arithmetic) -> float:
    """The cost of all words of a length, in multiplications."""
    prefixes_ = sum(letters**level for level in range(1, length + 1))
    weights = sum(matrix.size for _, matrix in network.named_parameters()) + network.readout.size
    heads = sum(len(layer.heads) for layer in network.layers)
    matrices = sum(len(layer.mlp.weights) for layer in network.layers)
    units = sum(sum(layer.mlp.hidden_widths) for layer in network.layers)
    each = weights + PER_SCORE * heads * (network.num_padding + length)
    each += PER_UNIT * units + PER_MATRIX * (matrices + 1)
    return float(prefixes_ * each * FACTORS[arith.name])


def _errors(automaton: Semiautomaton, run: Subtree) -> _Errors:
    """Compares a subtree's states with the automaton's, level by level."""
    table, letters = automaton.table.astype(np.int64), automaton.num_letters
    state, outputs = automaton.start, np.array(automaton.outputs)
    for number, letter in enumerate(run.prefix):
        state = int(table[state, letter])
        if run.along[number] != outputs[state]:
            word = run.prefix[: number + 1]
            total = letters ** len(run.states)
            return _Errors(Counterexample(word, int(outputs[state]), int(run.along[number])), total, total)
    states, bad, found = np.array([state]), np.zeros(1, dtype=bool), None
    for depth, got in enumerate(run.states, start=1):
        states = table[states].reshape(-1)
        wrong = got != outputs[states]
        if found is None and wrong.any():
            place = int(wrong.argmax())
            tail = tuple(int(letter) for letter in np.unravel_index(place, (letters,) * depth))
            right = int(outputs[states[place]])
            found = Counterexample((*run.prefix, *tail), right, int(got[place]))
        bad = np.repeat(bad, letters) | wrong
    return _Errors(found, len(bad), int(bad.sum()))
