"""Trained networks kept beside the results: small run directories of one replicate, in bf16.

Such a directory is read like any other run's (``krohn verify``, ``krohn export``, …): ``config.json`` is the
run, ``weights.safetensors`` holds the one replicate that was kept, ``result.json`` what it reached.
"""

from pathlib import Path

import torch

from krohn import atomic
from krohn.training.directory import CONFIG, RESULT, write_weights
from krohn.training.loop import TrainResult


def keep(result: TrainResult, folder: Path) -> Path:
    """Writes the replicate that the held-out words chose."""
    number = result.best
    weights = {
        name: value[number : number + 1].to(torch.bfloat16).cpu() for name, value in result.weights.items()
    }
    entry = result.replicates[number]
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_json(folder / CONFIG, result.config.to_dict())
    write_weights(folder, weights)
    atomic.write_json(
        folder / RESULT,
        {
            "run": result.config.run_id,
            "replicate": number,
            "replicates": [entry],
            "finished": result.finished,
        },
    )
    return folder
