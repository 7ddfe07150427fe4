"""Ways to find planted words, on locks of three grades of disguise: the table of docs/suite.md.

    python tools/lock_methods.py run --count 15 --seed 1 --out results/understand/locks.jsonl
    python tools/lock_methods.py write results/understand/locks.jsonl docs/suite.md

``run`` builds and proves locks, in a temporary folder unless one is named, and appends one JSON line for
each method and lock; lines that are there already are kept. ``write`` puts the table into the page.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton, with_target
from krohn.automata.simulation import right_outputs
from krohn.lab.interpret.extraction import read_machine, separating_word
from krohn.lab.interpret.stages import Stages
from krohn.lab.suite.disguise import DISGUISES
from krohn.lab.suite.lock_methods import BEHIND, USUAL, Found, Target, by_states, by_units, extended
from krohn.lab.suite.locks import (
    BOUND,
    KEY,
    LENGTH,
    LETTERS,
    NAMES,
    PLANTED,
    QUERIES,
    Lock,
    Words,
    build_locks,
    key_folder,
    tasks_of,
)

BEGIN, END = "<!-- suite-locks -->", "<!-- end -->"


def random_search(target: Target, seed: int) -> Found:
    """A million random words."""
    rng, size = np.random.default_rng(seed), 1 << 16
    for first in range(0, QUERIES, size):
        found = target.planted(rng.integers(LETTERS, size=(min(size, QUERIES - first), LENGTH)))
        if found:
            return found
    return None


def lstar(target: Target, seed: int) -> Found:
    """AALpy's L*, whose equivalence queries are random words: a million queries in all."""
    from aalpy import SUL, Oracle, run_Lstar

    left = [QUERIES]

    class Labels(SUL):  # type: ignore[misc]
        def query(self, word: tuple[int, ...]) -> list[int]:
            left[0] -= 1
            return target.labels(np.array([word], dtype=np.int64))[0].tolist() if word else [0]

        def pre(self) -> None: ...
        def post(self) -> None: ...
        def step(self, letter: int) -> int:
            raise AssertionError("whole words only")

    class Random(Oracle):  # type: ignore[misc]
        def find_cex(self, hypothesis: Any) -> tuple[int, ...] | None:
            rng, learned = np.random.default_rng([seed, left[0]]), _machine(hypothesis)
            while left[0] > 0:
                words = rng.integers(LETTERS, size=(min(1 << 16, left[0]), LENGTH))
                left[0] -= len(words)
                wrong = right_outputs(learned, words) != target.labels(words)
                if wrong.any():
                    row = int(wrong.any(axis=1).argmax())
                    return tuple(words[row, : int(wrong[row].argmax()) + 1].tolist())
            return None

    letters, labels = list(range(LETTERS)), Labels()
    options = {"automaton_type": "moore", "cache_and_non_det_check": False, "print_level": 0}
    learned = run_Lstar(letters, labels, Random(letters, labels), **options)
    found = separating_word(target.base, _machine(learned))
    return found if found and len(found) == PLANTED else None


def _machine(learned: Any) -> Semiautomaton:
    return with_target(replace(read_machine(learned), letter_names=NAMES), "observation")


