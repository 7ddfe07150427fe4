"""Folders whose automaton is malformed or another one; and runs without a wrong word that are not proved.

``krohn verify`` reads the automaton of a folder and refuses a malformed one in one line. ``python -m
krohn.check`` reads its names alone and proves the table of the claim, whatever else the folder says of it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import krohn
from krohn.check.__main__ import main
from krohn.cli.app import run

Payload = dict[str, Any]
NETWORKS = Path(__file__).parents[2] / "results" / "networks"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """Each kind of folder that holds an automaton, with the file that holds it."""
    base = tmp_path_factory.mktemp("folders")
    krohn.save(krohn.compile("C2", length=3), base / "compiled")
    krohn.save(krohn.compile("C2", architecture="deltaproduct"), base / "recurrent")
    krohn.export(krohn.compile("C2", length=3), "hf", base / "export")
    files = {"compiled": "krohn.json", "recurrent": "recurrent.json", "export": "automaton.json"}
    for kind in files:
        assert run(["verify", str(base / kind), "--out", str(base / f"{kind}.json")]) == 0
    return {kind: (base / kind, name) for kind, name in files.items()}


OTHER = {"0": {"0": "1", "1": "0"}, "1": {"0": "0", "1": "1"}}
MALFORMED: dict[str, Callable[[Payload], object]] = {
    "a field that is not known": lambda a: a.update(accept=[1]),
    "too few rows": lambda a: a["next"].pop("0"),
    "no table": lambda a: a.pop("next"),
    "a state that is not there": lambda a: a["next"]["0"].update({"1": "7"}),
    "a state without a name": lambda a: a["next"]["0"].update({"1": None}),
    "a letter that is not there": lambda a: a["next"]["0"].update({"2": "0"}),
    "a start that is not there": lambda a: a.update(start="2"),
    "a start that is no number": lambda a: a.update(start=0.5),
    "observations that do not fit": lambda a: a.update(observe=[0, 1, 2]),
    "a name twice": lambda a: a.update(letters=["0", "0"]),
    "no states": lambda a: a.update(states=[]),
}


def changed(path: Path, change: Callable[[Payload], object]) -> str:
    """The old text of the file, after its automaton was changed."""
    text = path.read_text()
    payload = json.loads(text)
    change(payload.get("automaton", payload))
    path.write_text(json.dumps(payload))
    return text


@pytest.mark.parametrize("kind", ["compiled", "recurrent", "export"])
def test_a_malformed_automaton_is_one_line(
    kind: str, folders: dict[str, tuple[Path, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, name = folders[kind]
    own = str(folder.parent / f"{kind}.json")
    for what, change in MALFORMED.items():
        text = changed(folder / name, change)
        try:
            for arguments in ([], ["--recheck", own]):
                capsys.readouterr()
                assert run(["verify", str(folder), *arguments]) == 2, what
                error = capsys.readouterr().err.strip()
                assert error.startswith("error: "), what
                assert "\n" not in error, what
        finally:
            (folder / name).write_text(text)
    assert run(["verify", str(folder), "--recheck", own]) == 0


@pytest.mark.parametrize("kind", ["compiled", "recurrent", "export"])
def test_a_certificate_is_about_the_table_of_its_claim(
    kind: str, folders: dict[str, tuple[Path, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Another table in the folder: what the claim says is still true, and only verify compares the two."""
    folder, name = folders[kind]
    own = str(folder.parent / f"{kind}.json")
    text = changed(folder / name, lambda automaton: automaton.update(next=OTHER))
    try:
        assert main([str(folder), own]) == 0
        assert "0 -0-> 0, 0 -1-> 1, 1 -0-> 1, 1 -1-> 0." in capsys.readouterr().out
        assert run(["verify", str(folder), "--recheck", own]) > 0
        assert run(["verify", str(folder)]) > 0
    finally:
        (folder / name).write_text(text)


def test_words_without_an_error_are_not_a_proof(capsys: pytest.CaptureFixture[str]) -> None:
    """All words that are run are right, and the exit status is 1."""
    assert run(["verify", str(NETWORKS / "c2-scratchpad"), "--effort", "0.02", "--json"]) == 1
    payload = json.loads(capsys.readouterr().out)
    assert payload["counterexample"] is None
    assert payload["examined"] is True
    assert payload["certified"] is False
    assert "nothing is proved" in payload["reason"]
