"""A decoder with GPT-2's arithmetic as a network: the tensors of an exported file as they are.

It reads the folders that ``transformers`` opens. Every field of ``config.json`` on which
their forward pass depends is in the configuration; an unknown field is refused.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.files.folders import (
    MODEL,
    TOKENS,
    Net,
    Tensors,
    names_of,
    read_fields,
    read_json,
    read_tensors,
    shown,
    whole_numbers,
)
from krohn.check.files.reader import (
    Automaton,
    Given,
    Head,
    Layer,
    Network,
    Shifts,
    network_that_fits,
)
from krohn.check.ground import Array, require
from krohn.errors import need

GPT2 = "gpt2"
TYPES = (None, "float64", "float32", "bfloat16", "float16")
SIZES = ("n_layer", "n_head", "n_embd", "n_inner", "n_positions", "vocab_size")
USUAL = {
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "reorder_and_upcast_attn": False,
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "chunk_size_feed_forward": 0,
}
"""Fields that may be left out and must not be changed: the library's default is what this module computes."""
NEEDED = ("model_type", *SIZES, "activation_function", "layer_norm_epsilon")
READ: dict[str, Any] = {
    **dict.fromkeys(NEEDED, ...),
    **USUAL,
    **{"tie_word_embeddings": True, "dtype": None, "torch_dtype": None},
}
"""Fields on which a forward pass depends, with the library's default; ``...``: the field must be there."""
PASSED = frozenset(
    {"architectures", "attn_pdrop", "embd_pdrop", "resid_pdrop", "initializer_range", "use_cache"}
    | {"bos_token_id", "eos_token_id", "pad_token_id", "id2label", "label2id", "n_ctx", "krohn"}
    | {"summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels"}
    | {"summary_first_dropout", "task_specific_params", "transformers_version"}
)
"""Fields for training, for text generation, and for heads other than the language-model head."""
EXACTLY: dict[str, Any] = {
    "model_type": GPT2,
    "activation_function": "relu",
    **USUAL,
    "tie_word_embeddings": False,
}
"""The values for which this module computes as the library does."""
DROPOUT = ("attn_pdrop", "embd_pdrop", "resid_pdrop")
GENERATES = "generation_config.json"
GREEDY = {"do_sample": False, "max_new_tokens": 1}
"""What this file must say if it is there: ``generate`` appends the one token with the largest logit."""
OF_TOKENS = frozenset({"bos_token_id", "eos_token_id", "pad_token_id", "transformers_version"})
BESIDE = ("adapter_config.json", "model.safetensors.index.json")
"""Files that make ``from_pretrained`` load other weights too."""


class _Tensors(Given):
    """Tensors with GPT-2's names; where they are not ``biased``, only MLPs have biases that are not 0."""

    def __init__(self, tensors: Mapping[str, npt.NDArray[Any]], normalized: bool, biased: bool) -> None:
        super().__init__(tensors, "<f4")
        self.normalized, self.biased = normalized, biased

    def bias(self, name: str, size: int) -> Array:
        held = self.take(f"{name}.bias", 1)
        fits = len(held) == size and (self.biased or not held.any())
        need(fits, f"{name}.bias must be {f'{size} numbers' if self.biased else f'0, {size} times'}")
        return held

    def norm(self, name: str) -> tuple[Array | None, Array]:
        if not self.normalized:
            return None, np.zeros(0)
        weight = self.take(f"{name}.weight", 1)
        return weight, self.bias(name, len(weight))

    def heads(self, block: str, count: int) -> tuple[tuple[Head, ...], tuple[tuple[Array, ...], ...], Array]:
        together, written = self.take(f"{block}.c_attn.weight"), self.take(f"{block}.c_proj.weight")
        read = self.bias(f"{block}.c_attn", together.shape[1])
        d, inside = len(together), len(written)
        fits = together.shape[1] == 3 * inside and inside % count == 0 and written.shape[1] == d
        need(fits and inside, f"{block}: the heads must fit")
        # GPT-2 has one matrix for queries, keys and values of all heads: part, head, width along its columns.
        query, key, value = np.moveaxis(together.reshape(d, 3, count, -1), (1, 2), (0, 1))
        output = written.reshape(count, -1, d)
        # The library multiplies all heads by one matrix; the rules add head by head. Where each of several
        # heads has one term in a channel, both are sums of these terms, and every order of them is covered.
        terms = (output != 0).sum(axis=1)
        shared = (terms > 0).sum(axis=0) > 1
        apart = self.biased or (terms[:, shared] <= 1).all()
        need(apart, f"{block}: where several heads write it must be one term of each")
        biases = tuple(tuple(row) for row in read.reshape(3, count, -1).swapaxes(0, 1))
        heads = tuple(Head(*parts) for parts in zip(query, key, value, output, strict=True))
        return heads, biases, self.bias(f"{block}.c_proj", d)

    def layer(self, block: str, count: int) -> Layer:
        heads, biased, written = self.heads(f"{block}.attn", count)
        weights = self.take(f"{block}.mlp.c_fc.weight"), self.take(f"{block}.mlp.c_proj.weight")
        biases = self.take(f"{block}.mlp.c_fc.bias", 1), self.take(f"{block}.mlp.c_proj.bias", 1)
        relu, d = (np.zeros(len(biases[0]), dtype=bool),), len(heads[0].query)
        (gain, shift), (other, moved) = self.norm(f"{block}.ln_1"), self.norm(f"{block}.ln_2")
        shifts = Shifts(shift, moved, biased, written) if self.biased else None
        return Layer(heads, weights, biases, relu, np.ones(d), np.ones(d), gain, other, shifts)


