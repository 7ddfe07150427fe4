"""A network as its folder holds it: the tensors, and every field of the configuration that decides answers.

Every field is read or known not to change any answer; an unknown field is refused. The digest covers
all that is read, so a certificate is about one network run in one way.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.check.files.bounded import Tensors, need, shown

COMPILED, RECURRENT, TRAINED = "compiled", "recurrent", "trained"
STOCK = "stock"
"""The kind of a folder that ``transformers`` saved."""
MODEL = "model.safetensors"
TOKENS = ("prompt", "letters", "states")
"""What tokens of a GPT-2 stand for; those of states are its outputs, observations too."""


@dataclass(frozen=True)
class Net:
    """``configuration`` has every field that the forward pass depends on, and the names of letters."""

    kind: str
    configuration: Mapping[str, Any]
    tensors: Tensors

    @property
    def digest(self) -> str:
        """SHA-256 of kind and configuration, and of names, types, shapes and bytes of all tensors."""
        about = {"kind": self.kind, "configuration": self.configuration}
        state = hashlib.sha256(json.dumps(about, sort_keys=True, separators=(",", ":")).encode())
        for name, tensor in sorted(self.tensors.items()):
            state.update(f"\n{json.dumps(name)} {tensor.dtype.str} {tensor.shape}\n".encode())
            state.update(np.ascontiguousarray(tensor).data)
        return state.hexdigest()


def read_fields(payload: Any, where: str, read: Mapping[str, Any], passed: frozenset[str]) -> dict[str, Any]:
    """The fields that decide answers, defaults filled in; an unknown field is refused by name.

    ``read`` has the default of each field, or ``...`` for one that must be there; ``passed`` are the fields
    that change no answer.
    """
    need(isinstance(payload, dict), f"{where} must be an object")
    unknown = sorted(set(payload) - set(read) - passed)
    need(not unknown, f"{where} has a field that is not understood: {shown(next(iter(unknown), ''))}")
    missing = [name for name, default in read.items() if default is ... and name not in payload]
    need(not missing, f"{where} must have the field {next(iter(missing), '')}")
    return {name: payload.get(name, default) for name, default in read.items()}
