"""Soundness of the certificate: ten thousand mutated networks, each judged by an independent forward pass.

    python research/compiled_mutants.py [--times 1] [--kinds KIND …] [--jobs 1] [--log FILE] [--out FILE]

`--out research/mutants.md` writes the page.

The target is 0: no mutant that is wrong on some tested word may be certified. Only the proof runs: no second
opinion, no hints. The judge (tests/check/judge.py) shares no code with the package; it runs all short
words, and long ones with periods, runs and one odd letter, and adds up forwards or backwards in turn.
The same seeds give the same mutants. With ``--log`` a run continues where it was stopped.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import krohn
from krohn.errors import KrohnError
from krohn.proving.attempts import arithmetic, attempt

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from check.changes import CHANGES, changed
from check.judge import wrong_word

BOTH = ("float64", "float32")
NETWORKS: tuple[tuple[str, int, str, int, tuple[str, ...]], ...] = (
    ("C2", 8, "cascade", 8, (*BOTH, "float16", "bfloat16")),
    ("Parity", 40, "cascade", 6, (*BOTH, "float16")),
    ("C3", 12, "cascade", 6, (*BOTH, "float16")),
    ("FlipFlop", 40, "cascade", 12, (*BOTH, "float16", "bfloat16")),
    ("Memory3", 12, "cascade", 12, (*BOTH, "float16", "bfloat16")),
    ("Counter5", 10, "cascade", 8, (*BOTH, "float16")),
    ("abab", 16, "cascade", 3, BOTH),
    ("D6", 8, "cascade", 3, BOTH),
    ("Add", 10, "cascade", 3, BOTH),
    ("Grid4", 10, "cascade", 2, BOTH),
    ("C2", 8, "features", 8, (*BOTH, "float16", "bfloat16")),
    ("FlipFlop", 8, "scan", 4, (*BOTH, "float16")),
    ("FlipFlop", 40, "scan", 3, BOTH),
    ("C3", 8, "scan", 3, BOTH),
    ("C2", 6, "paper", 4, BOTH),
    ("FlipFlop", 8, "paper", 8, (*BOTH, "bfloat16")),
    ("FlipFlop", 8, "grid", 4, BOTH),
    ("Grid4", 8, "grid", 2, ("float64",)),
    ("Grid4", 8, "grid count", 4, ("float64",)),
    ("FlipFlop", 8, "scan plateau", 3, BOTH),
    ("regex:d*(es?d*)?", 8, "features", 4, BOTH),
)
"""Automaton, length, method with its gadget or variant, mutants per kind (fewer if slow), type."""
FORM = {"scan": "gadget", "grid": "variant"}
OUTCOMES = ("certified, right", "refused, right", "refused, wrong", "certified, wrong")
OTHERS = "## Exports and recurrent networks"
"""The second part of the page, which ``folder_mutants.py`` writes."""
Row = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--times", type=float, default=1.0, help="multiply the number of mutants by this; at least 1"
    )
    parser.add_argument("--kinds", nargs="*", help="these kinds only")
    parser.add_argument("--only", default="", help="networks whose name starts with this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--log", type=Path, help="append a line per network and kind; pairs already in it are skipped"
    )
    parser.add_argument("--out", type=Path, help="write the tables to this file")
    parser.add_argument("--report", action="store_true", help="only write the tables of the log")
    options = parser.parse_args()
    known = read_log(options.log)
    if not options.report:
        for row in run_all(options, known):
            known[row["network"], row["kind"]] = row
            if options.log:
                with options.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(row) + "\n")
    text = report(list(known.values()))
    print(text)
    if options.out:
        page = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
        _, mark, others = page.partition(f"\n{OTHERS}")
        options.out.write_text(f"{text}\n{mark}{others}", encoding="utf-8")
    return int(any(row["outcomes"].get(OUTCOMES[-1]) for row in known.values()))


def read_log(path: Path | None) -> dict[tuple[str, str], Row]:
    """The rows of an earlier run."""
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row["network"], row["kind"]): row for row in rows}


def run_all(options: argparse.Namespace, known: dict[tuple[str, str], Row]) -> Iterator[Row]:
    """Runs kind by kind, so that a partial run covers all networks."""
    asked = [
        (range(max(1, round(count * options.times))), (options.seed, number), name, kind, dtype)
        for kind in options.kinds or CHANGES
        for number, (spec, length, method, count, dtypes) in enumerate(NETWORKS)
        for dtype in dtypes
        if ((name := f"{spec} {method} T={length} {dtype}"), kind) not in known
        and name.startswith(options.only)
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        yield from pool.map(judged, *zip(*asked, strict=True)) if asked else ()


def judged(turns: range, seeds: tuple[int, int], name: str, kind: str, dtype: str) -> Row:
    """Some mutants of one kind of one network: outcomes, and the seeds of those that deceived the proof."""
    spec, length, method, *_ = NETWORKS[seeds[1]]
    way, _, form = method.partition(" ")
    options: dict[str, Any] = {FORM[way]: form} if form else {}
    network = krohn.compile(spec, length, method=way, **options)  # type: ignore[arg-type]
    result: Counter[str] = Counter()
    deceived, start = [], time.process_time()
    for turn in turns:
        seed = (*seeds, list(CHANGES).index(kind), turn)
        try:
            mutant, automaton = changed(network.transformer, network.automaton, length, dtype, kind, seed)
        except KrohnError:
            continue  # not a network any more
        certified = attempt(mutant, automaton, length, arithmetic(dtype))[1] is None
        word = wrong_word(mutant, automaton, length, dtype, seed=turn, backwards=bool(turn % 2))
        outcome = f"{'certified' if certified else 'refused'}, {'right' if word is None else 'wrong'}"
        result[outcome] += 1
        if outcome == OUTCOMES[-1]:
            deceived.append([*seed, word])
    seconds = round(time.process_time() - start, 2)
    return {"network": name, "kind": kind, "outcomes": dict(result), "deceived": deceived, "seconds": seconds}


def report(rows: list[Row]) -> str:
    """The whole page: a summary, then tables by kind, by network and by dtype."""
    tables: dict[str, dict[str, Counter[str]]] = {"change": {}, "network": {}, "dtype": {}}
    for row in rows:
        network, _, dtype = row["network"].rpartition(" ")
        for table_name, label in (("change", row["kind"]), ("network", network), ("dtype", dtype)):
            tables[table_name].setdefault(label, Counter()).update(row["outcomes"])
    count = sum(sum(row["outcomes"].values()) for row in rows)
    seconds = sum(row["seconds"] for row in rows)
    each = [sum(outcomes.values()) for outcomes in tables["change"].values()]
    head = (
        f"# Mutants\n\nWritten by `research/compiled_mutants.py`: {count:,} mutants of "
        f"{len(tables['change'])} kinds, {min(each)} to {max(each)} of each, in\n{seconds / 60:.0f} minutes "
        "of processor time. A mutant is a network with one change; without it all are certified but Grid4 by "
        "the\ncount of Theorem 3. It counts as wrong if the judge finds a word that it answers wrongly: the "
        "judge tries all short\nwords, and long ones with periods, runs and one odd letter. "
        '"Right" means that no word tried was answered wrongly;\nsome of the refused ones are wrong on words '
        "that were not tried. The last column must be 0.\n"
        "`tests/check/changes.py` and `tests/check/unread_changes.py` say what each kind changes."
    )
    return "\n\n".join([head, *(table(name, counted) for name, counted in tables.items())])


def table(name: str, rows: dict[str, Counter[str]]) -> str:
    lines = [f"| {name} | mutants | {' | '.join(OUTCOMES)} |", "|---|" + "---:|" * (1 + len(OUTCOMES))]
    total: Counter[str] = sum(rows.values(), Counter())
    for label, row in {**rows, "**all**": total}.items():
        counts = [row[outcome] for outcome in OUTCOMES]
        lines.append(f"| {label} | {sum(counts)} | {' | '.join(str(c) for c in counts)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
