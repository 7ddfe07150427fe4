"""A compiled network as a decoder, calibrated on words first and tested on them afterwards."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from krohn.base.portable import few_bits
from krohn.base.threads import one_thread
from krohn.errors import InvalidInput
from krohn.exporting.lowering import Measured, lower
from krohn.exporting.standard_blocks import StandardBlocks, standard_blocks
from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import Activations
from krohn.network.forward import logits as paper_logits
from krohn.network.gpt2.decoder import Decoder
from krohn.network.gpt2.reference import Words, logits, rounded_logits
from krohn.network.gpt2.vocabulary import vocabulary_of
from krohn.network.transformer import Layer, Mlp, Transformer
from krohn.proving.word_search import all_words, candidates

SHORT_WORDS = 2000
"""Most words to run: all words of the greatest length that has no more, besides those of full length."""

WORK = 1 << 29
"""Entries of attention matrices that checking may cost; some words are always run."""

MEASURING_WORK = 1 << 24
"""The same for measuring, which only sets scales, with headroom: the check decides."""

ROUNDING_WORK = 1 << 24
"""The same for the pass with more rounding, which is slower; there the matrices cost as well."""

HALF_TYPES = ("bfloat16", "float16")
HALF_ABOVE = (2.0**7, 2.0**5, 2.0**3)
"""For half types: how far the pair ±C may lie above the stream, tried in this order."""

OTHER_TYPES = ("float64", *HALF_TYPES)
"""Types besides float32 in which a reader may load the files."""


@dataclass(frozen=True)
class WrongToken:
    """A word, by the names of its letters, and the decoder's answer after the last of them."""

    letters: tuple[str, ...]
    expected: str
    got: str


@dataclass(frozen=True)
class Checked:
    """Number of words run, number with an error, and the word with the earliest error.

    ``least_lead`` is the least lead of the right state's logit over all others (negative: an error).
    """

    words: int
    wrong: int
    least_lead: float
    counterexample: WrongToken | None


def decoder_of_compiled(network: CompiledNetwork, *, normalized: bool, dtype: str = "float32") -> Decoder:
    """The decoder that outputs the same states; with LayerNorm it is a stock GPT-2.

    For a half type the pair that stabilises LayerNorm is lowered until the type can represent it: the first
    form that is right on the words tried, or the first of all if none is.
    """
    blocks = standard_blocks(network.transformer)
    automaton = network.automaton
    names = vocabulary_of(
        automaton.letter_names, automaton.output_names, network.transformer.num_padding, automaton.characters
    )
    seen = measure(blocks, network)
    if not normalized or dtype not in HALF_TYPES:
        return lower(blocks, names, seen, normalized=normalized)
    forms = [lower(blocks, names, seen, normalized=True, above=above, half=True) for above in HALF_ABOVE]
    right = (form for form in forms if not check_types(form, network, (dtype,))[dtype].wrong)
    return next(right, forms[0])


def check(decoder: Decoder, network: CompiledNetwork) -> Checked:
    """Runs the decoder in float32 on all short words, and on long ones of many kinds."""
    letters, longest = network.automaton.num_letters, 1
    while letters > 1 and longest < network.length and letters ** (longest + 1) <= SHORT_WORDS:
        longest += 1
    most = WORK // (max(1, decoder.attending_heads) * decoder.context**2)
    words = (all_words(letters, longest), *_long_words(network, max(16, most)))
    return _run_words(decoder, network, words, logits)


def check_rounding(decoder: Decoder, network: CompiledNetwork) -> Checked:
    """Runs it on long words with twice the rounding error of sequential summation.

    Words of one letter come first: their sums have equal terms, whose errors add up.
    """
    return _run_words(decoder, network, _rounding_words(decoder, network, ROUNDING_WORK), rounded_logits)


