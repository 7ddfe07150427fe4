"""The files of an export, as bytes by name, and writing them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from krohn.atomic import write_whole

Files = dict[str, bytes]


def text_file(payload: Any) -> bytes:
    """JSON with a final newline."""
    return (json.dumps(payload, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


def tensor_file(tensors: Mapping[str, npt.NDArray[np.float32]]) -> bytes:
    """safetensors, marked as readers of PyTorch weights want it."""
    return save({name: np.ascontiguousarray(value) for name, value in tensors.items()}, {"format": "pt"})


def write_files(directory: Path, files: Files) -> None:
    """Writes each file whole, in order: the last one is what makes a reader accept the directory."""
    last = list(files)[-1]
    (directory / last).unlink(missing_ok=True)
    for name, data in files.items():
        write_whole(directory / name, lambda stream, data=data: _write(stream, data))  # type: ignore[misc]


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(data)
