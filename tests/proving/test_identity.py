"""A certificate is about the automaton that the user names; the name in a file is not trusted."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import krohn
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cli.app import run
from krohn.errors import LimitExceeded
from krohn.network.compiled import load, save
from krohn.proving.renaming import renaming, reorder_as

TRAFFIC = Semiautomaton(
    np.array([[1, 0], [0, 1]]), state_names=("even", "odd"), letter_names=("step", "stay"), name="traffic"
)


def shuffled(automaton: Semiautomaton, seed: int, *, renamed: bool) -> Semiautomaton:
    """The same automaton with states and letters in another order, under their names or under others."""
    rng = np.random.default_rng(seed)
    states, letters = rng.permutation(automaton.num_states), rng.permutation(automaton.num_letters)
    place = np.argsort(states)
    names = (
        {}
        if renamed
        else {
            "state_names": tuple(automaton.state_names[q] for q in states),
            "letter_names": tuple(automaton.letter_names[a] for a in letters),
        }
    )
    return Semiautomaton(
        place[automaton.table[np.ix_(states, letters)]], start=int(place[automaton.start]), **names
    )


@pytest.mark.parametrize("name", ["S4", "Grid9", "Dyck4,2", "abab", "D8", "Q8", "T3"])
def test_another_order_of_the_same_names_is_the_same_automaton(name: str) -> None:
    automaton = krohn.zoo(name)
    other = shuffled(automaton, 1, renamed=False)
    back = reorder_as(other, automaton)
    assert back is not None
    assert (back.table == automaton.table).all()
    assert back.start == automaton.start
    assert reorder_as(automaton, shuffled(automaton, 1, renamed=True)) is None


@every("name", ["S4", "Grid9", "Dyck4,2", "abab", "D8", "Q8", "T3", "FlipFlop"])
def test_a_renaming_is_found_and_keeps_every_move(name: str) -> None:
    left = krohn.zoo(name)
    right = shuffled(left, 2, renamed=True)
    mapping = renaming(left, right)
    assert mapping is not None
    letters, states = mapping
    assert sorted(letters) == list(range(left.num_letters))
    assert states[left.start] == right.start
    for q, image in states.items():
        assert [states[int(target)] for target in left.table[q]] == [
            int(right.table[image, letter]) for letter in letters
        ]


def test_automata_that_differ_have_no_renaming() -> None:
    assert renaming(krohn.zoo("D8"), krohn.zoo("C8:01")) is None
    assert renaming(krohn.zoo("C4"), krohn.zoo("C2xC2")) is None
    assert renaming(krohn.zoo("C2"), krohn.zoo("C3")) is None
    table = krohn.zoo("Grid4").table.copy()
    table[2, 1] = 0
    assert renaming(krohn.zoo("Grid4"), Semiautomaton(table)) is None


def test_a_search_that_would_not_end_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven letters that are alike have 11! orders, and the twelfth fits none of them."""
    monkeypatch.setattr("krohn.proving.renaming.MAX_STEPS", 10_000)
    step, stay, back = (1, 2, 3, 0), (0, 1, 2, 3), (3, 0, 1, 2)
    left = Semiautomaton.from_letters([step] * 11 + [stay])
    with pytest.raises(LimitExceeded, match="a renaming must be found within 10,000 steps"):
        renaming(left, Semiautomaton.from_letters([step] * 11 + [back]))


def test_the_users_automaton_decides_and_not_the_files() -> None:
    network = krohn.compile(krohn.zoo("Parity"), 8)
    lying = replace(network, automaton=Semiautomaton(1 - network.automaton.table, name="Parity"))
    assert not krohn.verify(lying).certified
    assert krohn.verify(lying, automaton="Parity").certified
    assert krohn.verify(network, automaton=krohn.zoo("Parity")).certified
    refused = krohn.verify(network, automaton=Semiautomaton(1 - network.automaton.table))
    assert not refused.certified
    assert refused.counterexample is not None


