"""Words, labels and what is shown, each against a loop that reads the definition one letter at a time."""

import itertools
from collections import Counter
from math import comb

import numpy as np
import pytest
import torch

from every import every
from krohn.automata.distributions import Distribution, feasible_letters, parse_distribution, source
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo
from krohn.errors import InvalidInput, KrohnError, Unsupported
from krohn.lab import random_streams
from krohn.lab.tasks.batches import Task, letters, task_reasons
from krohn.lab.tasks.task_config import TaskConfig

CPU = torch.device("cpu")
KEYS = random_streams.replicate_keys(3, 1)
# Three states, two letters; what is seen of state 1 and state 2 is the same.
SHOWN = Semiautomaton.from_letters([(1, 2, 0), (0, 0, 2)], start=1, observe=(0, 1, 1))


def make_task(automaton: Semiautomaton = SHOWN, **options: object) -> Task:
    return Task(TaskConfig(spec="mine", **{"length": 6, **options}), automaton, CPU)


def rows(automaton: Semiautomaton, words: torch.Tensor) -> list[tuple[list[int], list[int]]]:
    return [(word, list(automaton.run(word))) for word in words.reshape(-1, words.shape[-1]).tolist()]


OPTIONS = [
    {"scratchpad": scratchpad, "bos": bos, "target": target, "reveal": reveal}
    for scratchpad, bos, target, reveal in itertools.product(
        (False, True), (False, True), ("state", "observation"), (1.0, 0.5)
    )
    if not (scratchpad and (bos or target == "observation"))
]


@every("options", OPTIONS)
def test_a_batch_is_what_a_loop_writes(options: dict[str, object]) -> None:
    task = make_task(**options)
    words, _ = task.sample(KEYS, 4, 9)
    batch = task.batch(KEYS, 4, 9)
    seen = SHOWN.observe if options["target"] == "observation" else range(3)
    assert seen is not None
    for row, (word, states) in enumerate(rows(SHOWN, words)):
        tokens, targets, asked = [], [], []
        if options["bos"]:
            tokens, targets, asked = [2], [0], [False]
        for place, (letter, state) in enumerate(zip(word, states, strict=True)):
            tokens, targets, asked = [*tokens, letter], [*targets, seen[state]], [*asked, True]
            if options["scratchpad"] and place < len(word) - 1:
                tokens, targets, asked = [*tokens, 2 + state], [*targets, 0], [*asked, False]
        shown = batch.shown[0, row].tolist()
        assert batch.tokens[0, row].tolist() == tokens
        assert batch.targets[0, row].tolist() == targets
        assert len(tokens) == task.num_tokens
        assert max(tokens) < task.vocabulary
        assert task.classes == len(set(seen))
        for label, may in zip(shown, asked, strict=True):
            assert label in ((0, 1) if options["reveal"] != 1.0 else (1,)) if may else label == 0


def test_shown_labels_are_redrawn_in_each_step_and_replicate_and_words_do_not_change() -> None:
    keys = random_streams.replicate_keys(0, 2)
    half, whole = make_task(reveal=0.5), make_task()
    batches = [half.batch(keys, step, 40).shown for step in (0, 1)]
    assert not torch.equal(batches[0], batches[1])
    assert not torch.equal(batches[0][0], batches[0][1])
    assert torch.equal(half.batch(keys, 0, 40).tokens, whole.batch(keys, 0, 40).tokens)
    assert batches[0].float().mean().item() == pytest.approx(0.5, abs=0.07)
    fewer = make_task(reveal=0.25).batch(keys, 0, 40).shown
    assert (fewer <= batches[0]).all()  # what a smaller share shows, a larger one shows too


def test_a_word_of_a_batch_does_not_depend_on_how_many_there_are() -> None:
    task = make_task(length=4)
    few, many = task.sample(KEYS, 2, 3)[0], task.sample(KEYS, 2, 50)[0]
    assert torch.equal(few, many[:, :3])
    longer = make_task(length=9).sample(KEYS, 2, 3)[0]
    assert torch.equal(few, longer[..., :4])


def test_every_set_of_places_is_as_likely_as_any_other() -> None:
    keys = random_streams.derive(torch.tensor([5]), torch.arange(20_000))
    words = letters(Distribution("ones", count=2), keys, 2, 5).tolist()
    counts = Counter(map(tuple, words))
    assert all(sum(word) == 2 for word in counts)
    assert len(counts) == comb(5, 2)
    expected = 20_000 / comb(5, 2)
    chi = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi < 27.9  # exceeded once in a thousand, with nine degrees of freedom


