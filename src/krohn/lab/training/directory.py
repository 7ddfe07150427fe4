"""A run's directory: configuration, environment, resumable state, best weights, metrics.

``state.safetensors`` is the only source of truth: it is replaced atomically, history included, so after a
crash at any moment the run resumes bit for bit. The other files are derived from it.
"""

import json
import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from krohn.base.files import (
    check_place,
    open_bounded,
    read_json,
    sizes_of,
    write_bytes,
    write_json,
    write_text,
)
from krohn.check.files.folders import part_name, weight_files
from krohn.errors import InvalidFile, Unsupported
from krohn.lab.models.parameters import ParameterLayout
from krohn.lab.training.config import RunConfig
from krohn.lab.training.device import changes
from krohn.lab.training.directory_lock import LOCK

STATE, WEIGHTS, METRICS = "state.safetensors", "weights.safetensors", "metrics.jsonl"
HINTS = "hints.safetensors"
CONFIG, ENVIRONMENT, RESULT = "config.json", "environment.json", "result.json"
PART_BYTES = 15_000_000
"""Larger weights are continued in ``weights-2.safetensors``, ``weights-3.safetensors``, …"""


# Splits the best weights of all replicates into those of the network and those of its hints, by name.
Parts = Callable[[Tensor], tuple[dict[str, Tensor], dict[str, Tensor]]]


class RunDirectory:
    """Reads and writes the files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self, config: RunConfig) -> None:
        """Refuses a directory that holds another run, or files that do not belong to a run."""
        if (self.path / CONFIG).exists():
            result = read_config(self.path)
            if result != config:
                raise InvalidFile(
                    f"{self.path} holds run {result.run_id}, not {config.run_id}: choose another directory"
                )
        elif self.path.exists():
            leftovers = {LOCK, *(path.name for path in self._leftovers())}
            if any(path.name not in leftovers for path in self.path.iterdir()):
                raise InvalidFile(f"{self.path} must be empty or hold this run; it holds other files")
        check_place(self.path)

    def open(self, config: RunConfig) -> None:
        """Creates the directory, or checks that it belongs to this run."""
        self.check(config)
        for leftover in self._leftovers():
            leftover.unlink(missing_ok=True)
        if not (self.path / CONFIG).exists():
            # Written first, so that whatever else a crash leaves behind is known to be this run's.
            write_json(self.path / CONFIG, config.to_dict())

    def _leftovers(self) -> list[Path]:
        """Temporary files of a crash, not yet renamed (`write_whole` prefixes them with a dot)."""
        names = (STATE, WEIGHTS, HINTS, METRICS, CONFIG, ENVIRONMENT, RESULT)
        return [path for name in names for path in self.path.glob(f".{name}.*")]

    def enter(self, environment: dict[str, Any], step: int, *, training: bool) -> None:
        """Records the environment in which the run resumes at ``step``; warns if the bits may change.

        ``environment.json`` describes where the run began; "resumed" lists every other environment. Resuming
        in another precision is refused.
        """
        file = self.path / ENVIRONMENT
        if step == 0 or not file.exists():
            write_json(file, environment)
            return
        first = read_json(file)
        if not isinstance(first, dict):
            raise InvalidFile(f"{file} must be a JSON object; got {type(first).__name__}")
        last = (first.get("resumed") or [first])[-1]
        if last.get("precision") != environment["precision"]:
            raise Unsupported(
                f"a run must keep its precision; {self.path} was begun in {last.get('precision')} on "
                f"{last.get('device')} and here it would be {environment['precision']} on "
                f"{environment['device']}: go on there or choose another directory"
            )
        different = changes(last, environment)
        if training and different:
            seen = [*first.get("resumed", []), {"step": step, **environment}]
            write_json(file, {**first, "resumed": seen})
            logging.getLogger(__name__).warning(
                "%s continues from step %d with %s: the bits may differ from those of a run left alone "
                "(noted in environment.json)",
                self.path,
                step,
                ", ".join(different),
            )

    def load(self, device: torch.device) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Tensors and progress of the last checkpoint, or ``None`` if there is none yet."""
        path = self.path / STATE
        if not path.exists():
            return None
        open_bounded(path).close()  # a pipe or a device is refused
        try:
            with safe_open(path, framework="pt", device=str(device)) as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                progress: dict[str, Any] = json.loads(file.metadata()["progress"])
        except Exception as error:
            raise InvalidFile(f"{path} must be a checkpoint of this version; {error}") from error
        return tensors, progress

    def save(self, tensors: dict[str, Tensor], progress: dict[str, Any], parts: Parts) -> None:
        """Writes the checkpoint as one file, then the files derived from it."""
        text = json.dumps(progress, allow_nan=False)
        write_tensors(self.path / STATE, tensors, {"progress": text})
        self.derive(tensors["best"], progress["history"]["rows"], parts)

    def derive(self, best: Tensor, rows: list[dict[str, Any]], parts: Parts) -> None:
        """Writes the files derived from a checkpoint: best weights, and one JSON object per evaluation."""
        weights, hints = parts(best.to(torch.float32))
        for part in weight_files(self.path)[1:]:  # leftover parts of the weights being replaced
            part.unlink()
        write_tensors(self.path / WEIGHTS, weights)
        if hints:
            write_tensors(self.path / HINTS, hints)
        text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
        write_text(self.path / METRICS, text)

    def write_result(self, result: dict[str, Any]) -> None:
        """The summary of a finished run."""
        write_json(self.path / RESULT, result)