def check_types(
    decoder: Decoder, network: CompiledNetwork, types: tuple[str, ...] = OTHER_TYPES
) -> dict[str, Checked]:
    """Runs it on a few long words as if it had been loaded in another type."""
    words = list(_rounding_words(decoder, network, ROUNDING_WORK // 16))
    return {name: _run_words(decoder, network, words, partial(logits, dtype=name)) for name in types}


def _rounding_words(decoder: Decoder, network: CompiledNetwork, work: int) -> Iterator[Words]:
    letters = min(network.automaton.num_letters, 4)
    yield np.repeat(np.arange(letters)[:, None], network.length, axis=1)
    entries = decoder.attending_heads * decoder.context**2 + decoder.num_parameters * decoder.context // 128
    yield from _long_words(network, max(8, work // entries))


def _run_words(
    decoder: Decoder,
    network: CompiledNetwork,
    batches: Iterable[Words],
    run: Callable[[Decoder, Words], Activations],
) -> Checked:
    total, wrong, leads, result = 0, 0, [], []
    for words in batches:
        with one_thread():
            scores = run(decoder, words)
        right = np.array(decoder.vocabulary.states)[network.automaton.right_outputs(words)]
        got = scores.argmax(axis=-1)
        leads.append(_least_lead(scores, right))
        total, wrong = total + len(words), wrong + int((got != right).any(axis=1).sum())
        result += _first_wrong(decoder, words, right, got)
    earliest = min(result, key=lambda one: len(one.letters), default=None)
    return Checked(total, wrong, min(leads), earliest)


def _least_lead(scores: Activations, right: Words) -> float:
    """The least of (right logit − greatest other logit)."""
    scores = scores.astype(np.float64)
    own = np.take_along_axis(scores, right[..., None], axis=-1)[..., 0]
    np.put_along_axis(scores, right[..., None], -np.inf, axis=-1)
    return float((own - scores.max(axis=-1)).min())


def _first_wrong(decoder: Decoder, words: Words, right: Words, got: Words) -> list[WrongToken]:
    places = np.argwhere((got != right).T)  # [letters into the word, word]: the earliest error first
    if not len(places):
        return []
    (end, row), names = places[0], decoder.vocabulary
    letters = tuple(names.tokens[names.letters[letter]] for letter in words[row, : end + 1])
    return [WrongToken(letters, names.tokens[right[row, end]], names.tokens[got[row, end]])]


def measure(blocks: StandardBlocks, network: CompiledNetwork) -> Measured:
    """Runs the blocks in float64: the largest norm of the stream, the smallest lead of the right logit."""
    sizes, leads, largest = [1.0], [], []

    def observe(name: str, values: Activations) -> None:
        if name == "embedding" or name.endswith(("mixed", "stream")):
            sizes.append(float(np.sqrt((values**2).sum(axis=-1)).max()))

    plain = as_transformer(blocks)
    entries = max(1, sum(len(block.heads) for block in blocks.blocks)) * len(blocks.positions) ** 2
    for words in _long_words(network, max(16, MEASURING_WORK // entries)):
        with one_thread():
            result = np.sort(paper_logits(plain, words, observe=observe), axis=-1)
        largest.append(float(np.abs(result).max()))
        if result.shape[-1] > 1:
            leads.append(float((result[..., -1] - result[..., -2]).min()))
    least = min(leads, default=1.0)
    # A network with tied logits is wrong; the check shows it at any scale.
    measures = (max(sizes), least if least > 0.0 else 1.0, max(largest))
    if not np.isfinite([*sizes, *largest]).all():
        raise InvalidInput("a network must compute finite numbers on every word to be exported; it does not")
    return Measured(*(few_bits(value, 12) for value in measures))  # precise enough for scaling


def _long_words(network: CompiledNetwork, most: int) -> Iterator[Words]:
    """Words of every kind, subsampled with a stride if there are too many."""
    batches = list(candidates(network.automaton.num_letters, network.length))
    stride = math.ceil(sum(map(len, batches)) / most)
    for words in batches:
        yield words[::stride]


def as_transformer(blocks: StandardBlocks) -> Transformer:
    """The blocks as the paper's Transformer: with residuals everywhere, and no normalisation."""
    everywhere = np.ones(blocks.dim)
    layers = tuple(
        Layer(b.heads, Mlp((b.into, b.out), (b.into_bias, b.out_bias)), everywhere, everywhere)
        for b in blocks.blocks
    )
    outer = (blocks.embedding, blocks.padding, blocks.positions)
    return Transformer(*outer, layers, blocks.readout, blocks.readout_bias)
