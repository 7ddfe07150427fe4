"""Training on a CPU against plain PyTorch loops, for every option of the models.

    python benchmarks/bench_training_cpu.py                       # two threads, then one
    python benchmarks/bench_training_cpu.py --threads 1 --only dropout --seconds 20

The limit first. A step multiplies and adds 6 × (weights in matrices) × (batch × tokens) numbers, and its
attention 12 × layers × dim × batch × tokens² / 2 more; AdamW moves 28 bytes a parameter. Both rates are
measured here, on a large product and a long sum, and "limit" is what they allow for one replicate.

The peers train one network, replicates one after another: "plain" is written by hand with torch.nn,
``scaled_dot_product_attention`` and fused AdamW, "stock" is Hugging Face's GPT2Model with the same optimiser.
Their batches are drawn beforehand and cost them nothing; ours draws its own and averages the weights in
every step. All run in turns of 16 steps; a ratio is the median over the turns of (time of the faster
peer × R) / (our time), by the clock and by processor time; above 1 ours is faster.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch
import transformers
from plain_loop import PlainLoop, plain_module, task_of
from stock_networks import gpt_to_stock

from krohn.lab import random_streams
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.training.config import OptimizerConfig, RunConfig, TaskConfig, model_config
from krohn.lab.training.state import TrainState
from krohn.lab.training.step import Stepper

CPU = torch.device("cpu")
TURN = 16  # steps
SMALL = {"layers": 2, "dim": 64, "heads": 4, "mlp": 64}


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    model: dict[str, Any] = field(default_factory=dict)
    replicates: int = 1
    length: int = 20
    batch: int = 16
    kind: str = "gpt"
    scratchpad: bool = False

    @property
    def config(self) -> RunConfig:
        sizes = {**SMALL, **self.model} if self.kind == "gpt" else self.model
        return RunConfig(
            task=TaskConfig(spec="Grid4", length=self.length, scratchpad=self.scratchpad),
            model=model_config(self.kind, **sizes),
            optimizer=OptimizerConfig(lr=(1e-3,), warmup=100, batch=self.batch),
            replicates=self.replicates,
            precision="fp32",
        )


OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "learned": {"model": {"positions": "learned"}},
    "shifted": {"model": {"positions": "shifted"}},
    "linear": {"model": {"positions": "linear"}},
    "none": {"model": {"positions": "none"}},
    "recency": {"model": {"recency": True}},
    "dropout": {"model": {"dropout": 0.1}},
    "dropout .25": {"model": {"dropout": 0.25}},
    "all options": {"model": {"positions": "learned", "recency": True, "dropout": 0.1}},
    "scratchpad": {"scratchpad": True},
    "dim 128": {"model": {"dim": 128, "mlp": 128}},
    "dim 128 drop": {"model": {"dim": 128, "mlp": 128, "dropout": 0.1}},
    "lstm": {"kind": "lstm"},
}


def cases() -> list[Case]:
    """Every option alone; sizes on the options that cost most."""
    result = [Case(name, **option) for name, option in OPTIONS.items()]
    for name in ("default", "learned", "dropout", "lstm"):
        option = OPTIONS[name]
        result += [Case(name, **option, replicates=count) for count in (4, 20)]
        result += [Case(name, **option, batch=64), Case(name, **option, length=100)]
    result += [Case(name, **OPTIONS[name], length=100) for name in ("shifted", "recency", "scratchpad")]
    result += [Case("dim 128", **OPTIONS["dim 128"], replicates=4, length=100, batch=64)]
    return result


class Ours:
    """The engine, all replicates at once."""

    def __init__(self, config: RunConfig) -> None:
        task = task_of(config)
        network = config.model.build(task.vocabulary, task.classes)
        self.stepper = Stepper(config, network, task, TrainState.start(config, network.layout, CPU, "fp32"))
        self.cuts = torch.ones(config.replicates, dtype=torch.float64)
        self.step = 0

    def run(self, steps: int) -> None:
        self.stepper.run(self.step, steps, self.cuts, average=True)
        self.step += steps


def peers(config: RunConfig) -> dict[str, PlainLoop]:
    task = task_of(config)
    loops = {"plain": PlainLoop(config, task, plain_module(config, task))}
    model = config.model
    if isinstance(model, GptConfig) and not model.recency and model.positions != "shifted":
        layout = model.build(task.vocabulary, task.classes).layout
        weights = layout.views(layout.initial(random_streams.replicate_keys(0, 1)))
        module = gpt_to_stock(
            model,
            {name: value[0] for name, value in weights.items()},
            vocabulary=task.vocabulary,
            classes=task.classes,
            length=task.num_tokens,
        )
        module.transformer.wpe.weight.requires_grad_(model.positions == "learned")
        loops["stock"] = PlainLoop(config, task, module)
    return loops


def timed(action: Callable[[int], None]) -> tuple[float, float]:
    """Seconds per step by the clock and of processor time."""
    busy, clock = time.process_time(), time.perf_counter()
    action(TURN)
    return (time.perf_counter() - clock) / TURN, (time.process_time() - busy) / TURN


def measure(case: Case, seconds: float) -> dict[str, Any]:
    """One row: peers and ours in turns until the time is over, at least seven turns."""
    torch.manual_seed(0)
    contenders: dict[str, Any] = {**peers(case.config), "ours": Ours(case.config)}
    for contender in contenders.values():
        contender.run(TURN)
    turns: list[dict[str, tuple[float, float]]] = []
    started = time.perf_counter()
    while len(turns) < 7 or time.perf_counter() - started < seconds:
        turns.append({name: timed(contender.run) for name, contender in contenders.items()})
    names = [name for name in contenders if name != "ours"]
    fastest = min(names, key=lambda name: median(turn[name][0] for turn in turns))
    ratios = [[turn[fastest][i] * case.replicates / turn["ours"][i] for turn in turns] for i in (0, 1)]
    return {
        "options": case.name,
        "R": case.replicates,
        "T": case.length,
        "batch": case.batch,
        "limit_ms": 1e3 * limit(case.config),
        **{f"{name}_ms": 1e3 * median(turn[name][0] for turn in turns) for name in names},
        "ours_ms": 1e3 * median(turn["ours"][0] for turn in turns) / case.replicates,
        "ratio": median(ratios[0]),
        "cpu_ratio": median(ratios[1]),
        "low": sorted(ratios[1])[len(turns) // 4],
        "turns": len(turns),
    }


def limit(config: RunConfig) -> float:
    """Seconds that the products and the optimiser of one replicate's step need at the measured rates."""
    task = task_of(config)
    layout = config.model.build(task.vocabulary, task.classes).layout
    matrices = sum(p.size for p in layout.parameters if len(p.shape) == 2 and p.name not in ("wte", "wpe"))
    tokens = config.optimizer.batch * task.num_tokens
    work = 6 * matrices * tokens
    if isinstance(config.model, GptConfig):
        work += 6 * config.model.layers * config.model.dim * tokens * task.num_tokens
    return work / RATES["multiply"] + 28 * layout.size / RATES["move"]


