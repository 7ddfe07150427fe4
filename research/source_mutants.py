"""Mutation testing: mistakes planted in the sources one at a time, each with tests that must catch it.

``python research/source_mutants.py`` applies each to a copy and runs the named tests; one that survives is
printed (exit status 1). Run it before and after making the suite smaller. ``--only TEXT`` takes those
whose file, change or tests have the text in them; ``--check`` runs nothing and says which cannot be applied.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from multiprocessing.pool import ThreadPool
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]

MARKED = ("-m", "not attack")
"""Mistakes must be found by what continuous integration runs."""

Mutant = tuple[str, str, str, str]
MUTANTS: list[Mutant] = [
    tuple(json.loads(line)) for line in Path(__file__).with_suffix(".jsonl").read_text().splitlines()
]
"""File in src/krohn, what stands there once, what takes its place, the tests that find it, with options."""


def unfit(root: Path, mutant: Mutant) -> str | None:
    """Why the mutant cannot be applied, or no test can find it; ``None`` if all that it names is there."""
    file, old, new, tests = mutant
    path = root / "src" / "krohn" / file
    if not path.is_file() or (count := path.read_text().count(old)) != 1:
        return f"{file} must have {old!r} once; " + (
            f"it has it {count} times" if path.is_file() else "no such file"
        )
    if old == new:
        return f"{file}: {old!r} must become something else"
    words = tests.split()
    named = [root / word.partition("::")[0] for word in words if word.startswith("tests/")]
    if not named or not all(place.exists() for place in named):
        return f"{file}: there must be tests at {tests}"
    for wanted in [words[at + 1] for at, word in enumerate(words) if word == "-k"]:
        modules = [
            one for place in named for one in (place.rglob("test_*.py") if place.is_dir() else [place])
        ]
        if not any(wanted in text for module in modules for text in (module.stem, *tests_in(module))):
            return f"{file}: no test of {tests.partition(' -k')[0]} has {wanted!r} in its name"
    return None


def tests_in(module: Path) -> list[str]:
    """Names of the tests of a module, with all its strings, which may be their parameters."""
    return re.findall(r"^def (test_\w+)", module.read_text(), re.M) + re.findall(
        r'"([^"\n]+)"', module.read_text()
    )


def survives(root: Path, mutant: Mutant) -> str | None:
    """Why the mutant survived; ``None`` if a test caught it."""
    if why := unfit(root, mutant):
        return why
    file, old, new, tests = mutant
    path = root / "src" / "krohn" / file
    original = path.read_text()
    path.write_text(original.replace(old, new))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root / "tests")])}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *MARKED, *tests.split()]
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    finally:
        path.write_text(original)
    if done.returncode == 1:
        return None
    return f"{tests} did not find {file}: {old!r} → {new!r} (pytest ended with {done.returncode})"


def copied(root: Path) -> Path:
    """Copies everything that the tests read."""
    root.mkdir()
    for part in ("src", "tests", "benchmarks", "tools", "research", "results", "docs", "pyproject.toml"):
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, root / part)
    return root


def main() -> int:
    """Exit status 1 if a mutant survives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="only mutants with this text in their file, change or tests",
    )
    parser.add_argument(
        "--check", action="store_true", help="only whether each can be applied; nothing is run"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of processes, each in its own copy")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if any(options.only in part for part in mutant)]
    if options.check:
        left = [why for mutant in chosen if (why := unfit(ROOT, mutant))]
        print("\n".join([*left, f"{len(chosen) - len(left)} of {len(chosen)} can be applied"]))
        return 1 if left else 0
    left = []
    with tempfile.TemporaryDirectory() as folder, ThreadPool(options.jobs) as pool:
        copies: Queue[Path] = Queue()
        for number in range(options.jobs):
            copies.put(copied(Path(folder, str(number))))

        def tried(mutant: Mutant) -> str | None:
            root = copies.get()
            try:
                return survives(root, mutant)
            finally:
                copies.put(root)

        for mutant, why in zip(chosen, pool.imap(tried, chosen), strict=True):
            print(f"{'found' if why is None else 'SURVIVES'}\t{mutant[0]}\t{mutant[2]}", flush=True)
            left += [] if why is None else [why]
    print("\n".join([*left, f"{len(chosen) - len(left)} of {len(chosen)} found"]))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
