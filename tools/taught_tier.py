"""What the taught networks of the suite hold, and what methods find there: the tables of results/suite.md.

    python tools/taught_tier.py run --out results/understand/taught.jsonl [--only NAME] [--part blocks]
    python tools/taught_tier.py write results/understand/taught.jsonl results/suite.md

``run`` appends lines of two kinds for each network; lines that are there are kept. For each block: how often
swaps behave as the variable says, DAS and the directions of most variance in the same place and dimension,
and how much heads attend to the end of the half before. For the circuit: the edges that the search keeps, on
how many of 2,048 other pairs of words an answer changes if all edges outside are patched, and the AUROC of
every ranking of edges. ``write`` puts the tables into the page, and the circuits beside the weights.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from circuit_methods import CIRCUIT_METHODS, aligned, most_variance

from krohn.base.files import write_json
from krohn.lab.interpret.findings import Share
from krohn.lab.suite.catalogue import Entry, entries
from krohn.lab.suite.causal import TEST, TRAIN
from krohn.lab.suite.patching import EdgeModel
from krohn.lab.suite.scoring import SCORING_SEED, auroc
from krohn.lab.suite.swaps import interchange_accuracy
from krohn.lab.suite.taught import BLOCKS, CIRCUITS, establish, load, looks
from krohn.lab.suite.truth import MORE_PAIRS, PruningTrial, search, word_pairs

PAIRS, RANKED, STEPS = 128, 48, 150
Row = dict[str, object]
TAUGHT = {entry.name: entry for entry in entries() if entry.tier == "taught"}


def blocks(entry: Entry) -> list[Row]:
    """What each block holds."""
    decoder, automaton = load(entry)
    model, seed = EdgeModel(decoder), entry.seed
    rows, pairs, _ = establish(decoder, automaton, seed)
    lines = []
    for block, (row, shares) in enumerate(zip(rows, looks(decoder, automaton, seed), strict=True), 1):
        own, asked = (
            [one for one in pairs if one.variable == row["name"] and one.split == split]
            for split in (TRAIN, TEST)
        )
        where = model, row["place"], row["dimension"], own
        found = {"most variance": most_variance(*where), "DAS": aligned(*where, steps=STEPS)}
        scores = {
            method: round(interchange_accuracy(model, row["place"], basis, asked), 4)
            for method, basis in found.items()
        }
        heads = [round(share, 4) for share in shares]
        lines.append({"network": entry.name, "block": block, **row, **scores, "heads": heads})
    return lines


def circuit(entry: Entry) -> list[Row]:
    """The circuit, and what rankings of edges say about it."""
    decoder, automaton = load(entry)
    model, seed, started = EdgeModel(decoder), entry.seed, time.process_time()
    found = search(decoder, automaton, seed=seed, pairs=PAIRS, rounds=1)
    kept = np.array([edge in found.names for edge in model.graph.edges])
    row = {
        "network": entry.name,
        "edges": len(kept),
        "in_graph": int(kept.sum()),
        "kept": np.packbits(kept).tobytes().hex(),
        "pairs": PAIRS,
        "changed": len(found.wrong),
        "of": MORE_PAIRS,
        "seconds": round(time.process_time() - started, 1),
    }
    places = tuple(np.array(list(model.graph.edges.values())).T)
    trial = PruningTrial(model, *word_pairs(automaton, decoder.length, RANKED, seed + SCORING_SEED))
    for method, rank in CIRCUIT_METHODS.items():
        row[method] = round(auroc(rank(trial).ranking[places], kept), 4)
    return [row]


PARTS = {"blocks": blocks, "circuit": circuit}


def measured(out: Path, only: str | None, part: str | None) -> None:
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {(row["network"], "blocks" if "block" in row else "circuit") for row in lines}
    for name, kind in [(name, kind) for name in TAUGHT for kind in PARTS]:
        if (name, kind) not in done and only in (None, name) and part in (None, kind):
            rows = PARTS[kind](TAUGHT[name])
            with out.open("a") as file:
                file.write("".join(json.dumps(row) + "\n" for row in rows))


def table_of_blocks(rows: list[dict]) -> str:
    lines = [
        "| network, block | dimension | whole position swapped [95%] | classes swapped | DAS | most variance "
        "| random | heads on the half before |",
        f"|{' --- |' * 8}",
    ]
    for row in rows:
        whole = row["position"]
        cells = [
            f"{row['network']}, {row['block']}",
            str(row["dimension"]),
            f"{whole['value']:.0%} [{whole['low']:.0%}–{whole['high']:.0%}]",
            f"{row['classes']['value']:.0%}",
            f"{row['DAS']:.0%}",
            f"{row['most variance']:.0%}",
            f"{row['random']['value']:.0%}",
            " ".join(f"{share:.2f}" for share in row["heads"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def table_of_circuits(rows: list[dict]) -> str:
    methods = [method for method in CIRCUIT_METHODS if method in rows[0]]
    lines = [
        f"| network | edges | in the circuit | other pairs without a change [95%] | {' | '.join(methods)} |",
        f"|{' --- |' * (4 + len(methods))}",
    ]
    for row in rows:
        share = Share.of(row["of"] - row["changed"], row["of"])
        cells = [row["network"], str(row["edges"]), str(row["in_graph"])]
        cells.append(f"{share.value:.1%} [{share.low:.1%}–{share.high:.1%}]")
        lines.append(f"| {' | '.join([*cells, *(f'{row[method]:.2f}' for method in methods)])} |")
    means = (f"{statistics.mean(row[method] for row in rows):.2f}" for method in methods)
    return "\n".join([*lines, f"| mean | | | | {' | '.join(means)} |"])


def written(page: Path, mark: str, text: str) -> None:
    before, _, rest = page.read_text().partition(f"<!-- {mark} -->")
    _, _, after = rest.partition("<!-- end -->")
    page.write_text(f"{before}<!-- {mark} -->\n{text}\n<!-- end -->{after}")


def main() -> None:
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shape)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--only", metavar="NAME", choices=TAUGHT)
    run.add_argument("--part", choices=PARTS)
    write = commands.add_parser("write")
    write.add_argument("rows", type=Path)
    write.add_argument("page", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.command == "run":
        measured(given.out, given.only, given.part)
        return
    order = list(TAUGHT)
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()]
    rows.sort(key=lambda row: (order.index(row["network"]), row.get("block", BLOCKS + 1)))
    circuits = [row for row in rows if "block" not in row]
    written(given.page, "suite-taught", table_of_blocks([row for row in rows if "block" in row]))
    written(given.page, "suite-taught-circuits", table_of_circuits(circuits))
    kept = ("kept", "changed", "of")
    write_json(CIRCUITS, {row["network"]: {key: row[key] for key in kept} for row in circuits})


if __name__ == "__main__":
    main()
