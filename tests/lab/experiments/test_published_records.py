"""Every published record was evaluated on a test set, by committed sources, and was written by a command."""

import io
import json
import re
import subprocess
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from statistics import fmean

import pytest

from krohn.cli.app import COMMANDS
from krohn.lab.experiments.code_version import PARTS, digest_of
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.single_run import TEST_WORDS
from krohn.lab.training.config import RunConfig
from lab.experiments.made_up_records import read_results

ROOT = Path(__file__).parents[3]
SOURCES: dict[str, str] = json.loads((ROOT / "results" / "sources.json").read_text())
# The parts below `lab` had other names once, in this order: `evaluate` became parts of `study`, `counter.py`
# became `streams.py` and then `random_streams.py`.
FORMER = (
    *("models", "tasks", "training", "evaluate"),
    *("study/evaluation.py", "study/attention.py", "study/harness.py"),
    *("random_streams.py", "counter.py", "streams.py"),
)
EVER = (*PARTS[:1], *FORMER, *PARTS[1:])


def test_the_digest_covers_sources_that_are_there() -> None:
    assert [part for part in PARTS if not (ROOT / "src" / "krohn" / part).exists()] == []


def test_every_record_has_test_words_and_known_sources() -> None:
    used = set()
    for file in sorted((ROOT / "results").glob("*.jsonl")):
        records, members = read_results(file)
        assert records
        assert {record.run_id for record in records} == {member.run_id for member in members}
        configs = {record.run_id: record.config for record in records}
        runs = {run_id: RunConfig.from_dict(config) for run_id, config in configs.items()}
        assert all(run.run_id == run_id for run_id, run in runs.items()), file.name
        broken = [wrong for record in records if (wrong := disagreement(record, runs[record.run_id]))]
        assert broken == [], file.name
        replicates = {(run_id, number) for run_id, run in runs.items() for number in range(run.replicates)}
        assert {record.key for record in records} == replicates, f"{file.name} lacks a replicate"
        used |= {record.code for record in records}
    assert used == set(SOURCES)


def disagreement(record: Record, config: RunConfig) -> str:
    """What a training run writes several times over and this record says in two ways; empty if nothing."""
    metrics, test, curve = record.metrics, record.metrics["test"], record.metrics["curve"]
    best = curve["accuracy"][curve["step"].index(metrics["best_step"])]
    agree = {
        "words and steps": record.sequences == curve["step"][-1] * config.optimizer.batch,
        # A scratchpad's curve is judged in one pass, its result step by step.
        "accuracy and curve": config.task.scratchpad or abs(best - metrics["accuracy"]) < 6e-5,
        "best step and curve": config.task.scratchpad or best == max(curve["accuracy"]),
        "test words": test["words"] == TEST_WORDS * config.evaluation.sequences,
        "test accuracy and positions": abs(fmean(test["by_position"]) - test["accuracy"]) < 5e-4,
        "start and end": record.started <= record.finished,
    }
    return ", ".join(what for what, holds in agree.items() if not holds)


def test_a_record_changed_by_hand_is_found() -> None:
    record = read_results(ROOT / "results" / "depth-small.jsonl")[0][0]
    config = RunConfig.from_dict(record.config)
    test = {**record.metrics["test"], "accuracy": 0.995}
    assert disagreement(record, config) == ""
    assert disagreement(replace(record, metrics={**record.metrics, "test": test}), config)
    assert disagreement(replace(record, metrics={**record.metrics, "accuracy": 0.995}), config)
    assert disagreement(replace(record, sequences=record.sequences + 64), config)


def sources_of(commit: str) -> dict[str, str]:
    """The files that the digest reads, as paths below the package, and the names of their contents."""
    command = ["git", "ls-tree", "-r", "--format=%(path) %(objectname)", f"{commit}:src/krohn"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("the history is not here")
    files = dict(line.split() for line in listed.stdout.splitlines())
    return {path: name for path, name in files.items() if path.endswith(".py") and path.startswith(EVER)}


def test_the_named_commits_have_the_sources(tmp_path: Path) -> None:
    files = {digest: sources_of(commit) for digest, commit in SOURCES.items()}
    names = sorted({name for listed in files.values() for name in listed.values()})
    answers = io.BytesIO(
        subprocess.check_output(["git", "cat-file", "--batch"], cwd=ROOT, input="\n".join(names).encode())
    )
    contents = {}
    for name in names:
        size = int(answers.readline().split()[2])
        contents[name] = answers.read(size)
        answers.read(1)
    for digest, listed in files.items():
        root = tmp_path / digest
        for path, name in listed.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(contents[name])
        assert digest.partition("+")[2] == digest_of(root, EVER), SOURCES[digest]


def there_is(script: str, commit: re.Match[str] | None) -> bool:
    if commit is None:
        return (ROOT / script).is_file()
    known = subprocess.run(["git", "cat-file", "-e", f"{commit[1]}^{{commit}}"], cwd=ROOT, stderr=-1)
    file = subprocess.run(["git", "cat-file", "-e", f"{commit[1]}:{script}"], cwd=ROOT, stderr=-1)
    return known.returncode != 0 or file.returncode == 0  # a copy without its history cannot be asked


def test_the_index_names_every_published_file_and_a_command_that_exists() -> None:
    """README.md of the folder: what each file is, and the command that wrote it."""
    folder = ROOT / "results"
    index = (folder / "README.md").read_text().partition("## Index")[2]
    rows = re.findall(r"^\| `([^`]+)` \| [^|]+ \| (.+) \|$", index, flags=re.MULTILINE)
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {"README.md"}
    named = {pattern: {path for path in there if fnmatch(path, pattern)} for pattern, _ in rows}
    assert all(named.values()), f"no file: {[pattern for pattern, files in named.items() if not files]}"
    assert there == set().union(*named.values())
    for pattern, written in rows:
        commands = re.findall(r"krohn (\w+)|python (\S+\.py)", written)
        assert commands, f"{pattern} has no command"
        commit = re.search(r"` of ([0-9a-f]{8})", written)  # of what is no part of krohn any more
        assert all(name in COMMANDS or there_is(script, commit) for name, script in commands), written
    kinds = r".+-(gpt|lstm|gru|scratchpad)(-proved|-broken)?"  # those that networks/README.md describes
    stored = [path.name for path in (folder / "networks").iterdir() if path.is_dir()]
    assert [name for name in stored if not re.fullmatch(kinds, name)] == []
