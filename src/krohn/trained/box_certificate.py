"""The boxes of a proof on disk: one safetensors file that says which weights and automaton it is about."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from krohn.atomic import write_bytes
from krohn.errors import InvalidFile
from krohn.strict_json import short, shown, with_sorted_metadata
from krohn.trained.box_check import Boxes

NAME = "boxes.safetensors"
VERSION = "1"
NUMBERS, SIDES = (np.dtype(np.int64),), tuple(map(np.dtype, (np.float16, np.float32, np.float64)))
SHAPES = {"state": (NUMBERS, 1), "follower": (NUMBERS, 2), "low": (SIDES, 2), "high": (SIDES, 2)}
"""Kinds of numbers and axes; sides may be short floats, for which boxes are rounded outwards."""
WORDS = ("all", "training")


@dataclass(frozen=True, eq=False)
class BoxCertificate:
    """Boxes, and what they are said to prove.

    Attributes:
        kind: of the cell.
        automaton: its digest.
        weights: digest of the tensors as stored.
        words: all, or those that training draws.
        sides: the floats in which the sides of the boxes are written; they must hold them exactly.
    """

    boxes: Boxes
    kind: str
    automaton: str
    weights: str
    words: str
    sides: type[np.floating[Any]] = np.float64

    def save(self, path: Path) -> None:
        """Writes the file whole."""
        tensors = {name: np.ascontiguousarray(getattr(self.boxes, name)) for name in SHAPES}
        for name in ("low", "high"):
            tensors[name] = tensors[name].astype(self.sides)
            assert np.array_equal(tensors[name], getattr(self.boxes, name))
        about = {name: getattr(self, name) for name in ("kind", "automaton", "weights", "words")}
        write_bytes(path, with_sorted_metadata(save(tensors, {"krohn": VERSION, **about})))


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
    for name, (dtypes, axes) in SHAPES.items():
        if tensors[name].dtype not in dtypes or tensors[name].ndim != axes:
            wanted = " or ".join(dtype.name for dtype in dtypes)
            raise InvalidFile(f"{short(path)}: {name} must have {axes} axes of {wanted}")
    named: tuple[str, str, str, str] = (
        about.get("kind", ""),
        about.get("automaton", ""),
        about.get("weights", ""),
        about["words"],
    )
    sides = tensors["low"].dtype.type
    tensors |= {name: tensors[name].astype(np.float64) for name in ("low", "high")}
    return BoxCertificate(Boxes(**tensors), *named, sides)


def digest(tensors: dict[str, npt.NDArray[np.float32]]) -> str:
    """SHA-256 of tensors by name, shape and bytes."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        found.update(f"{name} {tensors[name].shape}\n".encode())
        found.update(np.ascontiguousarray(tensors[name]).tobytes())
    return found.hexdigest()
