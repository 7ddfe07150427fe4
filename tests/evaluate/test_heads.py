"""Heads made by hand get the score of what they were made to do."""

import numpy as np
import pytest

from krohn.errors import InvalidInput
from krohn.evaluate.heads import HeadScore, best_heads, last_visit, score_heads

LENGTH, LAST = 40, 4


def walks(words: int = 30) -> np.ndarray:
    rng = np.random.default_rng(5)
    states = np.zeros((words, LENGTH), dtype=np.int64)
    place = np.zeros(words, dtype=np.int64)
    for t in range(LENGTH):
        place = np.clip(place + rng.choice([-1, 1], size=words), 0, LAST)
        states[:, t] = place
    return states


def naive_last_visit(states: list[int], places: tuple[int, ...], t: int) -> int:
    return max((i for i in range(t + 1) if states[i] in places), default=-1)


def pointing(targets: np.ndarray) -> np.ndarray:
    """Attention wholly on ``targets[word, t]``, on position t itself where the target is -1."""
    words, length = targets.shape
    attention = np.zeros((words, length, length))
    for word in range(words):
        for t in range(length):
            attention[word, t, targets[word, t] if targets[word, t] >= 0 else t] = 1
    return attention


def heads() -> dict[str, np.ndarray]:
    states = walks()
    uniform = np.tril(np.ones((LENGTH, LENGTH))) / np.arange(1, LENGTH + 1)[:, None]
    previous = np.broadcast_to(np.maximum(np.arange(LENGTH) - 1, 0), states.shape)
    return {
        "uniform": np.broadcast_to(uniform, (len(states), LENGTH, LENGTH)),
        "left": pointing(last_visit(states, (0,))),
        "right": pointing(last_visit(states, (LAST,))),
        "itself": pointing(np.broadcast_to(np.arange(LENGTH), states.shape)),
        "previous": pointing(previous),
        "first": pointing(np.zeros_like(states)),
    }


def scores() -> dict[str, HeadScore]:
    made = heads()
    found = score_heads(np.stack(list(made.values()))[None], walks(), LAST)
    return dict(zip(made, found, strict=True))


def test_the_last_visit_is_what_a_loop_finds() -> None:
    for places in ((0,), (LAST,), (0, LAST)):
        found = last_visit(walks(), places)
        for word, states in enumerate(walks().tolist()):
            assert found[word].tolist() == [naive_last_visit(states, places, t) for t in range(LENGTH)]


def test_each_made_head_is_found_for_what_it_is() -> None:
    found = scores()
    assert {name: score.kind for name, score in found.items()} == {
        "uniform": "uniform",
        "left": "left",
        "right": "right",
        "itself": "",
        "previous": "",
        "first": "",
    }
    best = best_heads(list(found.values()))
    assert best == {kind: found[kind] for kind in ("uniform", "left", "right")}


def test_a_perfect_detector_scores_near_one_and_the_plain_average_scores_one() -> None:
    found = scores()
    assert found["uniform"].uniform == pytest.approx(1)
    assert found["left"].left > 0.75
    assert found["left"].right < found["left"].left / 2
    assert found["left"].uniform < 0.3


def test_heads_that_attend_by_position_alone_are_not_detectors() -> None:
    found = scores()
    for name in ("itself", "previous", "first", "uniform"):
        assert abs(found[name].left) < 0.05
        assert abs(found[name].right) < 0.05


def test_attention_before_the_wall_is_counted() -> None:
    found = scores()
    assert found["first"].before == pytest.approx(1)
    assert found["itself"].before == 0
    assert found["left"].before < found["uniform"].before


def test_walks_that_never_meet_a_wall_score_nothing() -> None:
    states = np.ones((2, 6), dtype=np.int64)
    (score,) = score_heads(pointing(np.zeros((2, 6), dtype=np.int64))[None, None], states, LAST)
    assert (score.left, score.right, score.before) == (0, 0, 0)


def test_states_that_do_not_fit_the_attention_are_refused() -> None:
    attention = np.zeros((1, 1, 2, 6, 6))
    with pytest.raises(InvalidInput, match="one for each word and position"):
        score_heads(attention, np.zeros((2, 5), dtype=np.int64), LAST)
    with pytest.raises(InvalidInput, match="at least two words"):
        score_heads(attention[:, :, :1], np.zeros((1, 6), dtype=np.int64), LAST)
