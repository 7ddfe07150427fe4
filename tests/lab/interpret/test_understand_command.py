"""The command as it is typed, heads of known networks, and bad input."""

import json
from pathlib import Path

import pytest

import krohn
from krohn.cli.app import run

KEYS = {"name", "layer", "causal", "probe", "control"}


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nets") / "scan"
    krohn.save(krohn.compile("C2", length=4, method="scan"), folder)
    return folder


def test_the_json_has_variables_heads_and_a_verdict(
    scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert run(["understand", str(scan), "--effort", "0.3", "--out", str(page), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert all(set(entry) >= KEYS for entry in report["variables"])
    window = [entry for entry in report["variables"] if entry["name"] == "map of the last 2 letters"]
    assert [entry["layer"] for entry in window] == [0, 1, 2]
    assert window[1]["causal"] == 1.0
    assert window[1]["status"] == "as a control"  # the position holds nothing else: any subspace does
    assert window[1]["controls"]["shuffled"]["value"] == 1.0
    assert window[0]["causal"] < 0.1
    assert [head["nearest"] for head in report["heads"]] == ["1 back", "itself", "2 back", "itself"]
    assert "map of the last 2 letters after block 1, causal 100%" in report["verdict"]
    text = page.read_text()
    first = "The network is right after every letter tried in words of 4 letters (letters 1–4: 100.00%), and "
    assert report["verdict"].startswith(first)
    assert report["verdict"].split(". ")[0] in text
    assert '<table class="map">' in text


def test_the_same_seed_gives_the_same_report(scan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outs = []
    for _ in range(2):
        run(["understand", str(scan), "--effort", "0.2", "--json"])
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "must exist and be a directory"),
        (["SCAN", "--out", "page.png"], "html"),
        (["SCAN", "--length", "9"], "between 2 and 4"),
        (["SCAN", "--effort", "0"], "effort"),
        (["LSTM"], "as a gpt has; "),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    message: str,
    scan: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    folder = Path(__file__).parents[3] / "results" / "networks" / "c2-lstm"
    given = [{"SCAN": str(scan), "LSTM": str(folder)}.get(word, word) for word in arguments]
    assert run(["understand", *given]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 1
    assert error[0].startswith("error: ")
    assert message in error[0]
