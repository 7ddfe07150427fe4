"""Every word of one length, one after another, in plain intervals: for compiled networks on short words.

A machine with finitely many states cannot follow heads that return positions, as those of Theorem 3 do. On
short words it need not: there are few of them.
"""

from itertools import product

import numpy as np

from krohn.check.arithmetic.format import whole
from krohn.check.files.reader import Automaton, Network
from krohn.check.ground import Integers, Refused, inside, point
from krohn.check.transformer.stream import Anywhere, Intervals, Rows, Setting, after_heads, after_mlp, logits

CALLS = 2e5
"""What a head or a matrix costs for a word besides its entries: operations on small arrays, done twice."""


def cost(network: Network, length: int) -> float:
    """Array entries of all words."""
    rows, d = len(network.padding) + length, network.embedding.shape[1]
    heads = sum(len(layer.heads) for layer in network.layers)
    matrices = [weight for layer in network.layers for weight in layer.weights]
    entries = sum(weight.size for weight in matrices) + network.readout.size + heads * (rows + 4 * d * d)
    words: float = float(len(network.embedding)) ** length
    total: float = words * (CALLS * (heads + len(matrices)) + 2.0 * rows * entries)
    return total


# Rule: each word.
# Hypotheses: a position sees those before it alone. Conclusion: after each letter of each word of at most so
# many letters the right logit leads the others by the margin. Why: intervals hold whatever any order of
# adding computes, at every position of a word, padding included; a shorter word is the beginning of one of
# these, and its sums have no more terms.
def prove_each_word(setting: Setting, network: Network, automaton: Automaton, length: int) -> float:
    """The least lead of the right logit over all words of that many letters."""
    setting.budget.spend(cost(network, length), "words, one after another")
    margin = np.inf
    for word in product(range(len(network.embedding)), repeat=length):
        margin = min(margin, _lead(setting, network, automaton, word))
    return margin


def _lead(setting: Setting, network: Network, automaton: Automaton, word: tuple[int, ...]) -> float:
    tokens = np.concatenate([network.padding, network.embedding[list(word)]])
    codes = network.positions[: len(tokens)]
    x = Rows(whole(setting.fmt.add(whole(point(tokens)), whole(point(codes))).part))
    for number, layer in enumerate(network.layers, 1):
        with inside(f"block {number}", number):
            after_heads(_bounds(setting, x), layer, _bounds(setting, x).row)  # nothing overflows
            x = after_heads(Intervals(setting, x.box.part.over(0)), layer, x)
            after_mlp(_bounds(setting, x), layer, _bounds(setting, x).row)
            x = after_mlp(Intervals(setting, x.box.part.over(0)), layer, x)
    with inside("read-out", len(network.layers) + 1):
        logits(_bounds(setting, x), network, _bounds(setting, x).row)
        shown = logits(Intervals(setting, x.box.part.over(0)), network, x).box.part
        right = _outputs(automaton, word)
        at = len(network.padding) + np.arange(len(word))
        low, high = shown.lo[at, right], shown.hi[at].copy()
        high[np.arange(len(word)), right] = -np.inf
        leads = low - high.max(axis=1)
        if not (leads > 0).all():
            raise Refused(
                f"on the word {' '.join(map(str, word))} the right logit leads by {leads.min():.3g}",
                "use a wider dtype or a shorter length",
            )
    return float(leads.min())


def _bounds(setting: Setting, x: Rows) -> Anywhere:
    """What any position of the word holds."""
    return Anywhere(setting, x.box.part.over(0), len(x.box.part.lo))


def _outputs(automaton: Automaton, word: tuple[int, ...]) -> Integers:
    state, shown = automaton.start, []
    for letter in word:
        state = int(automaton.table[state, letter])
        shown.append(int(automaton.shows[state]))
    return np.array(shown, dtype=np.int64)
