"""`krohn doctor`: what is missing is named with the command that installs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from krohn.cli.app import run

STATED = ["click>=8.1", "surely-not-there>=1; extra == 'hf'", "numpy; extra == 'parquet'"]


def test_missing_extras_are_named_with_the_way_to_get_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.metadata.requires", lambda name: STATED)
    assert run(["doctor", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    parts = {part["extra"]: part for part in payload["parts"]}
    assert parts["hf"]["missing"] == ["surely-not-there"]
    assert parts["hf"]["get"] == "pip install 'surely-not-there>=1'"
    assert parts["parquet"]["missing"] == []
    assert "numpy" in parts["parquet"]["installed"]
    assert payload["accelerator"]
    assert run(["doctor"]) == 0
    assert "missing surely-not-there: pip install 'surely-not-there>=1'" in capsys.readouterr().out


def test_a_missing_requirement_is_a_no(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.metadata.requires", lambda name: ["surely-not-there>=1"])
    assert run(["doctor"]) == 1
    assert "pip install 'surely-not-there>=1'" in capsys.readouterr().out


def test_parquet_without_pyarrow_is_refused_in_one_line(tmp_path: Path) -> None:
    out = tmp_path / "words.parquet"
    code = (
        "import sys; sys.modules['pyarrow'] = None; from krohn.cli.app import run; "
        f"sys.exit(run(['sample', 'C2', '--length', '4', '--count', '2', '--out', {str(out)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("pip install 'pyarrow>=15'; or write .npz or .jsonl")
    assert list(tmp_path.iterdir()) == []
