"""Every architecture with every option against plain loops; where parameters lie and how they begin."""

import math

import numpy as np
import pytest
import torch

from every import every
from krohn.errors import InvalidInput
from krohn.lab import random_streams
from krohn.lab.models.architectures.diagonal import gates_of
from krohn.lab.models.architectures.gpt import sinusoidal
from krohn.lab.models.kernels import operations, plain
from krohn.lab.models.network import ModelConfig, Network, round_up
from krohn.lab.models.parameters import Parameter, ParameterLayout, Weights
from krohn.lab.models.registry import kinds, model_config
from krohn.lab.training.run_decoder import position_rows
from lab.models.naive_networks import naive_gpt, naive_stack

VOCABULARY, CLASSES = 3, 4
SMALL = {"layers": 2, "dim": 6, "mlp": 5}
MATRIX = {**SMALL, "heads": 2, "key_dim": 3, "value_dim": 2}

STACKS: list[tuple[str, dict[str, object]]] = [
    ("diagonal", {**SMALL, "channels": 4, "gate": "unit"}),
    ("diagonal", {**SMALL, "channels": 4, "gate": "signed", "conv": 3, "norm": "none"}),
    ("diagonal", {**SMALL, "channels": 3, "gate": "complex", "conv": 2, "activation": "relu"}),
    ("diagonal", {**SMALL, "channels": 3, "mlp": 0}),
    ("deltaproduct", {**MATRIX, "gate": True}),
    ("deltaproduct", {**MATRIX, "householders": 3, "beta_max": 1, "conv": 2, "key_activation": "silu"}),
    ("deltaproduct", {**MATRIX, "householders": 1, "key_activation": "relu", "key_norm": "none"}),
    ("rankone", {**MATRIX, "steps": 2}),
    ("rankone", {**MATRIX, "rate_max": 1, "norm": "none", "conv": 2}),
]
GPTS: list[dict[str, object]] = [
    {"positions": "sinusoidal", "recency": True, "position_scale": 0.5},
    {"positions": "linear"},
    {"positions": "none", "recency": True},
    {"positions": "shifted"},
    {"positions": "learned", "context": 9},
]


def moved(network: Network, replicates: int = 2) -> Weights:
    """First weights, all moved a little: no bias is zero, no gain is one."""
    flat = network.layout.initial(random_streams.replicate_keys(1, replicates)).double()
    noise = torch.randn(flat.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return network.layout.views(flat + 0.3 * noise)


def one_of(network: Network, weights: Weights, row: int) -> dict[str, np.ndarray]:
    """One replicate without its padding."""
    result = {name: value[row].numpy() for name, value in weights.items()}
    result["wte"] = result["wte"][:VOCABULARY]
    result["head.weight"], result["head.bias"] = (
        result["head.weight"][:, :CLASSES],
        result["head.bias"][:CLASSES],
    )
    return result


def tokens(replicates: int = 2, batch: int = 2, length: int = 8) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randint(VOCABULARY, (replicates, batch, length), generator=generator)


@every(("kind", "options"), STACKS)
def test_a_stack_is_what_its_definition_says(kind: str, options: dict[str, object]) -> None:
    config = model_config(kind, **options)
    network = config.build(VOCABULARY, CLASSES)
    weights, words = moved(network), tokens()
    logits = network.logits(weights, words).numpy()
    for row, batch in np.ndindex(2, 2):
        naive = naive_stack(config, one_of(network, weights, row), words[row, batch].tolist())
        assert np.allclose(logits[row, batch], naive, atol=1e-9)


@pytest.mark.parametrize("options", GPTS, ids=lambda one: str(one["positions"]))
def test_a_gpt_is_what_its_definition_says(options: dict[str, object]) -> None:
    config = model_config("gpt", layers=2, dim=6, heads=2, mlp=5, **options)
    network = config.build(VOCABULARY, CLASSES)
    weights, words = moved(network), tokens()
    logits = network.logits(weights, words).numpy()
    for row, batch in np.ndindex(2, 2):
        naive = naive_gpt(config, one_of(network, weights, row), words[row, batch].tolist())
        assert np.allclose(logits[row, batch], naive, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "options"), STACKS[:6:2], ids=lambda one: one if isinstance(one, str) else ""
)
def test_memories_are_wide_where_weights_are_not(kind: str, options: dict[str, object]) -> None:
    network = model_config(kind, **options).build(VOCABULARY, CLASSES)
    narrow = {name: value.to(torch.bfloat16) for name, value in moved(network).items()}
    memory = network.start(narrow["wte"], 3)  # type: ignore[attr-defined]
    assert memory.dtype in (torch.float32, torch.complex64)
    assert not memory.any()
    assert network.logits(narrow, tokens()).dtype == torch.bfloat16