def decoder_of(
    tensors: Mapping[str, npt.NDArray[Any]],
    heads: int,
    prompt: Sequence[int],
    letters: Sequence[int],
    epsilon: float | None,
    bend: str | None = None,
) -> Network:
    """Every head, unit and token, useless ones included; ``epsilon`` is that of LayerNorm, if there is one.

    The input is the prompt, then the letters; the output is the token with the largest logit. With ``bend``,
    an activation, it has biases everywhere, and the sums of its heads are one product.
    """
    given = _Tensors(tensors, epsilon is not None, bend is not None)
    tokens, head = given.take("transformer.wte.weight"), given.take("lm_head.weight")
    positions, (gain, shift) = given.take("transformer.wpe.weight"), given.norm("transformer.ln_f")
    known = all(0 <= token < len(tokens) for token in (*prompt, *letters))
    need(heads > 0 and known and len(head) == len(tokens), "prompt and letters must be tokens")
    layers: list[Layer] = []
    while f"transformer.h.{len(layers)}.attn.c_attn.weight" in given.left:
        layers.append(given.layer(f"transformer.h.{len(layers)}", heads))
    # A tensor that is left over is one that the library may read and this module does not.
    given.done()
    need(layers, "there must be a layer")
    width = layers[0].heads[0].query.shape[1]
    need(all(one.heads[0].query.shape[1] == width for one in layers), "all heads must have one width")
    made = Network(
        embedding=tokens[list(letters)],
        padding=tokens[list(prompt)],
        positions=positions,
        layers=tuple(layers),
        readout=head.T,
        readout_bias=np.zeros(len(head)),
        gain=gain,
        epsilon=epsilon or 0.0,
        root=float(np.sqrt(width)),  # the library divides scores by it; krohn's own networks do not
        shift=shift if given.biased else None,
        bend=bend or "relu",
    )
    return network_that_fits(made)


def export_net(
    config: Any, tokens: Mapping[str, Any], automaton: Any, target: object, tensors: Tensors
) -> Net:
    """An export: configuration, tokens of prompt, letters and outputs, and names."""
    need(isinstance(config, dict), "config.json must be an object")
    found = read_fields(config, "config.json", READ, PASSED)
    for name in DROPOUT:
        rate = config.get(name, 0.1)  # the library's default
        need(rate == 0, f"config.json must have {name} 0, for dropout is random; it has {shown(rate)}")
    need(found.get("dtype") in TYPES and found.get("torch_dtype") in TYPES, "config.json: dtype is unknown")
    marks: dict[str, list[int]] = {}
    for part in TOKENS:
        marks[part] = tokens.get(part)  # type: ignore[assignment]
        need(whole_numbers(marks[part], np.inf, None), f"export.json must list the tokens of {part}")
    names = names_of(automaton, target)
    need(len(marks["letters"]) == len(names["letters"]), "every letter must have one token")
    return Net(GPT2, {**found, "tokens": marks, **names}, tensors)


