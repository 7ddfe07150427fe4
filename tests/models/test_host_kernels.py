"""The operations with gradients written out, against plain torch and its own differentiation, in float64."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from krohn import streams
from krohn.models.kernels import operations, plain
from krohn.models.kernels.tape import Gradients, OneThreadIfSmall, Tape
from krohn.models.network import Network, Noise
from krohn.models.registry import model_config

BATCH, LENGTH, DIM, HEADS, CLASSES = 3, 5, 8, 2, 3
ROWS = BATCH * LENGTH
Operation = Callable[[operations.Operations, list[Tensor], list[Tensor]], Tensor | tuple[Tensor, ...]]


def drop(rate: float, replicates: int) -> plain.Dropout | None:
    return plain.Dropout(rate, streams.replicate_keys(4, replicates)) if rate else None


def cases(replicates: int) -> dict[str, tuple[Operation, list[tuple[int, ...]], list[tuple[int, ...]]]]:
    """Name -> operation, shapes of its inputs, shapes of its parameters."""
    wide = (ROWS, DIM)
    generator = torch.Generator().manual_seed(2)
    targets = torch.randint(CLASSES, (replicates, ROWS), generator=generator)
    shown = torch.randint(2, (replicates, ROWS), generator=generator)
    keys = streams.replicate_keys(4, replicates)
    shown[0] = 0  # nothing shown at all is a loss of zero
    heads = plain.Heads(BATCH, LENGTH, HEADS)
    recent = plain.Heads(BATCH, LENGTH, HEADS, plain.alibi_slopes(HEADS, torch.device("cpu")))
    norm: list[tuple[int, ...]] = [(DIM,), (DIM,), (DIM,)]
    return {
        "linear": (lambda ops, x, p: ops.linear(x[0], p[0]), [wide], [(DIM, 6)]),
        "rows": (lambda ops, x, p: ops.add_rows(x[0], torch.ones(1, LENGTH, DIM)), [wide], []),
        "drop": (lambda ops, x, p: ops.drop(x[0], plain.Dropout(0.4, keys)), [wide], []),
        "first norm": (lambda ops, x, p: ops.add_norm(x[0], None, None, p[0], p[1], None), [wide], norm[:2]),
        "norm": (lambda ops, x, p: ops.add_norm(*x, *p, None), [wide, wide], norm),
        "last norm": (lambda ops, x, p: ops.add_norm(*x, *p, None)[1], [wide, wide], norm),
        "norm, dropout": (
            lambda ops, x, p: ops.add_norm(*x, *p, drop(0.4, replicates)),
            [wide, wide],
            norm,
        ),
        "attention": (lambda ops, x, p: ops.attention(x[0], p[0], heads), [(ROWS, 24)], [(24,)]),
        "recency": (lambda ops, x, p: ops.attention(x[0], p[0], recent), [(ROWS, 24)], [(24,)]),
        "gelu": (lambda ops, x, p: ops.bias_gelu(x[0], p[0]), [wide], [(DIM,)]),
        "cross-entropy": (
            lambda ops, x, p: ops.cross_entropy(x[0], p[0], targets, shown, CLASSES),
            [(ROWS, 16)],
            [(16,)],
        ),
        "positions": (lambda ops, x, p: ops.add_positions(x[0], p[0], LENGTH), [wide], [(9, DIM)]),
    }


def run(
    inputs: list[Tensor],
    parameters: list[Tensor],
    upstream: list[Tensor] | None,
    operation: Operation,
    ops: operations.Operations | None,
) -> list[Tensor]:
    """Outputs and gradients of inputs and parameters; ``ops`` none: by the gradients written out."""
    x = [value.clone().requires_grad_(ops is not None) for value in inputs]
    p = [value.clone().requires_grad_() for value in parameters]
    if ops is not None:
        found = operation(ops, x, p)
        outputs = list(found) if isinstance(found, tuple) else [found]
        if upstream is None:
            return outputs
        gradients = torch.autograd.grad(outputs, [*x, *p], upstream)
        return [*outputs, *gradients]
    tape, assigned = Tape(), Gradients()
    for value in p:  # poisoned: every element must be written
        value.grad = torch.full_like(value, float("nan"))
    with torch.no_grad():
        found = operation(operations.on_host(tape), x, p)
        outputs = list(found) if isinstance(found, tuple) else [found]
        values = [value.clone() for value in outputs]
        assert upstream is not None
        for value, gradient in zip(outputs, upstream, strict=True):
            assigned.give(value, gradient.clone())
        tape.replay(assigned)
        return [*values, *(assigned.take(value) for value in x), *(value.grad for value in p)]


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("length", [63, 64, 65, 150, 257])
@pytest.mark.parametrize("recency", [False, True])
def test_attention_in_blocks_is_plain_attention_at_lengths_around_the_limits(
    length: int, recency: bool, threads: int
) -> None:
    slopes = plain.alibi_slopes(HEADS, torch.device("cpu")) if recency else None
    heads = plain.Heads(2, length, HEADS, slopes)
    generator = torch.Generator().manual_seed(length)
    qkv = 2.0 * torch.randn(3, 2 * length, 24, dtype=torch.float64, generator=generator)
    bias = torch.randn(3, 24, dtype=torch.float64, generator=generator)
    upstream = torch.randn(3, 2 * length, 8, dtype=torch.float64, generator=generator)
    ours, reference = (
        run([qkv], [bias], [upstream], lambda ops, x, p: ops.attention(x[0], p[0], heads), ops)
        for ops in (None, operations.PLAIN)
    )
    for found, expected in zip(ours, reference, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("replicates", [1, 3])
@pytest.mark.parametrize("name", cases(1))
def test_values_and_gradients_are_those_of_the_plain_operation(name: str, replicates: int) -> None:
    operation, inputs, parameters = cases(replicates)[name]
    generator = torch.Generator().manual_seed(1)
    draw = lambda shape: torch.randn(replicates, *shape, dtype=torch.float64, generator=generator)  # noqa: E731
    xs, ps = [draw(shape) for shape in inputs], [draw(shape) for shape in parameters]
    shapes = [out.shape for out in run(xs, ps, None, operation, operations.PLAIN)]
    upstream = [torch.linspace(-1, 2, shape.numel(), dtype=torch.float64).view(shape) for shape in shapes]
    ours, reference = (run(xs, ps, upstream, operation, ops) for ops in (None, operations.PLAIN))
    for found, expected in zip(ours, reference, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def trained(network: Network, replicates: int, gradient: Tensor) -> dict[str, Tensor]:
    flat = network.layout.initial(streams.replicate_keys(5, replicates)).double()
    return network.layout.leaves(flat, gradient)


@pytest.mark.parametrize("replicates", [1, 3])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("gpt", {"positions": "learned", "dropout": 0.3, "recency": True, "context": 9}),
        ("gpt", {"positions": "shifted", "dropout": 0.3}),
        ("gpt", {"positions": "none"}),
        ("lstm", {"embedding": 5, "hidden": 6}),
    ],
)
def test_the_written_gradients_of_a_network_are_those_of_plain_torch(
    kind: str, options: dict[str, object], replicates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"layers": 2, "dim": 8, "heads": 2, "mlp": 12} if kind == "gpt" else {}
    network = model_config(kind, **sizes, **options).build(4, CLASSES)
    tokens = torch.randint(4, (replicates, BATCH, LENGTH), generator=torch.Generator().manual_seed(3))
    targets, shown = tokens % CLASSES, (tokens != 1).int()
    noise = Noise(streams.replicate_keys(8, replicates))
    empty = torch.zeros(replicates, network.layout.size, dtype=torch.float64)
    written = network.layout.views(torch.full_like(empty, float("nan")))
    leaves = trained(network, replicates, torch.zeros_like(empty))
    for name, leaf in leaves.items():
        leaf.grad = written[name]
    assert network.writes_gradients(leaves)
    loss = network.loss(leaves, tokens, targets, shown, noise)
    loss.sum().backward()
    monkeypatch.setattr(operations, "trains_on_host", lambda weights: False)
    leaves = trained(network, replicates, torch.zeros_like(empty))
    assert not network.writes_gradients(leaves)
    expected = network.loss(leaves, tokens, targets, shown, noise)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)
    gradients = torch.autograd.grad(expected.sum(), list(leaves.values()))
    for name, gradient in zip(leaves, gradients, strict=True):
        torch.testing.assert_close(written[name], gradient, rtol=1e-9, atol=1e-12)


def test_threads_are_given_back_after_small_work_and_left_alone_for_large() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with OneThreadIfSmall(1000):
            assert torch.get_num_threads() == 1
        with OneThreadIfSmall(10**9):
            assert torch.get_num_threads() == 2
        with pytest.raises(RuntimeError, match="mid-way"), OneThreadIfSmall(1000):
            raise RuntimeError("mid-way")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
