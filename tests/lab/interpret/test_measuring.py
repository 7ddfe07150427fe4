"""Directions, selection and studies against their definitions; sampling of words; refusals."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

import krohn
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidFile, InvalidInput, Unsupported
from krohn.lab.interpret.findings import Amount, Share
from krohn.lab.interpret.readings import Pairs, Readings, draw_pairs
from krohn.lab.interpret.report import status
from krohn.lab.interpret.stages import Stages
from krohn.lab.interpret.subject import drawing, subject_of_compiled
from krohn.lab.interpret.subspace import RIDGES, Chosen, Spread, Trial, choose, directions, random_directions
from krohn.lab.interpret.swaps import Bench, Telling, shuffle_weights, whole_positions
from krohn.lab.interpret.understand import CONTROLS, Study, all_findings, changed_as_predicted, subject_of

SMALL = Amount.of(0.05)


def stream_of(seed: int, missing: float) -> tuple[torch.Tensor, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = rng.integers(3, size=(20, 4))
    values[rng.random(values.shape) < missing] = -1
    return torch.from_numpy(rng.normal(size=(20, 4, 5)) + values[..., None] * rng.normal(size=5)), values


@every("missing", [0.0, 0.2])
@every("seed", range(4))
def test_scatters_are_sums_over_cells(seed: int, missing: float) -> None:
    """Between: cells moved to their means, around the position's mean. Within: around the cell's mean."""
    stream, values = stream_of(seed, missing)
    x = stream.numpy()
    between, within, count = np.zeros((5, 5)), np.zeros((5, 5)), 0
    for t in range(4):
        known = x[values[:, t] >= 0, t]
        for value in range(3):
            cell = x[values[:, t] == value, t]
            count += len(cell)
            for row in cell:
                middle = cell.mean(axis=0)
                between += np.outer(middle - known.mean(axis=0), middle - known.mean(axis=0))
                within += np.outer(row - middle, row - middle)
    result = Spread(stream).scatters(values)
    assert np.allclose(result[0], between / count)
    assert np.allclose(result[1], within / count)


@pytest.mark.parametrize("ridge", RIDGES)
def test_directions_are_those_of_the_generalised_eigenproblem(ridge: float) -> None:
    stream, values = stream_of(5, 0.1)
    between, within = Spread(stream).scatters(values)
    (basis,) = directions(between, within, ridge)
    scale = float(torch.trace(between + within)) / 5
    sizes, vectors = np.linalg.eig(
        np.linalg.solve(within.numpy() + ridge * scale * np.eye(5), between.numpy())
    )
    order = np.argsort(-sizes.real)
    for count in range(1, 4):
        spanned = np.linalg.qr(vectors.real[:, order[:count]])[0]
        assert np.allclose(basis[:, :count] @ basis[:, :count].T, spanned @ spanned.T, atol=1e-6)


def test_random_directions_are_orthonormal_and_depend_on_the_seed() -> None:
    one, same, other = (random_directions(7, 3, seed=seed) for seed in (1, 1, 2))
    assert torch.allclose(one.T @ one, torch.eye(3, dtype=one.dtype))
    assert torch.equal(one, same)
    assert not torch.allclose(one, other)


class Table(Trial):
    """A trial whose shares are written down: by the role's name, the dimension and the ridge."""

    def __init__(self, first: dict[int, float], final: dict[int, float]) -> None:
        for name, value in (("table", (first, final)), ("asked", [])):
            object.__setattr__(self, name, value)

    def shares(self, layer: int, options: Sequence[Chosen]) -> list[float]:
        return [self.table[0].get(one.basis.shape[1], 0.0) for one in options]  # type: ignore[attr-defined]

    def all_shares(self, layer: int, options: Sequence[Chosen], first: Sequence[float]) -> list[float]:
        asked = [one.basis.shape[1] for one in options]
        self.asked.extend(asked)  # type: ignore[attr-defined]
        assert list(first) == self.shares(layer, options)
        return [self.table[1].get(size, 0.0) for size in asked]  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def scatter() -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(0)
    values = rng.integers(30, size=(200, 3))
    return Spread(torch.from_numpy(rng.normal(size=(200, 3, 5)) + 0.1 * values[..., None])).scatters(values)


