"""Layers of flash-linear-attention in their reference form, for ``krohn card``: one factory each.

Run: python -m krohn card stock_layers:gated_deltanet --tasks C2,S3   (in this folder, with fla-core 0.6.0)

The recurrence is the library's own reference in plain PyTorch (``fla.ops.*.naive``): its gated kernels refuse
their backward pass on Hopper GPUs with Triton 3.4 to 3.7, and all of them need a GPU. Around it are the
projections, gates, norms and short convolutions of the library's layers at a small size (2 heads of 16
numbers at width 32), rewritten here in plain PyTorch: one block, residual stream, then an MLP. ``card`` says
which theorem a factory falls under.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

HEADS = 2
NAIVE = "fla 0.6.0's reference recurrence, projections rewritten at a small size"
QUADRATIC = 2_048


class Short(nn.Conv1d):
    """A causal convolution over four letters, each channel by itself, then SiLU."""

    def __init__(self, width: int) -> None:
        super().__init__(width, width, 4, groups=width, padding=3, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.silu(super().forward(x.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))


class Mixer(nn.Module, ABC):
    """Projections to heads, a recurrence, a norm, an output gate and a projection back."""

    conv = True

    def __init__(self, width: int, steps: int = 1) -> None:
        super().__init__()
        self.width, self.steps, self.head = width, steps, width // HEADS
        self.query, self.key, self.value = (
            nn.Linear(width, n * width, bias=False) for n in (1, steps, steps)
        )
        if self.conv:
            self.shorts = nn.ModuleList(Short(n * width) for n in (1, steps, steps))
        self.gate = nn.Linear(width, width, bias=False)
        self.norm = nn.RMSNorm(self.head, eps=1e-5)
        self.back = nn.Linear(width, width, bias=False)
        self.prepare()

    def prepare(self) -> None:
        """Creates the parameters that the recurrence needs besides queries, keys and values."""

    @abstractmethod
    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Output [batch, T, heads, head] from q of that shape; k and v have all steps of a letter along T."""

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.query(x), self.key(x), self.value(x)]
        if self.conv:
            parts = [short(part) for short, part in zip(self.shorts, parts, strict=True)]
        parts = [part.unflatten(-1, (-1, self.head)) for part in parts]
        parts = [part.unflatten(2, (-1, HEADS)).flatten(1, 2) for part in parts]  # T × steps
        out = self.norm(self.recurrence(x, *parts))
        return self.back((out * functional.silu(self.gate(x)).unflatten(-1, (HEADS, -1))).flatten(2))

    def decays(self, width: int) -> None:
        """The log gate of Mamba-2 and similar layers: −exp(A) · softplus(input)."""
        self.rate = nn.Linear(self.width, width)
        self.logs = nn.Parameter(torch.empty(width).uniform_(1, 16).log())
        nn.init.uniform_(self.rate.bias, -6.9, -2.3)

    def decay(self, x: Tensor) -> Tensor:
        return -self.logs.exp() * functional.softplus(self.rate(x))


