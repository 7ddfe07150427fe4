"""Training from compiled weights with noise added: does the network recover, and to which algorithm?

Run: python research/from_compiled.py OUT [PART/PARTS]

Networks are compiled for words of 16 letters, disturbed, and trained on words of 8. Kept are the shares of
right states in the first and in the last 8 letters, and what krohn understand finds, before and after
training. A trial takes some 40 seconds of one core; PART/PARTS takes every PARTS-th of them, so that several
processes may share the work, each with an OUT of its own. Trials that are in OUT already are not made again.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from returning import Training, disturbed, trained

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.exporting.from_compiled import decoder_of_compiled
from krohn.lab.interpret.findings import Amount
from krohn.lab.interpret.stages import stages_of_decoder
from krohn.lab.interpret.subject import subject_of_decoder
from krohn.lab.interpret.understand import Study
from krohn.network.gpt2.decoder import Decoder

NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "C2, cascade": ("C2", {"method": "cascade", "objective": "blocks"}),
    "C2, scan": ("C2", {"method": "scan"}),
    "Grid4, grid": ("Grid4", {"method": "grid"}),
    "Grid4, scan": ("Grid4", {"method": "scan"}),
    "Grid4, cascade": ("Grid4", {"method": "cascade"}),
}
SIZES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SEEDS = range(6)
LONG, SHORT, STEPS, RATE = 16, 8, 1000, 1e-3
KEYS = ("network", "noise", "seed")


def right(decoder: Decoder, automaton: Semiautomaton) -> list[float]:
    """Shares of right states in the first half and in the second half of 2,000 words."""
    letters = np.random.default_rng(99).integers(automaton.num_letters, size=(2000, LONG))
    good = stages_of_decoder(decoder, torch.float64).run(letters).answers == krohn.simulate(
        automaton, letters
    )
    return [round(float(good[:, :SHORT].mean()), 4), round(float(good[:, SHORT:].mean()), 4)]


def causal_shares(decoder: Decoder, automaton: Semiautomaton) -> dict[str, list[float]]:
    """The highest causal share of each family before the last block, with interval (words of 8 letters)."""
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


def trial(name: str, size: float, seed: int) -> dict[str, Any]:
    """One network, disturbed and trained."""
    spec, options = NETWORKS[name]
    network = krohn.compile(spec, length=LONG, **options)
    automaton = network.automaton
    begun = disturbed(decoder_of_compiled(network, normalized=True), size, seed)
    ended = trained(begun, automaton, Training(length=SHORT, steps=STEPS, rate=RATE), seed)
    row: dict[str, Any] = {"network": name, "noise": size, "seed": seed}
    for when, decoder in (("before", begun), ("after", ended)):
        row[when] = {"right": right(decoder, automaton), "found": causal_shares(decoder, automaton)}
    return row


def main() -> None:
    """Runs the trials of this part that the file lacks; one line each."""
    out = Path(sys.argv[1])
    part, parts = map(int, sys.argv[2].split("/")) if len(sys.argv) > 2 else (0, 1)
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    known = [tuple(row[key] for key in KEYS) for row in rows]
    trials = [(name, size, seed) for seed in SEEDS for size in SIZES for name in NETWORKS]
    for name, size, seed in trials[part::parts]:
        if (name, size, seed) not in known:
            line = json.dumps(trial(name, size, seed)) + "\n"
            with out.open("a") as file:
                file.write(line)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
