"""Soundness of the certificate: thousands of networks with one thing changed, each judged by brute force.

    python benchmarks/bench_mutants.py [--count 108] [--length 7] [--only C2 …] [--processes 2] [--out FILE]

The limit is 0: no mutant that brute force shows to be wrong may be certified. Every zoo automaton, every
method, float64 and float32, and some networks for long words. The proof is asked alone, without its second
opinion and without the hints, which would catch many mutants by themselves. A mutant counts as wrong if
brute force or the search of ``verify`` finds a word; "with a word" are those for which ``verify`` prints
one. Mutants "refused, no error found" are wrong on words that were not tried, or right but beyond the proof.
"""

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import krohn
from krohn.certify.arithmetic import arithmetic
from krohn.certify.search import search
from krohn.certify.second_opinion import exhaustive
from krohn.certify.verification import attempt
from krohn.errors import KrohnError

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from certify.mutants import is_wrong, mutants

GROUPS = (
    "C2",
    "C3",
    "C4",
    "C5",
    "C6",
    "C7",
    "C8",
    "C2xC2",
    "C2xC2xC2",
    "D6",
    "D8",
    "Q8",
    "A4",
    "S4",
    "A5",
    "S5",
)
OTHERS = (
    *("Grid4", "Grid9", "Grid9:noop", "Grid3x4", "Dyck2,2", "Dyck4,2", "Dyck4,8", "FlipFlop", "Memory3"),
    *("abab", "Parity", "Add", "Counter5", "T3"),
)
METHODS = ("cascade", "scan", "paper", "grid")
DTYPES = ("float64", "float32")
LONG = (
    *(("Parity", "cascade"), ("FlipFlop", "cascade"), ("D6", "cascade"), ("abab", "cascade")),
    *(("Grid4", "cascade"), ("C3", "scan"), ("Grid4", "grid"), ("Add", "cascade")),
)
LONG_LENGTH = 64
SHORTER = {"Dyck4,8": 3, **dict.fromkeys(("C5", "C6", "C7", "C8", "C2xC2xC2", "S4", "S5"), 5)}
"""Automata with many letters: shorter words, of which there are as many."""
METHOD_SHARES = {"cascade": 1.0, "scan": 0.27, "paper": 0.36, "grid": 0.36}
SIZES = ((20_000, 1.0), (100_000, 0.5), (1_000_000, 0.25), (float("inf"), 0.15))
"""Networks with more weights get a smaller share of the mutants."""
SLOW = {("Grid3x4", "paper"): 0.15, ("Dyck4,8", "cascade"): 0.15}
WORD_WORK = 5 * 10**7
"""What the exhaustive part of the search for a word may cost here; ``verify`` itself spends more."""
COLUMNS = (
    "refused, wrong",
    "with a word",
    "certified, no error found",
    "refused, no error found",
    "certified, wrong",
)


@dataclass(frozen=True)
class Task:
    """One network whose mutants are judged."""

    spec: str
    method: str
    dtype: str
    length: int
    count: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.spec} {self.method}" + (f" T={self.length}" if self.length == LONG_LENGTH else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=108, help="mutants per network and dtype, at most")
    parser.add_argument("--length", type=int, default=7)
    parser.add_argument("--only", nargs="*", help="these automata only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--log", type=Path, help="networks in this file are done; add the others to it")
    parser.add_argument("--out", type=Path, help="write the tables to this file")
    options = parser.parse_args()
    judged = read_log(options)
    left = [task for task in tasks(options) if task not in judged]
    with get_context("spawn").Pool(options.processes) as pool:
        for task, found in pool.imap_unordered(judge, left):
            judged[task] = found
            plain = [[kind, outcome, number] for (kind, outcome), number in found.items()]
            line = json.dumps([task.name, task.dtype, plain])
            print(line, file=sys.stderr, flush=True)
            if options.log:
                with options.log.open("a", encoding="utf-8") as log:
                    log.write(line + "\n")
    text = report(judged, options)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    return int(any(outcome == "certified, wrong" for found in judged.values() for _, outcome in found))