def by_gradient(target: Target, seed: int, *, words: int = 16, rounds: int = 20, points: int = 1) -> Found:
    """Letters are exchanged where the gradient says that the other label gains most (HotFlip, as in GCG).

    With several ``points`` the gradient is the mean on the way to another word, as in EAP-IG.
    """
    rng, stages = np.random.default_rng(seed), target.stages
    tried = rng.integers(LETTERS, size=(words, LENGTH))
    seen = [tried]
    for _ in range(rounds):
        own, other = stages.embed(tried), stages.embed(rng.integers(LETTERS, size=tried.shape))
        wanted = torch.from_numpy(1 - right_outputs(target.base, tried)[:, -1])[:, None]
        slope = torch.zeros_like(own)
        for point in range(points):
            stream = (own + (other - own) * point / points).detach().requires_grad_(True)
            shown = stages.logits_from(0, stream)[:, -1]
            lead = shown.gather(1, wanted) - shown.gather(1, 1 - wanted)
            slope += torch.autograd.grad(lead.sum(), stream)[0]
        gain = (slope[:, len(stages.prompt) :] @ stages.embedding.T).numpy()
        gain = gain - np.take_along_axis(gain, tried[..., None], axis=2) + 1e-9 * rng.random(gain.shape)
        place = gain.reshape(words, -1).argmax(axis=1)
        tried = tried.copy()
        tried[np.arange(words), place // LETTERS] = place % LETTERS
        seen.append(tried)
    return target.planted(np.concatenate(seen))


def _streams(stages: Stages, words: Words) -> Tensor:
    """The stream after each block, in the second half of each word: [word, t, block × d]."""
    parts = (stages.run(words[at : at + USUAL // 2]).streams[1:] for at in range(0, len(words), USUAL // 2))
    return torch.cat([torch.cat([one[:, -LENGTH // 2 :] for one in part], dim=2) for part in parts])


def by_stream(target: Target, seed: int, *, far: float = 6.0) -> Found:
    """States from the stream: a feature is on where a principal direction is ``far`` deviations off."""
    sample = np.random.default_rng([seed, 2]).integers(LETTERS, size=(USUAL, LENGTH))
    usual = _streams(target.stages, sample)[:, -1]
    middle, size = usual.mean(0), usual.std(0).clamp(min=1e-3)
    _, spread, axes = torch.linalg.svd((usual - middle) / size, full_matrices=False)
    scale = (spread / len(usual) ** 0.5).clamp(min=0.05)

    def outlying(stages: Stages, words: Words) -> Tensor:
        along = ((_streams(stages, words) - middle) / size) @ axes.T / scale
        return torch.cat([along > far, along < -far], dim=-1)

    return by_states(target, seed, outlying)


def by_probes(target: Target, seed: int) -> Found:
    """A linear probe for each end: does the stream tell it from other ends with the same last letter?

    A network that matches a word keeps its beginning only where the next letter is right. The probe is the
    difference of means of half of the words, its score the least lead on the other half.
    """

    def chosen(ends: Words, words: Words) -> list[int]:
        held = _streams(target.stages, words.reshape(-1, LENGTH))[:, -1].reshape(len(ends), BEHIND, -1)
        held = (held - held.flatten(0, 1).mean(0)) / held.flatten(0, 1).std(0).clamp(min=1e-3)
        lead = torch.zeros(len(ends))
        for letter in range(LETTERS):
            own = torch.from_numpy(np.flatnonzero(ends[:, -1] == letter))
            means = held[own, :-1].mean(1)
            probes = means - means.mean(0)
            scores = torch.einsum("nd,md->nm", probes, held[own, -1]) / probes.norm(dim=1).clamp(min=1e-6)
            others = scores.masked_fill(torch.eye(len(own), dtype=torch.bool), float("-inf"))
            lead[own] = scores.diagonal() - others.amax(1)
        return lead.argsort(descending=True).tolist()

    return extended(target, seed, chosen)


METHODS: dict[str, Callable[[Target, int], Found]] = {
    "random search": random_search,
    "L*": lstar,
    "gradients": by_gradient,
    "integrated gradients": lambda target, seed: by_gradient(target, seed, points=5),
    "probes": by_probes,
    "states from the stream": by_stream,
    "states from the units": by_units,
}
OUTSIDE = ("random search", "L*")
"""Methods that see labels only."""


def measured(count: int, seed: int, out: Path, jobs: int, folder: Path) -> None:
    if not folder.exists():
        build_locks(folder, count, seed, jobs=jobs)
    known = {(row["name"], row["seed"], row["method"]) for row in rows_of(out)}
    key = json.loads((key_folder(folder) / KEY).read_text())["locks"]
    wanted = [
        (folder, number, seed, task["tokens"], key[task["name"]]["proof"], method)
        for number, task in enumerate(tasks_of(folder)[:count])
        for method in METHODS
        if (task["name"], seed, method) not in known
    ]
    with ProcessPoolExecutor(jobs) as pool, out.open("a") as file:
        for done in as_completed(pool.submit(tried, *one) for one in wanted):
            file.write(json.dumps(done.result()) + "\n")
            file.flush()


def tried(folder: Path, number: int, seed: int, tokens: dict, proof: str, method: str) -> dict[str, object]:
    """One method on one lock."""
    torch.set_num_threads(1)
    lock = Lock.draw(number, seed)
    labels = lock.automaton if method in OUTSIDE else None
    target = Target.read(folder / lock.name, tokens, labels)
    started = time.process_time()
    found = METHODS[method](target, number)
    seconds = round(time.process_time() - started, 1)
    about = {"name": lock.name, "seed": seed, "grade": lock.grade, "proof": proof}
    return {**about, "method": method, "found": found == lock.word, "seconds": seconds}


def rows_of(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def table(rows: list[dict[str, object]]) -> str:
    lines = [
        f"| method | {' | '.join(f'{grade}: found' for grade in DISGUISES)} | processor seconds, mean |",
        f"| --- |{' --- |' * (len(DISGUISES) + 1)}",
    ]
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        cells = []
        for grade in DISGUISES:
            some = [row for row in own if row["grade"] == grade]
            cells.append(f"{sum(bool(row['found']) for row in some)} of {len(some)}")
        seconds = sum(float(str(row["seconds"])) for row in own) / max(1, len(own))
        lines.append(f"| {method} | {' | '.join(cells)} | {seconds:.0f} |")
    cells = [f"at most {BOUND:.2%}"] * len(DISGUISES)
    lines.append(f"| any method from outside, a million queries | {' | '.join(cells)} | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--count", type=int, default=15)
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--jobs", type=int, default=1, help="processes at a time")
    run.add_argument("--locks", type=Path, help="folder of the locks: built if it is not there")
    write = commands.add_parser("write")
    write.add_argument("rows", type=Path)
    write.add_argument("page", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.command == "run":
        with tempfile.TemporaryDirectory() as place:
            folder = given.locks or Path(place) / "locks"
            measured(given.count, given.seed, given.out, given.jobs, folder)
        return
    before, _, rest = given.page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    given.page.write_text(f"{before}{BEGIN}\n{table(rows_of(given.rows))}\n{END}{after}")


if __name__ == "__main__":
    main()
