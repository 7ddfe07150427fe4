"""Laws of every registered architecture; a new file in lab.models.architectures is tested automatically."""

import math
from typing import Any

import pytest
import torch

from krohn.lab.models.network import ModelConfig
from krohn.lab.models.registry import kinds, model_config
from krohn.lab.training.config import RunConfig, TaskConfig
from lab.models.laws import CLASSES, VOCABULARY, broken_laws

# Small sizes for speed; an architecture that is not named here is tested at its default size.
SMALL: dict[str, list[dict[str, Any]]] = {
    "deltaproduct": [
        {"dim": 8, "mlp": 8, "heads": 2, "key_dim": 4, "value_dim": 3},
        {
            "layers": 2,
            "dim": 8,
            "mlp": 8,
            "heads": 1,
            "householders": 1,
            "conv": 3,
            "gate": True,
            "norm": "none",
        },
    ],
    "diagonal": [
        {"dim": 8, "mlp": 8, "channels": 6, "gate": "unit", "conv": 2},
        {"dim": 8, "mlp": 0, "channels": 6, "gate": "signed", "norm": "none"},
        {"layers": 2, "dim": 8, "mlp": 8, "channels": 6, "gate": "complex"},
    ],
    "gpt": [
        {"layers": 2, "dim": 16, "heads": 2, "mlp": 24},
        {"layers": 1, "dim": 16, "heads": 2, "mlp": 16, "positions": "learned", "dropout": 0.2},
        {"layers": 1, "dim": 16, "heads": 2, "mlp": 16, "positions": "shifted", "recency": True},
    ],
    "gru": [{"embedding": 6, "hidden": 10}],
    "looped": [
        {"dim": 8, "heads": 2, "mlp": 12, "supervise": "end"},
        {"dim": 8, "heads": 1, "mlp": 8, "norm": False, "blocks": 2, "noise": 0.0, "supervise": "end"},
        {"dim": 8, "heads": 4, "mlp": 8, "codes": 5, "supervise": "end"},
    ],
    "lstm": [{"embedding": 6, "hidden": 10}],
    "rankone": [{"dim": 8, "mlp": 8, "heads": 2, "key_dim": 4, "value_dim": 3, "steps": 2}],
}
CONFIGS = [model_config(kind, **options) for kind in kinds() for options in SMALL.get(kind, [{}])]


@pytest.fixture(params=CONFIGS, ids=str)
def config(request: pytest.FixtureRequest) -> ModelConfig:
    result = request.param
    assert isinstance(result, ModelConfig)
    return result


def test_the_architecture_obeys_every_law(config: ModelConfig) -> None:
    assert broken_laws(config) == []


def test_a_run_with_it_survives_json(config: ModelConfig) -> None:
    run = RunConfig(task=TaskConfig(spec="C2"), model=config)
    assert RunConfig.from_json(run.to_json()) == run


def test_the_loss_is_what_a_pocket_calculator_gives(config: ModelConfig) -> None:
    network = config.build(VOCABULARY, CLASSES)
    weights = network.layout.views(network.layout.initial(torch.tensor([7])).double())
    tokens = torch.tensor([[[0, 3, 1], [4, 2, 2]]])
    targets, shown = torch.tensor([[[2, 0, 1], [1, 1, 0]]]), torch.tensor([[[1, 0, 1], [0, 0, 1]]])
    logits = network.logits(weights, tokens).tolist()[0]
    losses = [
        math.log(sum(math.exp(score) for score in logits[row][place])) - logits[row][place][target]
        for row, place, target in ((0, 0, 2), (0, 2, 1), (1, 2, 0))
    ]
    assert float(network.loss(weights, tokens, targets, shown)) == pytest.approx(sum(losses) / 3, abs=1e-12)
