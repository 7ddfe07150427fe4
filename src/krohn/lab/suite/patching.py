"""The forward pass edge by edge: every reader may use a writer's output from another run.

Patching an edge is the field's interchange intervention: the reader sees the stream as if that one writer had
read another word; everything else is recomputed. Without patches it is the ordinary pass.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.lab.bridge import TorchBlock, attention, hidden_from
from krohn.lab.interpret.stages import DecoderHeads, stages_of_decoder
from krohn.lab.suite.graph import Flags, Graph
from krohn.network.gpt2.decoder import Decoder

Words = npt.NDArray[np.int64]
Tap = Callable[[int, Tensor], Tensor]
"""Called with a reader's number and its input; gives the input that it reads."""
Edit = Callable[[str, Tensor], Tensor]
"""Called with TransformerLens's name of a place and the stream; gives the stream from there on."""


@dataclass(frozen=True, eq=False)
class PatchedRun:
    """What writers wrote, each [word, position, d], and the logits of states at letters [word, letter, q]."""

    written: list[Tensor]
    logits: Tensor

    @property
    def answers(self) -> Tensor:
        """The predicted state after each letter."""
        return self.logits.argmax(-1)


@dataclass(frozen=True, eq=False)
class Other:
    """What readers take from another run: along the edges that are not ``kept``."""

    kept: Flags
    written: list[Tensor]


class EdgeModel:
    """The blocks of an opened decoder, run head by head."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder, self.stages = decoder, stages_of_decoder(decoder, torch.float64)
        self.graph = Graph(decoder.layers, decoder.heads, decoder.dim)
        self.prompt = len(self.stages.prompt)

    def embed(self, words: Words) -> Tensor:
        """The output of ``input``: token and position."""
        return self.stages.embed(words)

    def run(
        self,
        words: Words | Tensor,
        other: Other | None = None,
        *,
        tap: Tap | None = None,
        edit: Edit | None = None,
        clean: PatchedRun | None = None,
    ) -> PatchedRun:
        """A pass over words [word, letter], or from what ``input`` writes.

        ``tap`` may change the input of one reader; ``edit`` changes the stream for all later ones.
        ``clean`` is the pass over these words without patches: blocks before the first patch come from it.
        """
        first = words if isinstance(words, Tensor) else self.embed(words)
        readers = _Readers(self.graph, first, other, tap)
        change = (lambda place, stream: stream) if edit is None else edit
        readers.stream = change("blocks.0.hook_resid_pre", readers.stream)
        for layer, block in enumerate(self.stages.blocks):
            bias = _heads(block).output_bias
            if clean is not None and other is not None and self._reads_own_run(layer, other.kept):
                readers.replay(clean, bias)
                continue
            for output in self._attention(block, readers):
                readers.write(output)
            readers.add(bias)
            readers.stream = change(f"blocks.{layer}.hook_resid_mid", readers.stream)
            readers.write(block.apply_mlp(readers.read()))
            readers.stream = change(f"blocks.{layer}.hook_resid_post", readers.stream)
        return PatchedRun(readers.written, self.stages.read(readers.read()[:, self.prompt :]))

    def _reads_own_run(self, layer: int, kept: Flags) -> bool:
        """Whether this block and all before it read what was written in the same run."""
        end = (layer + 1) * (3 * self.graph.heads + 1)
        return bool((kept | ~self.graph.possible)[:end].all())

    def _attention(self, block: TorchBlock, readers: "_Readers") -> Tensor:
        """The output of each head: [head, word, position, d]."""
        heads = self.graph.heads
        own = _heads(block)
        # One product for all heads where they read the same; patched readers each read their own stream.
        if readers.alike:
            query, key, value = (part.transpose(0, 1) for part in block.offers(readers.read(3 * heads))[0])
        else:
            seen = torch.stack([readers.read() for _ in range(3 * heads)])
            seen = block.norms[0](seen).view(3, heads, *seen.shape[1:])
            bias = own.bias.view(own.shape)[:, :, None, None]
            query, key, value = torch.einsum("chbtd,chdw->chbtw", seen, torch.stack(own.matrices[:3])) + bias
        places = torch.arange(key.shape[2])
        weights = attention(query, key, hidden_from(places, len(places)))
        mixed: Tensor = torch.einsum("hbtw,hwd->hbtd", weights @ value, own.matrices[3])
        return mixed


def _heads(block: TorchBlock) -> DecoderHeads:
    (heads,) = block.heads
    assert isinstance(heads, DecoderHeads)
    return heads


class _Readers:
    """Gives each reader, in order, the sum of its writers' outputs, from this run or the other."""

    def __init__(self, graph: Graph, first: Tensor, other: Other | None, tap: Tap | None) -> None:
        self.graph, self.other, self.tap = graph, other, tap
        self.written, self.stream, self.at = [first], first, 0
        self.elsewhere = first if other is None else other.written[0]  # the stream of the other run

    def write(self, output: Tensor) -> None:
        """The next writer's output."""
        if self.other is not None:
            self.elsewhere = self.elsewhere + self.other.written[len(self.written)]
        self.written.append(output)
        self.stream = self.stream + output

    def add(self, constant: Tensor) -> None:
        """A bias that belongs to no writer."""
        self.stream, self.elsewhere = self.stream + constant, self.elsewhere + constant

    def replay(self, run: PatchedRun, bias: Tensor) -> None:
        """A whole block as it was in another pass over the same words."""
        start = len(self.written)
        *heads, mlp = run.written[start : start + self.graph.heads + 1]
        for output in heads:
            self.write(output)
        self.add(bias)
        self.write(mlp)
        self.at += 3 * len(heads) + 1

    @property
    def alike(self) -> bool:
        """Whether all readers at one place see the same stream."""
        return self.other is None and self.tap is None

    def read(self, count: int = 1) -> Tensor:
        """The input of the next reader, or of the next ``count``, if it is the same."""
        x, reader, self.at = self.stream, self.at, self.at + count
        if self.other is not None:
            x = self._mix(self.other.written, self.other.kept[reader, : self.graph.earlier[reader]])
        return x if self.tap is None else self.tap(reader, x)

    def _mix(self, others: list[Tensor], kept: Flags) -> Tensor:
        """The cheaper of two sums: this stream minus what is patched, or the other one plus what is kept."""
        few = kept.sum() < len(kept) / 2
        x, own, taken = (self.elsewhere, others, self.written) if few else (self.stream, self.written, others)
        for writer in np.flatnonzero(kept if few else ~kept).tolist():
            x = x + (taken[writer] - own[writer])
        return x
