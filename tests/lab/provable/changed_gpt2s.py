"""Ways to change a GPT2LMHeadModel in memory that neither its configuration nor its weights show."""

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch import nn
from transformers import GPT2LMHeadModel

Change = Callable[[Any], Any]


def _hook(part: Callable[[Any], nn.Module], what: Callable[[Any], Any]) -> Change:
    def change(net: Any) -> None:
        part(net).register_forward_hook(
            lambda module, given, out: (what(out[0]), *out[1:]) if isinstance(out, tuple) else what(out)
        )

    return change


def _set(path: str, value: Callable[[], Any]) -> Change:
    def change(net: Any) -> None:
        *parts, last = path.split(".")
        for name in parts:
            net = net[int(name)] if name.isdigit() else getattr(net, name)
        setattr(net, last, value())

    return change


def _over(path: str, what: Callable[[Any], Any]) -> Change:
    """Another ``forward`` on one part: what it gave, changed."""

    def change(net: Any) -> None:
        for name in path.split("."):
            net = net[int(name)] if name.isdigit() else getattr(net, name)
        before = net.forward

        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            out = before(*args, **kwargs)
            return (what(out[0]), *out[1:]) if isinstance(out, tuple) else what(out)

        net.forward = MethodType(forward, net)

    return change


def _logits(what: Callable[[Any], Any]) -> Change:
    def change(net: Any) -> None:
        def after(module: Any, given: Any, out: Any) -> Any:
            out.logits = what(out.logits)
            return out

        net.register_forward_hook(after)

    return change


class Subclass(GPT2LMHeadModel):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        out.logits = -out.logits
        return out


def _subclass(net: Any) -> None:
    net.__class__ = Subclass


def _eps(value: float) -> Change:
    def change(net: Any) -> None:
        for module in net.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = value

    return change


def _training(net: Any) -> None:
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.9
    net.train()


def _attention_dropout(net: Any) -> None:
    for block in net.transformer.h:
        block.attn.attn_dropout.p = 0.9
    net.train()


def _scaled(net: Any) -> None:
    for block in net.transformer.h:
        block.attn.scaling = 0.01
        block.attn.scale_attn_weights = False


def _order(net: Any) -> None:
    net.transformer.h = nn.ModuleList(reversed(net.transformer.h))


def _counts(net: Any) -> None:
    calls = [0]

    def after(module: Any, given: Any, out: Any) -> Any:
        calls[0] += 1
        out.logits = out.logits if calls[0] % 2 else -out.logits
        return out

    net.register_forward_hook(after)


def _branch(net: Any) -> None:
    def after(module: Any, given: Any, out: Any) -> Any:
        out.logits = -out.logits if int(out.logits[0, 0, 0] * 1000) % 2 else out.logits
        return out

    net.register_forward_hook(after)


def _pre(what: Callable[[Any], Any]) -> Change:
    def change(net: Any) -> None:
        net.register_forward_pre_hook(lambda module, given: tuple(map(what, given)))

    return change


def _dropped(net: Any) -> None:
    net.transformer.h = net.transformer.h[:-1]


def _twice(net: Any) -> None:
    net.transformer.h = nn.ModuleList([*net.transformer.h, *net.transformer.h])


def _parametrized(net: Any) -> None:
    class Double(nn.Module):
        def forward(self, weight: Any) -> Any:
            return 3 * weight

    nn.utils.parametrize.register_parametrization(net.lm_head, "weight", Double())


def _not_causal(net: Any) -> None:
    for block in net.transformer.h:
        block.attn.is_causal = False


CHANGES: dict[str, Change] = {
    "hook on a block": _hook(lambda net: net.transformer.h[0], lambda x: x * 0.1),
    "hook on an MLP": _hook(lambda net: net.transformer.h[0].mlp, lambda x: -3 * x),
    "hook on attention": _hook(lambda net: net.transformer.h[0].attn, lambda x: x * 0),
    "hook on the embedding": _hook(lambda net: net.transformer.wte, lambda x: x.flip(-1)),
    "hook on positions": _hook(lambda net: net.transformer.wpe, lambda x: x * 0),
    "hook on a LayerNorm": _hook(lambda net: net.transformer.ln_f, lambda x: x + 1),
    "hook on the head": _hook(lambda net: net.lm_head, lambda x: -x),
    "hook on the logits": _logits(lambda x: x.roll(1, -1)),
    "logits rounded": _logits(torch.round),
    "logits cut": _logits(lambda x: x.clamp(-1e-3, 1e-3)),
    "logits in bfloat16": _logits(lambda x: x.bfloat16()),
    "logits through float16": _logits(lambda x: x.half().float()),
    "logits with noise": _logits(lambda x: x + torch.randn_like(x)),
    "logits dropped": _logits(lambda x: nn.functional.dropout(x, 0.9)),
    "logits sorted": _logits(lambda x: x.sort(-1).values),
    "logits by the largest": _logits(lambda x: x - 2 * x.amax(-1, keepdim=True)),
    "logits of the batch": _logits(lambda x: x - x.mean(0, keepdim=True)),
    "pre-hook: tokens turned": _pre(lambda x: x.flip(1)),
    "pre-hook: tokens moved": _pre(lambda x: (x + 1) % 2),
    "pre-hook: tokens clamped": _pre(lambda x: x.clamp(0, 0)),
    "activation": _set("transformer.h.0.mlp.act", nn.Tanh),
    "activation ReLU": _set("transformer.h.0.mlp.act", nn.ReLU),
    "activation none": _set("transformer.h.0.mlp.act", nn.Identity),
    "eps": _eps(10.0),
    "a little eps": _eps(1e-3),
    "training": _training,
    "attention dropout": _attention_dropout,
    "forward of the module": _over("transformer", lambda x: x),
    "forward of the head": _over("lm_head", lambda x: -x),
    "forward of positions": _over("transformer.wpe", lambda x: x.flip(0)),
    "forward of an MLP": _over("transformer.h.0.mlp", lambda x: x * 0),
    "forward of a projection": _over("transformer.h.0.mlp.c_fc", lambda x: x * 2),
    "subclass": _subclass,
    "not causal": _not_causal,
    "scores scaled": _scaled,
    "blocks in another order": _order,
    "a block left out": _dropped,
    "blocks twice": _twice,
    "parametrized head": _parametrized,
    "calls counted": _counts,
    "a branch on a logit": _branch,
    "bfloat16": lambda net: net.bfloat16(),
    "float64": lambda net: net.double(),
    "max_norm": _set("transformer.wte.max_norm", lambda: 0.1),
}