@pytest.mark.parametrize("count", [0, 5])
def test_no_ones_and_all_ones(count: int) -> None:
    keys = random_streams.derive(torch.tensor([5]), torch.arange(7))
    assert (letters(Distribution("ones", count=count), keys, 2, 5) == (count == 5)).all()


def test_a_word_that_repeats_begins_at_its_beginning() -> None:
    keys = random_streams.derive(torch.tensor([5]), torch.arange(400))
    result = letters(Distribution("periodic", probability=0.5, word=(1, 0, 0)), keys, 2, 8).tolist()
    repeated = sum(word == [1, 0, 0, 1, 0, 0, 1, 0] for word in result)
    assert 150 < repeated < 250
    others = [word for word in result if word != [1, 0, 0, 1, 0, 0, 1, 0]]
    assert len({*map(tuple, others)}) > 100
    always = letters(Distribution("periodic", probability=1.0, word=(1, 0)), keys, 2, 3)
    assert always.unique(dim=0).tolist() == [[1, 0, 1]]


@every("seed", range(20))
def test_feasible_letters_avoid_the_states_that_nothing_leaves(seed: int) -> None:
    dice = np.random.default_rng(seed)
    table = dice.integers(4, size=(4, 3))
    table[3] = 3  # a sink
    if seed % 2:
        table[1] = 3  # only the sink is left: then every letter may come
    automaton = Semiautomaton(table, start=int(dice.integers(3)))
    sinks = [q for q in range(4) if q != automaton.start and all(table[q, a] == q for a in range(3))]
    for state, allowed in enumerate(feasible_letters(automaton)):
        good = [letter for letter in range(3) if table[state, letter] not in sinks]
        assert np.flatnonzero(allowed).tolist() == (good or [0, 1, 2])
    task = make_task(automaton, distribution="feasible", length=8)
    words, states = task.sample(KEYS, 0, 60)
    for (word, truth), result in zip(rows(automaton, words), states[0].tolist(), strict=True):
        assert result == truth
        for before, letter in zip([automaton.start, *truth], word, strict=False):
            assert feasible_letters(automaton)[before, letter]


@every(
    "text",
    [
        *["bernoulli:nan", "bernoulli:-0.1", "bernoulli:1.0001", "bernoulli:inf", "bernoulli:0.5:0.5"],
        *["ones:", "ones:-1", "ones:1.0", "ones:1:2", "ones: 1", "ones:1\n", "feasible:1", "auto:1", ""],
        *["weights:1,1"],
        *["periodic:01", "periodic::0.5", "periodic:01:nan", "periodic:01:2", "periodic:0a:0.5", "Uniform"],
    ],
)
def test_an_invalid_distribution_is_one_line(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_distribution(text, SHOWN)
    assert "\n" not in str(refused.value)
    with pytest.raises(Unsupported):
        make_task(distribution=text)


@pytest.mark.parametrize("reveal", [0.0, -0.5, 1.5, float("nan")])
def test_a_share_of_labels_is_above_nothing(reveal: float) -> None:
    assert any("reveal" in reason for reason in task_reasons(TaskConfig(spec="mine", reveal=reveal), SHOWN))


def test_more_ones_than_letters_are_refused_and_as_many_are_not() -> None:
    assert make_task(distribution="ones:6").sample(KEYS, 0, 2)[0].sum() == 12
    with pytest.raises(KrohnError, match="K ≤ length 6; got 7"):
        make_task(distribution="ones:7")


@every("name", ["abab", "Dyck2,2", "Dyck1,1xC2", "Parity"])
def test_training_draws_what_data_sets_draw(name: str) -> None:
    """Words of four letters from the task's default, against the exact chances of the default source."""
    automaton, drawn = zoo(name), 20_000
    origin = source(automaton)
    faces = range(origin.num_outcomes)
    likely: Counter[tuple[int, ...]] = Counter()
    for start, weight in zip(origin.starts, origin.start_weights, strict=True):
        for throws in itertools.product(faces, repeat=4):
            state, word = start, []
            for throw in throws:
                word.append(int(origin.letter[state, throw]))
                state = int(origin.next[state, throw])
            likely[tuple(word)] += drawn * weight / len(faces) ** 4  # type: ignore[assignment]
    words, _ = make_task(automaton, length=4).sample(KEYS, 0, drawn)
    counts = Counter(map(tuple, words[0].tolist()))
    assert set(counts) <= set(likely)
    chi = sum((counts[word] - chance) ** 2 / chance for word, chance in likely.items())
    assert chi < len(likely) + 4 * (2 * len(likely)) ** 0.5 + 8
