"""Where a run takes place, and every reason not to start it there."""

import os
import platform
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import torch

from krohn import __version__
from krohn.automata.semiautomaton import Semiautomaton
from krohn.tasks.batches import Task, task_reasons
from krohn.training.config import RunConfig

# Which device and which precision a run takes, and a description of both.


def device_reasons(precision: str, device: str | None) -> list[str]:
    """Every reason why the run cannot take place on that device."""
    if device not in (None, "cpu", "cuda"):
        return [f"device must be cpu or cuda; got {device!r}"]
    result = []
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        result.append("device cuda needs a GPU that torch can see; there is none: use cpu")
    gpu = device == "cuda" or (device is None and available)
    if gpu and precision == "fp64":
        result.append("precision fp64 is for checks on the cpu; use bf16 or fp32 on a GPU")
    if gpu and available and find_spec("triton") is None:
        result.append("training on a GPU needs triton, which comes with CUDA builds of torch")
    return result


def accelerator() -> str:
    """What a run without ``--device`` takes, in words."""
    if not torch.cuda.is_available():
        return f"none: runs use the CPU ({os.cpu_count()} cores)"
    memory = torch.cuda.get_device_properties(0).total_memory / 2**30
    return f"{torch.cuda.get_device_name(0)}, {memory:.0f} GiB, CUDA {torch.version.cuda}"


def choose_device(device: str | None) -> torch.device:
    """The device asked for, or the GPU if there is one."""
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        # Before the first product: with a fixed workspace cuBLAS gives the same bits every time.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return torch.device(device)


def choose_precision(config: RunConfig, device: torch.device) -> str:
    """bf16 on a GPU and fp32 on a CPU unless the run says otherwise."""
    if config.precision != "auto":
        return config.precision
    return "bf16" if device.type == "cuda" else "fp32"


# What decides the bits of a result: with the same of each, the same machine gives the same bits.
DECISIVE = ("krohn", "torch", "platform", "cpu", "device", "gpu", "cuda", "precision", "threads")


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What decides the bits and is not as it was, in words; threads count on a CPU only."""
    on_gpu = before.get("device") == now.get("device") == "cuda"
    names = [name for name in DECISIVE if not (on_gpu and name in ("cpu", "threads"))]
    return [
        f"{name} {now[name]} (before: {before[name]})"
        for name in names
        if name in before and name in now and before[name] != now[name]
    ]


def environment(device: torch.device, precision: str) -> dict[str, object]:
    """What the result may depend on besides the configuration."""
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {
        "krohn": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.machine(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "device": device.type,
        "gpu": gpu,
        "cuda": torch.version.cuda,
        "precision": precision,
        "threads": torch.get_num_threads(),
    }


# Every reason not to start a run here, with this automaton on this machine.


# Weights, gradients, two moments, average and best: what a parameter takes at least, whatever the precision.
BYTES_A_PARAMETER = 22
# Letters, states, targets and what is shown are drawn as 64-bit integers.
BYTES_A_LETTER = 16


def start_reasons(config: RunConfig, automaton: Semiautomaton, device: str | None) -> list[str]:
    """Every reason why the run cannot take place with this automaton on this machine."""
    result = [*task_reasons(config.task, automaton), *device_reasons(config.precision, device)]
    return result or memory_reasons(config, automaton, device)


def memory_reasons(config: RunConfig, automaton: Semiautomaton, device: str | None) -> list[str]:
    """A reason if the buffers alone cannot fit: better now than when half of them are there."""
    task = Task(config.task, automaton, torch.device("cpu"))
    parameters = config.model.build(task.vocabulary, task.classes).layout.size
    letters = config.replicates * config.optimizer.batch + config.evaluation.sequences
    needed = config.replicates * parameters * BYTES_A_PARAMETER + letters * task.num_tokens * BYTES_A_LETTER
    there = _memory(device)
    if needed <= there:
        return []
    what = f"{config.replicates:,} × {parameters:,} parameters and {letters:,} × {task.num_tokens:,} tokens"
    return [
        f"weights, optimiser state and batches must fit into {there / 1e9:,.0f} GB of memory; got {what}, "
        f"{needed / 1e9:,.0f} GB: choose smaller ones"
    ]


def _memory(device: str | None) -> int:
    """Bytes of the device's memory."""
    if device == "cuda" or (device is None and torch.cuda.is_available()):
        return int(torch.cuda.get_device_properties(0).total_memory)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
