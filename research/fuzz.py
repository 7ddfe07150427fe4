"""Fuzzing: seeded command lines and corrupted files of every format must give no traceback or wrong status.

A case passes if the exit status is 0, 1 or 2; 2 comes with one line `error: …` of at most 300 characters; 1
only with a negative that was decided; with --json stdout is one object; no file changes but those that were
asked for; and all of it within the limits of time and memory. Each case runs in a process forked from one
that has everything loaded, torch too, which counts into the memory that is shown.

Run: python research/fuzz.py --count 5000 [--rows FILE]      # a line for each case; lines there are kept
"""

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from fuzz_inputs import Case, draw

from krohn.cli.app import COMMANDS
from krohn.cli.process import run_as_process

ROOT = Path(__file__).parents[1]
SECONDS, BYTES = 20, 1 << 30
LONG = (["train"], ["atlas"], ["suite", "locks"])
"""Commands that work for as long as they are asked to: steps of training, all automata of a size, locks."""
NEGATIVE = re.compile(
    r"not certified|not written|differ|counterexample|: the file says|"
    r'"(certified|written|agrees)": false|"differences": \["',
    re.IGNORECASE,
)
MEMORY = re.compile(r"needs more memory than there is(?: \(([\d,.]+) GB)?")
"""A refusal must not come after much has been taken: what was asked for at once must be beyond the limit."""
ERROR = re.compile(r"error: .{1,293}")
SETUP = (
    "compile C2 --length 4 --out net",
    "compile Dyck1,2 --length 6 --out memory",
    "compile Parity --length 4 --method scan --out scan",
    "verify net --out certificate.json",
    "export net --to hf --out export",
    "train C2 --length 4 --layers 1 --dim 8 --heads 1 --mlp 8 --steps 2 --eval-sequences 8 --out run",
)


@dataclass
class Outcome:
    """The outcome of a command: exit status or signal, output, changed files, processor time, memory."""

    status: int
    out: str
    err: str
    changed: set[str]
    seconds: float
    megabytes: int

    @property
    def slow(self) -> bool:
        return self.status in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM)


def templates(folder: Path, streams: Path) -> None:
    """One valid file of each kind."""
    for line in SETUP:
        done = perform(Case("template", line.split(), allowed=[]), folder, streams)
        assert done.status == 0, f"{line}: {done.err}"
    (folder / "store").mkdir()
    for name in ("results.jsonl", "store/results.jsonl"):
        shutil.copy(ROOT / "results" / "curves-small.jsonl", folder / name)
    (folder / "automaton.json").write_text(
        json.dumps(
            {
                "krohn": 1,
                "letters": ["a", "b"],
                "states": ["p", "q"],
                "start": "p",
                "next": {"p": {"a": "q", "b": "p"}, "q": {"a": "p", "b": "q"}},
                "observe": {"p": 0, "q": 1},
            }
        )
    )
    (folder / "link").symlink_to("nowhere/at/all")


def snapshot(folder: Path) -> dict[str, str]:
    """Every path below the folder, with a digest of its contents."""
    result = {}
    for path in sorted(folder.rglob("*")):
        held = (
            os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        )
        result[str(path.relative_to(folder))] = hashlib.sha256(held).hexdigest()
    return result


def perform(case: Case, folder: Path, streams: Path) -> Outcome:
    """Runs the command line in a child of this process."""
    (streams / "in").write_bytes(case.stdin)
    before = snapshot(folder)
    child = os.fork()
    if child == 0:
        _become(case, folder, streams)
    _, code, used = os.wait4(child, 0)
    after = snapshot(folder)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    texts = [(streams / name).read_bytes().decode(errors="replace") for name in ("out", "err")]
    seconds, status = used.ru_utime + used.ru_stime, os.waitstatus_to_exitcode(code)
    return Outcome(status, *texts, changed, seconds, used.ru_maxrss >> 10)


def _become(case: Case, folder: Path, streams: Path) -> None:
    """The child: its streams, its limits, its folder, then the command; it never returns."""
    try:
        for number, name, flags in ((0, "in", 0), (1, "out", 577), (2, "err", 577)):
            os.dup2(os.open(streams / name, flags, 0o600), number)
        os.chdir(folder)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + BYTES
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (used, used + 1))
        signal.alarm(30 * SECONDS)  # wall-clock time on a busy machine
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        sys.argv = ["krohn", *case.words]
        os._exit(run_as_process())
    except BaseException as error:
        os.write(2, f"Traceback: {error!r}".encode())
    finally:
        os._exit(99)


