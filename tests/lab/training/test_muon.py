"""Muon against torch's own, one matrix at a time, and against the polynomial on singular values."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import krohn
from krohn.errors import Unsupported
from krohn.lab.models.parameters import Parameter, ParameterLayout
from krohn.lab.training.adamw import AdamW
from krohn.lab.training.config import OptimizerConfig, RunConfig, TaskConfig, model_config
from krohn.lab.training.learning_rates import rate_table, shape
from krohn.lab.training.loop import train
from krohn.lab.training.muon import (
    LANES,
    POLYNOMIAL,
    STEPS,
    TOGETHER,
    Muon,
    batches,
    orthogonalize,
    others,
    shares,
)
from krohn.lab.training.state import TrainState
from lab.training.small_runs import LINE, small_run, stepper_of
from lab.training.test_resume import interrupted, outcome

# Two layers' worth of shapes: square, three side by side, tall and wide; biases between them.
LAYOUT = ParameterLayout.of(
    [
        Parameter("wte", (5, 12)),
        Parameter("h.0.qkv", (12, 36), matrices=3),
        Parameter("h.0.bias", (36,)),
        Parameter("h.0.out", (12, 12), matrices=1),
        Parameter("h.0.up", (12, 20), matrices=1),
        Parameter("h.0.down", (20, 12), matrices=1),
        Parameter("head", (12, 4)),
    ]
)
MATRICES = {"h.0.qkv": 3, "h.0.out": 1, "h.0.up": 1, "h.0.down": 1}


def state_of(replicates: int, dtype: torch.dtype, compute: torch.dtype) -> TrainState:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(replicates, LAYOUT.size, dtype=dtype, generator=generator)
    low = weight if compute == dtype else weight.to(compute)
    zeros = {name: torch.zeros_like(weight) for name in ("first", "second")}
    alive = torch.ones(replicates, dtype=torch.bool)
    return TrainState(
        weight=weight,
        compute=low,
        gradient=torch.zeros_like(low),
        average=weight.clone(),
        best=weight.clone(),
        alive=alive,
        **zeros,
    )


def matrices_of(flat: Tensor, row: int) -> list[Tensor]:
    views = LAYOUT.views(flat)
    return [part for name, count in MATRICES.items() for part in views[name][row].chunk(count, -1)]


def with_rates(config: OptimizerConfig, state: TrainState, steps: int) -> Muon:
    optimizer = Muon(config, state, steps, LAYOUT)
    rates = torch.tensor(config.lr, dtype=torch.float64)
    optimizer.rates.copy_(rate_table(config, rates, torch.ones(len(rates)), 0, steps, steps))
    return optimizer


def random_gradient(state: TrainState, generator: torch.Generator) -> None:
    normal = torch.randn(state.gradient.shape, dtype=torch.float64, generator=generator)
    state.gradient.copy_(normal)


@pytest.mark.parametrize("clip", [None, 0.5])
def test_every_matrix_of_every_replicate_follows_torch_muon(clip: float | None) -> None:
    config = OptimizerConfig(
        method="muon", lr=(0.02, 0.005), betas=(0.9, 0.98), weight_decay=0.1, warmup=3, schedule="cosine",
        clip=clip,
    )  # fmt: skip
    state, steps = state_of(2, torch.float32, torch.bfloat16), 6
    optimizer = with_rates(config, state, steps)
    peers = [[torch.nn.Parameter(part.clone()) for part in matrices_of(state.weight, row)] for row in (0, 1)]
    theirs = [
        [
            torch.optim.Muon([peer], lr=1.0, momentum=0.9, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
            for peer in row
        ]
        for row in peers
    ]
    generator = torch.Generator().manual_seed(1)
    start = state.weight.clone()
    for step in range(steps):
        random_gradient(state, generator)
        for row in (0, 1):
            norm = float(state.gradient[row].double().norm())
            scale = 1.0 if clip is None else min(1.0, clip / (norm + 1e-6))
            result = zip(peers[row], theirs[row], matrices_of(state.gradient, row), strict=True)
            for peer, other, gradient in result:
                peer.grad = gradient.float() * scale
                other.param_groups[0]["lr"] = config.lr[row] * shape(config, step, steps)
                other.step()
        optimizer.step(torch.zeros(2), average=True)
    for row in (0, 1):
        pairs = zip(matrices_of(state.weight, row), peers[row], matrices_of(start, row), strict=True)
        for ours, peer, before in pairs:
            moved = (peer.data - before).norm()
            # Both multiply in bfloat16, in another order: an update agrees to a few hundredths.
            assert (ours - peer.data).norm() < 0.03 * moved
    assert torch.equal(state.compute, state.weight.bfloat16())


@pytest.mark.parametrize("size", [(7, 7), (5, 9), (9, 5)])
def test_the_products_apply_the_polynomial_to_singular_values(size: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(2)
    batch = torch.randn(3, *size, dtype=torch.float64, generator=generator)
    batch /= batch.norm(dim=(1, 2), keepdim=True)
    left, values, right = torch.linalg.svd(batch, full_matrices=False)
    a, b, c = POLYNOMIAL
    for _ in range(STEPS):
        values = a * values + b * values**3 + c * values**5
    orthogonalize(batch)
    torch.testing.assert_close(batch, left @ torch.diag_embed(values) @ right, rtol=0, atol=1e-10)
    assert values.min() > 0.3, "every direction moves"
    assert values.max() < 1.3


def test_other_parameters_than_block_matrices_move_by_adamw_to_the_bit() -> None:
    config = OptimizerConfig(method="muon", lr=(0.01, 0.02), warmup=2)
    ours, theirs = (state_of(2, torch.float32, torch.float32) for _ in range(2))
    muon, adamw = with_rates(config, ours, 4), AdamW(config, theirs, 4)
    adamw.rates.copy_(muon.rates)
    generators = [torch.Generator().manual_seed(3) for _ in range(2)]
    for _ in range(4):
        for state, optimizer, generator in zip((ours, theirs), (muon, adamw), generators, strict=True):
            random_gradient(state, generator)
            optimizer.step(torch.zeros(2), average=True)
    for name, view in LAYOUT.views(ours.weight).items():
        same = torch.equal(view, LAYOUT.views(theirs.weight)[name])
        assert same != (name in MATRICES), name
    columns = {place for ends in others(LAYOUT) for place in range(*ends)}
    for batch in batches(LAYOUT):
        flat = torch.arange(LAYOUT.size)[None]
        covered = {int(place) for view in batch.views(flat) for place in view.flatten()}
        assert len(covered) == len(batch.places) * batch.rows * batch.columns
        assert not covered & columns
        columns |= covered
    assert columns == set(range(LAYOUT.size)), "each element is moved by exactly one of the two"


@pytest.mark.parametrize(("replicates", "matrices"), [(1, 6), (1, 5000), (2, 6), (3, 96), (6, 48), (20, 96)])
def test_shares_cover_every_replicate_once_and_are_balanced(replicates: int, matrices: int) -> None:
    elements = matrices * 512**2
    result = shares(replicates, elements)
    assert [row for rows in result for row in range(replicates)[rows]] == list(range(replicates))
    sizes = [len(range(replicates)[rows]) for rows in result]
    assert max(sizes) - min(sizes) <= 1
    assert len(result) == replicates or len(result) % LANES == 0
    assert max(sizes) == 1 or (max(sizes) - 1) * elements < TOGETHER


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("size", [(512, 512), (128, 384), (256, 128), (96, 96)])
def test_the_products_on_a_gpu_are_those_of_torch(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bf16 both: the same products, rounded at the same places."""
    from krohn.lab.training.kernels import muon

    generator = torch.Generator().manual_seed(5)
    normal = torch.randn(5, *size, generator=generator)
    ours = (normal / normal.norm(dim=(1, 2), keepdim=True)).bfloat16().cuda()
    theirs = ours.clone()
    assert muon.fits(ours) == (min(size) >= 128)
    orthogonalize(ours)
    monkeypatch.setattr(muon, "fits", lambda batch: False)
    orthogonalize(theirs)
    assert (ours.float() - theirs.float()).norm() < 5e-3 * theirs.float().norm()