@pytest.mark.parametrize(
    ("final", "size"),
    [
        ({1: 0.5, 2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0}, 3),  # one size in reserve
        ({1: 0.99, 2: 0.5, 3: 1.0}, 3),
        ({1: 0.98, 2: 0.5, 3: 1.0}, 3),
        ({1: 1.0, 2: 0.2, 3: 0.2, 4: 0.2, 5: 0.2}, 1),
        ({1: 0.5, 2: 0.995, 3: 0.5, 4: 1.0, 5: 0.5}, 4),
    ],
)
def test_the_smallest_good_subspace_with_one_size_in_reserve(
    final: dict[int, float], size: int, scatter: tuple[torch.Tensor, torch.Tensor]
) -> None:
    chosen = choose(1, scatter, {"only": Table(final, final)})
    assert chosen is not None
    assert chosen.basis.shape[1] == size


def test_of_equal_subspaces_the_smallest_eight_are_tried(scatter: tuple[torch.Tensor, torch.Tensor]) -> None:
    trial = Table(dict.fromkeys(range(1, 6), 1.0), {})
    choose(1, scatter, {"only": trial})
    assert trial.asked == [1, 1, 1, 2, 2, 2, 3, 3]  # type: ignore[attr-defined]


def test_what_fails_on_the_first_pairs_is_not_tried_again(scatter: tuple[torch.Tensor, torch.Tensor]) -> None:
    poor, good = {1: 0.2, 2: 0.7}, {1: 0.9, 2: 0.2, 3: 0.66}
    trials = {"poor": Table(poor, {2: 1.0}), "good": Table(good, {1: 0.9, 3: 0.5})}
    chosen = choose(1, scatter, trials)
    assert chosen is not None
    assert (chosen.role, chosen.basis.shape[1]) == ("poor", 2)  # decided by all pairs, not by the first
    assert set(trials["poor"].asked) == {2}  # type: ignore[attr-defined]
    assert set(trials["good"].asked) == {1, 3}  # type: ignore[attr-defined]


def test_nothing_is_chosen_where_nothing_differs() -> None:
    nothing = (torch.zeros(4, 4, dtype=torch.float64), torch.zeros(4, 4, dtype=torch.float64))
    assert choose(0, nothing, {"only": Table({}, {})}) is None


def test_an_untrained_network_keeps_no_matrix_in_order() -> None:
    """Under one of two seeds: a small matrix of zeros and two equal numbers may stay the same by chance."""
    stages = subject_of_compiled(krohn.compile("C3", length=4, method="scan")).stages
    mixed, again = shuffle_weights(stages, seed=0), shuffle_weights(stages, seed=1)

    def parts(one: Stages) -> list[torch.Tensor]:
        return [one.embedding, one.readout, *(matrix for block in one.blocks for matrix in block.matrices)]

    for before, *after in zip(parts(stages), parts(mixed), parts(again), strict=True):
        assert all(torch.equal(before.flatten().sort()[0], other.flatten().sort()[0]) for other in after)
        assert not all(torch.equal(before, other) for other in after)
    for one, other in zip(stages.blocks, mixed.blocks, strict=True):
        assert all(torch.equal(a.b, b.b) for a, b in zip(one.mlp, other.mlp, strict=True))
    assert torch.equal(shuffle_weights(stages, seed=0).readout, mixed.readout)
    assert not torch.equal(shuffle_weights(stages, seed=1).readout, mixed.readout)


@pytest.fixture(scope="module")
def study() -> Study:
    network = krohn.compile("D6", length=8, method="scan")
    return Study(subject_of_compiled(network), seed=2, amount=Amount.of(0.2), length=6)


def test_shares_of_a_trial_are_those_of_all_its_pairs(study: Study) -> None:
    rng = np.random.default_rng(0)
    pairs = draw_pairs(study.tune, rng, 20)
    predicted = rng.integers(6, size=20)
    nothing = pairs.where(np.zeros(20, dtype=bool))
    trial = Trial.of(study.tuning, Telling(pairs, predicted, False, nothing))
    options = [Chosen(random_directions(study.stages.dim, count, 1), "x", 0.0) for count in (1, 20)]
    answers = study.tuning.swapping(pairs).answers(1, [one.basis for one in options])
    hits = answers == predicted[:, None]
    first = trial.shares(1, options)
    assert first == pytest.approx(hits[:7].mean(axis=0).tolist())
    assert trial.all_shares(1, options, first) == pytest.approx(hits.mean(axis=0).tolist())
    assert hits.any()
    empty = Trial.of(study.tuning, Telling(nothing, predicted[:0], False, nothing))
    assert empty.all_shares(1, options, empty.shares(1, options)) == [0.0, 0.0]


