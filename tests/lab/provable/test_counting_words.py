"""Tables of answers, counts, samples and machines, against words run one by one."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import krohn
from cascade.random_automata import random_automaton
from every import every
from krohn.automata.observed import with_target
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput, LimitExceeded
from krohn.lab.interpret import extraction as answers_module
from krohn.lab.interpret.extraction import (
    Answers,
    answers_of,
    extract,
    first_difference,
    name_states,
    separating_word,
)
from krohn.lab.provable.box_search import contexts
from krohn.lab.provable.code_training import code_boxes, embedding_of, quotients, shortfall
from krohn.lab.provable.exact import (
    HABITUAL,
    ExactCount,
    Examined,
    SampledWords,
    count,
    examine_run,
    habitual,
    legal,
    run_sample,
    uniform,
)
from krohn.lab.provable.provable_run import provable_reasons
from krohn.lab.training.config import RunConfig, TaskConfig, model_config
from krohn.lab.training.trained_network import read_run
from krohn.proving.evidence import Counterexample
from krohn.proving.witness.search import checkable_table


def words_of(letters: int, length: int) -> list[tuple[int, ...]]:
    return list(product(range(letters), repeat=length))


@pytest.mark.parametrize("kind", ["gpt", "scratchpad", "lstm"])
def test_a_table_has_the_answer_to_every_word_in_lexicographic_order(
    kind: str, runs: dict[str, Path]
) -> None:
    answers = answers_of(krohn.load(runs[kind]))
    letters = answers.automaton.num_letters
    levels = answers.levels(4)
    assert [len(level) for level in levels] == [letters**depth for depth in (1, 2, 3, 4)]
    for level, depth in zip(levels, (1, 2, 3, 4), strict=True):
        assert level.tolist() == answers.of(np.array(words_of(letters, depth)))[:, -1].tolist()


def test_the_table_of_a_compiled_network_is_that_of_its_automaton(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = krohn.compile("S3", length=5)
    answers = answers_of(network)
    assert answers.longest == 5
    letters = network.automaton.num_letters
    for depth, level in enumerate(answers.levels(4), start=1):
        assert level.tolist() == [network.automaton.run(word)[-1] for word in words_of(letters, depth)]
    monkeypatch.setattr(answers_module, "COMPILED_WORDS", letters**3)
    answers = answers_of(network)
    assert len(answers.levels(3)) == 3
    assert answers.reach(4) == 3
    assert answers_of(network, effort=letters).reach(4) == 4
    monkeypatch.setattr(answers_module, "COMPILED_WORDS", letters - 1)
    with pytest.raises(LimitExceeded, match="words of one letter are too many"):
        answers_of(network).reach(4)


@pytest.mark.parametrize("kind", ["lstm", "bos", "scratchpad"])
def test_the_closest_lead_is_the_least_over_all_letters(kind: str, runs: dict[str, Path]) -> None:
    """Tokens are written out here: a scratchpad holds the states that the network gave before."""
    import torch

    trained = read_run(runs[kind])
    letters = trained.automaton.num_letters
    counts = count(trained, trained.automaton, 3)
    leads = []
    with torch.no_grad():
        for word in words_of(letters, 3):
            read = [letters] if kind == "bos" else []
            for letter in word:
                read.append(letter)
                best = trained.network.logits(trained.weights, torch.tensor([[read]]))[0, 0, -1].topk(2)
                leads.append(float(best.values[0] - best.values[1]))
                read += [letters + int(best.indices[0])] if kind == "scratchpad" else []
    assert counts.closest == pytest.approx(min(leads), abs=1e-5)
    report = counts.to_json()
    assert report["right_share"] == 1 - counts.wrong / letters**3
    assert report["words"] == letters**3


def sample(word: tuple[int, ...] | None) -> SampledWords:
    return SampledWords(
        9, 10, 10 if word is None else 9, None if word is None else Counterexample(word, 0, 1)
    )


def exact(wrong: int, word: tuple[int, ...] | None = None) -> ExactCount:
    result = None if word is None else Counterexample(word, 0, 1)
    return ExactCount(3, 8, wrong, result, float("inf"), 0.0)


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ((exact(0), None, sample(None), sample(None)), None),
        ((exact(1, (0, 1)), None, sample((0,) * 5), sample(None)), (0, 1)),
        ((exact(0), None, sample((0,) * 5), sample((1,) * 4)), (1,) * 4),
        ((exact(2, (0, 1)), exact(0), sample(None), sample(None)), (0, 1)),
    ],
)
def test_the_shortest_wrong_word_is_shown(
    parts: tuple[ExactCount, ExactCount | None, SampledWords, SampledWords], word: tuple[int, ...] | None
) -> None:
    result = Examined(*parts)
    assert (None if result.counterexample is None else result.counterexample.word) == word
    assert result.to_json()["exact"]["closest"] is None


def test_an_examination_samples_words_of_training(runs: dict[str, Path]) -> None:
    trained = read_run(runs["feasible"])
    result = examine_run(trained, trained.automaton, length=4, effort=1e-9)
    assert (result.exact.length, result.sample.length, result.habits.length) == (1, 4, 4)
    assert result.legal is not None
    assert result.legal.words < result.exact.words
    assert examine_run(trained, trained.automaton, effort=1e-9).habits.length == 300
    # Some of these are listed, others drawn in twelve ways: they estimate no share of words.
    assert "confidence" in result.sample.to_json()
    assert "confidence" in result.sample.text("words")
    assert not set(result.habits.to_json()) & {"low", "high", "confidence"}
    assert "confidence" not in result.habits.text("words")


@pytest.mark.parametrize(("wrong", "says"), [(0, " 100 %"), (1, " 99.9999 %"), (1 << 21, " 50 %")])
def test_no_share_is_rounded_up_to_all(wrong: int, says: str) -> None:
    assert says in ExactCount(22, 1 << 22, wrong, None, 1.0, 1.0).text()


def test_a_sample_counts_words_and_keeps_the_earliest_error() -> None:
    automaton = parse_spec("C2")
    words = uniform(automaton, 6)[:50]
    right = np.array([automaton.run(word) for word in words.tolist()])
    spoiled = right.copy()
    spoiled[7, 4] ^= 1
    spoiled[9, 2] ^= 1
    spoiled[9, 5] ^= 1
    result = run_sample(lambda _: spoiled, automaton, words)
    assert (result.words, result.right) == (50, 48)
    assert result.wrong is not None
    assert result.wrong.word == tuple(words[9, :3].tolist())
    assert result.to_json()["low"] < 48 / 50 < result.to_json()["high"]
    assert run_sample(lambda _: right, automaton, words).wrong is None


def test_habits_hold_every_letter_for_ever_and_every_alternation() -> None:
    automaton = parse_spec("S3")
    words = habitual(automaton, 40)
    assert words.shape == (HABITUAL, 40)
    for a, b in product(range(automaton.num_letters), repeat=2):
        assert [[a, b] * 20 == word for word in words.tolist()].count(True) >= 1
    repeated = (words[:, 4:] == words[:, :-4]).mean()
    assert repeated > 2 / automaton.num_letters
    assert (habitual(automaton, 40) == words).all()
    assert (habitual(automaton, 40, seed=1) != words).any()


def test_legal_words_are_legal_and_legal_ones_stay() -> None:
    automaton = parse_spec("Dyck2,2")
    rng = np.random.default_rng(3)
    allowed = rng.random(automaton.table.shape) < 0.5
    allowed[
        np.arange(automaton.num_states), rng.integers(automaton.num_letters, size=automaton.num_states)
    ] = True
    words = uniform(automaton, 12)[:100]
    result = legal(automaton, words, allowed)
    changed = 0
    for before, after in zip(words.tolist(), result.tolist(), strict=True):
        state, differs = automaton.start, False
        for old, new in zip(before, after, strict=True):
            assert allowed[state, new]
            if allowed[state, old]:
                assert new == old
            else:
                differs = True
            state = automaton.step(state, new)
        changed += differs
    assert 0 < changed < 100
    assert (legal(automaton, result, allowed) == result).all()


def machine_of(table: object, answers: tuple[int, ...]) -> Semiautomaton:
    return Semiautomaton(np.array(table), observe=answers)


@every("seed", range(8))
def test_the_first_difference_and_the_mistake_are_shortest_words(seed: int) -> None:
    outcome, task = (random_automaton(s, smallest=3, largest=3) for s in (seed, seed + 50))
    letters = min(outcome.num_letters, task.num_letters)
    outcome, task = (Semiautomaton(one.table[:, :letters], start=0) for one in (outcome, task))
    machine = machine_of(outcome.table, (0, 1, 2))
    differing = [
        word
        for length in range(1, 6)
        for word in words_of(letters, length)
        if outcome.run(word)[-1] != task.run(word)[-1]
    ]
    levels = [
        np.array([task.run(word)[-1] for word in words_of(letters, depth)], dtype=np.int64)
        for depth in range(1, 6)
    ]
    result = first_difference(machine, levels)
    assert result == (differing[0] if differing else None)
    mistake = separating_word(with_target(machine, "observation"), task)
    assert (mistake is None) == (result is None)
    if mistake is not None:
        assert len(mistake) == len(differing[0])
        assert mistake in differing


def test_states_of_one_answer_are_numbered_and_names_stay_distinct() -> None:
    task = Semiautomaton(np.array([[1], [0], [0]]), state_names=("x", "x#2", "y"), letter_names=("a",))
    moves = [[1], [2], [3], [0]]
    result = name_states(machine_of(moves, (0, 0, 1, 2)), task)
    assert result.state_names[0] == "x"
    assert len(set(result.state_names)) == 4
    assert result.observe == (0, 0, 1, 2)
    plain = name_states(machine_of([[1], [0]], (2, 2)), task)
    assert plain.state_names == ("y", "y#2")


def answers_of_function(automaton: Semiautomaton, answers: list[int], longest: int | None) -> Answers:
    def of(words: np.ndarray) -> np.ndarray:
        return np.array([[answers[state] for state in automaton.run(word)] for word in words.tolist()])

    return Answers(of, np.inf, automaton, longest)


def test_what_is_learned_has_no_more_states_than_it_needs() -> None:
    """The network says states modulo 2 of C4: two states are enough, and it is wrong after two letters."""
    automaton = Semiautomaton.from_letters([[1, 2, 3, 0]])
    machine = extract(answers_of_function(automaton, [0, 1, 0, 1], None), 6)
    assert machine.automaton.num_states == 2
    assert (machine.agrees, machine.difference, machine.mistake) == (6, None, (0, 0))


@pytest.mark.parametrize(
    ("length", "says"), [(0, "at least 1; got 0"), (4, "at most 3, as the network is built")]
)
def test_lengths_must_fit_the_network(length: int, says: str) -> None:
    automaton = Semiautomaton.from_letters([[1, 0]])
    with pytest.raises(InvalidInput, match=says):
        extract(answers_of_function(automaton, [0, 1], 3), length)


def test_the_empty_word_is_the_start() -> None:
    """From the second state: what comes out must begin there, though no answer shows it."""
    automaton = Semiautomaton.from_letters([[1, 2, 0], [0, 1, 2]], start=1)
    machine = extract(answers_of_function(automaton, [0, 1, 2], None), 5)
    assert machine.automaton.observe is not None
    assert machine.automaton.observe[machine.automaton.start] == 1
    assert machine.mistake is None
    assert machine.automaton.num_states == 3


@pytest.mark.parametrize("spec", ["C6", "S3", "Grid4", "A4"])
def test_quotients_are_congruences_that_tell_states_apart(spec: str) -> None:
    automaton = parse_spec(spec)
    parts = quotients(automaton)
    assert len(set(zip(*parts, strict=True))) == automaton.num_states
    for part in parts:
        for letter in automaton.letters:
            moved = {(part[state], part[letter[state]]) for state in range(automaton.num_states)}
            assert len(moved) == len(set(part))  # classes move as wholes
        rest = [other for other in parts if other is not part]
        assert len(set(zip(*rest, strict=True))) < automaton.num_states  # none is superfluous
    assert sum(max(part) + 1 for part in parts) <= automaton.num_states


def test_a_gate_is_short_of_what_it_should_be_at_its_worst_point() -> None:
    import torch

    middle, half = torch.tensor([2.0, 4.0, -5.0]), torch.tensor([0.5, 0.5, 3.0])
    up, down = (shortfall((middle, half), wanted) for wanted in (3.0, -3.0))
    assert up.tolist() == [1.5 + 1.5**2, 0.0, 11 + 121.0]
    assert down.tolist() == [5.5 + 5.5**2, 7.5 + 7.5**2, 1 + 1.0]


def test_first_boxes_are_where_decided_gates_lead() -> None:
    """h = σ(3…)·tanh(σ(3…)·tanh(3…)) of an LSTM, tanh of a GRU; the empty word is all zeros."""
    import torch

    on = torch.tensor([[False, False], [True, False]])
    for kind, least, most in (("lstm", 0.95 * np.tanh(0.9), np.tanh(1.0)), ("gru", np.tanh(3.0) - 0.03, 1.0)):
        middle, half = code_boxes(kind, on)
        assert not middle[0].any()
        assert not half[0].any()
        assert float(middle[1, 0] - half[1, 0]) <= least
        assert float(middle[1, 0] + half[1, 0]) >= most - 0.01
        assert float(middle[1, 1]) == (0.0 if kind == "lstm" else pytest.approx(-0.98))


def test_letters_have_units_of_their_own_where_there_are_enough() -> None:
    import torch

    assert torch.equal(
        embedding_of(torch.ones(4, 3), 3, 0), torch.eye(4)[:, :3] * torch.tensor([1, 1, 1, 0])[:, None]
    )
    signs = embedding_of(torch.ones(6, 2), 5, 0)
    assert set(signs[:5].flatten().tolist()) == {-1.0, 1.0}
    assert not signs[5].any()
    assert torch.equal(signs, embedding_of(torch.ones(6, 2), 5, 0))


def test_every_reason_against_a_proof_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    automaton = parse_spec("C3")
    good = RunConfig(task=TaskConfig(spec="C3", length=6), model=model_config("lstm"), steps=2)
    assert provable_reasons(good, automaton) == []
    bad = RunConfig(task=TaskConfig(spec="C3", length=6, bos=True), model=model_config("gpt"), steps=2)
    needed = len(contexts(checkable_table(automaton)).state)  # type: ignore[union-attr]
    monkeypatch.setattr("krohn.lab.provable.box_search.MAX_BOXES", needed - 1)
    result = provable_reasons(bad, automaton)
    assert len(result) == 3
    assert "got gpt" in result[0]
    assert "--bos" in result[1]
    assert "this automaton has more" in result[2]