def complaints(case: Case, done: Outcome) -> list[str]:
    """All violations in an outcome."""
    result = []
    if done.status not in (0, 1, 2):
        long_work = done.slow and any(case.words[: len(words)] == words for words in LONG)
        return [] if long_work else ["time" if done.slow else f"exit status {done.status}"]
    if "Traceback" in done.err or "internal error" in done.err:
        result.append("traceback")
    need = MEMORY.search(done.err)
    if need and float((need[1] or "0").replace(",", "")) * 1e9 < BYTES:
        result.append("memory")
    lines = [line for line in done.err.splitlines() if line.startswith("error: ")]
    helped = done.out.startswith("Usage: ")  # a group of commands without a command prints its help
    if done.status == 2 and not helped and (len(lines) != 1 or not ERROR.fullmatch(lines[0])):
        result.append(f"no single error line of at most 300 characters: {done.err[:200]!r}")
    if done.status == 1 and not NEGATIVE.search(done.out):
        result.append("status 1 without a decided negative")
    if "--json" in case.words and "--help" not in case.words and "-h" not in case.words:
        result += _wrong_json(done)
    strange = [path for path in sorted(done.changed) if not _asked_for(path, case)]
    return [*result, *(f"changed {path}" for path in strange[:3])]


def _wrong_json(done: Outcome) -> list[str]:
    try:
        payload = json.loads(done.out)
    except ValueError:
        return ["stdout is not one JSON object"]
    return ["no error in JSON"] if done.status == 2 and set(payload) != {"error"} else []


def _asked_for(path: str, case: Case) -> bool:
    """Whether a path may be written, lies inside such a path or contains one; links are resolved."""
    wanted = [*case.allowed, *(["nowhere"] if "link" in case.allowed else [])]
    return any(
        f"{path}/".startswith(f"{name.rstrip('/')}/") or name.startswith(f"{path}/")
        for name in wanted
        if name
    )


def load_everything() -> None:
    """Imports the modules of all commands, so that forked children share them."""
    for module in COMMANDS:
        import_module(f"krohn.cli.{module}")
    for module in (
        "torch",
        "krohn.lab.training.loop",
        "krohn.exporting.driver",
        "krohn.lab.experiments.reproduction",
    ):
        import_module(module)


def judged(seed: int, place: Path) -> dict[str, object]:
    """The row of a seed: what was run, how it ended, what it took, and what is wrong with it."""
    case = draw(seed, place / "templates", place / "case")
    done = perform(case, place / "case", place / "streams")
    shutil.rmtree(place / "case")
    return {
        "seed": seed,
        "kind": case.kind,
        "words": [word[:80] for word in case.words],
        "status": done.status,
        "seconds": round(done.seconds, 2),
        "MB": done.megabytes,
        "wrong": complaints(case, done),
        "error": done.err.strip()[-400:],
    }


def summary(rows: list[dict[str, object]]) -> str:
    """Counts, and of the cases that ended by themselves the slowest and the largest."""
    kinds, statuses = (Counter(row[name] for row in rows) for name in ("kind", "status"))
    ended = [row for row in rows if row["status"] in (0, 1, 2)] or rows
    slowest, largest = (max(ended, key=lambda row: row[name]) for name in ("seconds", "MB"))  # type: ignore[arg-type,return-value]
    return (
        f"{len(rows)} inputs ({', '.join(f'{n} {kind}' for kind, n in sorted(kinds.items()))})\n"
        f"slowest: {slowest['seconds']} s (seed {slowest['seed']}); "
        f"most memory: {largest['MB']} MB (seed {largest['seed']}); "
        f"long work that was stopped: {len(rows) - sum(statuses[status] for status in (0, 1, 2))}\n"
        f"exit status: {dict(sorted(statuses.items()))}; findings: {sum(bool(row['wrong']) for row in rows)}"
    )


def main() -> int:
    """Runs the cases of the seeds and prints violations; exit status 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--show", action="store_true", help="print every outcome")
    parser.add_argument("--rows", type=Path, default=Path(os.devnull))
    options = parser.parse_args()
    load_everything()
    np.seterr(all="ignore")  # numbers beyond the range are what is wanted here
    lines = options.rows.read_text().splitlines() if options.rows.exists() else []
    rows = {row["seed"]: row for row in map(json.loads, lines)}
    seeds = range(options.seed, options.seed + options.count)
    with tempfile.TemporaryDirectory(prefix="krohn-fuzz-") as folder:
        place = Path(folder)
        (place / "templates").mkdir()
        (place / "streams").mkdir()
        templates(place / "templates", place / "streams")
        for seed in seeds:
            if seed not in rows:
                rows[seed] = judged(seed, place)
                with options.rows.open("a") as file:
                    file.write(json.dumps(rows[seed]) + "\n")
            row = rows[seed]
            if row["wrong"] or options.show:
                print(f"seed {seed}, {row['kind']}: {'; '.join(row['wrong']) or row['status']}", flush=True)
                print(f"  {row['words']}\n  {row['error']}", flush=True)
    asked = [rows[seed] for seed in seeds]
    print(summary(asked))
    return int(any(row["wrong"] for row in asked))


if __name__ == "__main__":
    sys.exit(main())
