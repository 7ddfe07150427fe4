from collections import Counter

import pytest
import torch

from every import every
from krohn.automata.distributions import parse_distribution
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput, Unsupported
from krohn.lab import random_streams
from krohn.lab.tasks.batches import HELD_OUT, Task, task_reasons
from krohn.lab.tasks.task_config import TaskConfig

CPU = torch.device("cpu")
PARITY = Semiautomaton.from_letters([(0, 1), (1, 0)], name="parity")


def task(spec: str = "D6", **options: object) -> Task:
    config = TaskConfig(spec=spec, **{"length": 12, **options})
    return Task(config, PARITY if spec == "parity" else parse_spec(spec), CPU)


@pytest.mark.parametrize("spec", ["D6", "Grid4", "Dyck4,2", "S4", "FlipFlop", "parity"])
def test_states_are_those_of_the_automaton(spec: str) -> None:
    job = task(spec)
    words, states = job.sample(random_streams.replicate_keys(1, 2), torch.arange(3)[:, None], 4)
    assert words.shape == (3, 2, 4, 12)
    for word, row in zip(words.reshape(-1, 12).tolist(), states.reshape(-1, 12).tolist(), strict=True):
        assert row == job.automaton.run(word)


def test_a_replicate_draws_the_same_data_whatever_the_number_of_replicates_and_the_chunking() -> None:
    job = task()
    keys = random_streams.replicate_keys(5, 4)
    together = job.batch(keys, torch.arange(6)[:, None], 3)
    alone = job.batch(keys[2:3], torch.arange(4, 6)[:, None], 3)
    assert torch.equal(together.tokens[4:, 2:3], alone.tokens)
    assert torch.equal(together.targets[4:, 2:3], alone.targets)
    assert len({tuple(row) for row in together.tokens.reshape(-1, 12).tolist()}) > 60


def test_feasible_inputs_never_enter_the_sink_and_are_uniform_among_legal_moves() -> None:
    job = task("Dyck4,2", length=30)
    words, states = job.sample(random_streams.replicate_keys(1, 1), 0, 500)
    assert int((states == job.automaton.num_states - 1).sum()) == 0
    seen: Counter[tuple[int, int]] = Counter()
    for word, row in zip(words[0].tolist(), states[0].tolist(), strict=True):
        seen.update(zip([0, *row[:-1]], word, strict=True))
    for state in {state for state, _ in seen}:
        legal = [a for a in range(4) if job.automaton.step(state, a) != job.automaton.num_states - 1]
        counts = [seen[state, letter] for letter in legal]
        assert set(legal) >= {letter for other, letter in seen if other == state}
        if sum(counts) > 1000:
            assert max(counts) / min(counts) < 1.3


def test_bernoulli_inputs_have_the_stated_frequency() -> None:
    words, _ = task("parity", distribution="bernoulli:0.2", length=100).sample(torch.tensor([1]), 0, 200)
    assert float(words.double().mean()) == pytest.approx(0.2, abs=0.01)


def test_ones_places_exactly_that_many() -> None:
    words, _ = task("parity", distribution="ones:5").sample(torch.tensor([1]), 0, 300)
    assert (words.sum(-1) == 5).all()
    assert (words.sum((0, 1)) - 125).abs().max() < 45  # every place equally often


def test_periodic_inputs_repeat_the_word_with_the_stated_probability() -> None:
    words, _ = task("parity", distribution="periodic:011:0.5").sample(torch.tensor([1]), 0, 400)
    repeated = (words[0] == torch.tensor([0, 1, 1] * 4)).all(-1)
    assert float(repeated.double().mean()) == pytest.approx(0.5, abs=0.1)


def test_labels_are_revealed_with_the_stated_probability() -> None:
    batch = task(reveal=0.3).batch(random_streams.replicate_keys(0, 2), torch.arange(20)[:, None], 16)
    assert float(batch.shown.double().mean()) == pytest.approx(0.3, abs=0.02)
    assert not torch.equal(batch.shown[:, 0], batch.shown[:, 1])


def test_observations_are_the_targets_on_request() -> None:
    automaton = Semiautomaton(PARITY.table, observe=(3, 1))
    job = Task(TaskConfig(spec="parity", length=8, target="observation"), automaton, CPU)
    _, states = job.sample(torch.tensor([4]), 0, 5)
    batch = job.batch(torch.tensor([4]), 0, 5)
    assert job.classes == 4
    assert batch.targets.tolist() == [[[(3, 1)[state] for state in row] for row in states[0].tolist()]]


def test_a_scratchpad_interleaves_letters_and_states() -> None:
    job = task("parity", length=3, scratchpad=True)
    words, states = job.sample(torch.tensor([4]), 0, 2)
    batch = job.batch(torch.tensor([4]), 0, 2)
    assert (job.vocabulary, job.num_tokens) == (4, 5)
    for row in range(2):
        (a, b, c), (p, q, r) = words[0, row].tolist(), states[0, row].tolist()
        assert batch.tokens[0, row].tolist() == [a, 2 + p, b, 2 + q, c]
        assert batch.targets[0, row].tolist() == [p, 0, q, 0, r]
        assert batch.shown[0, row].tolist() == [1, 0, 1, 0, 1]


def test_held_out_sequences_are_not_training_sequences() -> None:
    job = task("S4", length=20)
    words, batch = job.held_out(0, 50)
    assert torch.equal(words.int(), batch.tokens)
    keys = random_streams.replicate_keys(0, 1)
    trained, _ = job.sample(keys, torch.arange(100)[:, None], 16)
    held = {tuple(row) for row in words.reshape(-1, 20).tolist()}
    assert held.isdisjoint({tuple(row) for row in trained.reshape(-1, 20).tolist()})
    assert HELD_OUT < 0


def test_every_reason_against_a_task_is_listed_at_once() -> None:
    config = TaskConfig(spec="parity", length=0, reveal=2.0, target="observation", distribution="zipf")
    assert len(task_reasons(config, PARITY)) == 4
    with pytest.raises(Unsupported, match=r"length must be.*reveal must lie.*observation map.*zipf"):
        Task(config, PARITY, CPU)


@every(
    ("text", "message"),
    [
        ("bernoulli:1.5", r"must lie in \[0, 1\]"),
        ("bernoulli", r"must lie in \[0, 1\]"),
        ("ones:x", "must have a count"),
        ("ones:²", "must have a count"),
        ("ones:" + "9" * 5000, "must have a count"),
        ("periodic:02:0.5", r"must lie in \[0, 2\)"),
        ("uniform:3", "takes no parameter"),
    ],
)
def test_a_malformed_distribution_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_distribution(text, PARITY)


def test_bernoulli_needs_two_letters() -> None:
    with pytest.raises(InvalidInput, match="two letters"):
        parse_distribution("bernoulli:0.5", parse_spec("C3"))
