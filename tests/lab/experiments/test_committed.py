"""On a fresh checkout the committed results are shown as they are; wrong names are refused before torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from krohn.cli.app import run
from krohn.lab.experiments import stored_runs
from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.names import ENGINE_NAMES, EXPERIMENT_NAMES
from krohn.lab.experiments.sweep import ENGINES

ROOT = Path(__file__).parents[3]


def test_the_light_lists_of_names_are_those_of_the_experiments_and_engines() -> None:
    assert sorted(EXPERIMENT_NAMES) == sorted(EXPERIMENTS)
    assert sorted(ENGINE_NAMES) == sorted(ENGINES)


def test_a_fresh_checkout_shows_its_results_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["reproduce", "curves", "--scale", "small", "--show", "--json"]) == 0
    captured = capsys.readouterr()
    payload = json.loads(captured.out)
    assert payload["done"] >= 4
    assert {row["task"] for row in payload["table"]} == {"C2", "A5", "S5"}
    assert [Path(path).name for path in payload["figures"]] == ["curves-small.png", "curves-small.svg"]
    assert captured.err.startswith(f"from {ROOT / 'results' / 'curves-small.jsonl'}; runs/results does")
    assert f"{payload['done']} of {payload['runs']} runs done, 0 begun" in captured.err
    assert list(tmp_path.iterdir()) == []
    assert run(["reproduce", "curves", "--show"]) == 2
    assert "or add --scale small, which this checkout holds" in capsys.readouterr().err


def test_an_installed_package_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stored_runs, "FOLDERS", (Path("results"),))
    assert run(["reproduce", "curves", "--scale", "small", "--show"]) == 2
    line = capsys.readouterr().err
    assert line.startswith("error: there must be results to show; there is no store runs/results and")
    assert line.endswith("run krohn reproduce curves --scale small, or name a store: --store FOLDER\n")


def test_a_store_that_was_named_is_not_replaced_by_the_checkout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "mine"
    assert run(["reproduce", "curves", "--scale", "small", "--show", "--store", str(store)]) == 2
    assert "a store must exist to be read" in capsys.readouterr().err


LACKING = [
    ("reproduce dpth", "did you mean depth?"),
    ("reproduce dpth --show", "did you mean depth?"),
    ("reproduce depth --engine cloud", "an engine must be one of local, ray; got 'cloud'"),
    ("reproduce depth --engine ray", "--engine ray needs Ray: pip install 'ray[default]>=2.40'"),
    ("reproduce depth --scale large", "a scale must be one of smoke, small, paper; got 'large'"),
    ("export nowhere --to onnx --out new", "ONNX files need onnx: pip install 'onnx>=1.17'"),
]


def test_what_cannot_be_done_is_refused_before_torch_is_loaded() -> None:
    script = (
        "import sys, importlib.util as util\n"
        "known = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name in ('onnx', 'ray') else known(name, *rest)\n"
        "from krohn.cli.app import run\n"
        f"for words in {[words for words, _ in LACKING]}:\n"
        "    print(run(words.split()), 'torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "2 False\n" * len(LACKING)
    for line, (_, message) in zip(done.stderr.splitlines(), LACKING, strict=True):
        assert message in line
