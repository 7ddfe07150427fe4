"""Every reason why a run cannot start with this automaton on this machine."""

import os

import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.tasks.many import Learned, learned_reasons, task_of
from krohn.lab.training.config import RunConfig
from krohn.lab.training.device import device_reasons
from krohn.lab.training.teaching import Teaching, teach_reasons

# Minimum per parameter, in any precision: weights, gradients, two moments, average and best.
BYTES_A_PARAMETER = 22


# Letters, states, targets and the loss mask are drawn as 64-bit integers.
BYTES_A_LETTER = 16


def start_reasons(config: RunConfig, learned: Learned, device: str | None) -> list[str]:
    """Every reason why the run cannot start with what it learns on this machine."""
    faults = [*learned_reasons(config.task, learned), *device_reasons(config.precision, device)]
    if isinstance(learned, Semiautomaton):
        faults = faults or teach_reasons(config, learned)
    elif config.teach is not None:
        faults.append("hints are about one automaton; leave teach out of a run of many")
    return faults or memory_reasons(config, learned, device)


def memory_reasons(config: RunConfig, learned: Learned, device: str | None) -> list[str]:
    """An error if the buffers alone exceed memory: fail early, not halfway through allocation."""
    task = task_of(config.task, learned, torch.device("cpu"))
    network = config.model.build(task.vocabulary, task.classes)
    layout = network.layout if config.teach is None else Teaching(config, task, network).layout
    parameters = layout.size
    letters = config.replicates * config.optimizer.batch + config.evaluation.sequences
    needed = config.replicates * parameters * BYTES_A_PARAMETER + letters * task.num_tokens * BYTES_A_LETTER
    there = _memory(device)
    if needed <= there:
        return []
    what = f"{config.replicates:,} × {parameters:,} parameters and {letters:,} × {task.num_tokens:,} tokens"
    return [
        f"weights, optimiser state and batches must fit into {there / 1e9:,.0f} GB of memory; got {what}, "
        f"{needed / 1e9:,.0f} GB: choose smaller ones"
    ]


def _memory(device: str | None) -> int:
    """Bytes of the device's memory."""
    if device == "cuda" or (device is None and torch.cuda.is_available()):
        return int(torch.cuda.get_device_properties(0).total_memory)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
