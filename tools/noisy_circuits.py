"""Rankings of edges on rotated networks of the suite with as much noise in their weights as they bear.

    python tools/noisy_circuits.py run --out results/understand/noise.jsonl [NAME …]
    python tools/noisy_circuits.py write results/understand/noise.jsonl results/suite.md

Every weight of the blocks is multiplied by 1 + noise, Gaussian: the largest of ``SHARES`` with which the
network is still right on 1,024 words of its length. The true circuit is that of the network without noise;
it is tested again, on pairs of words, with all edges outside patched.
"""

import argparse
import json
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.simulation import right_outputs
from krohn.compilation import compile as compile_network
from krohn.lab.suite.building import SCORING_SEED, search_for
from krohn.lab.suite.catalogue import entries
from krohn.lab.suite.disguise import DECOY_UNITS, ROTATED, disguise
from krohn.lab.suite.methods import CIRCUIT_METHODS
from krohn.lab.suite.patching import EdgeModel
from krohn.lab.suite.scoring import auroc
from krohn.lab.suite.truth import PruningTrial, unfaithful, word_pairs
from krohn.network.gpt2.decoder import Decoder
from krohn.network.gpt2.reference import logits

SHARES = (0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001, 0.00003, 0.00001)
PAIRS, TESTED, RUN = 48, 256, 1_024
NAMES = tuple(
    f"{name}-rotated"
    for name in ("c2-cascade", "c4-scan", "flipflop-scan", "grid4-grid", "grid5-counter", "abab-cascade")
)
BEGIN, END = "<!-- suite-noise -->", "<!-- end -->"


def noisy(decoder: Decoder, share: float, seed: int) -> Decoder:
    """The decoder with noise in every matrix of its blocks."""
    rng = np.random.default_rng([seed, 2])
    tensors = {
        name: (tensor * (1 + share * rng.standard_normal(tensor.shape))).astype(np.float32)
        if ".h." in name and tensor.ndim == 2
        else tensor
        for name, tensor in decoder.tensors.items()
    }
    return replace(decoder, tensors=tensors)


def right(decoder: Decoder, automaton: Semiautomaton) -> bool:
    """Whether every answer is right."""
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(RUN, decoder.length))
    wanted = np.array(decoder.vocabulary.states)[right_outputs(automaton, words)]
    return bool((logits(decoder, words).argmax(-1) == wanted).all())


def measured(name: str) -> dict[str, object]:
    (entry,) = entries([name])
    network = compile_network(entry.automaton, length=entry.length, unproved=True, **entry.options)
    decoder = disguise(network, ROTATED, entry.seed, units=DECOY_UNITS).decoder
    true = search_for(entry.automaton, entry.algorithm).names
    most = next((one for one in SHARES if right(noisy(decoder, one, entry.seed), network.automaton)), 0.0)
    row: dict[str, object] = {"name": name, "noise": most}
    for kind, given in (("without", decoder), ("with", noisy(decoder, most, entry.seed))):
        model = EdgeModel(given)
        kept = np.array([edge in true for edge in model.graph.edges])
        flags, places = (
            np.zeros(model.graph.possible.shape, dtype=bool),
            tuple(np.array(list(model.graph.edges.values())).T),
        )
        flags[places] = kept
        tested = word_pairs(network.automaton, given.length, TESTED, entry.seed + SCORING_SEED + 7)
        row[f"changed {kind}"] = len(unfaithful(model, flags, tested))
        pairs = word_pairs(network.automaton, given.length, PAIRS, entry.seed + SCORING_SEED)
        trial = PruningTrial(model, *pairs)
        for method, rank in CIRCUIT_METHODS.items():
            row[f"{method} {kind}"] = round(auroc(rank(trial).ranking[places], kept), 4)
    return row


def table(rows: list[dict]) -> str:
    methods = [method for method in CIRCUIT_METHODS if method != "random"]
    lines = [
        f"| network | noise | pairs of {TESTED} with a change | "
        + " | ".join(f"{m}: without, with" for m in methods)
        + " |",
        f"|{' --- |' * (3 + len(methods))}",
    ]
    for row in rows:
        cells = [row["name"], f"{row['noise']:g}", str(row["changed with"])]
        cells += [f"{row[f'{m} without']:.3f}, {row[f'{m} with']:.3f}" for m in methods]
        lines.append(f"| {' | '.join(cells)} |")
    means = [
        ", ".join(
            f"{statistics.mean(row[f'{m} {kind}'] for row in rows):.3f}" for kind in ("without", "with")
        )
        for m in methods
    ]
    return "\n".join([*lines, f"| mean | | | {' | '.join(means)} |"])


def main() -> None:
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shape)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("names", nargs="*", default=NAMES, metavar="NAME")
    run.add_argument("--out", type=Path, required=True)
    write = commands.add_parser("write")
    write.add_argument("rows", type=Path)
    write.add_argument("page", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.command == "run":
        for name in given.names:
            row = measured(name)
            print(row, flush=True)
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()]
    before, _, rest = given.page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    given.page.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{after}")


if __name__ == "__main__":
    main()
