"""Our own architectures as layers of a card: sizes, rows of ``krohn analyze``, one replicate as a module."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from krohn.base.typed import Misfit, Types, annotations
from krohn.errors import InvalidInput
from krohn.lab import random_streams
from krohn.lab.cards.card_layer import LONGEST, QUADRATIC, CardLayer
from krohn.lab.models.network import ModelConfig, Network
from krohn.lab.models.registry import architecture, model_config


def own_layer(name: str, kind: str, options: list[str], width: int) -> CardLayer:
    """The layer of one of our architectures, at the width of the card unless an option says otherwise."""
    known, given = annotations(architecture(kind)), {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or key not in known:
            raise InvalidInput(
                f"an option of {kind} must be NAME=VALUE with a NAME among {', '.join(known)}; "
                f"got {option[:40]!r}"
            )
        try:
            given[key] = Types().parse(value, known[key])
        except Misfit as misfit:
            raise InvalidInput(f"{key} of {kind} must be {misfit}; got {value[:40]!r}") from misfit
    sizes = SIZES[kind](width) if kind in SIZES else {}
    config = model_config(kind, **(sizes | given))
    reasons = config.reasons(2)
    if reasons:
        raise InvalidInput(f"{kind}: {reasons[0]}")

    def factory(letters: int, states: int) -> nn.Module:
        return Alone(config.build(letters, states))

    longest = QUADRATIC if kind == "gpt" else LONGEST
    if getattr(config, "positions", "") == "learned":  # a table of positions ends with the context
        longest = min(longest, int(getattr(config, "context", longest)))
    return CardLayer(
        name,
        factory,
        family=_family(config),
        layers=int(getattr(config, "layers", 1)),
        steps=int(getattr(config, "householders", getattr(config, "steps", 1))),
        longest=longest,
        remark=_remark(config),
    )


def _stack_size(width: int) -> dict[str, Any]:
    return {"dim": width, "mlp": 2 * width}


def _matrix_size(width: int) -> dict[str, Any]:
    head = max(1, width // 2)
    return _stack_size(width) | {"heads": 2, "key_dim": head, "value_dim": head}


SIZES: dict[str, Callable[[int], dict[str, Any]]] = {
    "gpt": lambda width: {"layers": 2, "dim": width, "heads": 4 if width % 4 == 0 else 1, "mlp": 4 * width},
    "lstm": lambda width: {"embedding": width, "hidden": 2 * width},
    "gru": lambda width: {"embedding": width, "hidden": 2 * width},
    "diagonal": lambda width: _stack_size(width) | {"channels": 2 * width},
    "deltaproduct": _matrix_size,
    "rankone": _matrix_size,
    "looped": lambda width: {"dim": width, "heads": 4 if width % 4 == 0 else 1, "mlp": 4 * width},
}
"""Small sizes of our architectures, by the width of the card; others take their own defaults."""

_GATES = {"unit": "diagonal [0, 1]", "signed": "diagonal [-1, 1]", "complex": "diagonal complex"}


def _family(config: ModelConfig) -> str | None:
    """The row of ``krohn analyze`` about such networks; ``None`` if there is none."""
    kind: str = config.kind

    def get(name: str) -> Any:
        return getattr(config, name)

    if kind == "gpt":
        return (
            "Transformer, soft attention of fixed precision"
            if get("positions") == "none"
            else "Transformer, fixed depth"
        )
    if kind == "diagonal":
        return _GATES[get("gate")]
    # Keys that are nowhere negative lie too close to each other for some groups of reflections.
    if kind == "deltaproduct" and get("key_norm") == "l2" and get("key_activation") != "relu":
        if get("beta_max") == 1:
            return "DeltaNet [0, 1]" if get("householders") == 1 else None
        return "DeltaNet [0, 2]" if get("householders") == 1 and not get("gate") else "DeltaProduct"
    if kind == "rankone" and get("rate_max") == 2:
        return "rank-one (RWKV-7)"
    if kind == "looped":
        return "Transformer, looped" if get("blocks") == 1 else "Transformer, log depth"
    return {"lstm": "LSTM", "gru": "GRU"}.get(kind)


def _remark(config: ModelConfig) -> str:
    if config.kind == "gpt":
        return f"long words end at {QUADRATIC:,} letters: attention takes time that grows with the square"
    return ""


class Alone(nn.Module):
    """One replicate of one of our networks as a module; its initial weights depend on torch's seed."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        key = random_streams.replicate_keys(int(torch.randint(1 << 31, ())), 1)
        first = network.layout.views(network.layout.initial(key))
        self.names = {name: name.replace(".", "_") for name in first}
        for name, value in first.items():
            self.register_parameter(self.names[name], nn.Parameter(value[0].clone()))

    def forward(self, words: Tensor) -> Tensor:
        """Logits of every position."""
        weights = {name: self.get_parameter(own)[None] for name, own in self.names.items()}
        return self.network.logits(weights, words[None])[0]
