"""An export without LayerNorm as a network of krohn's own, so that the checker can be asked about it.

The numbers are the same: every head, every unit and every logit, those of tokens that are no state included.
What differs is exact: scores are divided by the root of the width, a power of two here, which goes into the
queries; heads and units that are zero are left out. So a certificate of the twin in float32 is one of the
export, for every reader that computes step by step (softmax, then the weighted sum), in any order of sums.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Certificate
from krohn.certify.verification import verify
from krohn.errors import KrohnError
from krohn.exporting.decoder import Decoder
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import plain_layout
from krohn.network.transformer import Head, Layer, Matrix, Mlp, Transformer

DTYPE = "float32"

LAYER_NORM = (
    "the checker has no rule for LayerNorm; the form without it, --to transformer-lens, can be proved"
)


@dataclass(frozen=True, eq=False)
class Proof:
    """A certificate, or why there is none."""

    certificate: Certificate | None
    reason: str

    @property
    def certified(self) -> bool:
        """Whether the export is right on every word, in float32."""
        return self.certificate is not None


def prove(decoder: Decoder, network: CompiledNetwork) -> Proof:
    """Asks the checker about the twin; a decoder that has none is not proved."""
    reason = next(_without_twin(decoder), "")
    if network.automaton.target != "state":
        reason = "exports are proved where the network outputs states"
    if reason:
        return Proof(None, reason)
    try:
        found = verify(twin(decoder, network), DTYPE, second_opinion=False, largest=False)
    except KrohnError as error:
        return Proof(None, str(error))
    return Proof(found, "") if found.certified else Proof(None, found.reason)


def _without_twin(decoder: Decoder) -> Iterator[str]:
    """Why the numbers of a decoder are not those of a network that the checker reads."""
    if decoder.normalized:
        yield LAYER_NORM
    root = math.isqrt(decoder.width)
    if decoder.activation != "relu" or root * root != decoder.width or root & (root - 1):
        yield "units must be ReLU and the root of the heads' width a power of two"
    for index in range(decoder.layers):
        block = f"transformer.h.{index}.attn"
        if any(decoder.tensors[f"{block}.{name}.bias"].any() for name in ("c_attn", "c_proj")):
            yield "attention must have no biases"
        written = (decoder.tensors[f"{block}.c_proj.weight"] != 0).reshape(decoder.heads, decoder.width, -1)
        terms = written.sum(axis=1)  # [head, channel]
        if ((terms > 0).sum(axis=0) > 1).any() and (terms[:, (terms > 0).sum(axis=0) > 1] > 1).any():
            yield "channels that several heads write must get one term from each"


def twin(decoder: Decoder, network: CompiledNetwork) -> CompiledNetwork:
    """The decoder as a network whose states are all tokens; those that are no state are never reached."""
    t = {name: tensor.astype(np.float64) for name, tensor in decoder.tensors.items()}
    names = decoder.vocabulary
    made = Transformer(
        embedding=t["transformer.wte.weight"][list(names.letters)],
        padding=t["transformer.wte.weight"][list(names.prompt)],
        positions=t["transformer.wpe.weight"],
        layers=tuple(_layer(decoder, t, f"transformer.h.{index}") for index in range(decoder.layers)),
        readout=t["lm_head.weight"].T,
        readout_bias=np.zeros(len(names.tokens)),
        mask="causal",
    )
    channels = [f"channel {place}" for place in range(decoder.dim)]
    layout = plain_layout(channels, [["exported head"] * len(layer.heads) for layer in made.layers])
    return CompiledNetwork(made, _of_tokens(decoder, network.automaton), network.method, None, layout)


def _layer(decoder: Decoder, t: dict[str, Matrix], block: str) -> Layer:
    shape = (decoder.dim, 3, decoder.heads, decoder.width)
    query, key, value = np.moveaxis(t[f"{block}.attn.c_attn.weight"].reshape(shape), (1, 2), (0, 1))
    output = t[f"{block}.attn.c_proj.weight"].reshape(decoder.heads, decoder.width, decoder.dim)
    query = query / math.sqrt(decoder.width)
    heads = (Head(*parts) for parts in zip(query, key, value, output, strict=True))
    into, bias = t[f"{block}.mlp.c_fc.weight"], t[f"{block}.mlp.c_fc.bias"]
    out = t[f"{block}.mlp.c_proj.weight"]
    used = into.any(axis=0) | (bias != 0) | out.any(axis=1)
    used[0] |= not used.any()
    mlp = Mlp((into[:, used], out[used]), (bias[used], t[f"{block}.mlp.c_proj.bias"]))
    everywhere = np.ones(decoder.dim)
    some = tuple(head for head in heads if any(part.any() for part in (head.query, head.value, head.output)))
    return Layer(some, mlp, everywhere, everywhere)


def _of_tokens(decoder: Decoder, automaton: Semiautomaton) -> Semiautomaton:
    names = decoder.vocabulary
    states = np.array(names.states)
    table = np.repeat(np.arange(len(names.tokens))[:, None], automaton.num_letters, axis=1)
    table[states] = states[np.asarray(automaton.table)]
    return Semiautomaton(
        table.astype(np.int32),
        start=int(states[automaton.start]),
        state_names=names.tokens,
        letter_names=automaton.letter_names,
    )
