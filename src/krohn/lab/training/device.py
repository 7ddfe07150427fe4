"""Device and precision of a run: their choice, their description, and why a device cannot be used."""

import os
import platform
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import torch

from krohn import __version__
from krohn.lab.training.config import RunConfig


def device_reasons(precision: str, device: str | None) -> list[str]:
    """Every reason why the run cannot use that device."""
    if device not in (None, "cpu", "cuda"):
        return [f"device must be cpu or cuda; got {device!r}"]
    faults = []
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        faults.append("device cuda needs a GPU that torch can see; there is none: use cpu")
    gpu = device == "cuda" or (device is None and available)
    if gpu and precision == "fp64":
        faults.append("precision fp64 is for checks on the cpu; use bf16 or fp32 on a GPU")
    if gpu and available and find_spec("triton") is None:
        faults.append("training on a GPU needs triton, which comes with CUDA builds of torch")
    return faults


def accelerator() -> str:
    """The device of a run without ``--device``, in words."""
    if not torch.cuda.is_available():
        return f"none: runs use the CPU ({os.cpu_count()} cores)"
    memory = torch.cuda.get_device_properties(0).total_memory / 2**30
    return f"{torch.cuda.get_device_name(0)}, {memory:.0f} GiB, CUDA {torch.version.cuda}"


def choose_device(device: str | None) -> torch.device:
    """The device asked for, or the GPU if there is one."""
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        # Before the first matrix product: a fixed workspace makes cuBLAS deterministic.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return torch.device(device)


def choose_precision(config: RunConfig, device: torch.device) -> str:
    """The run's precision; ``auto`` is bf16 on a GPU and fp32 on a CPU."""
    if config.precision != "auto":
        return config.precision
    return "bf16" if device.type == "cuda" else "fp32"


# What bitwise reproducibility depends on: if all are equal, the same machine gives the same bits.
DECISIVE = ("krohn", "torch", "platform", "cpu", "device", "gpu", "cuda", "precision", "threads")


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Changes that can affect the bits of the result, in words; threads count on a CPU only."""
    on_gpu = before.get("device") == now.get("device") == "cuda"
    names = [name for name in DECISIVE if not (on_gpu and name in ("cpu", "threads"))]
    return [
        f"{name} {now[name]} (before: {before[name]})"
        for name in names
        if name in before and name in now and before[name] != now[name]
    ]


def environment(device: torch.device, precision: str) -> dict[str, object]:
    """Everything besides the configuration that the result may depend on."""
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
