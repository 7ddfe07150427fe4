"""The networks of a stack as run directories of their own, which every other command reads.

A stack pads letters and classes to the largest number of each; here each network keeps its own rows alone.
Classes that an automaton does not have come with probability 0, so nothing that the network answers changes.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from krohn.automata.files import dump_automaton
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import true_name
from krohn.base.files import write_json
from krohn.lab.models.network import ModelConfig
from krohn.lab.tasks.batches import Task
from krohn.lab.training.config import RunConfig
from krohn.lab.training.directory import CONFIG, RESULT, write_weights

if TYPE_CHECKING:
    from krohn.lab.training.loop import TrainResult

AUTOMATON = "automaton.json"
_LETTERS, _CLASSES = 9_973, 9_967  # sizes that no other axis has


def folder_names(stack: Sequence[tuple[Semiautomaton, int]], first: int) -> list[str]:
    """A folder for each network: its number in the run, and what there is of its automaton's name."""
    names = []
    for place, (automaton, replicate) in enumerate(stack):
        words = re.sub(r"[^\w.]+", "-", automaton.name).strip("-.")[:60] or "automaton"
        names.append(f"{first + place + 1:05d}-{words}" + (f"-replicate-{replicate}" if replicate else ""))
    return names


def write_networks(
    directory: Path, result: "TrainResult", stack: Sequence[tuple[Semiautomaton, int]], first: int
) -> None:
    """Writes a run directory for each network of a finished stack, of which ``first`` came before."""
    parts = {name: value.cpu() for name, value in result.weights.items()}
    axes = padded_axes(result.config.model)
    for place, (automaton, _) in enumerate(stack):
        folder = directory / folder_names(stack, first)[place]
        folder.mkdir(parents=True, exist_ok=True)
        spec = true_name(automaton)
        if not spec:
            dump_automaton(automaton, folder / AUTOMATON)
            spec = str(folder / AUTOMATON)
        config = alone(result.config, spec, place)
        own = Task(config.task, automaton, torch.device("cpu"))
        rows = [*range(automaton.num_letters), *([result.task.num_letters] if config.task.bos else [])]
        kept = {"letters": rows, "classes": list(range(own.classes))}
        weights = {
            name: narrowed(value[place : place + 1], axes[name], kept) for name, value in parts.items()
        }
        write_json(folder / CONFIG, config.to_dict())
        write_weights(folder, weights)
        entry = result.replicates[place]
        written = {"run": config.run_id, "stack": result.config.run_id, "replicate": place}
        write_json(folder / RESULT, written | {"replicates": [entry], "finished": True})


def alone(config: RunConfig, spec: str, place: int) -> RunConfig:
    """The run of one network of a stack. Training it again gives another network: seeds are of the stack."""
    return replace(
        config,
        task=replace(config.task, spec=spec),
        optimizer=replace(config.optimizer, lr=(config.learning_rates[place],)),
        replicates=1,
        halving=None,
    )


def padded_axes(model: ModelConfig) -> dict[str, tuple[str | None, ...]]:
    """For each parameter which of its axes, replicates first, have a place for each letter or class."""
    kinds = {_LETTERS: "letters", _CLASSES: "classes"}
    layout = model.build(_LETTERS, _CLASSES).layout
    return {part.name: (None, *(kinds.get(size) for size in part.shape)) for part in layout.parameters}


def narrowed(value: Tensor, axes: Sequence[str | None], kept: dict[str, list[int]]) -> Tensor:
    """The rows of one automaton's letters and classes."""
    for axis, kind in enumerate(axes):
        if kind is not None:
            value = value.index_select(axis, torch.tensor(kept[kind]))
    return value.contiguous()