SIZES: dict[str, dict[str, object]] = {
    "gpt": {"layers": 0, "dim": 0, "heads": 0, "mlp": 0},
    "lstm": {"embedding": 0, "hidden": -1},
    "gru": {"embedding": 0, "hidden": -1},
    "diagonal": {"layers": 0, "dim": 0, "conv": 0, "channels": 0, "mlp": -1},
    "deltaproduct": {"layers": 0, "heads": 0, "key_dim": 0, "value_dim": 0, "householders": 0, "beta_max": 0},
    "looped": {"dim": 0, "heads": 0, "mlp": 0, "blocks": 0, "noise": -1, "codes": -1},
    "rankone": {"dim": 0, "heads": 0, "steps": 0, "rate_max": 3},
}


@pytest.mark.parametrize("kind", sorted(SIZES))
def test_all_invalid_sizes_are_named_at_once(kind: str) -> None:
    assert sorted(SIZES) == kinds()
    assert model_config(kind).reasons(8) == []
    reasons = model_config(kind, **SIZES[kind]).reasons(8)
    assert len(reasons) == len(SIZES[kind])
    for name, size in SIZES[kind].items():
        assert any(
            reason.startswith(f"{name} must be") and reason.endswith(f"got {size}") for reason in reasons
        )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"attention_dropout": -0.1}, "attention_dropout must lie in [0, 1); got -0.1"),
        ({"dropout": float("nan")}, "dropout must lie in [0, 1); got nan"),
        ({"embedding_std": -1.0}, "embedding_std and position_scale must be at least 0"),
        ({"positions": "learned", "context": 7}, "learned positions reach 7 tokens; got 8: raise context"),
    ],
)
def test_options_of_a_gpt_that_make_no_sense(options: dict[str, object], reason: str) -> None:
    assert model_config("gpt", **options).reasons(8) == [reason]


def test_a_word_beyond_learned_positions_is_refused_in_a_line() -> None:
    network = model_config("gpt", layers=1, dim=8, heads=1, mlp=8, positions="learned", context=7).build(2, 2)
    weights = network.layout.views(torch.zeros(1, network.layout.size))
    words = torch.zeros(1, 1, 8, dtype=torch.int64)
    assert network.logits(weights, words[..., :7]).shape[2] == 7
    with pytest.raises(InvalidInput, match="learned positions reach 7 tokens; got 8"):
        network.logits(weights, words)


def layout() -> ParameterLayout:
    return ParameterLayout.of(
        [
            Parameter("gain", (3,), "constant", 1.0),
            Parameter("table", (70, 50), "normal", 0.5, used=(60, 40)),
            Parameter("bounded", (30, 40), "uniform", 0.25),
            Parameter("bias", (5,)),
        ]
    )


def test_parameters_lie_side_by_side_and_do_not_overlap() -> None:
    params = layout()
    flat = torch.zeros(2, params.size)
    for number, view in enumerate(params.views(flat).values(), start=1):
        assert not view.any()  # nothing before has written here
        view += number
    counts = [int((flat[0] == number).sum()) for number in range(5)]
    assert counts[1:] == [3, 3500, 1200, 5]
    assert all(offset % 64 == 0 for offset in (*params.offsets, params.size))
    assert [parameter.size for parameter in params.parameters] == counts[1:]


