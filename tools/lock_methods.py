"""Ways to find planted words, on locks of three grades of disguise: the table of docs/suite.md.

    python tools/lock_methods.py answer locks --out answers.json
    python tools/lock_methods.py run --count 15 --seed 1 --out results/understand/locks.jsonl
    python tools/lock_methods.py write results/understand/locks.jsonl docs/suite.md

``answer`` opens locks by one method, for ``krohn suite score locks --answers answers.json``.
``run`` builds and proves locks, in a temporary folder unless one is named, and appends one JSON line for
each method and lock; lines that are there already are kept. ``write`` puts the table into the page.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from krohn.automata.files import automaton_payload
from krohn.automata.observed import with_target
from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.interpret.extraction import separating_word
from krohn.lab.interpret.stages import Stages, stages_of_decoder
from krohn.lab.suite.disguise import DISGUISES
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
    build_lock,
    build_locks,
    key_folder,
    tasks_of,
)
from krohn.network.gpt2.stock import decoder_of_stock, stock_of

BEGIN, END = "<!-- suite-locks -->", "<!-- end -->"
Found = tuple[int, ...] | None
FIRST, BEAM, BEHIND, USUAL = 3, 24, 3, 512
"""Greedy extension begins with all words of three letters, keeps 24 behind three random beginnings each, and
calls usual what happens on 512 random words."""
RARE = 0.02
"""A unit tells states apart if it fires, or does not, at fewer positions of random words than this share."""


@dataclass(frozen=True, eq=False)
class Target:
    """A lock as a method sees it: the published network, the letters of its parity, what gives labels.

    Labels may be those of the automaton, which are the network's and take a millionth of the time.
    """

    stages: Stages
    odd: tuple[int, ...]
    labels: Callable[[Words], Words]

    @classmethod
    def read(cls, folder: Path, tokens: dict[str, Any], truth: Semiautomaton | None = None) -> "Target":
        """The network in a published folder; the parity is learned from words of one letter."""
        net = stock_of(folder, build_lock((), (), opposite=False), tokens)
        stages = stages_of_decoder(decoder_of_stock(net), torch.float32)
        odd = np.flatnonzero(stages.run(np.arange(LETTERS)[:, None]).answers[:, 0])

        def shown(words: Words) -> Words:
            parts = (words[at : at + USUAL] for at in range(0, len(words), USUAL))
            return np.concatenate([stages.run(part).answers for part in parts])

        asked = shown if truth is None else lambda words: truth.right_outputs(words)
        return cls(stages, tuple(odd.tolist()), asked)

    @property
    def base(self) -> Semiautomaton:
        """The parity alone."""
        return build_lock((), self.odd, opposite=False)

    def automaton(self, word: tuple[int, ...]) -> Semiautomaton:
        """The answer, given the planted word."""
        return build_lock(word, self.odd)

    def planted(self, words: Words) -> Found:
        """The planted word, if one of the words contains it: labels leave the parity where it ends."""
        differ = self.labels(words) != self.base.right_outputs(words)
        if not differ.any():
            return None
        row = int(differ.any(axis=1).argmax())
        end = int(differ[row].argmax()) + 1
        return tuple(words[row, end - PLANTED : end].tolist())


def extended(target: Target, seed: int, chosen: Callable[[Words, Words], list[int]]) -> Found:
    """Ends of words, longer by a letter each round; ``chosen`` tells which to keep, the best first.

    It is given ends [n, letters] and, for each, words [n, m, t] with that end behind random beginnings.
    """
    rng = np.random.default_rng(seed)
    ends = np.array(np.meshgrid(*[np.arange(LETTERS)] * FIRST, indexing="ij")).reshape(FIRST, -1).T
    while True:
        words = np.repeat(rng.integers(LETTERS, size=(BEHIND, LENGTH))[None], len(ends), axis=0)
        words[:, :, LENGTH - ends.shape[1] :] = ends[:, None]
        if ends.shape[1] == PLANTED:
            return target.planted(words.reshape(-1, LENGTH))
        best = ends[chosen(ends, words)[:BEAM]]
        if not len(best):
            return None
        letters = np.tile(np.arange(LETTERS), len(best))[:, None]
        ends = np.concatenate([np.repeat(best, LETTERS, axis=0), letters], axis=1)


def by_states(target: Target, seed: int, seen: Callable[[Stages, Words], Tensor]) -> Found:
    """States are clusters of activations; words that reach a new one are extended by every letter.

    ``seen`` tells of each word which features are on. Those that are seldom on (or off) on random words tell
    states apart; an end has those that it has behind every beginning. So the first end with a new set of
    features is a shortest way to a new state.
    """
    usual = seen(target.stages, np.random.default_rng([seed, 1]).integers(LETTERS, size=(USUAL, LENGTH)))
    share = usual.flatten(0, 1).double().mean(0)
    turned = share > 0.5
    rate = torch.where(turned, 1 - share, share)
    used, known = rate < RARE, {bytes(int((rate < RARE).sum()))}
    weight = -(rate[used] + 0.5 / usual[..., 0].numel()).log()

    def chosen(ends: Words, words: Words) -> list[int]:
        on = (seen(target.stages, words.reshape(-1, LENGTH))[:, -1] ^ turned)[:, used]
        common = on.reshape(len(ends), BEHIND, -1).all(1)
        new = []
        for row in (common * weight).sum(1).argsort(descending=True).tolist():
            cluster = common[row].numpy().tobytes()
            if cluster not in known:
                known.add(cluster)
                new.append(row)
        return new

    return extended(target, seed, chosen)


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
                wrong = learned.right_outputs(words) != target.labels(words)
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
    """A Moore machine of AALpy's, which shows its answers."""
    number = {id(state): place for place, state in enumerate(learned.states)}
    letters = sorted(learned.initial_state.transitions)
    table = [[number[id(state.transitions[letter])] for letter in letters] for state in learned.states]
    shown, start = tuple(int(state.output) for state in learned.states), number[id(learned.initial_state)]
    machine = Semiautomaton(np.array(table), start, observe=shown, letter_names=NAMES)
    return with_target(machine, "observation")


