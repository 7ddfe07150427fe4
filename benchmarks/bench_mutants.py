"""Soundness of the certificate: thousands of networks with one thing changed, each judged by brute force.

    python benchmarks/bench_mutants.py [--count 850] [--length 7] [--dtype float64] [--seed 0] [--out FILE]

The limit is 0: no mutant that brute force shows to be wrong may be certified. The proof is asked alone,
without its second opinion and without the hints, which would catch many mutants by themselves. Mutants
"refused, no error found" are wrong on words that brute force did not try, or right but beyond the proof.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import krohn
from krohn.certify.arithmetic import arithmetic
from krohn.certify.verification import attempt

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from certify.mutants import is_wrong, mutants

CASES = (
    ("Parity", "cascade"),
    ("FlipFlop", "cascade"),
    ("C3", "cascade"),
    ("D6", "cascade"),
    ("abab", "cascade"),
    ("Grid4", "cascade"),
    ("Dyck2,2", "cascade"),
    ("Add", "cascade"),
    ("Grid4", "grid"),
    ("abab", "paper"),
    ("C3", "scan"),
    ("Grid4", "scan"),
)
COLUMNS = ("refused, wrong", "certified, no error found", "refused, no error found", "certified, wrong")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=850, help="mutants per network")
    parser.add_argument("--length", type=int, default=7)
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="write the table to this file")
    options = parser.parse_args()
    rows: dict[str, Counter[str]] = {}
    kinds: dict[str, Counter[str]] = {}
    for spec, method in CASES:
        rows[f"{spec} {method}"] = judge(spec, method, options, kinds)
        print(f"{spec} {method}: {dict(rows[f'{spec} {method}'])}", file=sys.stderr, flush=True)
    text = "\n\n".join([table("network", rows), table("change", kinds)])
    print(text)
    if options.out:
        about = f"words of length ≤ {options.length} in {options.dtype}; every row must end in 0."
        head = f"# Mutants\n\nWritten by `benchmarks/bench_mutants.py --count {options.count}`: {about}"
        options.out.write_text(f"{head}\n\n{text}\n", encoding="utf-8")
    return int(sum(row["certified, wrong"] for row in rows.values()) > 0)


def judge(
    spec: str, method: str, options: argparse.Namespace, kinds: dict[str, Counter[str]]
) -> Counter[str]:
    automaton = krohn.zoo(spec)
    network = krohn.compile(automaton, options.length, method=method)
    found: Counter[str] = Counter()
    for mutant in mutants(network.transformer, automaton, options.count, options.seed):
        start = time.perf_counter()
        refusal = attempt(mutant.network, mutant.automaton, options.length, arithmetic(options.dtype))[1]
        found["seconds"] += time.perf_counter() - start  # type: ignore[assignment]
        wrong = is_wrong(mutant, options.length, options.dtype)
        verdict = "certified" if refusal is None else "refused"
        outcome = f"{verdict}, {'wrong' if wrong else 'no error found'}"
        found[outcome] += 1
        kinds.setdefault(mutant.kind, Counter())[outcome] += 1
    return found


def table(name: str, rows: dict[str, Counter[str]]) -> str:
    lines = [f"| {name} | mutants | {' | '.join(COLUMNS)} |", "|---|" + "---:|" * (1 + len(COLUMNS))]
    total: Counter[str] = sum(rows.values(), Counter())
    for label, row in {**rows, "**all**": total}.items():
        counts = [row[column] for column in COLUMNS]
        lines.append(f"| {label} | {sum(counts)} | {' | '.join(str(c) for c in counts)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
