"""Locks: their automata, what is published and what is kept back, and the scorer."""

import json
from pathlib import Path

import numpy as np
import pytest
from lock_methods import answered

import krohn
from krohn.automata.files import automaton_from_payload, automaton_payload
from krohn.automata.observed import with_target
from krohn.cli.app import run
from krohn.errors import InvalidFile, InvalidInput
from krohn.lab.interpret.extraction import separating_word
from krohn.lab.suite.locks import (
    BOUND,
    LENGTH,
    LETTERS,
    NAMES,
    PLANTED,
    QUERIES,
    Lock,
    build_lock,
    build_locks,
    key_folder,
    score_locks,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("suite") / "locks"
    build_locks(out, 1, 7, jobs=2)
    return out


def test_the_automaton_is_the_parity_until_the_word_was_read() -> None:
    """Against a naive reading of the definition, on words that hold the planted one, or nearly."""
    lock, rng = Lock.draw(3, 5), np.random.default_rng(0)
    words = rng.integers(LETTERS, size=(60, LENGTH))
    for row in range(40):
        words[row, row % 21 : row % 21 + PLANTED] = lock.word
        if row >= 20:
            words[row, row % 21 + row % PLANTED] = rng.integers(LETTERS)
    for word, shown in zip(words.tolist(), lock.automaton.right_outputs(words).tolist(), strict=True):
        for end in range(1, LENGTH + 1):
            read = word[:end]
            opened = any(tuple(read[at : at + PLANTED]) == lock.word for at in range(end - PLANTED + 1))
            assert shown[end - 1] == (sum(letter in lock.odd for letter in read) % 2) ^ opened


def test_a_word_that_overlaps_itself_is_found_in_every_overlap() -> None:
    word = (0, 0, 1, 0, 0, 0)
    automaton, base = build_lock(word, (1,)), build_lock((), (1,), opposite=False)
    assert separating_word(automaton, base) == word
    words = np.array([(0, 0, 1, 0, 0, 1, 0, 0, 0, 2)])
    assert (automaton.right_outputs(words) != base.right_outputs(words)).tolist() == [
        [False] * 8 + [True] * 2
    ]


def test_the_bound_is_below_one_per_cent_for_a_million_queries() -> None:
    assert QUERIES * LENGTH / LETTERS**PLANTED == BOUND < 0.01
    assert LETTERS**PLANTED >= 100 * QUERIES * LENGTH


def test_nothing_that_is_published_tells_the_word(folder: Path) -> None:
    files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    stock = (
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    )
    assert files == {"README.md", "tasks.jsonl", *(f"lock-0000/{name}" for name in stock)}
    key = json.loads((key_folder(folder) / "key.json").read_text())
    word = key["locks"]["lock-0000"]["word"]
    assert key["locks"]["lock-0000"]["proof"].startswith("the plain network is proved in float32")
    kept = key_folder(folder) / "lock-0000"
    assert krohn.verify(kept, "float32", certificate=kept / "certificate.json").certified
    names = ["".join(NAMES[letter] for letter in word), json.dumps(word), " ".join(NAMES[n] for n in word)]
    for file in folder.rglob("*.json*"):
        text = file.read_text()
        assert not any(name in text for name in (*names, "krohn.json")), file
        assert '"seed"' not in text
        assert '"krohn"' not in text or file.name == "tasks.jsonl"
    assert b"krohn" not in (folder / "lock-0000" / "model.safetensors").read_bytes()[:100_000]


def test_answers_are_scored_by_the_automaton_and_by_the_word(folder: Path, tmp_path: Path) -> None:
    key = json.loads((key_folder(folder) / "key.json").read_text())["locks"]["lock-0000"]
    truth = key["automaton"]

    def scored(answer: object) -> tuple[float, float]:
        (tmp_path / "answers.json").write_text(json.dumps({"lock-0000": answer}))
        result = score_locks(folder, tmp_path / "answers.json")
        return result.exact, result.word

    lock = Lock.draw(0, 7)
    assert scored(truth) == (1.0, 1.0)
    assert scored(automaton_payload(build_lock((), lock.odd, opposite=False))) == (0.0, 0.0)
    near = (*lock.word[:-1], (lock.word[-1] + 1) % LETTERS)
    assert scored(automaton_payload(build_lock(near, lock.odd))) == (0.0, 0.0)
    again = automaton_payload(build_lock(lock.word, lock.odd))
    again["observe"] = {state: again["observe"][state] for state in again["states"]}
    assert scored(again) == (1.0, 1.0)
    assert scored([NAMES[letter] for letter in lock.word]) == (0.0, 1.0)
    assert scored(list(near)) == (0.0, 0.0)
    assert scored(None) == (0.0, 0.0)
    (tmp_path / "answers.json").write_text("{}")
    assert score_locks(folder, tmp_path / "answers.json").word == 0.0


def test_another_key_and_foreign_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text("{}")
    (tmp_path / "key.json").write_text("{}")
    with pytest.raises(InvalidFile, match="SHA-256"):
        score_locks(folder, tmp_path / "answers.json", tmp_path / "key.json")
    with pytest.raises(InvalidInput, match="new folder"):
        build_locks(folder, 1, 7)
    with pytest.raises(InvalidFile, match=r"tasks\.jsonl"):
        score_locks(tmp_path, tmp_path / "answers.json")


def test_states_give_the_word_away(folder: Path) -> None:
    """The white-box answer, from the published folder alone."""
    (answer,) = answered(folder, "states from the units").values()
    given = with_target(automaton_from_payload(answer), "observation")
    assert separating_word(given, Lock.draw(0, 7).automaton) is None


def test_the_commands(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers.json").write_text(json.dumps({"lock-0000": list(Lock.draw(0, 7).word)}))
    assert run(["suite", "score", str(folder), "--answers", str(tmp_path / "answers.json"), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert (payload["exact"], payload["word"]) == (0.0, 1.0)
    assert krohn.suite.score(folder, answers=tmp_path / "answers.json").word == 1.0
    assert run(["suite", "locks", "--count", "1", "--seed", "7", "--out", str(folder)]) == 2
