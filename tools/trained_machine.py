"""The trained network that stands beside the compiled one in pages: a run of krohn train as one small file.

``python tools/trained_machine.py RUN`` trains it into the folder RUN by the command below, some minutes on
one core, and writes ``src/krohn/explorer/assets/gpt.json``: its weights in float32, that command, and the
share of right states on words that were drawn for this alone.
"""

import base64
import json
import sys
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import krohn
from krohn.cli.app import run as run_command
from krohn.lab.training.directory import read_config
from krohn.lab.training.trained_network import read_run

ASSET = "gpt.json"
COMMAND = (
    "krohn train C2 --length 20 --layers 2 --dim 64 --heads 4 --mlp 64 --lr 1e-3 --batch 64 --steps 6000 "
    "--precision fp32 --device cpu --seed 1"
)
WORDS, SEED = 20_000, 20_261_117
"""How many fresh words report the accuracy, and their seed."""


def payload(run: Path) -> dict[str, Any]:
    """What the page needs to run it and to say what it is."""
    trained, config = read_run(run), read_config(run)
    model, automaton = config.model, trained.automaton
    words = np.random.default_rng(SEED).integers(automaton.num_letters, size=(WORDS, trained.length))
    right = trained.states(words) == krohn.simulate(automaton, words)
    weights = {name: value[0].numpy() for name, value in trained.weights.items()}
    return {
        "automaton": automaton.name,
        "table": automaton.table.tolist(),
        "start": automaton.start,
        "layers": model.layers,
        "dim": model.dim,
        "heads": model.heads,
        "classes": automaton.num_states,
        "length": trained.length,
        "parameters": sum(
            automaton.num_states if each.name == "head.bias" else prod(each.used or each.shape)
            for each in trained.network.layout.parameters
        ),
        "accuracy": float(right.mean()),
        "words": WORDS,
        "command": COMMAND,
        "tensors": {
            name: {
                "shape": list(value.shape),
                "data": base64.b64encode(np.ascontiguousarray(value, dtype="<f4").tobytes()).decode(),
            }
            for name, value in weights.items()
        },
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    assert run_command([*COMMAND.split()[1:], "--out", str(folder)]) == 0
    text = json.dumps(payload(folder), separators=(",", ":"))
    Path(str(files("krohn.explorer") / "assets" / ASSET)).write_text(text)