def unit(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


class Gla(Mixer):
    conv = False

    def prepare(self) -> None:
        self.forget = nn.Sequential(nn.Linear(self.width, 16, bias=False), nn.Linear(16, self.width))

    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from fla.ops.gla.naive import naive_recurrent_gla

        gates = (functional.logsigmoid(self.forget(x)) / 16).unflatten(-1, (HEADS, -1))
        return naive_recurrent_gla(q, k, v, gates)[0]


class Hgrn2(Mixer):
    conv = False

    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from fla.ops.gla.naive import naive_recurrent_gla

        gates = functional.logsigmoid(k)
        return naive_recurrent_gla(functional.silu(q), 1 - gates.exp(), v, gates)[0]


class Mamba2(Mixer):
    def prepare(self) -> None:
        self.decays(HEADS)
        self.skip = nn.Parameter(torch.ones(HEADS, 1))

    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from fla.ops.simple_gla.naive import naive_recurrent_simple_gla

        width = functional.softplus(self.rate(x))
        gates = -self.logs.exp() * width
        return naive_recurrent_simple_gla(q, k, v * width[..., None], gates, scale=1.0)[0] + self.skip * v


class Mamba3(Mixer):
    """Single-input single-output heads, in the recurrent form of its authors (arXiv 2603.15569).

    Half of the components of queries and keys are rotated in pairs, by angles that accumulate from letter to
    letter; part of a letter is written together with the next one (trapezoidal rule). Decay and rotation
    share one step size Δ: |a| = exp(AΔ) with A ≤ −10⁻⁴, the angle at most πΔ.
    """

    conv = False

    def prepare(self) -> None:
        self.rate = nn.Linear(self.width, HEADS)
        self.shrink, self.share = (nn.Linear(self.width, HEADS, bias=False) for _ in range(2))
        self.turn = nn.Linear(self.width, self.head // 4, bias=False)
        size = torch.empty(HEADS).uniform_(-6.9, -2.3).exp()
        self.rate.bias.data = size + (-torch.expm1(-size)).log()  # inverse of softplus
        self.norms = nn.ModuleList(nn.RMSNorm(self.head, eps=1e-5) for _ in range(2))
        self.biases = nn.Parameter(torch.ones(2, HEADS, self.head))
        self.skip = nn.Parameter(torch.ones(HEADS, 1))
        self.norm = nn.Identity()

    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from fla.ops.simple_gla.naive import naive_recurrent_simple_gla

        q, k = (norm(part) + bias for norm, part, bias in zip(self.norms, (q, k), self.biases, strict=True))
        size = functional.softplus(self.rate(x))
        turns = (torch.tanh(self.turn(x)) * torch.pi)[:, :, None] * size[..., None]
        angles = turns.double().cumsum(1)
        q, k = (turned(part, angles) for part in (q, k))
        gates = -functional.softplus(self.shrink(x)).clamp(min=1e-4) * size
        now = self.share(x).sigmoid()
        fresh, late = v * (now * size)[..., None], before(v) * ((1 - now) * size * gates.exp())[..., None]
        both = [torch.cat(pair) for pair in ((q, q), (k, before(k)), (fresh, late), (gates, gates))]
        return sum(naive_recurrent_simple_gla(*both, scale=1.0)[0].chunk(2)) + self.skip * v


def turned(x: Tensor, angles: Tensor) -> Tensor:
    """x with its first components rotated in pairs, each by its angle."""
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    pairs, rest = x[..., : 2 * angles.shape[-1]].unflatten(-1, (-1, 2)), x[..., 2 * angles.shape[-1] :]
    one, two = pairs.unbind(-1)
    return torch.cat([torch.stack([one * cos - two * sin, one * sin + two * cos], -1).flatten(-2), rest], -1)


def before(x: Tensor) -> Tensor:
    """x shifted by one letter; 0 at the first."""
    return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)


class Mlstm(Mixer):
    """mLSTM, which the library lacks: its scalar-gated recurrence, with the normaliser as an extra column."""

    conv = False

    def prepare(self) -> None:
        self.gates = nn.Linear(self.width, 2 * HEADS)

    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from fla.ops.simple_gla.naive import naive_recurrent_simple_gla

        write, forget = self.gates(x).chunk(2, -1)
        wide = torch.cat([v, torch.ones_like(v[..., :1])], -1) * write.clamp(max=5.0).exp()[..., None]
        out = naive_recurrent_simple_gla(q, k, wide, functional.logsigmoid(forget + 3.0))[0]
        return out[..., :-1] / out[..., -1:].abs().clamp(min=1.0)


class Delta(Mixer):
    """Gated DeltaNet and Gated DeltaProduct."""

    negative, gated = False, True

    def prepare(self) -> None:
        self.beta = nn.Linear(self.width, self.steps * HEADS, bias=False)
        self.decays(HEADS)

    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from fla.ops.gated_delta_product.naive import naive_recurrent_gated_delta_product

        beta = self.beta(x).sigmoid().unflatten(-1, (-1, HEADS)).flatten(1, 2) * (1 + self.negative)
        gates = self.decay(x) if self.gated else None
        scale, steps = self.head**-0.5, self.steps
        result = naive_recurrent_gated_delta_product(
            unit(q), unit(k), v, gates, beta, scale, num_householder=steps
        )
        return result[0] if isinstance(result, tuple) else result


class NegativeDelta(Delta):
    negative = True


class Kda(Mixer):
    def prepare(self) -> None:
        self.beta = nn.Linear(self.width, HEADS, bias=False)
        self.decays(self.width)

    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from fla.ops.kda.naive import naive_recurrent_kda

        gates = self.decay(x).unflatten(-1, (HEADS, -1))
        return naive_recurrent_kda(unit(q), unit(k), v, gates, self.beta(x).sigmoid())[0]


class Rwkv7(Mixer):
    conv = False

    def prepare(self) -> None:
        self.shift = nn.Parameter(torch.linspace(0, 1, self.width))
        self.low = nn.ModuleList(
            nn.Sequential(nn.Linear(self.width, 16, bias=False), nn.Linear(16, self.width)) for _ in range(2)
        )
        self.direction = nn.Parameter(torch.ones(self.width))

    def forward(self, x: Tensor) -> Tensor:
        before = functional.pad(x, (0, 0, 1, -1))
        return super().forward(torch.lerp(x, before, self.shift))

    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from fla.ops.generalized_delta_rule.dplr.naive import dplr_recurrence

        decay, rate = (low(x).unflatten(-1, (HEADS, -1)) for low in self.low)
        decay, rate = -0.6065306597126334 * decay.sigmoid(), rate.sigmoid()
        removed = unit(k * self.direction.unflatten(0, (HEADS, -1)))
        parts = [part.transpose(1, 2) for part in (q, k * rate, v, -removed, removed * rate, decay)]
        return dplr_recurrence(*parts)[0].transpose(1, 2)


class Path(Mixer):
    conv = False

    def prepare(self) -> None:
        self.direction, self.short = nn.Linear(self.width, self.width, bias=False), Short(self.width)
        self.beta, self.forget = nn.Linear(self.width, HEADS), nn.Linear(self.width, HEADS)

    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from fla.ops.path_attn.naive import naive_path_attn

        along = unit(self.short(self.direction(x)).unflatten(-1, (HEADS, -1)))
        beta, gates = 2 * self.beta(x).sigmoid(), functional.logsigmoid(self.forget(x) + 3.0)
        chunk = 16 if x.shape[1] <= 64 else 64
        result = naive_path_attn(q, k, v, along, beta, gates, self.head**-0.5, chunk)
        return result[0] if isinstance(result, tuple) else result


class LogLinear(Mixer):
    def prepare(self) -> None:
        self.decays(HEADS)
        self.levels = nn.Linear(self.width, HEADS * 12)

    def recurrence(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from fla.ops.log_linear_attn.naive import naive_log_linear_attn

        levels = functional.softplus(self.levels(x)).unflatten(-1, (HEADS, 12))
        return naive_log_linear_attn(q, k, v, self.decay(x), levels)


class Block(nn.Module):
    def __init__(self, width: int, mixer: nn.Module) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.mixer = mixer
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mixer(self.norms[0](x))
        return x + self.mlp(self.norms[1](x))


def _factory(make: Callable[[int], nn.Module], **card: Any) -> Callable[[int], nn.Module]:
    def factory(width: int) -> nn.Module:
        return Block(width, make(width))

    factory.card = {"remark": NAIVE} | card  # type: ignore[attr-defined]
    return factory


REMEMBERS, UP_TO_ONE = "diagonal [0, 1]", "DeltaNet [0, 1]"
gla = _factory(Gla, family=REMEMBERS)
hgrn2 = _factory(Hgrn2, family=REMEMBERS)
mamba2 = _factory(Mamba2, family=REMEMBERS)
mamba3 = _factory(
    Mamba3,
    family=REMEMBERS,
    remark=f"{NAIVE}, after the form of Mamba-3's authors; where it turns its decay stays below 1, so on "
    "finitely many vectors it only remembers; without that floor it would be complex diagonal",
)
mlstm = _factory(
    Mlstm, family=REMEMBERS, remark="not in fla 0.6.0; its simple_gla reference recurrence with a normaliser"
)
gated_deltanet = _factory(Delta, family=UP_TO_ONE)
gated_deltanet_negative = _factory(NegativeDelta, family="DeltaProduct", remark=f"{NAIVE}; β up to 2")
gated_deltaproduct2 = _factory(
    lambda width: NegativeDelta(width, 2), family="DeltaProduct", steps=2, remark=f"{NAIVE}; β up to 2"
)
gated_deltaproduct4 = _factory(
    lambda width: NegativeDelta(width, 4), family="DeltaProduct", steps=4, remark=f"{NAIVE}; β up to 2"
)
kda = _factory(Kda, family=UP_TO_ONE)
rwkv7 = _factory(Rwkv7, remark=f"{NAIVE}; its rates end at 1, and the theorem about rank-one steps needs 2")
path = _factory(Path, longest=QUADRATIC, remark=f"{NAIVE}; attention, so long words end at {QUADRATIC:,}")
log_linear = _factory(
    LogLinear, longest=QUADRATIC, remark=f"{NAIVE}; quadratic form, so long words end at {QUADRATIC:,}"
)