def test_the_three_sets_of_words_are_different_words_of_one_draw(study: Study) -> None:
    sets = [study.fit, study.tune, study.judge]
    amount = study.amount
    assert [len(one.letters) for one in sets] == [amount.fit, amount.tune, amount.judge]
    together = np.concatenate([one.letters for one in sets])
    assert (together == study.subject.draw(2, len(together), 6)).all()
    assert study.accuracy == Share.of(amount.judge * 6, amount.judge * 6)
    assert (study.first_words(5).letters == study.judge.letters[:5]).all()


@pytest.mark.parametrize(("length", "few"), [(3, True), (16, False)])
def test_a_report_says_which_test_words_are_no_new_ones(length: int, few: bool) -> None:
    """There are eight words of three letters: on words that it was fitted on, a probe may read anything."""
    subject = subject_of_compiled(krohn.compile("C2", length=16, method="scan"))
    study = Study(subject, seed=0, amount=SMALL, length=length)
    fitted = {tuple(word) for word in study.fit.letters.tolist()}
    share = np.mean([tuple(word) in fitted for word in study.judge.letters.tolist()])
    said = [note for note in study.notes if "words that were fitted on" in note]
    assert (share > 0.5) == few
    assert [note.startswith(f"{share:.0%} of the test words") for note in said] == [True] * few


def test_a_finding_is_what_swaps_of_words_for_judging_give(study: Study) -> None:
    window = next(v for v in study.variables if v.name == "map of the last 2 letters")
    rows = study.findings(window)
    assert [row.layer for row in rows] == list(range(len(study.stages.blocks) + 1))
    assert [row.final for row in rows] == [False] * (len(rows) - 1) + [True]
    held = rows[1]
    assert held.causal is not None
    assert held.causal.value == 1.0
    assert set(held.controls) == set(CONTROLS)
    assert held.rest is not None
    assert max(held.rest.value, held.controls["random"].value, held.controls["untrained"].value) < 0.5
    assert held.chance is not None
    assert held.chance < 0.6
    assert held.probe.low <= held.probe.value <= held.probe.high
    assert held.selectivity > 0.3


def test_controls_are_not_the_finding_itself() -> None:
    """Swaps of a network's own sections are followed; along chance, shuffled labels or weights, few are.

    A single control may do as well by chance in so small a stream, so four seeds are taken together.
    """
    network = krohn.compile("D6", length=12, method="cascade")
    rows = []
    for seed in range(4):
        study = Study(subject_of_compiled(network), seed=seed, amount=Amount.of(0.5), length=8)
        own = [v for v in study.variables if v.name.startswith("derived section")]
        rows += [row for v in own for row in study.findings(v) if row.causal and row.causal.value == 1.0]
    assert "held" in {status(row) for row in rows}
    shares = {name: [row.controls[name].value for row in rows] for name in CONTROLS}
    assert len(rows) >= 12
    assert np.mean(shares["random"]) < 0.2
    assert np.mean(shares["shuffled"]) < 0.5
    assert max(shares["untrained"]) < 0.2
    assert min(row.selectivity for row in rows) > 0.3
    # Less what a probe makes of shuffled labels, not less than guessing: the two differ by chance.
    assert any(abs(row.selectivity - (row.probe.value - row.baseline)) > 0.01 for row in rows)


def test_a_swap_that_changes_nothing_is_not_a_hit(study: Study) -> None:
    pairs = draw_pairs(study.judge, np.random.default_rng(4), 30)
    plain = study.judging.passed.answers[pairs.base, pairs.at]
    predicted = np.where(np.arange(30) % 3 == 0, plain, (plain + 1) % 6)
    answers = np.where(np.arange(30) % 2 == 0, predicted, (predicted + 2) % 6)[:20]
    hits = changed_as_predicted(study.judging, answers, Telling(pairs, predicted, False, pairs))
    assert hits.tolist() == [number % 2 == 0 and number % 3 > 0 for number in range(20)]


