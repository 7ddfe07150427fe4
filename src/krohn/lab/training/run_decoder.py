"""One replicate of a training run as a decoder: GPT-2's own names, a head without bias.

Our head has a bias and GPT-2's has none. The normalised z, before the gain g, has sum 0, so u = 1/g satisfies
u · (g ⊙ z) = 0 for every z, and u · LayerNorm(x) is the constant u · b whatever x is. A multiple of u in each
row of the head is therefore a bias, exactly.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.automata.observed import with_target
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import Unsupported
from krohn.lab.models.architectures import gpt
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.models.network import ModelConfig
from krohn.lab.tasks.batches import Task
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.directory import read_config
from krohn.lab.training.trained_network import read_replicate
from krohn.network.gpt2.decoder import Decoder
from krohn.network.gpt2.reference import logits
from krohn.network.gpt2.vocabulary import Vocabulary, vocabulary_of

Matrix = npt.NDArray[np.float64]
Single = dict[str, Tensor]  # one replicate's weights by name, no replicate axis
PREFIX = "transformer."
_SAME = ("h.", "ln_f.")  # prefixes of GPT-2's own parameter names

BELOW = 1e4
"""How far below zero the logits of tokens that are never output stay."""

COMPARED_WORDS = 64


@dataclass(frozen=True, eq=False)
class TrainedDecoder:
    """A replicate as a decoder, and by how much its logits differ from the network's own on held-out words.

    ``scale`` is the largest of these logits: a difference is rounding if it is small beside it.
    """

    decoder: Decoder
    automaton: Semiautomaton
    replicate: int
    words: int
    difference: float
    scale: float


def decoder_of_run(
    directory: Path,
    *,
    replicate: int | None = None,
    length: int | None = None,
) -> TrainedDecoder:
    """A replicate of a run directory, the best unless named, for words up to ``length`` (as trained)."""
    config = read_config(directory)
    reach = config.task.length if length is None else length
    trained = read_replicate(directory, config, replicate)
    weights = {name: value[0] for name, value in trained.weights.items()}
    decoder = decoder_of_weights(config.model, trained.task, weights, reach)
    words, _ = trained.task.held_out(config.evaluation.seed, COMPARED_WORDS)
    with torch.no_grad():
        own = trained.network.logits(trained.weights, words)[0].numpy()
    ours = logits(decoder, words[0].numpy()[:, :reach])[..., list(decoder.vocabulary.states)]
    difference = float(np.abs(ours - own[:, :reach]).max())
    scale = float(np.abs(own).max())
    return TrainedDecoder(decoder, trained.automaton, trained.replicate, COMPARED_WORDS, difference, scale)


def decoder_of_weights(model: ModelConfig, task: Task, weights: Single, length: int) -> Decoder:
    """One replicate's weights as a decoder for words up to ``length``."""
    config = exportable(model, task.config, length)
    automaton = with_target(task.automaton, task.config.target)
    names = vocabulary_of(automaton.letter_names, automaton.output_names, 0)
    return Decoder(
        layers=config.layers,
        heads=config.heads,
        width=config.dim // config.heads,
        activation="gelu_new",
        normalized=True,
        vocabulary=names,
        tensors=_tensors(config, weights, names, length),
    )


def exportable(model: ModelConfig, task: TaskConfig, length: int) -> GptConfig:
    """The model's configuration; refused with every reason why stock GPT-2 is not this network."""
    if not isinstance(model, GptConfig):
        raise Unsupported(f"only runs of the model gpt can be exported; got {model.kind}")
    reasons = []
    if model.recency:
        reasons.append("stock GPT-2 has no recency bias (train with recency off)")
    if task.scratchpad:
        reasons.append("a scratchpad needs a loop that writes states back (train without one)")
    if task.bos:
        reasons.append("its words begin with a token that is not a letter (train without bos)")
    if length < 1:
        reasons.append(f"words must have at least one letter; got length {length}")
    if model.positions == "learned" and length > model.context:
        reasons.append(f"learned positions reach {model.context} letters; got {length}")
    if reasons:
        raise Unsupported(f"this run cannot be exported: {'; '.join(reasons)}")
    return model


def _tensors(
    model: GptConfig, weights: Single, names: Vocabulary, length: int
) -> dict[str, npt.NDArray[np.float32]]:
    state = transformer_state(model, weights, vocabulary=len(names.letters), length=length)
    tensors = {name: value.numpy().astype(np.float32) for name, value in state.items()}
    tensors["transformer.wpe.weight"] = tensors["transformer.wpe.weight"][:length]
    embedding = np.zeros((len(names.tokens), model.dim), dtype=np.float32)
    embedding[list(names.letters)] = tensors["transformer.wte.weight"]
    tensors["transformer.wte.weight"] = embedding
    gain, shift = (weights[f"ln_f.{part}"].numpy().astype(np.float64) for part in ("weight", "bias"))
    classes = len(names.states)
    rows = weights["head.weight"][:, :classes].numpy().T.astype(np.float64)
    head, shifted = head_without_bias(rows, weights["head.bias"][:classes].numpy(), gain, shift, names)
    tensors["lm_head.weight"] = head.astype(np.float32)
    tensors["transformer.ln_f.bias"] = shifted.astype(np.float32)
    return tensors


def head_without_bias(
    rows: Matrix, bias: npt.NDArray[np.float32], gain: Matrix, shift: Matrix, names: Vocabulary
) -> tuple[Matrix, Matrix]:
    """The head [tokens, dim] and the new shift of the last LayerNorm; other tokens get a logit of −10⁴.

    The shift is moved along g, to make u · b equal to the width: any other direction would do, but this one
    needs no division by a small number.
    """
    if not gain.all():
        raise Unsupported(
            "no gain of the last LayerNorm may be zero, since the constant is read through all of them"
        )
    constant = 1.0 / gain
    moved = shift + gain * (1.0 - (constant @ shift) / len(gain))
    product = constant @ moved
    head = np.zeros((len(names.tokens), len(gain)))
    head[:] = -BELOW / product * constant
    # A row also read the old shift; what the move adds to it is subtracted from the bias.
    head[list(names.states)] = rows + ((bias - rows @ (moved - shift)) / product)[:, None] * constant
    return head, moved


def transformer_state(config: GptConfig, weights: Single, *, vocabulary: int, length: int) -> Single:
    """The weights under GPT-2's names, all but the head's."""
    state = {f"{PREFIX}{name}": value for name, value in weights.items() if name.startswith(_SAME)}
    state[f"{PREFIX}wte.weight"] = weights["wte"][:vocabulary]
    state[f"{PREFIX}wpe.weight"] = position_rows(config, weights, length)
    return state


def position_rows(config: GptConfig, weights: Single, length: int) -> Tensor:
    """The position encoding as a table; learned positions are returned whole, whatever the length."""
    device = weights["wte"].device
    if config.positions == "learned":
        return weights["wpe"]
    if config.positions == "none":
        return torch.zeros(length, config.dim, device=device)
    encode = gpt.linear if config.positions == "linear" else gpt.sinusoidal
    return (encode(length, config.dim, device) * config.position_scale).to(torch.float32)
