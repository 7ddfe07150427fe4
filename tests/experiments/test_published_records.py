"""Every published record was judged on words that chose nothing, by sources that a commit holds."""

import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from krohn.experiments.single_run import digest_of
from krohn.experiments.text_form import parse_text

ROOT = Path(__file__).parents[2]
SOURCES: dict[str, str] = json.loads((ROOT / "results" / "sources.json").read_text())
# `streams.py` was `counter.py` once.
PARTS = ("automata", "models", "tasks", "training", "evaluate", "counter.py", "streams.py")


def test_every_record_has_test_words_and_known_sources() -> None:
    used = set()
    for file in sorted((ROOT / "results").glob("*.jsonl")):
        records, members = parse_text(file)
        assert records
        assert {record.run_id for record in records} == {member.run_id for member in members}
        assert all(record.tested for record in records), file.name
        used |= {record.code for record in records}
    assert used == set(SOURCES)


@pytest.mark.parametrize(("digest", "commit"), SOURCES.items())
def test_the_named_commit_has_the_sources(digest: str, commit: str, tmp_path: Path) -> None:
    found = subprocess.run(
        ["git", "archive", commit, "src/krohn"], cwd=ROOT, capture_output=True, check=False
    )
    if found.returncode:
        pytest.skip("the history is not here")
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        archive.extractall(tmp_path, filter="data")
    assert digest == f"0.1.0+{digest_of(tmp_path / 'src' / 'krohn', PARTS)}"
