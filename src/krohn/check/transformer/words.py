"""Every word up to a length, one after another: the rules for a GPT-2 that somebody else saved.

Words with a common beginning share its pass. A word is right if its logit leads all others by more than
``running_error`` says that the two can be off.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from krohn.check.arithmetic.real import SAFE, Array, Integers
from krohn.check.claim import ANY, Claim
from krohn.check.files.bounded import Tensors, need, read_json, read_tensors, shown, whole_numbers
from krohn.check.files.net import MODEL, STOCK, Net, listed
from krohn.check.files.reader import Automaton
from krohn.check.transformer.gpt2 import BESIDE, GPT2, PASSED, READ, TYPES, USUAL
from krohn.check.transformer.running_error import (
    ACTIVATIONS,
    OWN_PRODUCTS,
    Attention,
    Linear,
    Mlp,
    Offer,
    Stream,
    normed,
    product_error,
)
from krohn.check.verdict import Budget, Verdict, inside, require

WORK = 3e12
"""Multiplications of a proof: about ten minutes of two cores."""
FROM_OLDER = frozenset({"_name_or_path", "gradient_checkpointing", "_attn_implementation_autoset"})
"""Fields of earlier versions of ``transformers`` that change no answer."""
PARTS = ("prompt", "letters", "states")


def stock_net(config: Any, tensors: Tensors, tokens: Mapping[str, Any] | None) -> Net:
    """Configuration and tensors as ``transformers`` saves them, and which tokens mean what."""
    need(isinstance(config, dict), "config.json must be an object")
    need(config.get("model_type") == GPT2, "config.json must have model_type gpt2")
    config = {**config, "n_inner": config.get("n_inner")}
    about = listed(config, "config.json", READ[GPT2], PASSED[GPT2] | FROM_OLDER)
    need(about["dtype"] in TYPES and about["torch_dtype"] in TYPES, "config.json: dtype is unknown")
    marks = {} if tokens is None else {"tokens": {part: list(tokens[part]) for part in PARTS}}
    named = {
        name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}" for name in tensors
    }
    need(
        len(named) == len(tensors),
        "tensors must have GPT-2's names, with or without transformer. before them",
    )
    own = {
        name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}": tensor
        for name, tensor in tensors.items()
    }
    table, head = (own.get(name) for name in ("transformer.wte.weight", "lm_head.weight"))
    tied = about["tie_word_embeddings"] is True and table is not None and head is not None
    if tied and np.array_equal(table, head):  # type: ignore[arg-type]
        del own["lm_head.weight"]  # a module lists it, a file does not
    return Net(STOCK, {**about, **marks}, own)


def read_stock(folder: Path, tokens: Mapping[str, Any] | None = None) -> Net:
    """What ``save_pretrained`` writes for a GPT-2; nothing in it is executed."""
    beside = [name for name in BESIDE if (folder / name).exists()]
    need(
        not beside,
        f"{next(iter(beside), '')} must not be there: save the network in one file, without adapters",
    )
    return stock_net(read_json(folder / "config.json"), read_tensors(folder / MODEL), tokens)


class Decoder:
    """The network as the rules read it: every tensor, in float64."""

    def __init__(self, net: Net) -> None:
        about, self.left = net.configuration, dict(net.tensors)
        for name, value in USUAL.items():
            need(about[name] == value, f"config.json must have {name} {value}; it has {shown(about[name])}")
        self.kind, self.epsilon = about["activation_function"], about["layer_norm_epsilon"]
        need(self.kind in ACTIVATIONS, f"activation_function must be one of {', '.join(ACTIVATIONS)}")
        fine = type(self.epsilon) is float and 0 < self.epsilon < 1
        need(fine, "layer_norm_epsilon must be a number between 0 and 1")
        sizes = [about[name] for name in ("n_layer", "n_head", "n_embd", "n_positions", "vocab_size")]
        need(all(whole_numbers(size, 2**20, least=1) for size in sizes), "config.json must have whole sizes")
        layers, heads, d, positions, words = sizes
        inner = 4 * d if about["n_inner"] is None else about["n_inner"]
        need(
            whole_numbers(inner, 2**20, least=1) and d % heads == 0, "config.json: n_head must divide n_embd"
        )
        self.tokens = self._take("transformer.wte.weight", words, d)
        self.positions = self._take("transformer.wpe.weight", positions, d)
        tied = about["tie_word_embeddings"] and "lm_head.weight" not in self.left
        self.head = self.tokens if tied else self._take("lm_head.weight", words, d)
        same = not about["tie_word_embeddings"] or np.array_equal(self.head, self.tokens)
        need(same, "lm_head.weight must be transformer.wte.weight, as tie_word_embeddings says")
        self.blocks = [self._block(f"transformer.h.{n}", heads, d, inner) for n in range(layers)]
        self.last = self._norm("transformer.ln_f", d)
        need(not self.left, f"unknown tensor {shown(next(iter(self.left), ''))}")
        self.size = sum(tensor.size for tensor in net.tensors.values())
        self.d = d

    def _take(self, name: str, *shape: int) -> Array:
        need(name in self.left, f"the tensor {name} must be there")
        tensor = self.left.pop(name)
        fits = tensor.shape == shape and tensor.dtype.kind == "f"
        need(fits, f"{name} must be of floats, {' × '.join(map(str, shape))}; it is {tensor.shape}")
        single = tensor.astype(np.float32)
        need(np.isfinite(single).all(), f"{name} must be finite in float32")
        return single.astype(np.float64)

    def _norm(self, name: str, d: int) -> tuple[Array, Array]:
        return self._take(f"{name}.weight", d), self._take(f"{name}.bias", d)

    def _linear(self, name: str, rows: int, columns: int) -> Linear:
        return Linear(self._take(f"{name}.weight", rows, columns), self._take(f"{name}.bias", columns))

    def _block(self, name: str, heads: int, d: int, inner: int) -> "Block":
        into, out = self._linear(f"{name}.attn.c_attn", d, 3 * d), self._linear(f"{name}.attn.c_proj", d, d)
        up, down = self._linear(f"{name}.mlp.c_fc", d, inner), self._linear(f"{name}.mlp.c_proj", inner, d)
        first, second = (self._norm(f"{name}.{norm}", d) for norm in ("ln_1", "ln_2"))
        return Block(first, Attention(into, out, heads), second, Mlp(up, down, self.kind))

    def after(self, token: Integers, path: Sequence[list[Offer]]) -> tuple[Stream, list[Offer]]:
        """The stream after each of some tokens that follow the same beginning, and what it offers later ones.

        The first sum is one addition: float32 has one result.
        """
        place = len(path)
        start = (self.tokens[token] + self.positions[place]).astype(np.float32).astype(np.float64)
        words, none = len(token), np.zeros_like(start)
        empty = np.zeros((words, self.d, place + 1, 0, self.d))
        stream = Stream(start, empty, np.zeros((words, place + 1, 0, self.d)), none)
        offers = []
        for layer, block in enumerate(self.blocks):
            with inside(f"block {layer + 1}", layer + 1):
                earlier = [one[layer] for one in path]
                read = normed(stream, *block.first, self.epsilon)
                stream, offer = block.attention(stream, read, earlier)
                stream = block.mlp(stream, normed(stream, *block.second, self.epsilon))
                offers.append(offer)
        return stream, offers

    def leads(self, stream: Stream, right: Integers) -> Array:
        """By how much the right logit leads each other one [word, token] in any run; ∞ for itself."""
        read = normed(stream, *self.last, self.epsilon)
        rows = self.head[right][:, None] - self.head
        off = stream.through(read.back(rows)) + read.fresh(rows)
        size = np.abs(read.value) + read.radius
        rounded = product_error(size, self.head.T)
        off = off + rounded + np.take_along_axis(rounded, right[:, None], axis=1)
        off = off + OWN_PRODUCTS * (
            size @ np.abs(self.head).T + (size * np.abs(self.head[right])).sum(1)[:, None]
        )
        lead: Array = (rows @ read.value[..., None])[..., 0] - SAFE * off
        lead[np.arange(len(right)), right] = np.inf
        return lead

    def cost(self, place: int, words: int) -> float:
        """Multiplications for so many words at a position."""
        slopes = len(self.blocks) ** 2 * (place + 1) * self.d**3
        return float(words * (place + 1) * (2 * self.size * self.d + slopes))


@dataclass(frozen=True, eq=False)
class Block:
    """LayerNorm and heads, LayerNorm and MLP."""

    first: tuple[Array, Array]
    attention: Attention
    second: tuple[Array, Array]
    mlp: Mlp


@dataclass(frozen=True, eq=False)
class Found:
    """All words after one beginning and one more letter: the least lead of each."""

    word: tuple[int, ...]
    leads: Array


TOGETHER = 1 << 24
"""Entries of slopes held at once."""


def leads_of(
    decoder: Decoder, automaton: Automaton, tokens: Mapping[str, list[int]], length: int, budget: Budget
) -> Iterator[Found]:
    """The leads on all words up to a length, beginning by beginning."""
    letters = np.array(tokens["letters"], dtype=np.int64)
    outputs = np.array(tokens["states"], dtype=np.int64)
    path: list[list[Offer]] = []
    for token in tokens["prompt"]:
        path.append(decoder.after(np.array([token]), path)[1])
    last = len(path) + length

    def walk(word: tuple[int, ...], state: int, path: list[list[Offer]]) -> Iterator[Found]:
        entries = decoder.d**2 * 2 * len(decoder.blocks) * (len(path) + 1)
        rows = max(1, TOGETHER // entries)
        for first in range(0, len(letters), rows):
            some = np.arange(first, min(first + rows, len(letters)))
            budget.spend(decoder.cost(len(path), len(some)), "words")
            stream, offers = decoder.after(letters[some], path)
            after = automaton.table[state, some]
            yield Found(word, decoder.leads(stream, outputs[automaton.shows[after]]).min(axis=1))
            for row, letter in enumerate(some.tolist()):
                if len(path) + 1 < last:
                    own = [one_of(offer, row) for offer in offers]
                    yield from walk((*word, letter), int(after[row]), [*path, own])

    yield from walk((), automaton.start, path)


def one_of(offer: Offer, row: int) -> Offer:
    """A single word of several."""
    here = slice(row, row + 1)

    def cut(part: Any) -> Any:
        if isinstance(part, np.ndarray):
            return part[here]
        return type(part)(
            **{name: value if name == "gain" else cut(value) for name, value in vars(part).items()}
        )

    chosen: Offer = cut(offer)
    return chosen


def prove_words(net: Net, claim: Claim, witness: object, work: float | None) -> Verdict:
    """Whether the claim holds: every word of at most so many letters leads."""
    require(claim.up_to is not None, "words of every length cannot be run; the claim must name a length")
    require(
        claim.allowed is None and claim.order == ANY, "these rules are for all words and any order of sums"
    )
    require(claim.dtype == "float32", f"words are run with bounds in float32; not in {claim.dtype}")
    require(witness is None, "the witness of these rules is null")
    decoder, tokens = Decoder(net), checked_tokens(net, claim.automaton)
    longest = len(decoder.positions) - len(tokens["prompt"])
    length = claim.up_to or 0
    require(length <= longest, f"the network has positions for words of at most {longest} letters")
    margin = np.inf
    for found in leads_of(decoder, claim.automaton, tokens, length, Budget(work or WORK)):
        least = int(found.leads.argmin())
        margin = min(margin, float(found.leads[least]))
        word = " ".join(claim.letters[letter] for letter in (*found.word, least))
        require(margin > 0, f"the right logit does not lead by more than rounding on the word {word}")
    return Verdict(True, margin, "")


def checked_tokens(net: Net, automaton: Automaton) -> dict[str, list[int]]:
    """The tokens of prompt, letters and outputs, if they fit the automaton and the vocabulary."""
    tokens, words = net.configuration.get("tokens"), net.configuration["vocab_size"]
    need(isinstance(tokens, dict) and set(tokens) == set(PARTS), f"tokens must have {', '.join(PARTS)}")
    made: dict[str, list[int]] = tokens  # type: ignore[assignment]
    for part, count in (("prompt", None), ("letters", automaton.table.shape[1]), ("states", None)):
        fits = whole_numbers(made[part], words, count)
        need(
            fits, f"tokens: {part} must be {'numbers' if count is None else f'{count} numbers'} below {words}"
        )
        need(part == "prompt" or len(set(made[part])) == len(made[part]), f"tokens: {part} must be different")
    need(automaton.shows.max() < len(made["states"]), "tokens: every output must have a token of its own")
    return made
