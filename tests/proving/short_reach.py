"""GPT-2s of others that are right on short words alone, though they read longer ones."""

import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

import krohn

CONTEXT, LETTERS = 32, 8
POSITIONS = "transformer.wpe.weight"


def short_reach(place: Path, spec: str = "Parity") -> tuple[Path, Path]:
    """A GPT-2 of 32 positions that is right on words of 8 letters and guesses beyond; its tokens.

    The export of a network for 8 letters, with random rows for the other positions and no file of krohn's.
    """
    network = krohn.compile(spec, length=LETTERS, method="scan", unproved=True)
    krohn.export(network, "hf", place / "export", proof=False)
    theirs = place / "theirs"
    theirs.mkdir()
    config = json.loads((place / "export" / "config.json").read_text())
    tensors = load_file(place / "export" / "model.safetensors")
    rows = tensors[POSITIONS]
    prompt = len(rows) - LETTERS
    more = np.random.default_rng(0).normal(size=(CONTEXT - LETTERS, rows.shape[1])).astype(np.float32)
    tensors[POSITIONS] = np.concatenate([rows, more * np.abs(rows).max()])
    names = {name: int(number) for name, number in config["label2id"].items()}
    del config["krohn"], config["id2label"], config["label2id"]
    config |= {"n_positions": prompt + CONTEXT, "n_ctx": prompt + CONTEXT}
    (theirs / "config.json").write_text(json.dumps(config))
    save_file(tensors, theirs / "model.safetensors")
    automaton = network.automaton
    tokens = {
        "prompt": [0] * prompt,
        "letters": [names[name] for name in automaton.letter_names],
        "states": [names[name] for name in automaton.state_names],
    }
    (place / "tokens.json").write_text(json.dumps(tokens))
    shutil.rmtree(place / "export")
    return theirs, place / "tokens.json"
