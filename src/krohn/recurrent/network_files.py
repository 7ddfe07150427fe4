"""The files of a recurrent or looped network: tensors, and beside them sizes and the automaton in JSON."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save as save_tensors

from krohn.automata.files import automaton_payload
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import (
    KEYS,
    Folder,
    json_bytes,
    path_of,
    read_json,
    read_tensors,
    require_keys,
    short,
    shown,
    write_folder,
)
from krohn.errors import InvalidFile, InvalidInput
from krohn.network.compiled import MAX_NAME, stored_automaton
from krohn.network.transformer_file import MODEL

Tensors = Mapping[str, npt.NDArray[np.float32]]
N = TypeVar("N")


def write_network(
    directory: str | Path,
    kind: str,
    version: int,
    sizes: Mapping[str, Any],
    automaton: Semiautomaton,
    tensors: Tensors,
) -> None:
    """Writes both files or none; an existing network is replaced. ``sizes`` are keys of the JSON file."""
    folder, meaning = path_of(directory), KEYS[kind]
    Folder(folder).check_target(kind, (MODEL, meaning))
    name = automaton.name
    payload = {
        "krohn": version,
        **sizes,
        "name": name if len(name) <= MAX_NAME else "",
        "automaton": automaton_payload(automaton),
        "digest": automaton.digest,
    }
    write_folder(folder, {MODEL: save_tensors(dict(tensors)), meaning: json_bytes(payload)}, key=meaning)


def read_network(
    directory: str | Path,
    kind: str,
    version: int,
    sizes: Sequence[str],
    build: Callable[[dict[str, Any], Callable[[], Tensors], Semiautomaton], N],
    what: str,
) -> N:
    """What ``build`` makes of the JSON file, the tensors and the automaton; what does not fit is one line.

    Tensors are read when ``build`` asks, so that sizes that are wrong cost nothing.
    """
    folder, meaning = Path(directory), KEYS[kind]
    try:
        keys = ("krohn", *sizes, "automaton", "digest")
        payload = require_keys(read_json(folder / meaning), keys, meaning, optional=("name",))
        if type(payload["krohn"]) is not int or payload["krohn"] != version:
            raise InvalidFile(f"krohn must be {version}; got {shown(payload['krohn'])}")
        return build(payload, lambda: read_tensors(folder / MODEL), stored_automaton(payload))
    except InvalidInput as error:
        raise InvalidFile(f"{short(folder)}: not a {what} network: {error}") from error