def test_findings_do_not_depend_on_the_number_of_cores(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    study.variables = study.variables[:4]
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        result = []
        for cores in (1, 3):
            monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
            result.append(all_findings(study))
            assert torch.get_num_threads() == 2
        assert result[0] == result[1]
    finally:
        torch.set_num_threads(before)


def test_whole_positions_bring_the_letter_first_and_the_state_last(study: Study) -> None:
    """Read off single swaps: the stream of the source at one position, everything else of the base."""
    rows = whole_positions(study.judging, study.judge, seed=2, count=30)
    pairs = draw_pairs(study.judge, np.random.default_rng([2, 2]), 240)
    stages, passed, table = study.stages, study.judging.passed, study.judge.table
    for layer, row in enumerate(rows):
        hits = {"state": 0, "letter": 0}
        asked = 0
        for base, source, at in zip(
            *(one.tolist() for one in (pairs.base, pairs.source, pairs.at)), strict=True
        ):
            state = study.judge.states[source, at]
            lettered = table[study.judge.before[base, at], study.judge.letters[source, at]]
            if state == lettered or lettered not in study.judge.states or asked == 30:
                continue
            asked += 1
            stream = passed.streams[layer][[base]].clone()
            stream[0, at + len(stages.prompt)] = passed.streams[layer][source, at + len(stages.prompt)]
            answer = int(stages.logits_from(layer, stream)[0, at].argmax())
            hits = {
                "state": hits["state"] + (answer == state),
                "letter": hits["letter"] + (answer == lettered),
            }
        assert {name: row[name] for name in hits} == {
            name: Share.of(hit, asked) for name, hit in hits.items()
        }
    assert rows[0]["letter"].value == rows[-1]["state"].value == 1.0


def test_where_nothing_can_be_asked_nothing_is_claimed() -> None:
    """One letter: every word is the same, so no swap changes anything."""
    automaton = Semiautomaton.from_letters([[1, 2, 0]])
    network = krohn.compile(automaton, length=4)
    report = krohn.understand(network, effort=0.05)
    assert report.accuracy.value == 1.0
    assert all(row.causal is None for _, rows in report.variables for row in rows)
    assert [row["state"].value for row in report.whole] == [0.0] * (report.layers + 1)


def test_networks_that_output_observations_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    automaton = Semiautomaton.from_letters([[1, 0, 2], [0, 2, 1]], observe=(0, 0, 1))
    network = krohn.compile(automaton, length=4, target="observation")
    with pytest.raises(Unsupported, match="outputs observations"):
        subject_of_compiled(network)
    krohn.export(network, "hf", tmp_path / "hf", proof=False)
    with pytest.raises(Unsupported, match="outputs observations"):
        subject_of(tmp_path / "hf")
    with pytest.raises(InvalidFile, match="must exist and be a directory"):
        subject_of(tmp_path / "nothing")


@pytest.mark.parametrize("length", [1, 9])
def test_words_must_fit_the_network(length: int) -> None:
    with pytest.raises(InvalidInput, match=f"between 2 and 8 letters for this network; got {length}"):
        krohn.understand(krohn.compile("C2", length=8), length=length)


def test_a_network_for_shorter_words_is_refused_with_its_length() -> None:
    with pytest.raises(InvalidInput, match="at least 2 letters, and this network takes 1"):
        krohn.understand(krohn.compile("C2", length=1))


def test_words_are_drawn_by_the_seed() -> None:
    draw = drawing(krohn.zoo("D6"))
    assert (draw(1, 30, 9) == draw(1, 30, 9)).all()
    assert (draw(1, 30, 9) != draw(2, 30, 9)).any()


def test_a_run_draws_words_of_its_own_task() -> None:
    folder = Path(__file__).parents[3] / "results" / "networks" / "grid9-gpt"
    subject = subject_of(folder)
    words = subject.draw(0, 50, 12)
    assert words.shape == (50, 12)
    assert set(np.unique(words).tolist()) == {0, 1}
    assert (words == subject.draw(0, 50, 12)).all()
    assert (words != subject.draw(1, 50, 12)).any()
    assert subject.kind == "trained"
    readings = Readings(subject.automaton, words)
    assert (subject.stages.run(words).answers == readings.states).mean() > 0.95


def test_without_pairs_there_is_no_finding() -> None:
    network = krohn.compile("C2", length=4)
    subject = subject_of_compiled(network)
    bench = Bench(subject.stages, subject.stages.run(np.zeros((2, 4), dtype=np.int64)))
    none = np.zeros(0, dtype=np.int64)
    assert bench.swapping(Pairs(none, none, none)).answers(
        0, [random_directions(subject.stages.dim, 1, 0)]
    ).shape == (0, 1)