def read_log(options: argparse.Namespace) -> dict[Task, Counter[tuple[str, str]]]:
    """What an earlier run has judged."""
    known = {(task.name, task.dtype): task for task in tasks(options)}
    judged: dict[Task, Counter[tuple[str, str]]] = {}
    if options.log and options.log.exists():
        for line in options.log.read_text(encoding="utf-8").splitlines():
            name, dtype, plain = json.loads(line)
            if (name, dtype) in known:
                judged[known[name, dtype]] = Counter({(kind, outcome): n for kind, outcome, n in plain})
    return judged


def tasks(options: argparse.Namespace) -> list[Task]:
    made = [
        Task(spec, method, dtype, SHORTER.get(spec, options.length), options.count, options.seed)
        for spec in (*GROUPS, *OTHERS)
        for method in METHODS
        for dtype in DTYPES
    ]
    made += [
        Task(*pair, dtype, LONG_LENGTH, options.count, options.seed) for pair in LONG for dtype in DTYPES
    ]
    return [task for task in made if not options.only or task.spec in options.only]


def judge(task: Task) -> tuple[Task, Counter[tuple[str, str]]]:
    """Every mutant of one network: kind and outcome, counted. Nothing where the method does not apply."""
    found: Counter[tuple[str, str]] = Counter()
    automaton, arith = krohn.zoo(task.spec), arithmetic(task.dtype)
    if automaton.num_states > 1000 and task.method != "cascade":
        return task, found
    try:
        network = krohn.compile(automaton, task.length, method=task.method, dtype=task.dtype)  # type: ignore[arg-type]
    except KrohnError:
        return task, found
    size = network.transformer.num_parameters
    share = next(share for limit, share in SIZES if size <= limit)
    share = SLOW.get((task.spec, task.method), share)
    share *= METHOD_SHARES[task.method]
    for mutant in mutants(network, max(9, int(task.count * share)), task.seed):
        refusal = attempt(mutant.network, mutant.automaton, task.length, arith)[1]
        wrong = is_wrong(mutant, task.length, task.dtype)
        word = None
        if refusal is not None:
            word = exhaustive(mutant.network, mutant.automaton, arith, task.length, WORD_WORK)[1]
            word = word or search(mutant.network, mutant.automaton, arith, task.length, refusal.word)
        verdict = "certified" if refusal is None else "refused"
        found[mutant.kind, f"{verdict}, {'wrong' if wrong or word else 'no error found'}"] += 1
        found[mutant.kind, "with a word"] += word is not None
    return task, found


def report(judged: dict[Task, Counter[tuple[str, str]]], options: argparse.Namespace) -> str:
    """The whole file: what was done, then tables by network, by change and by dtype."""
    by_name: dict[str, Counter[str]] = {}
    by_kind: dict[str, Counter[str]] = {}
    by_dtype: dict[str, Counter[str]] = {}
    order = {task: number for number, task in enumerate(tasks(options))}
    for task in sorted((task for task in judged if judged[task]), key=lambda task: order[task]):
        for (kind, outcome), number in judged[task].items():
            for rows, label in ((by_name, task.name), (by_kind, kind), (by_dtype, task.dtype)):
                rows.setdefault(label, Counter())[outcome] += number
    head = (
        f"# Mutants\n\nWritten by `benchmarks/bench_mutants.py --count {options.count}`: "
        f"{len(by_name)} networks, both dtypes.\nWords of length ≤ {options.length} unless another length is "
        f"named; ≤ 5 for {', '.join(spec for spec, length in SHORTER.items() if length == 5)}, ≤ 3 for "
        "Dyck4,8.\nBrute force runs all words up to 4,000 of them, fewer for networks with more than 70,000 "
        "weights, and words of full\nlength that are random or nearly constant. Large networks have "
        "fewer mutants. Every row must end in 0."
    )
    tables = [table("network", by_name), table("change", by_kind), table("dtype", by_dtype)]
    return "\n\n".join([head, *tables])


def table(name: str, rows: dict[str, Counter[str]]) -> str:
    lines = [f"| {name} | mutants | {' | '.join(COLUMNS)} |", "|---|" + "---:|" * (1 + len(COLUMNS))]
    total: Counter[str] = sum(rows.values(), Counter())
    for label, row in {**rows, "**all**": total}.items():
        counts = [row[column] for column in COLUMNS]
        mutants_ = sum(counts) - row["with a word"]
        lines.append(f"| {label} | {mutants_} | {' | '.join(str(c) for c in counts)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
