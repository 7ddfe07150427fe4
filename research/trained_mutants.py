"""Mutants of proved recurrent networks: how many are still proved, and whether any of those is wrong.

    python research/trained_mutants.py [--count 40] [--jobs 1] [--log FILE] [--write] FOLDER …

Kinds: one weight moved by up to some hundreds; noise on a whole matrix; a class of the read-out that copies
another; a unit cut off; two units exchanged in the recurrence; a letter that acts as another; a gate that
never forgets in one unit; a unit that becomes a clock and spoils the read-out of long words. A mutant counts
as proved if the kept boxes or a new search prove it, and as wrong if it fails on words of LONG letters that
are random, repeat or alternate. ``late``: wrong, but right on all of these words up to 30 letters. Ends with
an error if a mutant is proved and wrong. With --log a run continues where it was stopped. --write puts the
table into results/trained-proofs.md.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import torch

from krohn.check.certificate import read_certificate
from krohn.check.files.reader import Automaton
from krohn.check.recurrent.boxes import Boxes, boxes_from, check
from krohn.functions import simulate
from krohn.lab.provable.box_search import Contexts, contexts, search
from krohn.lab.provable.exact import habitual, uniform
from krohn.lab.provable.trained import NAME, cell_of, tensors_of
from krohn.lab.training.trained_network import TrainedNetwork, read_run
from krohn.proving.witness.search import checkable_table

PAGE = Path(__file__).parents[1] / "results" / "trained-proofs.md"
LONG, SHORT = 200, 30
OUTCOMES = ("proved, right", "refused, right", "refused, wrong", "refused, late", "proved, wrong")
Tensors = dict[str, np.ndarray]
Change = Callable[[Tensors, np.random.Generator], None]


def weight(w: Tensors, rng: np.random.Generator) -> None:
    """One weight moved, or negated."""
    name = sorted(w)[int(rng.integers(len(w)))]
    place = tuple(rng.integers(0, size) for size in w[name].shape)
    scale = float(rng.choice([0.0, 1.0, 10.0, 100.0]))
    w[name][place] = w[name][place] + rng.normal(0, scale) if scale else -w[name][place]


def noise(w: Tensors, rng: np.random.Generator) -> None:
    """Noise on a whole matrix, from a hundredth of its size to twice it."""
    name = ("weight_hh", "weight_ih", "head.weight")[int(rng.integers(3))]
    size = float(np.sqrt((w[name] ** 2).mean())) * float(rng.choice([0.01, 0.1, 0.3, 1.0, 2.0]))
    w[name] += rng.normal(0, size, w[name].shape).astype(np.float32)


def read_out(w: Tensors, rng: np.random.Generator) -> None:
    """One class gets most of the weights of another."""
    one, other = rng.choice(w["head.weight"].shape[1], 2, replace=False)
    share = np.float32(rng.choice([0.3, 0.7, 1.0]))
    for name in ("head.weight", "head.bias"):
        w[name][..., one] = (1 - share) * w[name][..., one] + share * w[name][..., other]


def cut(w: Tensors, rng: np.random.Generator) -> None:
    """Nothing reads one unit any more."""
    unit = int(rng.integers(len(w["weight_hh"])))
    w["weight_hh"][unit] = 0
    w["head.weight"][unit] = 0


def exchanged(w: Tensors, rng: np.random.Generator) -> None:
    """Two units are swapped in the recurrence."""
    one, other = rng.choice(len(w["weight_hh"]), 2, replace=False)
    w["weight_hh"][[one, other]] = w["weight_hh"][[other, one]]


def letter(w: Tensors, rng: np.random.Generator) -> None:
    """One letter moves most of the way to another."""
    one, other = rng.choice(len(w["wte"]), 2, replace=False)
    share = np.float32(rng.choice([0.3, 0.6, 1.0]))
    w["wte"][one] = (1 - share) * w["wte"][one] + share * w["wte"][other]


def memory(w: Tensors, rng: np.random.Generator) -> None:
    """The gate that keeps the old state is opened fully or almost fully in one unit."""
    hidden = len(w["weight_hh"])
    unit = hidden + int(rng.integers(hidden))
    bias = "bias" if "bias" in w else "bias_ih"
    w[bias][unit] += np.float32(rng.choice([4.0, 8.0, 20.0, 60.0]))


def clock(w: Tensors, rng: np.random.Generator) -> None:
    """One unit only counts letters, slowly, and votes for one answer: wrong on long words."""
    hidden, lstm = len(w["weight_hh"]), "bias" in w
    unit, speed = int(rng.integers(hidden)), float(rng.choice([-5.0, -6.0, -7.0]))
    sums = {"f": 60.0, "i": speed, "g": 20.0, "o": 20.0} if lstm else {"r": 0.0, "z": -speed, "n": 20.0}
    for place, name in enumerate("ifgo" if lstm else "rzn"):
        column = place * hidden + unit
        w["weight_hh"][:, column] = w["weight_ih"][:, column] = 0
        w["bias" if lstm else "bias_ih"][column] = sums[name]
        if not lstm:
            w["bias_hh"][column] = 0
    w["weight_hh"][unit] = w["head.weight"][unit] = 0
    w["head.weight"][unit, rng.integers(w["head.weight"].shape[1])] = rng.choice([10.0, 30.0, 100.0])


CHANGES: tuple[Change, ...] = (weight, noise, read_out, cut, exchanged, letter, memory, clock)


def outcome(
    mutant: TrainedNetwork,
    boxes: Boxes,
    claim: Automaton,
    reached: Contexts,
    words: np.ndarray,
    wanted: np.ndarray,
) -> str:
    cell = cell_of(mutant)
    proved = check(cell, boxes, claim).certified
    proved = proved or search(cell, claim, reached, rounds=100)[1].certified
    good = mutant.forward(words) == wanted
    judged = "right" if good.all() else "late" if good[:, :SHORT].all() and not proved else "wrong"
    return f"{'proved' if proved else 'refused'}, {judged}"


def mutants(folder: Path, count: int) -> dict[str, Counter[str]]:
    """``count`` mutants of each kind of one network, by change and outcome."""
    torch.set_num_threads(1)
    tally: dict[str, Counter[str]] = {change.__name__: Counter() for change in CHANGES}
    trained = read_run(folder)
    claim = checkable_table(trained.automaton)
    result = contexts(claim)
    assert result is not None
    boxes = boxes_from(read_certificate(folder / NAME).witness)
    words = np.concatenate([uniform(trained.automaton, LONG)[:256], habitual(trained.automaton, LONG)])
    wanted, rng = np.asarray(simulate(trained.automaton, words)), np.random.default_rng(0)
    for change in CHANGES:
        for _ in range(count):
            whole = {name: value.copy() for name, value in tensors_of(trained).items()}
            states, letters = claim.table.shape
            used = {"wte": whole["wte"][:letters], "head.weight": whole["head.weight"][:, :states]}
            used["head.bias"] = whole["head.bias"][:states]
            change({**whole, **used}, rng)  # views into the arrays, without padding
            weights = {name: torch.tensor(value)[None] for name, value in whole.items()}
            mutant = TrainedNetwork(trained.network, weights, trained.task, 0)
            tally[change.__name__][outcome(mutant, boxes, claim, result, words, wanted)] += 1
    return tally


def table(tally: dict[str, Counter[str]]) -> str:
    lines = ["| change | " + " | ".join(OUTCOMES) + " |", "| --- " * (len(OUTCOMES) + 1) + "|"]
    for name, counts in {**tally, "all": sum(tally.values(), Counter())}.items():
        lines.append(f"| {name.replace('_', '-')} | " + " | ".join(str(counts[o]) for o in OUTCOMES) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--log", type=Path, help="append a line per network; networks already in it are skipped"
    )
    parser.add_argument("--write", action="store_true")
    parser.add_argument("folders", type=Path, nargs="+")
    asked = parser.parse_args()
    known: dict[str, dict[str, dict[str, int]]] = {}
    if asked.log and asked.log.exists():
        known = dict(json.loads(line) for line in asked.log.read_text(encoding="utf-8").splitlines())
    with ProcessPoolExecutor(asked.jobs) as pool:
        missing = [folder for folder in asked.folders if folder.name not in known]
        running = {pool.submit(mutants, folder, asked.count): folder.name for folder in missing}
        for done in as_completed(running):
            known[running[done]] = {name: dict(counts) for name, counts in done.result().items()}
            if asked.log:
                with asked.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps([running[done], known[running[done]]]) + "\n")
    tally: dict[str, Counter[str]] = {change.__name__: Counter() for change in CHANGES}
    for counted in known.values():
        for name, outcomes in counted.items():
            tally[name].update(outcomes)
    print(table(tally))
    if asked.write:
        text = PAGE.read_text()
        begin, end = "<!-- mutants: begin -->", "<!-- mutants: end -->"
        PAGE.write_text(re.sub(f"{begin}.*{end}", f"{begin}\n{table(tally)}\n{end}", text, flags=re.S))
    if sum(tally.values(), Counter())["proved, wrong"]:
        raise SystemExit("a mutant was proved and is wrong: the checker is unsound")


if __name__ == "__main__":
    main()
