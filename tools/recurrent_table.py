"""The tables of docs/every-length.md: reachable pairs, horizons, rounding errors of the chunked form.

Run: python tools/recurrent_table.py
"""

import numpy as np
import torch

from krohn.automata.zoo import parse_spec
from krohn.lab.cards.recurrent_modules import in_training
from krohn.proving.recurrent import close, horizon_of
from krohn.recurrent.recurrent_network import logits_of
from krohn.recurrent.recurrent_weights import WEIGHTS

PROVED = [
    *(("deltaproduct", name) for name in ("S5", "T3", "Dyck4,2")),
    *(("deltanet", name) for name in ("Q8", "S4", "A5")),
    *(("diagonal", name) for name in ("D8", "Grid4", "C3", "C6", "C12", "D6", "A4", "T3", "S4")),
    *(("rankone", name) for name in ("S4", "Dyck4,2")),
    *(("lstm", "S4"), ("gru", "Dyck4,2")),
]
ROUNDED = ("C5", "C7", "D10", "D14")
CHUNKED = ("C3", "C12", "S4", "D10")


def pairs() -> None:
    """One line for each network that is proved right on every word."""
    for kind, name in PROVED:
        automaton = parse_spec(name)
        closure = close(WEIGHTS[kind](automaton), automaton)
        form = {True: "the same floats", False: "other floats", None: "no such form"}[closure.chunked]
        assert closure.every_length
        print(f"{name}, {kind}: {', '.join(map(str, closure.layers))}; in chunks {form}", flush=True)


def horizons() -> None:
    """Certified lengths for diagonal layers that round and whose search does not close."""
    for name in ROUNDED:
        automaton = parse_spec(name)
        cell = WEIGHTS["diagonal"](automaton)
        horizons = [horizon_of(cell, automaton, dtype) for dtype in ("float32", "bfloat16")]
        letters = [None if one is None else one.length for one in horizons]
        print(f"{name}: certified letters in float32 and bfloat16: {letters}", flush=True)


def chunks(letters: int = 20_000, compared: int = 5_000) -> None:
    """Errors of the chunked form on one random word, and its largest deviation from sequential logits."""
    for name in CHUNKED:
        automaton = parse_spec(name)
        cell = WEIGHTS["diagonal"](automaton)
        network, weights = in_training(cell, chunks=True)
        word = np.random.default_rng(0).integers(automaton.num_letters, size=letters)
        with torch.no_grad():
            logits = network.logits(weights, torch.from_numpy(word)[None, None])[0, 0].numpy()
        wrong = int((logits.argmax(-1) != np.array(automaton.run(word))).sum())
        gap = float(np.abs(logits_of(cell, word[None, :compared])[0] - logits[:compared]).max())
        print(f"{name}, chunks: {wrong} of {letters:,} wrong, logits differ by up to {gap:.1e}", flush=True)


if __name__ == "__main__":
    pairs()
    horizons()
    chunks()
