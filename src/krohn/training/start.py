"""What speaks against starting a run here, with this automaton on this machine."""

import os

import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.tasks.batches import Task, task_reasons
from krohn.training.config import RunConfig
from krohn.training.device import device_reasons

# Weights, gradients, two moments, average and best: what a parameter takes at least, whatever the precision.
BYTES_A_PARAMETER = 22
# Letters, states, targets and what is shown are drawn as 64-bit integers.
BYTES_A_LETTER = 16


def start_reasons(config: RunConfig, automaton: Semiautomaton, device: str | None) -> list[str]:
    """Every reason why the run cannot take place with this automaton on this machine."""
    found = [*task_reasons(config.task, automaton), *device_reasons(config.precision, device)]
    return found or memory_reasons(config, automaton, device)


def memory_reasons(config: RunConfig, automaton: Semiautomaton, device: str | None) -> list[str]:
    """A reason if the buffers alone cannot fit: better now than when half of them are there."""
    task = Task(config.task, automaton, torch.device("cpu"))
    parameters = config.model.build(task.vocabulary, task.classes).layout.size
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
