"""Words as text for language models: every state shown is right, and the answer is nowhere else."""

import json
from pathlib import Path

import pytest

import krohn
from krohn.automata.documents import FORMATS
from krohn.cli.app import run


def documents(folder: Path, form: str, *more: str) -> list[dict]:
    words = f"sample S3 --length 12 --count 40 --format {form} --out {folder / form}.jsonl".split()
    assert run([*words, *more]) == 0
    return [json.loads(line) for line in (folder / f"{form}.jsonl").read_text().splitlines()]


def shown_in(form: str, document: dict, automaton: krohn.Semiautomaton) -> list[tuple[list[str], str]]:
    """The letters before each state that is shown, and that state; read off the text alone."""
    if form == "tokens":
        names = [*automaton.letter_names, *(f"={name}" for name in automaton.state_names), "?"]
        parts = [names[number] for number in document["input_ids"]]
    else:
        lines = document["text"].splitlines()
        parts = [line[4:] if line.startswith(">>> ") else f"={line}" for line in lines if line != ">>> state"]
    letters: list[str] = []
    result = []
    for part in parts:
        if part.startswith("="):
            result.append((list(letters), part[1:]))
        elif part != "?":
            letters.append(part)
    assert len(letters) == 12
    return result


@pytest.mark.parametrize("form", FORMATS)
def test_every_state_that_is_shown_is_right_and_the_last_one_is_there(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    automaton, counts = krohn.zoo("S3"), []
    for document in documents(tmp_path, form):
        pairs = shown_in(form, document, automaton)
        counts.append(len(pairs))
        for letters, state in pairs:
            word = [automaton.letter_names.index(letter) for letter in letters]
            assert automaton.state_names[automaton.run(word)[-1]] == state
        assert len(pairs[-1][0]) == 12
    assert 2 < sum(counts) / len(counts) < 6
    assert "load it: load_dataset(" in capsys.readouterr().out


def test_labels_are_states_alone(tmp_path: Path) -> None:
    automaton = krohn.zoo("S3")
    first, last = automaton.num_letters, automaton.num_letters + automaton.num_states
    for document in documents(tmp_path, "tokens"):
        pairs = list(zip(document["input_ids"], document["labels"], strict=True))
        assert all(label in (-100, token) for token, label in pairs)
        assert {token for token, label in pairs if label != -100} <= set(range(first, last))


def test_the_same_seed_gives_the_same_file_and_another_seed_another(tmp_path: Path) -> None:
    one, two, other = (documents(tmp_path, "repl", *more) for more in ((), (), ("--seed", "1")))
    assert one == two != other


def test_names_that_the_text_needs_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = {"krohn": 1, "letters": ["state"], "states": ["p"], "start": "p", "next": {"p": {"state": "p"}}}
    (tmp_path / "a.json").write_text(json.dumps(about))
    out = str(tmp_path / "a.jsonl")
    words = ["sample", str(tmp_path / "a.json"), "--length", "3", "--count", "2", "--format", "repl"]
    assert run([*words, "--out", out]) == 2
    assert "state must be free for the text" in capsys.readouterr().err


@pytest.mark.parametrize("form", FORMATS)
def test_the_line_that_is_printed_loads_the_file(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    datasets = pytest.importorskip("datasets")
    documents(tmp_path, form)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("load it: "))
    rows = eval(line.removeprefix("load it: "), {"load_dataset": datasets.load_dataset})  # our own line
    assert len(rows) == 40