def test_other_names_need_the_option() -> None:
    network = krohn.compile(TRAFFIC, 8)
    refused = krohn.verify(network, automaton="Parity")
    assert (refused.certified, refused.second_opinion) == (False, None)
    assert "the network has 2 states (even odd), 2 letters (step stay); you mean" in refused.reason
    certificate = krohn.verify(network, automaton="Parity", renamed=True)
    assert certificate.certified
    assert certificate.to_json()["identity"]["renamed"] == {
        "letters": {"1": "step", "0": "stay"},
        "states": {"0": "even", "1": "odd"},
    }
    assert not krohn.verify(network, automaton="FlipFlop", renamed=True).certified


def test_a_renaming_keeps_what_is_shown() -> None:
    """Both orders of two letters keep all moves; one of them keeps the observations, too."""
    table = np.array([[1, 2], [1, 1], [2, 2]])
    network = krohn.compile(Semiautomaton(table, observe=(0, 1, 2)), 8, target="observation")
    right = Semiautomaton(table, observe=(0, 2, 1), letter_names=("c", "d"))
    certificate = krohn.verify(network, automaton=right, renamed=True)
    assert certificate.certified
    assert certificate.to_json()["identity"]["renamed"]["letters"] == {"c": "1", "d": "0"}
    other = Semiautomaton(table, observe=(0, 1, 1), letter_names=("c", "d"))
    assert not krohn.verify(network, automaton=other, renamed=True).certified


def test_the_same_names_may_stand_for_other_states() -> None:
    counter = krohn.compile("C4:01", 8)
    back = Semiautomaton(np.array([[0, 3], [1, 0], [2, 1], [3, 2]]))
    assert not krohn.verify(counter, automaton=back).certified
    verdict = krohn.verify(counter, automaton=back, renamed=True)
    assert verdict.certified
    assert verdict.to_json()["identity"]["renamed"]["states"] == {"0": "0", "3": "1", "2": "2", "1": "3"}
    wrong = Semiautomaton(np.array([[0, 1], [1, 2], [2, 3], [3, 1]]))
    assert "may disagree" in krohn.verify(counter, automaton=wrong, renamed=True).reason


@pytest.mark.parametrize("claimed", ["Rubik's cube", "\u0405" + "4", "S4", "Rubik", "certified: S4"])
def test_a_name_that_is_not_the_automatons_is_never_printed(
    claimed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(krohn.compile(krohn.zoo("C2"), 8), tmp_path)
    payload = json.loads((tmp_path / "krohn.json").read_text())
    (tmp_path / "krohn.json").write_text(json.dumps({**payload, "name": claimed}))
    assert load(tmp_path).automaton.name == ""
    for options in ([], ["--explain"], ["--json"]):
        assert run(["verify", str(tmp_path), *options]) == 0
        captured = capsys.readouterr()
        assert claimed not in captured.out + captured.err
    assert run(["verify", str(tmp_path), "--automaton", "S4"]) == 1
    assert capsys.readouterr().out.startswith("not certified: identity: the network has 2 states (0 1)")


def test_without_the_option_the_report_says_whose_claim_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(krohn.compile(krohn.zoo("C2"), 8), tmp_path)
    digest = krohn.zoo("C2").digest
    assert run(["verify", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "certified: C2, every word of length ≤ 8, float32" in text
    assert f"the one the file claims: 2 states (0 1), 2 letters (0 1), digest {digest[:12]}" in text
    assert run(["verify", str(tmp_path), "--automaton", "C2"]) == 0
    assert "the automaton is the one you named: 2 states" in capsys.readouterr().out
    assert run(["verify", str(tmp_path), "--automaton", "C2", "--json"]) == 0
    identity = json.loads(capsys.readouterr().out)["identity"]
    assert (identity["claimed_by"], identity["name"], identity["digest"]) == ("user", "C2", digest)


def test_blocks_are_numbered_from_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = krohn.compile(krohn.zoo("Dyck1,2"), 4, unproved=True)
    save(network, tmp_path)
    assert run(["verify", str(tmp_path), "--explain"]) == 0
    headings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Block ")]
    assert headings == [f"Block {number}" for number in range(1, len(network.transformer.layers) + 1)]