def test_a_non_finite_gradient_freezes_its_replicate_alone() -> None:
    config = OptimizerConfig(method="muon", lr=(0.1, 0.1), warmup=0)
    state, alone = state_of(2, torch.float32, torch.float32), state_of(2, torch.float32, torch.float32)
    before = state.weight.clone()
    for current, broken in ((state, True), (alone, False)):
        optimizer = with_rates(config, current, 2)
        generator = torch.Generator().manual_seed(4)
        for _ in range(2):
            random_gradient(current, generator)
            if broken:
                current.gradient[1, LAYOUT.offsets[1] + 3] = float("nan")
            optimizer.step(torch.zeros(2), average=True)
    assert state.alive.tolist() == [True, False]
    for name in ("weight", "average"):
        assert torch.equal(getattr(state, name)[1], before[1])
    assert not state.first[1].any()
    assert torch.equal(state.weight[0], alone.weight[0])


def muon_run(**changes: Any) -> RunConfig:
    optimizer = OptimizerConfig(method="muon", lr=(3e-3, 1e-3), warmup=5, batch=8)
    return small_run(**{"optimizer": optimizer, "replicates": 2, "steps": 40, **changes})


def test_a_replicate_is_the_same_alone_and_beside_others() -> None:
    pair = stepper_of(muon_run(precision="fp64"), "fp64")
    one = stepper_of(
        muon_run(replicates=1, optimizer=OptimizerConfig(method="muon", lr=(3e-3,), warmup=5, batch=8)),
        "fp64",
    )
    for stepper, count in ((pair, 2), (one, 1)):
        stepper.run(0, 20, torch.ones(count, dtype=torch.float64), average=True)
    torch.testing.assert_close(pair.state.weight[:1], one.state.weight, rtol=0, atol=1e-9)