def read_export(folder: Path) -> Net:
    """What krohn export writes for ``transformers``."""
    need((folder / "config.json").exists(), "an ONNX graph is not read: krohn export NETWORK --to hf")
    beside = [name for name in BESIDE if (folder / name).exists()]
    need(not beside, f"{next(iter(beside), '')} must not be there: it makes readers load other weights")
    facts, config = read_json(folder / "export.json"), read_json(folder / "config.json")
    need(isinstance(facts, dict) and isinstance(facts.get("tokens"), dict), "export.json must have tokens")
    automaton, tensors = read_json(folder / "automaton.json"), read_tensors(folder / MODEL)
    net = export_net(config, facts["tokens"], automaton, facts.get("target"), tensors)
    read = {*net.configuration["tokens"]["prompt"], *net.configuration["tokens"]["letters"]}
    unhidden(config, "config.json", read)
    if (folder / GENERATES).exists():
        found = read_json(folder / GENERATES)
        held = read_fields(found, GENERATES, GREEDY, OF_TOKENS)
        other = next((key for key in GREEDY if held[key] != GREEDY[key]), "")
        need(not other, f"{GENERATES} must have {other} {GREEDY.get(other)}; it has {held.get(other)!r:.40}")
        unhidden(found, GENERATES, read)
    return net


def unhidden(found: Mapping[str, Any], name: str, read: set[int]) -> None:
    """Refuses a padding token that is read: without a mask ``generate`` takes such tokens for padding."""
    padding = found.get("pad_token_id")
    # Libraries compare by value: 4.0 hides token 4, and so does True token 1.
    need(padding is None or type(padding) is int, f"{name}: pad_token_id must be a whole number, or null")
    need(padding not in read, f"{name}: pad_token_id must not be the token of a letter or of the prompt")


def export_network(net: Net, automaton: Automaton) -> tuple[Network, Automaton]:
    """The decoder as the checker reads it, and the automaton whose outputs are tokens of its vocabulary."""
    about, tokens = net.configuration, net.configuration["tokens"]
    for name, value in EXACTLY.items():
        # By type, too: 1 equals true here, and need not where the library asks what a field is.
        same = type(about[name]) is type(value) and about[name] == value
        require(same, f"config.json must have {name} {value}; it has {about[name]!r:.40}")
    sizes = [about[name] for name in SIZES]
    network = sized_decoder(net.tensors, sizes, tokens, about["layer_norm_epsilon"])
    return network, token_automaton(automaton, tokens["states"], sizes[-1])


def sized_decoder(
    tensors: Mapping[str, npt.NDArray[Any]],
    sizes: Sequence[Any],
    tokens: Mapping[str, Sequence[int]],
    epsilon: float,
    bend: str | None = None,
) -> Network:
    """The decoder, if it has the sizes that its configuration says: layers, heads, width, units and so on."""
    whole = all(type(size) is int and size > 0 for size in sizes)
    need(whole, "sizes in config.json must be positive numbers")
    layers, heads, width, units, positions, words = sizes
    fine = type(epsilon) is float and 0 < epsilon < 1
    need(fine, "layer_norm_epsilon must be a number between 0 and 1")
    network = decoder_of(tensors, heads, tokens["prompt"], tokens["letters"], epsilon, bend)
    found = (len(network.layers), network.embedding.shape[1], len(network.positions), len(network.readout.T))
    need(found == (layers, width, positions, words), "config.json must have the sizes of the tensors")
    many = all(len(layer.biases[0]) == units for layer in network.layers)
    need(many, "config.json must have as many units")
    inner = network.layers[0].heads[0].query.shape[1]
    need(width == heads * inner, "config.json must have the heads of the tensors")
    return network


def token_automaton(automaton: Automaton, outputs: Sequence[int], words: int) -> Automaton:
    """The automaton with tokens as outputs; a state that no word reaches shows the last token of all."""
    fits = automaton.shows.max() < len(outputs) and all(token < words for token in outputs)
    need(fits and len(set(outputs)) == len(outputs), "every output must have a token of its own")
    # The read-out has a column for each token, and outputs are numbered up to its last one: some state must
    # show it. No word reaches this one, so that nothing is claimed of it.
    own, letters = automaton.table.shape
    table = np.concatenate([automaton.table, np.full((1, letters), own)])
    shows = np.r_[np.array(outputs, dtype=np.int64)[automaton.shows], words - 1]
    return Automaton(table.astype(np.int64), automaton.start, shows)
