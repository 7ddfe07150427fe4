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

STORE = Path(__file__).parents[1] / "results" / "understand" / "from-compiled.json"
NETWORKS = {
    "C2, cascade": ("C2", {"method": "cascade", "objective": "blocks"}),
    "C2, scan": ("C2", {"method": "scan"}),
    "Grid4, grid": ("Grid4", {"method": "grid"}),
}
SIZES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
TRIALS = ((1e-3, 0), (1e-3, 1), (1e-4, 0))
LONG, SHORT, STEPS = 16, 8, 400


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


def rows() -> list[dict[str, Any]]:
    out = []
    for name, (spec, options) in NETWORKS.items():
        network = krohn.compile(spec, length=LONG, **options)
        compiled, automaton = decoder_of_compiled(network, normalized=True), network.automaton
        out.append(
            {"network": name, "compiled": right(compiled, automaton), "found": found(compiled, automaton)}
        )
        for rate, seed in TRIALS:
            for size in SIZES:
                begun = disturbed(compiled, size, seed)
                ended = trained(begun, automaton, Training(length=SHORT, steps=STEPS, rate=rate), seed)
                row = {"network": name, "noise": size, "rate": rate, "seed": seed}
                row |= {"before": right(begun, automaton), "after": right(ended, automaton)}
                if seed == 0 and rate == TRIALS[0][0]:
                    row["found"] = found(ended, automaton)
                print(row, flush=True)
                out.append(row)
    return out


if __name__ == "__main__":
    torch.set_num_threads(1)
    STORE.write_text(
        json.dumps({"steps": STEPS, "batch": Training(length=SHORT).batch, "rows": rows()}) + "\n"
    )
