"""Training that starts from compiled weights and noise: does it come back, how far, to which algorithm?

Run: python benchmarks/from_compiled.py    (some ten minutes of one core; writes results/understand/)

Networks are compiled for words of 16 letters, disturbed, and trained on words of 8. Kept are the shares of
right states in the first and in the last 8 letters, before and after training, and what krohn understand
says.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.exporting.compiled import decoder_of_compiled
from krohn.exporting.decoder import Decoder
from krohn.understand.returning import Training, disturbed, trained
from krohn.understand.stages import stages_of_decoder
from krohn.understand.study import Amount, Study
from krohn.understand.subject import subject_of_decoder

STORE = Path(__file__).parents[1] / "results" / "understand" / "from-compiled.jsonl"
SIZES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
TRIALS = ((1e-3, 0), (1e-3, 1), (1e-4, 0))
NETWORKS = {
    "C2, cascade": ("C2", {"method": "cascade", "objective": "blocks"}, TRIALS),
    "Grid4, grid": ("Grid4", {"method": "grid"}, TRIALS[:1]),
    "C2, scan": ("C2", {"method": "scan"}, TRIALS[:1]),
}
LONG, SHORT, STEPS = 16, 8, 400
KEYS = ("network", "noise", "rate", "seed")


def right(decoder: Decoder, automaton: Semiautomaton) -> list[float]:
    """Shares of right states in the first half and in the second half of 2,000 words."""
    letters = np.random.default_rng(99).integers(automaton.num_letters, size=(2000, LONG))
    good = stages_of_decoder(decoder, torch.float64).run(letters).said == krohn.simulate(automaton, letters)
    return [round(float(good[:, :SHORT].mean()), 4), round(float(good[:, SHORT:].mean()), 4)]


def found(decoder: Decoder, automaton: Semiautomaton) -> dict[str, list[float]]:
    """By family the highest causal share before the last block, with its interval, on words of 8 letters."""
    study = Study(
        subject_of_decoder(decoder, automaton, "trained back"), seed=0, amount=Amount.of(0.5), length=SHORT
    )
    best: dict[str, list[float]] = {}
    for variable in study.variables:
        for row in study.findings(variable)[:-1]:
            if row.causal is not None and row.causal.value >= best.get(variable.family, [-1.0])[0]:
                share = row.causal
                best[variable.family] = [round(v, 3) for v in (share.value, share.low, share.high)]
    return best


def done() -> list[dict[str, Any]]:
    return [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []


def main() -> None:
    """Every trial that is not in the store yet, one line each."""
    known = [{key: row.get(key) for key in KEYS} for row in done()]
    for name, (spec, options, trials) in NETWORKS.items():
        network = krohn.compile(spec, length=LONG, **options)
        compiled, automaton = decoder_of_compiled(network, normalized=True), network.automaton
        for rate, seed, size in [(None, None, None), *((*trial, size) for trial in trials for size in SIZES)]:
            row: dict[str, Any] = {"network": name, "noise": size, "rate": rate, "seed": seed}
            if row in known:
                continue
            if rate is None:
                ended = compiled
            else:
                begun = disturbed(compiled, size, seed)
                row["before"] = right(begun, automaton)
                ended = trained(begun, automaton, Training(length=SHORT, steps=STEPS, rate=rate), seed)
            row["after"] = right(ended, automaton)
            if rate is None or (rate, seed) == trials[0]:
                row["found"] = found(ended, automaton)
            print(row, flush=True)
            with STORE.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
