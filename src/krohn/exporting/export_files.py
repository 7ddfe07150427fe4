"""The files of an export, as bytes by name, and writing them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from krohn.atomic import write_folder
from krohn.strict_json import with_sorted_metadata

Files = dict[str, bytes]


def tensor_file(tensors: Mapping[str, npt.NDArray[np.float32]], about: Mapping[str, str]) -> bytes:
    """safetensors, with the metadata that PyTorch readers expect, and ``about``."""
    whole = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    return with_sorted_metadata(save(whole, {"format": "pt", **about}))


def write_files(directory: Path, files: Files, names: frozenset[str] = frozenset()) -> None:
    """Writes all files or none, the one that makes a reader accept them last; removes other ``names``."""
    write_folder(directory, files, key=list(files)[-1], stale=names)
