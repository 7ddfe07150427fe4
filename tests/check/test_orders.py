"""Half types round every partial sum: what several heads write depends on the order, and claims say any.

Both networks hold 256 in a channel to which two heads add 1 each. In bfloat16 256 + 1 is 256, and 256 + 2 is
258. Earlier versions added head by head alone, and certified both.
"""

import numpy as np
import pytest
import torch
from torch.nn.functional import linear

from check.test_deceivers import certified
from krohn.automata.files import automaton_payload
from krohn.check.certificate import Certificate
from krohn.check.files.folders import Net
from krohn.check.rules import RULES, check_certificate, transformer_of
from krohn.check.transformer.gpt2 import export_net
from krohn.functions import simulate
from krohn.network.transformer import Head, Layer, Mlp, Transformer
from krohn.proving.claims import claim_about
from krohn.proving.compiled import furthest
from proving.test_attacks import LAST_LETTER

LENGTH, DIM, HELD = 6, 6, 256.0
LETTER, KEPT, KEY, ONE, VALUE = range(5)
HALF = torch.bfloat16
WORDS = np.random.default_rng(0).integers(2, size=(40, LENGTH))


def numbers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Letters, padding and positions: heads see padding alone, whose key is large and whose value is 1."""
    letters, padding, positions = np.zeros((2, DIM)), np.zeros((1, DIM)), np.zeros((1 + LENGTH, DIM))
    letters[1, LETTER], letters[:, KEPT] = 1.0, HELD
    padding[0, KEY], padding[0, VALUE] = 200.0, 1.0
    positions[:, ONE] = 1.0
    return letters, padding, positions


def unit(*entries: tuple[int, float]) -> np.ndarray:
    column = np.zeros((DIM, 1))
    for channel, value in entries:
        column[channel] = value
    return column


def network(heads: int) -> Transformer:
    """The state is the last letter, as long as the channel that is kept holds 256."""
    letters, padding, positions = numbers()
    head = Head(unit((ONE, 1.0)), unit((KEY, 1.0)), unit((VALUE, 1.0)), unit((KEPT, 1.0)).T)
    nothing = Mlp((np.zeros((DIM, DIM)),), (np.zeros(DIM),))
    layer = Layer((head,) * heads, nothing, np.ones(DIM), np.ones(DIM))
    readout = np.concatenate([unit((KEPT, 1.0)), unit((LETTER, 2.0))], axis=1)
    return Transformer(letters, padding, positions, (layer,), readout, np.array([-HELD, -1.0]))


def attended(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    hidden = torch.ones(query.shape[1], query.shape[1]).triu(1).bool()
    scores = (query.float() @ key.float().mT).masked_fill(hidden, -torch.inf)
    return scores.softmax(-1).to(HALF) @ value


def heads_first(network: Transformer) -> np.ndarray:
    """The states in bfloat16 where the heads are added up before the stream is."""

    def held(matrix: np.ndarray) -> torch.Tensor:
        return torch.tensor(matrix).to(HALF)

    padding = held(network.padding).expand(len(WORDS), -1, -1)
    x = torch.cat([padding, held(network.embedding)[torch.tensor(WORDS)]], 1) + held(network.positions)
    for layer in network.layers:
        parts = [
            attended(*(x @ held(m) for m in (h.query, h.key, h.value))) @ held(h.output) for h in layer.heads
        ]
        x = x + torch.stack(parts).sum(0)
    logits = x[:, len(network.padding) :] @ held(network.readout) + held(network.readout_bias)
    return logits.argmax(-1).numpy()


@pytest.mark.parametrize(("heads", "right"), [(1, True), (2, False)])
def test_heads_of_a_half_type_may_be_added_up_first(heads: int, right: bool) -> None:
    built = network(heads)
    assert bool((heads_first(built) == simulate(LAST_LETTER, WORDS)).all()) == right
    assert certified((built, LAST_LETTER, LENGTH), "bfloat16") == right


def export(heads: int) -> Net:
    """The same as an export for TransformerLens: tokens are padding, two letters, two states."""
    letters, padding, positions = numbers()
    none = np.zeros((2, DIM))
    loses = -1000.0 * unit((ONE, 1.0))
    outputs = [unit((KEPT, 1.0), (ONE, -HELD)), unit((LETTER, 2.0), (ONE, -1.0))]
    query, key, value = (np.tile(unit((channel, 1.0)).T, (2, 1)) for channel in (ONE, KEY, VALUE))
    written = np.concatenate([unit((KEPT, float(heads > number))) for number in range(2)], axis=1)
    tensors = {
        "embed.weight": np.concatenate([padding, letters, none]),
        "pos_embed.weight": positions,
        "unembed.weight": np.concatenate([loses, loses, loses, *outputs], axis=1).T,
        "unembed.bias": np.zeros(5),
        **{f"blocks.0.attn.{name}.bias": np.zeros(2) for name in "qkv"},
        "blocks.0.attn.q.weight": query,
        "blocks.0.attn.k.weight": key,
        "blocks.0.attn.v.weight": value,
        "blocks.0.attn.o.weight": written,
        "blocks.0.attn.o.bias": np.zeros(DIM),
        **{"blocks.0.mlp.in.weight": np.zeros((1, DIM)), "blocks.0.mlp.in.bias": np.zeros(1)},
        **{"blocks.0.mlp.out.weight": np.zeros((DIM, 1)), "blocks.0.mlp.out.bias": np.zeros(DIM)},
    }
    sizes = {"n_layers": 1, "d_model": DIM, "n_heads": 2, "d_head": 1, "d_mlp": 1, "d_vocab": 5}
    config = {**sizes, "n_ctx": 1 + LENGTH, "act_fn": "relu", "normalization_type": None, "eps": 1e-5}
    tokens = {"prompt": [0], "letters": [1, 2], "states": [3, 4]}
    held = {name: np.ascontiguousarray(tensor, dtype=np.float32) for name, tensor in tensors.items()}
    about = automaton_payload(LAST_LETTER)
    return export_net({**config, "attention_dir": "causal"}, tokens, about, "state", held)


def in_lens(net: Net) -> np.ndarray:
    """The states in bfloat16: one matrix adds up what both heads write."""
    w = {name: torch.tensor(value).to(HALF) for name, value in net.tensors.items()}
    ids = torch.tensor(np.concatenate([np.zeros((len(WORDS), 1), dtype=np.int64), WORDS + 1], axis=1))
    x = w["embed.weight"][ids] + w["pos_embed.weight"]
    parts = [linear(x, w[f"blocks.0.attn.{name}.weight"]) for name in "qkv"]
    mixed = [attended(*(part[..., [head]] for part in parts)) for head in range(2)]
    x = x + linear(torch.cat(mixed, dim=-1), w["blocks.0.attn.o.weight"])
    return linear(x, w["unembed.weight"]).argmax(-1).numpy()[:, 1:] - 3


@pytest.mark.parametrize(("heads", "right"), [(1, True), (2, False)])
def test_an_export_adds_up_its_heads_in_one_matrix(heads: int, right: bool) -> None:
    """In a half type readers compute otherwise than compiled networks: no export is proved there."""
    net = export(heads)
    assert bool((in_lens(net) == simulate(LAST_LETTER, WORDS)).all()) == right
    claim = claim_about(net, LAST_LETTER, LENGTH, "bfloat16", "transformer")
    checked, table = transformer_of(net, claim.automaton)
    record, _, _ = furthest(checked, table, LENGTH, "bfloat16")
    assert (record.witness is not None) == right
    certificate = Certificate(claim, "transformer", RULES["transformer"].version, record.witness)
    assert "exports are proved in float32 and float64 only" in check_certificate(net, certificate).reason