def by_gradient(target: Target, seed: int, *, words: int = 16, rounds: int = 20, points: int = 1) -> Found:
    """Letters are exchanged where the gradient says that the other label gains most (HotFlip, as in GCG).

    With several ``points`` the gradient is the mean on the way to another word, as in EAP-IG.
    """
    rng, stages = np.random.default_rng(seed), target.stages
    tried = rng.integers(LETTERS, size=(words, LENGTH))
    seen = [tried]
    for _ in range(rounds):
        own, other = stages.embed(tried), stages.embed(rng.integers(LETTERS, size=tried.shape))
        wanted = torch.from_numpy(1 - target.base.right_outputs(tried)[:, -1])[:, None]
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


def firing(stages: Stages, words: Words) -> Tensor:
    """Which hidden units of all MLPs fire, in the second half of each word: [word, t, unit]."""
    parts, units = [], list[Tensor]()
    hooks = [
        block.mlp[0].register_forward_hook(lambda _, __, out: units.append(out[:, -LENGTH // 2 :] > 0))
        for block in stages.blocks
    ]
    for at in range(0, len(words), USUAL // 2):
        units.clear()
        stages.run(words[at : at + USUAL // 2])
        parts.append(torch.cat(units, dim=-1))
    for hook in hooks:
        hook.remove()
    return torch.cat(parts)


def by_units(target: Target, seed: int) -> Found:
    """States from the hidden units: a feature is a unit that fires."""
    return by_states(target, seed, firing)


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


def answered(folder: Path, method: str) -> dict[str, object]:
    """An automaton for each lock that the method opens, from the published folder alone."""
    answers = dict[str, object]()
    for task in tasks_of(folder):
        target = Target.read(folder / task["folder"], task["tokens"])
        word = METHODS[method](target, 0)
        if word is not None:
            answers[task["name"]] = automaton_payload(target.automaton(word))
    return answers


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
    answer = commands.add_parser("answer")
    answer.add_argument("locks", type=Path)
    answer.add_argument("--out", type=Path, required=True)
    answer.add_argument("--method", choices=METHODS, default="states from the units")
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
    if given.command == "answer":
        given.out.write_text(json.dumps(answered(given.locks, given.method)))
        return
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
