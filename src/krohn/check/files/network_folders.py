"""The folders that networks are kept in, each kind by the file that only it has.

Every field of a configuration is read or known not to change any answer; an unknown field is refused.
"""

from collections.abc import Callable, Mapping
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from krohn.check.files.bounded import Tensors, need, read_json, read_tensors, short
from krohn.check.files.net import COMPILED, MODEL, RECURRENT, TRAINED, Net, read_fields
from krohn.check.files.reader import names_of
from krohn.errors import InvalidFile


def read_net(directory: str | Path, replicate: int = 0, tokens: Mapping[str, Any] | None = None) -> Net:
    """The network in a folder of any kind; ``replicate`` chooses one of a training run.

    ``tokens`` are those of prompt, letters and states, for a folder that krohn did not write.
    """
    folder = Path(directory)
    for name, read in READERS.items():
        if (folder / name).exists():
            try:
                return read(folder, tokens) if name == MODEL else read(folder, replicate)
            except InvalidFile as error:
                text = str(error)
                own = text.startswith(short(folder))
                raise InvalidFile(text if own else f"{short(folder)}: {text}") from error
    raise InvalidFile(
        f"{short(folder)} must be a folder with one of {', '.join(READERS)}; it has none of them"
    )


def _read_compiled(folder: Path, replicate: int) -> Net:
    """What krohn compile writes; the description of channels and registers is not read."""
    fields = {"krohn": ..., "length": ..., "mask": ..., "shape": ..., "automaton": ..., "target": "state"}
    passed = frozenset({"name", "method", "digest", "proved", "layout", "program"})
    found = read_fields(read_json(folder / "krohn.json"), "krohn.json", fields, passed)
    need(found["krohn"] == 1 and type(found["krohn"]) is int, "krohn.json must have version 1")
    names, tensors = names_of(found["automaton"], found["target"]), read_tensors(folder / MODEL)
    sizes = [tensors.get(name, np.zeros(())).shape[:1] for name in ("positions", "padding")]
    need(all(sizes), "positions and padding must be there")
    longest = sizes[0][0] - sizes[1][0]
    fits = type(found["length"]) is int and found["length"] == longest
    need(fits, f"length must be {longest}, as the positions say")
    return compiled_net(tensors, found["shape"], found["mask"], names)


def compiled_net(tensors: Tensors, shape: list[list[int]], mask: str, names: Mapping[str, Any]) -> Net:
    """A compiled network: everything that decides its answers, names and target included."""
    return Net(COMPILED, dict(sorted({**names, "mask": mask, "shape": shape}.items())), tensors)


def _read_export(folder: Path, replicate: int) -> Net:
    from krohn.check.transformer.gpt2 import read_export  # lazy import: only needed for exports

    return read_export(folder)


def _read_recurrent(folder: Path, replicate: int) -> Net:
    """What krohn compile --architecture writes."""
    fields = {"krohn": ..., "architecture": ..., "options": ..., "automaton": ...}
    found = read_fields(
        read_json(folder / "recurrent.json"), "recurrent.json", fields, frozenset({"name", "digest"})
    )
    need(found["krohn"] == 2 and type(found["krohn"]) is int, "recurrent.json must have version 2")
    names, tensors = names_of(found["automaton"]), read_tensors(folder / MODEL)
    return recurrent_net(tensors, found["architecture"], found["options"], names)


def recurrent_net(
    tensors: Tensors, architecture: str, options: Mapping[str, Any], names: Mapping[str, Any]
) -> Net:
    """A recurrent network: everything that decides its answers; the rules read architecture and options."""
    need(isinstance(architecture, str) and isinstance(options, Mapping), "architecture and options must fit")
    about = {"architecture": architecture, "options": dict(options), "target": "state"}
    return Net(RECURRENT, {**about, **names}, tensors)


OF_TRAINING = frozenset(
    {"optimizer", "evaluation", "replicates", "steps", "precision", "seed", "curriculum", "halving"}
)


def _read_trained(folder: Path, replicate: int) -> Net:
    """One replicate of a run of krohn train."""
    fields = {"task": ..., "model": ...}
    found = read_fields(read_json(folder / "config.json"), "config.json", fields, OF_TRAINING)
    stacked: Tensors = {}
    for file in weight_files(folder):
        part = read_tensors(file)
        need(not stacked.keys() & part.keys(), f"{file.name} must hold no tensor of a file before it")
        stacked |= part
    fits = all(tensor.ndim and 0 <= replicate < len(tensor) for tensor in stacked.values())
    need(fits and stacked, f"there must be a replicate {replicate}")
    tensors = {name: tensor[replicate] for name, tensor in stacked.items()}
    return trained_net(tensors, found["model"], found["task"], replicate)


def part_name(number: int) -> str:
    """The file name of part ``number`` of a run's weights: the second is ``weights-2.safetensors``."""
    return "weights.safetensors" if number == 1 else f"weights-{number}.safetensors"


def weight_files(folder: Path) -> list[Path]:
    """The files of a run's weights, in order, up to the first that is missing."""
    return list(takewhile(Path.exists, (folder / part_name(number) for number in count(1))))


def trained_net(tensors: Tensors, model: Any, task: Any, replicate: int) -> Net:
    """A trained network: everything that decides its answers; the rules read the fields of the model."""
    fields = {"spec": ..., "target": "state", "scratchpad": False, "bos": False}
    found = read_fields(task, "config.json: task", fields, frozenset({"length", "reveal", "distribution"}))
    need(isinstance(model, Mapping), "config.json: model must be an object")
    return Net(TRAINED, {"model": dict(model), **found, "replicate": replicate}, tensors)


def _read_stock(folder: Path, tokens: Mapping[str, Any] | None) -> Net:
    from krohn.check.transformer.words import read_stock  # lazy import: only needed for these

    return read_stock(folder, tokens)


READERS: dict[str, Callable[[Path, Any], Net]] = {
    "krohn.json": _read_compiled,
    "recurrent.json": _read_recurrent,
    "export.json": _read_export,
    "weights.safetensors": _read_trained,
    MODEL: _read_stock,
}
"""Readers, by the file that identifies a kind of folder; the last is for what ``transformers`` saved.

A folder of two kinds is read as the first: the claim names the kind, and its digest covers it.
"""
