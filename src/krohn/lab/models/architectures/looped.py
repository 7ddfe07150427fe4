"""One block, looped: in loop l a letter reads itself and the letter 2^l before it, R replicates at once.

A word of T letters takes ⌈log₂ T⌉ loops of the same weights, one at least. After loop l the stream at a
letter is a code of the last 2^(l+1) letters, or of all up to it where these are fewer, and then it stays: a
scan (Hillis and Steele 1986). Which letter to look at, and that all loops share one operator, is built in;
the codes, their product and the read-out are learned. Attention has two keys, the letter's own and the far
one, so its softmax is a sigmoid; before the first letter stands a learned vector. A LayerNorm ends each
loop. With ``codes`` a loop ends by replacing the stream by one of that many vectors.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from krohn.lab import random_streams
from krohn.lab.models.kernels import plain
from krohn.lab.models.network import ModelConfig, Network, Noise, StackedDecoder, round_up
from krohn.lab.models.parameters import Parameter, ParameterLayout, Weights

NOISE_RANK = 16
"""Noise is drawn in as many random directions for each loop and step, which costs a fraction of one for each
channel."""

ROWS = 1 << 15
"""Letters of all words and replicates that one pass of a loop reads when nothing is learned."""


@dataclass(frozen=True, kw_only=True)
class LoopedConfig(ModelConfig):
    """Sizes and options of the looped block.

    Attributes:
        dim: width of the stream.
        heads: attention heads; must divide ``dim``.
        mlp: hidden width of the MLP.
        noise: most noise on the stream after a loop of training, in standard deviations of the stream.
        norm: whether a LayerNorm ends each loop.
        blocks: 1 for one block in all loops; else loop l takes block l, and the last one from then on.
        supervise: ``loops``: after each loop the states of the prefixes that it completes; ``end``: all
            states after the last loop; ``last``: the state after the last letter alone.
        codes: values that the stream can take after a loop; 0 for any.
    """

    kind: ClassVar[str] = "looped"
    dim: int = 128
    heads: int = 4
    mlp: int = 512
    noise: float = 0.5
    norm: bool = True
    blocks: int = 1
    supervise: Literal["loops", "end", "last"] = "loops"
    codes: int = 0

    def reasons(self, length: int) -> list[str]:
        """See ``ModelConfig.reasons``."""
        sizes = {"dim": self.dim, "heads": self.heads, "mlp": self.mlp, "blocks": self.blocks}
        wrong = [f"{name} must be at least 1; got {size}" for name, size in sizes.items() if size < 1]
        if not wrong and self.dim % self.heads:
            wrong.append(f"dim must be divisible by heads; got dim {self.dim} and heads {self.heads}")
        if not 0.0 <= self.noise < math.inf:
            wrong.append(f"noise must be at least 0; got {self.noise}")
        if self.blocks > max(1, loops_of(length)):
            wrong.append(f"blocks must be at most the {loops_of(length)} loops of words; got {self.blocks}")
        if self.codes < 0:
            wrong.append(f"codes must be at least 0; got {self.codes}")
        return wrong

    def build(self, vocabulary: int, classes: int) -> "Looped":
        """See ``ModelConfig.build``."""
        return Looped(self, vocabulary, classes)


def loops_of(length: int) -> int:
    """Loops for a word of that many letters: after them every prefix is complete."""
    return max(1, (length - 1).bit_length())


class Looped(Network):
    """The network; parameter names are GPT-2's where they mean the same.

    Attributes:
        config: its sizes.
    """

    def __init__(self, config: LoopedConfig, vocabulary: int, classes: int) -> None:
        self.config, self.classes = config, classes
        dim, width = config.dim, round_up(classes)
        letters = Parameter("wte", (round_up(vocabulary), dim), "normal", 1.0, used=(vocabulary, dim))
        codes = (round_up(config.codes), dim), (round_up(config.codes),)
        self.layout = ParameterLayout.of(
            [
                letters,
                Parameter("none", (dim,), "normal", 0.3),
                *(part for number in range(config.blocks) for part in _block(f"h.{number}.", config)),
                *(
                    [
                        Parameter("codes", codes[0], "normal", 1.0, used=(config.codes, dim)),
                        Parameter("codes_bias", codes[1]),
                    ]
                    if config.codes
                    else []
                ),
                *_norm("ln_f", dim),
                Parameter("head.weight", (dim, width), "uniform", dim**-0.5, used=(dim, classes)),
                Parameter("head.bias", (width,)),
            ]
        )

    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        """See ``Network.logits``."""
        if torch.is_grad_enabled() or noise is not None:
            return self.read(weights, self.streams(weights, tokens, noise)[-1])
        return self._long(weights, tokens)

    def loss(
        self, weights: Weights, tokens: Tensor, targets: Tensor, shown: Tensor, noise: Noise | None = None
    ) -> Tensor:
        """See ``Network.loss``: the mean over the loops that have a loss, each about its prefixes."""
        streams, length = self.streams(weights, tokens, noise), tokens.shape[2]
        if self.config.supervise == "loops":
            judged = [(x, slice(0, 2 << loop)) for loop, x in enumerate(streams)]
        else:
            judged = [(streams[-1], slice(length - 1 if self.config.supervise == "last" else 0, length))]
        losses = []
        for x, part in judged:
            scores = self.read(weights, x[:, :, part]).flatten(1, 2)
            labels = targets[:, :, part].flatten(1), shown[:, :, part].flatten(1)
            losses.append(plain.cross_entropy(scores, None, *labels, self.classes))
        return torch.stack(losses).mean(0)

    def passes(self, length: int) -> int:
        """See ``Network.passes``."""
        return loops_of(length)

    def streams(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> list[Tensor]:
        """The stream [R, B, T, d] after each loop."""
        x, result = self.embed(weights, tokens), list[Tensor]()
        for loop in range(loops_of(tokens.shape[2])):
            block, back = self.block_of(weights, loop), 1 << loop
            query, own = self.project(block, x)
            before = self.before(weights, block)[:, None, None].expand(*x.shape[:2], back, -1)
            far = torch.cat((before, own[:, :, :-back]), 2)
            x = self.finish(block, x, query, own, far)
            if noise is not None and self.config.noise:
                x = self._perturb(x, noise, loop)
            if self.config.codes:
                x = self.snap(weights, x)
            if loop:  # the first letters have read all before them
                x = torch.cat((result[-1][:, :, :back], x[:, :, back:]), 2)
            result.append(x)
        return result

    def merge(self, weights: Weights, far: Tensor | None, near: Tensor, loop: int = 0) -> Tensor:
        """The stream [R, ..., d] after a loop where ``near`` reads itself and ``far``, or nothing before."""
        block = self.block_of(weights, loop)
        query, own = self.project(block, near)
        if far is None:
            before = self.before(weights, block)
            other = before.view(len(before), *(1,) * (near.dim() - 2), -1).expand_as(own)
        else:
            _, other = self.project(block, far)
        x = self.finish(block, near, query, own, other)
        return self.snap(weights, x) if self.config.codes else x

    def embed(self, weights: Weights, tokens: Tensor) -> Tensor:
        """The stream [R, B, T, d] before the first loop."""
        table = weights["wte"]
        rows = plain.linear(plain.one_hot(tokens, table.shape[1], table.dtype), table)
        return rows.view(*tokens.shape, -1)

    def read(self, weights: Weights, x: Tensor) -> Tensor:
        """Logits [R, ..., classes] of a stream [R, ..., d]."""
        h = _normed(weights, "ln_f", x)
        scores = _linear(h, weights["head.weight"], weights["head.bias"])
        return scores[..., : self.classes]

    def block_of(self, weights: Weights, loop: int) -> Weights:
        """The weights of the block that a loop takes, by name."""
        prefix = f"h.{min(loop, self.config.blocks - 1)}."
        return {name: weights[prefix + name] for name in _BLOCK if prefix + name in weights}

    def project(self, block: Weights, x: Tensor) -> tuple[Tensor, Tensor]:
        """Query [R, ..., d], and key and value [R, ..., 2d], of a stream."""
        h = _normed(block, "ln_1", x)
        whole = _linear(h, block["attn.c_attn.weight"])
        dim = self.config.dim
        return whole[..., :dim] + _rows(block["attn.c_attn.bias"], whole), whole[..., dim:]

    def before(self, weights: Weights, block: Weights) -> Tensor:
        """Key and value [R, 2d] of what stands before the first letter."""
        return self.project(block, weights["none"][:, None])[1][:, 0]

    def finish(self, block: Weights, x: Tensor, query: Tensor, own: Tensor, far: Tensor) -> Tensor:
        """The stream after the loop, before noise and codes."""
        slot, dim, heads = block["attn.slot"], self.config.dim, self.config.heads
        by_head = (*x.shape[:-1], heads, dim // heads)
        key, value = (own + _rows(slot[:, 0], own)).chunk(2, -1)
        far_key, far_value = (far + _rows(slot[:, 1], far)).chunk(2, -1)
        product = (query * (far_key - key)).reshape(by_head).sum(-1, keepdim=True)
        share = (product * plain.head_scale(dim // heads)).sigmoid()
        moved = share * (far_value - value).reshape(by_head)
        x = x + _linear(value + moved.flatten(-2), block["attn.c_proj.weight"], block["attn.c_proj.bias"])
        hidden = _linear(_normed(block, "ln_2", x), block["mlp.c_fc.weight"], block["mlp.c_fc.bias"])
        bent = functional.gelu(hidden, approximate="tanh")
        x = x + _linear(bent, block["mlp.c_proj.weight"], block["mlp.c_proj.bias"])
        return _normed(block, "ln_3", x) if self.config.norm else x

    def snap(self, weights: Weights, x: Tensor) -> Tensor:
        """The code with the highest score at each place; gradients are those of the softmax."""
        count = self.config.codes
        codes = weights["codes"][:, :count]
        scores = _linear(x, codes.transpose(1, 2), weights["codes_bias"][:, :count])
        best = functional.one_hot(scores.argmax(-1), count).to(x.dtype)
        if torch.is_grad_enabled():
            soft = (scores * x.shape[-1] ** -0.5).softmax(-1)
            best = best + soft - soft.detach()
        return _linear(best, codes)

    def _perturb(self, x: Tensor, noise: Noise, loop: int) -> Tensor:
        """The stream with noise, whose size each word draws once: some words of a batch are nearly clean."""
        (replicates, batch, length, dim), rank, device = x.shape, NOISE_RANK, x.device
        key, words = (
            noise.site(2 * loop + 1),
            random_streams.derive(noise.site(0)[:, None], _count(batch, device)),
        )
        draws = random_streams.derive(key[:, None], _count(batch * length * rank, device))
        where = random_streams.derive(noise.site(2 * loop + 2)[:, None], _count(rank * dim, device))
        amounts = random_streams.normal(draws).view(replicates, batch, -1)
        amounts = amounts * (random_streams.uniform(words) * (self.config.noise * rank**-0.5))[..., None]
        directions = random_streams.normal(where).view(replicates, rank, dim).to(x.dtype)
        change = plain.linear(amounts.view(replicates, -1, rank).to(x.dtype), directions)
        return x + x.std(-1, keepdim=True).detach() * change.view_as(x)

    def _long(self, weights: Weights, tokens: Tensor) -> Tensor:
        """As ``logits``, a few letters at a time, so that memory holds one stream whatever the length."""
        x, length = self.embed(weights, tokens), tokens.shape[2]
        size = max(1, ROWS // (tokens.shape[0] * tokens.shape[1]))
        starts = range(0, length, size)
        for loop in range(loops_of(length)):
            back = 1 << loop
            # From the last letters to the first: what lies before is still the stream of the loop before.
            for first in reversed(range(back, length, size)):
                end = min(length, first + size)
                x[:, :, first:end] = self.merge(
                    weights, x[:, :, first - back : end - back], x[:, :, first:end], loop
                )
            if not loop:
                x[:, :, :1] = self.merge(weights, None, x[:, :, :1])
        return torch.cat([self.read(weights, x[:, :, first : first + size]) for first in starts], 2)


class LoopedDecoder(StackedDecoder):
    """Reads letter by letter with the codes of as many windows as the number of letters has binary ones.

    A letter is first merged with what stands before the first letter; windows of equal size are merged, and
    an answer merges the windows from the oldest to the newest. Memory grows with the logarithm of the length.
    """

    def __init__(self, network: Looped, weights: Weights) -> None:
        self._network, self._weights = network, weights
        self._count, self._windows = 0, list[Tensor]()

    def step(self, tokens: Tensor) -> Tensor:
        """See ``StackedDecoder.step``."""
        for letter in tokens[..., None].unbind(-2):
            code = self._merge(None, self._network.embed(self._weights, letter))
            for _ in range((~self._count & (self._count + 1)).bit_length() - 1):
                code = self._merge(self._windows.pop(), code)
            self._windows.append(code)
            self._count += 1
        whole = self._windows[0]
        for window in self._windows[1:]:
            whole = self._merge(whole, window)
        return self._network.read(self._weights, whole)[:, :, -1]

    def _merge(self, far: Tensor | None, near: Tensor) -> Tensor:
        return self._network.merge(self._weights, far, near, self._network.config.blocks - 1)


_NORMS = ("ln_1", "ln_2", "ln_3")
_BLOCK = (
    *(f"{name}.{part}" for name in _NORMS for part in ("weight", "bias")),
    "attn.c_attn.weight", "attn.c_attn.bias", "attn.slot", "attn.c_proj.weight", "attn.c_proj.bias",
    "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias",
)  # fmt: skip


def _block(prefix: str, config: LoopedConfig) -> list[Parameter]:
    dim, mlp = config.dim, config.mlp
    norms = _NORMS if config.norm else _NORMS[:2]
    return [
        *(part for name in norms for part in _norm(prefix + name, dim)),
        Parameter(f"{prefix}attn.c_attn.weight", (dim, 3 * dim), "uniform", dim**-0.5, matrices=3),
        Parameter(f"{prefix}attn.c_attn.bias", (dim,)),
        Parameter(f"{prefix}attn.slot", (2, 2 * dim), "normal", 0.3),
        Parameter(f"{prefix}attn.c_proj.weight", (dim, dim), "uniform", dim**-0.5, matrices=1),
        Parameter(f"{prefix}attn.c_proj.bias", (dim,)),
        Parameter(f"{prefix}mlp.c_fc.weight", (dim, mlp), "uniform", dim**-0.5, matrices=1),
        Parameter(f"{prefix}mlp.c_fc.bias", (mlp,)),
        Parameter(f"{prefix}mlp.c_proj.weight", (mlp, dim), "uniform", mlp**-0.5, matrices=1),
        Parameter(f"{prefix}mlp.c_proj.bias", (dim,)),
    ]


def _norm(name: str, dim: int) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (dim,), "constant", 1.0), Parameter(f"{name}.bias", (dim,))]


def _count(number: int, device: torch.device) -> Tensor:
    return torch.arange(number, device=device)


def _rows(vector: Tensor, like: Tensor) -> Tensor:
    """A vector [R, d] that adds to [R, ..., d]."""
    return vector.view(len(vector), *(1,) * (like.dim() - 2), -1)


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [R, ..., in] @ weight [R, in, out] + bias [R, out]."""
    product = plain.linear(x.reshape(len(x), -1, x.shape[-1]), weight).view(*x.shape[:-1], -1)
    return product if bias is None else product + _rows(bias, product)


def _normed(weights: Weights, name: str, x: Tensor) -> Tensor:
    gain, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return torch.addcmul(_rows(shift, x), functional.layer_norm(x, x.shape[-1:]), _rows(gain, x))


ARCHITECTURE = LoopedConfig