def test_first_values_have_the_distribution_they_name() -> None:
    params = layout()
    views = params.views(params.initial(random_streams.replicate_keys(3, 2)))
    assert (views["gain"] == 1).all()
    assert not views["bias"].any()
    inner = views["table"][:, :60, :40]
    assert not views["table"][:, 60:].any()
    assert not views["table"][:, :, 40:].any()
    assert float(inner.std()) == pytest.approx(0.5, rel=0.03)
    assert float(inner.mean()) == pytest.approx(0.0, abs=0.02)
    assert float((inner.abs() < 0.5).float().mean()) == pytest.approx(0.683, abs=0.02)  # one deviation
    bounded = views["bounded"]
    assert float(bounded.abs().max()) < 0.25
    assert float(bounded.std()) == pytest.approx(0.5 / math.sqrt(12), rel=0.05)
    assert not torch.equal(views["table"][0], views["table"][1])
    assert torch.equal(
        params.initial(random_streams.replicate_keys(3, 5))[:2],
        params.initial(random_streams.replicate_keys(3, 2)),
    )


@pytest.mark.filterwarnings("ignore:grad and param do not obey")  # strides of a view into a row
def test_leaves_have_their_gradient_in_the_buffer() -> None:
    params = layout()
    flat, gradient = params.initial(random_streams.replicate_keys(3, 2)), torch.zeros(2, params.size)
    leaves = params.leaves(flat, gradient)
    (leaves["gain"].square().sum() * 3).backward()
    assert torch.equal(params.views(gradient)["gain"], 6 * params.views(flat)["gain"])
    assert not params.views(gradient)["table"].any()
    assert leaves["gain"].data_ptr() == params.views(flat)["gain"].data_ptr()


def test_names_of_parameters_are_distinct() -> None:
    with pytest.raises(AssertionError, match="distinct"):
        ParameterLayout.of([Parameter("a", (1,)), Parameter("a", (2,))])


@pytest.mark.parametrize(("count", "wanted"), [(1, 16), (16, 16), (17, 32)])
def test_widths_are_multiples_of_sixteen(count: int, wanted: int) -> None:
    assert round_up(count) == wanted


@pytest.mark.parametrize(("kind", "name", "value"), [
    ("deltaproduct", "h.0.mix.gate.bias", 4.0), ("diagonal", "h.0.mix.gate.bias", 3.0),
])  # fmt: skip
def test_gates_begin_open(kind: str, name: str, value: float) -> None:
    options: dict[str, object] = {"gate": True} if kind == "deltaproduct" else {"gate": "unit"}
    network = model_config(kind, **options).build(2, 2)
    weights = network.layout.views(network.layout.initial(random_streams.replicate_keys(0, 1)))
    assert (weights[name] == value).all()


@pytest.mark.parametrize("gate", ["unit", "signed", "complex"])
def test_gates_stay_in_their_range_and_turn_exactly_by_quarters(gate: str) -> None:
    generator = torch.Generator().manual_seed(0)
    parts = 5 * torch.randn(50, 4, generator=generator)
    result = gates_of(parts, gate)
    low = {"unit": 0.0, "signed": -1.0}.get(gate)
    assert float(result.abs().max()) <= 1.0 + 1e-6
    assert low is None or float(result.min()) >= low
    quarters = torch.tensor([[3.0, 0.0, 0.0, 2.0], [-1.0, 0.0, 0.0, -7.0]])  # real parts, imaginary parts
    if gate == "complex":
        assert gates_of(quarters, gate).tolist() == [[1, 2j / 2], [-1, -1j]]
        inside = torch.tensor([[0.3, 0.0, 0.4, 0.0]])
        assert torch.equal(gates_of(inside, gate), torch.complex(inside[:, :2], inside[:, 2:]))