def read_config(path: Path) -> RunConfig:
    """The configuration saved in a run directory."""
    return RunConfig.from_dict(read_json(path / CONFIG))


def write_weights(path: Path, weights: dict[str, Tensor], part_bytes: int = PART_BYTES) -> list[Path]:
    """Weights [R, …] by name, as a run directory holds them, in files of at most about ``part_bytes``."""
    parts: list[dict[str, Tensor]] = [{}]
    room = part_bytes
    for name in sorted(weights):
        room -= weights[name].numel() * weights[name].element_size()
        if room < 0 and parts[-1]:
            parts.append({})
            room = part_bytes - weights[name].numel() * weights[name].element_size()
        parts[-1][name] = weights[name]
    for stale in weight_files(path)[len(parts) :]:
        stale.unlink()
    files = [path / part_name(number) for number in range(1, len(parts) + 1)]
    for file, part in zip(files, parts, strict=True):
        write_tensors(file, part)
    return files


def read_weights(path: Path, replicate: int, layout: ParameterLayout | None = None) -> dict[str, Tensor]:
    """Best weights of one replicate in float32, from a run directory; they must be those of ``layout``."""
    files = weight_files(path) or [path / WEIGHTS]
    for file in files:
        with open_bounded(file) as stream:  # a pipe or a device is refused, and a huge header
            sizes_of(stream, file)
    file = files[0]
    try:
        with ExitStack() as stack:
            slices: dict[str, Any] = {}
            for file in files:
                tensors = stack.enter_context(safe_open(file, framework="pt"))
                for name in tensors.keys():  # noqa: SIM118
                    if name in slices:
                        raise InvalidFile(f"{file} must not hold {name}, which a file before it holds")
                    slices[name] = tensors.get_slice(name)
            file = files[0]
            _check_weights(file, slices, layout)
            count = min(entry.get_shape()[0] for entry in slices.values())
            if not 0 <= replicate < count:
                raise InvalidFile(f"replicate must lie in [0, {count}); got {replicate}")
            result = {name: entry[replicate].to(torch.float32) for name, entry in slices.items()}
            if not all(bool(torch.isfinite(values).all()) for values in result.values()):
                raise InvalidFile(f"{file} must hold finite weights; those of replicate {replicate} are not")
            return result
    except (OSError, SafetensorError) as error:
        raise InvalidFile(f"{file} must be the weights of a run; {error}") from error


def _check_weights(file: Path, slices: dict[str, Any], layout: ParameterLayout | None) -> None:
    """Refuses tensors that are not floats with a leading replicate axis, or not those of the network."""
    shapes = {name: tuple(entry.get_shape()) for name, entry in slices.items()}
    wanted = shapes if layout is None else {part.name: part.shape for part in layout.parameters}
    wrong = [
        name
        for name in sorted({*wanted, *shapes})
        if not shapes.get(name)
        or slices[name].get_dtype() not in ("F32", "BF16")
        or (layout is not None and shapes[name][1:] != wanted.get(name))
    ]
    if wrong or not shapes:
        named = ", ".join(wrong[:5]) or "all of them"
        raise InvalidFile(
            f"{file} must hold the float32 or bfloat16 weights of this network; missing or different: {named}"
        )


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Tensors by name as one file, replaced whole."""
    data = save(
        {name: value.detach().cpu().contiguous() for name, value in tensors.items()},
        metadata or {"krohn": "1"},
    )
    write_bytes(path, data)
