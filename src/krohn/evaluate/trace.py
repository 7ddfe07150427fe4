"""A plain forward pass of the GPT that keeps what fused kernels discard: attention and streams."""

from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.errors import Unsupported
from krohn.evaluate.evaluation import Trained
from krohn.models.architectures.gpt import Gpt
from krohn.models.kernels import plain
from krohn.models.network import Weights


@dataclass(frozen=True)
class Trace:
    """Activations of a forward pass.

    Attributes:
        attention: weights [R, layer, head, word, t, i].
        residual: the stream after the embedding and after each block [R, layer + 1, word, t, dim].
        logits: [R, word, t, class].
    """

    attention: Tensor
    residual: Tensor
    logits: Tensor


@torch.inference_mode()
def trace(trained: Trained, words: Tensor) -> Trace:
    """Runs the replicates on ``words`` [N, T] in float32 and keeps everything."""
    network = trained.network
    if trained.task.bos:
        raise Unsupported("attention can be traced only in a network without a beginning token")
    if not isinstance(network, Gpt):
        raise Unsupported(f"attention can be traced only in a gpt; got {type(network).__name__}")
    weights = {name: value.float() for name, value in trained.weights.items()}
    count, length = words.shape
    tokens = words.int().expand(trained.replicates, count, length)
    x = network.embed(weights, tokens)
    attention, residual = [], [x]
    for layer in range(network.config.layers):
        block = {name.removeprefix(f"h.{layer}."): value for name, value in weights.items()}
        scores, mixed = _attend(network, block, x, count, length)
        x = x + mixed
        _, h = plain.add_norm(x, None, None, block["ln_2.weight"], block["ln_2.bias"], None)
        hidden = plain.bias_gelu(plain.linear(h, block["mlp.c_fc.weight"]), block["mlp.c_fc.bias"])
        x = x + plain.linear(hidden, block["mlp.c_proj.weight"]) + block["mlp.c_proj.bias"][:, None]
        attention.append(scores)
        residual.append(x)
    _, h = plain.add_norm(x, None, None, weights["ln_f.weight"], weights["ln_f.bias"], None)
    logits = (plain.linear(h, weights["head.weight"]) + weights["head.bias"][:, None])[..., : network.classes]
    streams = torch.stack(residual, dim=1).view(len(x), -1, count, length, x.shape[-1])
    return Trace(torch.stack(attention, dim=1), streams, logits.reshape(len(x), count, length, -1))


def _attend(network: Gpt, block: Weights, x: Tensor, count: int, length: int) -> tuple[Tensor, Tensor]:
    heads = network.config.heads
    _, h = plain.add_norm(x, None, None, block["ln_1.weight"], block["ln_1.bias"], None)
    qkv = plain.linear(h, block["attn.c_attn.weight"]) + block["attn.c_attn.bias"][:, None]
    split = qkv.view(len(x), count, length, 3, heads, -1)
    # [R, word, t, 3, head, head_dim] -> three of [R, head, word, t, head_dim]
    q, k, v = split.permute(3, 0, 4, 1, 2, 5).unbind(0)
    if network.config.recency:
        mask = plain.recency_mask(plain.alibi_slopes(heads, x.device), length)[None, :, None]
    else:
        mask = torch.full((length, length), float("-inf"), device=x.device).triu(1)
    scores = (q @ k.transpose(-1, -2) * plain.head_scale(q.shape[-1]) + mask).softmax(-1)
    mixed = (scores @ v).permute(0, 2, 3, 1, 4).flatten(3).flatten(1, 2)
    out = plain.linear(mixed, block["attn.c_proj.weight"]) + block["attn.c_proj.bias"][:, None]
    return scores, out