def test_sinusoidal_rows_of_an_odd_width() -> None:
    table = sinusoidal(4, 5, torch.device("cpu"))
    for t in range(4):
        for c in range(5):
            angle = t / 10000 ** (2 * (c // 2) / 5)
            assert float(table[t, c]) == pytest.approx(math.cos(angle) if c % 2 else math.sin(angle))


def test_recency_falls_with_the_distance_and_hides_what_comes_later() -> None:
    mask = plain.recency_mask(plain.alibi_slopes(2, torch.device("cpu")), 3)
    for head, t, i in np.ndindex(2, 3, 3):
        slope = 2.0 ** (-8 * (head + 1) / 2)
        assert float(mask[head, t, i]) == (-slope * (t - i) if i <= t else -math.inf)


def test_products_that_write_their_gradient_in_place_are_products() -> None:
    """The GPU's form of a linear map needs no GPU: its value, and gradients, one of them in the buffer."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 6, 3, generator=generator, dtype=torch.float64).requires_grad_()
    weight = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64).requires_grad_()
    weight.grad = torch.full_like(weight, 7.0)  # an old gradient is written over
    out = operations.buffered_linear(x, weight)
    assert torch.allclose(out, torch.einsum("rni,rio->rno", x, weight))
    factor = torch.randn(out.shape, generator=generator, dtype=torch.float64)
    (dx,) = torch.autograd.grad((out * factor).sum(), x)
    assert torch.allclose(dx, torch.einsum("rno,rio->rni", factor, weight))
    assert torch.allclose(weight.grad, torch.einsum("rni,rno->rio", x, factor))
    table = torch.randn(2, 5, 3, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        assert torch.allclose(operations.buffered_linear(x, weight), out)
        assert torch.allclose(operations.buffered_positions(x, table, 3), plain.add_positions(x, table, 3))


def test_plain_operations_are_chosen_on_a_cpu() -> None:
    assert operations.choose(torch.zeros(1, dtype=torch.bfloat16)) is operations.PLAIN
    network: Network = model_config("gpt", layers=1, dim=4, heads=1, mlp=4).build(2, 2)
    assert not network.writes_gradients(
        network.layout.views(network.layout.initial(random_streams.replicate_keys(0, 1)))
    )


@pytest.mark.parametrize("kind", sorted(SIZES))
def test_the_loss_counts_shown_positions_alone(kind: str) -> None:
    """From the logits, one position after the other; a replicate without shown positions loses nothing."""
    options: dict[str, object] = {"layers": 1, "dim": 4, "mlp": 4}
    if kind in ("lstm", "gru"):
        options = {"hidden": 4}
    elif kind == "looped":  # its loss after every loop is tested beside the model
        options = {"dim": 4, "heads": 2, "mlp": 4, "noise": 0, "supervise": "end"}
    config: ModelConfig = model_config(kind, **options | ({"heads": 2} if kind == "gpt" else {}))
    network = config.build(VOCABULARY, CLASSES)
    weights, words = moved(network), tokens()
    targets = (words + 1) % CLASSES
    shown = torch.zeros_like(words)
    shown[0, 0, [1, 4]] = shown[0, 1, 7] = 1
    logits = network.logits(weights, words)
    losses = [
        float(logits[0, b, t].logsumexp(-1) - logits[0, b, t, targets[0, b, t]])
        for b, t in ((0, 1), (0, 4), (1, 7))
    ]
    result = network.loss(weights, words, targets, shown)
    assert float(result[0]) == pytest.approx(sum(losses) / 3)
    assert float(result[1]) == 0.0


@pytest.mark.parametrize("positions", ["learned", "none", "linear", "sinusoidal"])
def test_positions_as_a_table(positions: str) -> None:
    config = model_config(
        "gpt", layers=1, dim=4, heads=1, mlp=4, positions=positions, context=6, position_scale=0.5
    )
    network = config.build(VOCABULARY, CLASSES)
    weights = {name: value[0].float() for name, value in moved(network).items()}
    table = position_rows(config, weights, 5)  # type: ignore[arg-type]
    assert len(table) == (6 if positions == "learned" else 5)
    word = torch.tensor([[[0, 1, 2, 0, 1]]])
    stacked = {name: value[None] for name, value in weights.items()}
    embedded = network.embed(stacked, word)  # type: ignore[attr-defined]
    assert torch.allclose(embedded[0], weights["wte"][word[0, 0]] + table[:5], atol=1e-6)