RATES: dict[str, float] = {}


def measure_rates() -> None:
    """Multiplications and additions a second in a product 512³, bytes a second in a sum of 4 MB."""
    a, b = torch.rand(512, 512), torch.rand(512, 512)
    x, y = torch.rand(1 << 20), torch.rand(1 << 20)
    RATES["multiply"] = 2 * 512**3 / _fastest(lambda: torch.mm(a, b))
    RATES["move"] = 12 * (1 << 20) / _fastest(lambda: x.add_(y))


def _fastest(action: Callable[[], Any]) -> float:
    times = []
    for _ in range(20):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def print_row(row: dict[str, Any], names: list[str]) -> None:
    cells = [row.get(name, "-") for name in names]
    print("  ".join(f"{c:9.2f}" if isinstance(c, float) else f"{c!s:>9}" for c in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="*", default=[2, 1])
    parser.add_argument("--only", nargs="*", default=[], help="only these options, as in the table")
    parser.add_argument("--seconds", type=float, default=4.0, help="per row")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    names = ["options", "R", "T", "batch", "limit_ms", "plain_ms", "stock_ms", "ours_ms"]
    names += ["ratio", "cpu_ratio", "low", "turns"]
    if len(arguments.threads) > 1 or os.environ.get("OMP_NUM_THREADS") != str(arguments.threads[0]):
        start_each(arguments)
        return
    measure_rates()
    rates = f"{RATES['multiply'] / 1e9:.0f} GFLOP/s, {RATES['move'] / 1e9:.0f} GB/s"
    print(f"threads: {torch.get_num_threads()}; {rates}; milliseconds per step and replicate")
    print_row(dict(zip(names, names, strict=True)), names)
    for case in cases():
        if not arguments.only or case.name in arguments.only:
            print_row(measure(case, arguments.seconds), names)


def start_each(arguments: argparse.Namespace) -> None:
    """One process for each number of threads: products of torch ignore a limit that is set later."""
    for threads in arguments.threads:
        command = [sys.executable, __file__, "--threads", str(threads), "--seconds", str(arguments.seconds)]
        command += ["--only", *arguments.only] if arguments.only else []
        subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": str(threads)}, check=True)


if __name__ == "__main__":
    main()