def test_a_run_by_muon_resumes_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = muon_run()
    train(config, directory=tmp_path / "whole", device="cpu", automaton=LINE)
    interrupted(config, tmp_path / "broken", 30, monkeypatch)
    train(config, directory=tmp_path / "broken", device="cpu", automaton=LINE)
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")


def test_muon_learns_a_small_task() -> None:
    config = muon_run(
        optimizer=OptimizerConfig(method="muon", lr=(1e-2,), warmup=20, batch=16), replicates=1, steps=150
    )
    assert train(config, device="cpu", automaton=LINE).replicates[0]["accuracy"] > 0.99


def test_the_method_is_part_of_the_id_only_where_it_is_not_adamw() -> None:
    adamw = small_run()
    assert "method" not in adamw.to_dict()["optimizer"]
    muon = replace(adamw, optimizer=replace(adamw.optimizer, method="muon"))
    assert muon.to_dict()["optimizer"]["method"] == "muon"
    assert muon.run_id != adamw.run_id
    assert RunConfig.from_dict(muon.to_dict()) == muon


def test_a_network_without_block_matrices_is_refused_in_one_line() -> None:
    with pytest.raises(Unsupported, match="muon needs a model with matrices") as caught:
        RunConfig(
            task=TaskConfig(spec="C2", length=8),
            model=model_config("lstm"),
            optimizer=OptimizerConfig(method="muon"),
        )
    assert "got lstm: use adamw" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_python_names_the_optimizer_as_the_command_line_does() -> None:
    result = krohn.train(
        "Grid3", optimizer="muon", lr=1e-2, batch=4, length=4, layers=1, dim=16, heads=2, mlp=16, steps=2,
        device="cpu", progress=False,
    )  # fmt: skip
    assert result.config.optimizer.method == "muon"
    assert result.config.optimizer.lr == (1e-2,)
