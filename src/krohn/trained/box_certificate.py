"""The boxes of a proof on disk: one safetensors file that says which weights and automaton it is about."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from krohn.atomic import write_bytes
from krohn.errors import InvalidFile
from krohn.strict_json import short, shown
from krohn.trained.box_check import Boxes

NAME = "boxes.safetensors"
VERSION = "1"
SHAPES = {"state": (np.int64, 1), "follower": (np.int64, 2), "low": (np.float64, 2), "high": (np.float64, 2)}
WORDS = ("all", "training")


@dataclass(frozen=True, eq=False)
class BoxCertificate:
    """Boxes, and what they are said to prove.

    Attributes:
        kind: of the cell.
        automaton: its digest.
        weights: digest of the tensors as stored.
        words: all, or those that training draws.
    """

    boxes: Boxes
    kind: str
    automaton: str
    weights: str
    words: str

    def save(self, path: Path) -> None:
        """Writes the file whole."""
        tensors = {name: np.ascontiguousarray(getattr(self.boxes, name)) for name in SHAPES}
        about = {name: getattr(self, name) for name in ("kind", "automaton", "weights", "words")}
        write_bytes(path, save(tensors, {"krohn": VERSION, **about}))


def load_certificate(path: Path) -> BoxCertificate:
    """The certificate in a file; anything that does not fit is refused in one line."""
    try:
        with safe_open(path, framework="np") as file:
            about = file.metadata() or {}
            names = set(file.keys())
            if about.get("krohn") != VERSION or names != set(SHAPES) or about.get("words") not in WORDS:
                raise InvalidFile(
                    f"{short(path)} must be a certificate of boxes, version {VERSION}; "
                    f"got {shown(sorted(names))}"
                )
            tensors = {name: file.get_tensor(name) for name in SHAPES}
    except (OSError, SafetensorError) as error:
        raise InvalidFile(f"{short(path)} must be a certificate of boxes; {error}") from error
    for name, (dtype, axes) in SHAPES.items():
        if tensors[name].dtype != dtype or tensors[name].ndim != axes:
            raise InvalidFile(f"{short(path)}: {name} must have {axes} axes of {np.dtype(dtype).name}")
    named = [about.get(name, "") for name in ("kind", "automaton", "weights", "words")]
    return BoxCertificate(Boxes(**tensors), *named)


def digest(tensors: dict[str, npt.NDArray[np.float32]]) -> str:
    """SHA-256 of tensors by name, shape and bytes."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        found.update(f"{name} {tensors[name].shape}\n".encode())
        found.update(np.ascontiguousarray(tensors[name]).tobytes())
    return found.hexdigest()
