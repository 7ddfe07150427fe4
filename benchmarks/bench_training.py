"""Training speed against the stock loop: Hugging Face GPT2Model, fp32, eager, one network at a time.

    python benchmarks/bench_training.py            # GPU: check kernels, curves, speed, profile
    python benchmarks/bench_training.py --cpu      # CPU: against a plain PyTorch loop, and Grid4 to 99%

The limit first. A step of L blocks of width d = 512 (MLP 512) for R replicates of 16 sequences of 100 tokens
multiplies 6 × 1.57M × L × R × 1600 numbers (4.8 TFLOP at L = 16, R = 20: 6.2 ms at 790 TFLOP/s) and moves
28 bytes a parameter through AdamW (3.3 ms at 4.3 TB/s; 36 bytes in steps that also average the weights).
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from kernel_check import check_kernels
from step_profile import profile_step
from stock_loop import StockLoop

from krohn.automata.zoo import parse_spec
from krohn.lab.tasks.batches import Task
from krohn.lab.training.config import EvaluationConfig, OptimizerConfig, RunConfig, TaskConfig, model_config
from krohn.lab.training.device import choose_device, choose_precision
from krohn.lab.training.interval import ema_window
from krohn.lab.training.loop import train
from krohn.lab.training.state import TrainState
from krohn.lab.training.step import Stepper


def paper_run(layers: int, replicates: int, **changes: Any) -> RunConfig:
    settings: dict[str, Any] = {
        "task": TaskConfig(spec="Grid9", length=100),
        "model": model_config("gpt", layers=layers),
        "replicates": replicates,
    }
    return RunConfig(**{**settings, **changes})


def build(config: RunConfig, device: torch.device) -> tuple[Task, Stepper]:
    task = Task(config.task, parse_spec(config.task.spec), device)
    network = config.model.build(task.vocabulary, task.classes)
    state = TrainState.start(config, network.layout, device, choose_precision(config, device))
    return task, Stepper(config, network, task, state)


def seconds_per_step(stepper: Stepper, count: int, *, average: bool) -> float:
    cuts = torch.ones(stepper.config.replicates, dtype=torch.float64)
    stepper.run(0, stepper.chunk, cuts, average=average)
    _wait()
    started = time.perf_counter()
    stepper.run(stepper.chunk, count, cuts, average=average)
    _wait()
    return (time.perf_counter() - started) / count


def speed(layers: int, replicates: int, count: int) -> dict[str, Any]:
    """One row of the table: stock and ours measured one after the other in this process."""
    device = choose_device(None)
    config = paper_run(layers, replicates)
    stock = StockLoop(paper_run(layers, 1), device)
    stock_step = min(stock.seconds_per_step(20) for _ in range(3))  # take the fastest: the host adds noise
    del stock
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    _, stepper = build(config, device)
    _wait()
    ready = time.perf_counter() - started
    without = seconds_per_step(stepper, count, average=False)
    averaged = seconds_per_step(stepper, count, average=True)
    share = min(1.0, ema_window(config.optimizer.ema) / config.evaluation.every)
    ours = without * (1.0 - share) + averaged * share
    batch = config.optimizer.batch
    return {
        "layers": layers,
        "replicates": replicates,
        "stock_ms": 1e3 * stock_step,
        "ms": 1e3 * ours,
        "ms_plain": 1e3 * without,
        "ms_averaged": 1e3 * averaged,
        "stock_seq_s": batch / stock_step,
        "seq_s": batch * replicates / ours,
        "ratio": (batch * replicates / ours) / (batch / stock_step),
        "GB": torch.cuda.max_memory_allocated() / 1e9,
        "start_s": ready,
    }


def curves(steps: int = 384, replicates: int = 16, window: int = 64) -> list[dict[str, Any]]:
    """Training losses: stock fp32 against ours in fp32, on the same weights and batches of replicate 0 before
    chaos sets in; and ours in bf16 against fp32, as means over all replicates and a window of steps."""
    device = choose_device(None)
    losses: dict[str, torch.Tensor] = {}
    for precision in ("fp32", "bf16"):
        config = paper_run(4, replicates, precision=precision, steps=steps)
        _, stepper = build(config, device)
        if precision == "fp32":
            first = stepper.network.layout.views(stepper.state.weight)
            stock = StockLoop(paper_run(4, 1), device, weights=first)
        cuts = torch.ones(replicates, dtype=torch.float64)
        result = []
        for step in range(steps):
            stepper.run(step, 1, cuts, average=False)
            result.append(stepper.loss.clone())
        losses[precision] = torch.stack(result).cpu()
    stock_losses = torch.tensor(stock.train_on(stepper, window))
    exact = float((stock_losses - losses["fp32"][:window, 0]).abs().max())
    rows = []
    for start in range(0, steps, window):
        part = {name: values[start : start + window].mean(0) for name, values in losses.items()}
        gap = part["bf16"] - part["fp32"]
        rows.append(
            {
                "steps": f"{start}-{start + window - 1}",
                "fp32": float(part["fp32"].mean()),
                "bf16": float(part["bf16"].mean()),
                "gap": float(gap.mean()),
                "standard_error": float(gap.std() / replicates**0.5),
                "stock_fp32_largest_gap": exact if start == 0 else float("nan"),
            }
        )
    return rows


def cpu() -> dict[str, Any]:
    """Grid4, L = 2, d = 64, T = 20 on the CPU: steps per second against a plain loop, and the time to 99%."""
    torch.set_num_threads(2)
    config = RunConfig(
        task=TaskConfig(spec="Grid4", length=20),
        model=model_config("gpt", layers=2, dim=64, heads=4, mlp=64),
        optimizer=OptimizerConfig(lr=(1e-3,), warmup=100),
        evaluation=EvaluationConfig(every=250, sequences=2048, stop_at=0.99),
        steps=5000,
    )
    device = torch.device("cpu")
    plain = StockLoop(config, device).seconds_per_step(200)
    _, stepper = build(config, device)
    ours = seconds_per_step(stepper, 208, average=True)
    busy = time.process_time()
    result = train(config, device="cpu")
    return {
        "plain_ms": 1e3 * plain,
        "ms": 1e3 * ours,
        "ratio": plain / ours,
        "seconds_to_99": result.seconds,
        "cpu_seconds_to_99": time.process_time() - busy,
        "accuracy": result.replicates[0]["accuracy"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--skip", nargs="*", default=[], choices=["check", "curves", "speed", "profile"])
    parser.add_argument("--out", type=Path, help="also write all numbers as JSON here")
    arguments = parser.parse_args()
    report: dict[str, Any] = {}
    if arguments.cpu:
        report["cpu"] = cpu()
        print(json.dumps(report["cpu"], indent=1))
    else:
        run_gpu(arguments.skip, report)
    if arguments.out:
        arguments.out.write_text(json.dumps(report, indent=1))


def run_gpu(skip: list[str], report: dict[str, Any]) -> None:
    print(torch.cuda.get_device_name(), torch.__version__)
    if "check" not in skip:
        report["check"] = check_kernels()
        print_table(report["check"])
    if "curves" not in skip:
        report["curves"] = curves()
        print_table(report["curves"])
    if "speed" not in skip:
        report["speed"] = [speed(16, 20, 64), speed(4, 20, 128), speed(1, 20, 256), speed(4, 1, 256)]
        print_table(report["speed"])
    if "profile" not in skip:
        device = choose_device(None)
        report["profile"] = {
            str(layers): profile_step(build(paper_run(layers, 20), device)[1]) for layers in (16, 4)
        }
        for layers, rows in report["profile"].items():
            print(f"L = {layers}, R = 20: milliseconds per step")
            print_table(rows)


def print_table(rows: list[dict[str, Any]]) -> None:
    names = list(rows[0])
    cells = [
        [f"{row[name]:.3g}" if isinstance(row[name], float) else str(row[name]) for name in names]
        for row in rows
    ]
    widths = [max(len(line[column]) for line in [names, *cells]) for column in range(len(names))]
    for line in [names, *cells]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
