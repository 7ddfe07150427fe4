"""Heads made by hand get the score of what they were made to do."""

import numpy as np
import pytest

from krohn.lab.figures.charts import AttentionMap, picture
from krohn.lab.interpret.attention import HeadScore, best_heads, last_visit, score_heads, telling_words
from krohn.lab.interpret.packed_shares import pack_shares, unpack_shares

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
    result = heads()
    outcome = score_heads(np.stack(list(result.values()))[None], walks(), LAST)
    return dict(zip(result, outcome, strict=True))


def test_the_last_visit_is_what_a_loop_finds() -> None:
    for places in ((0,), (LAST,), (0, LAST)):
        result = last_visit(walks(), places)
        for word, states in enumerate(walks().tolist()):
            assert result[word].tolist() == [naive_last_visit(states, places, t) for t in range(LENGTH)]


def test_each_made_head_is_found_for_what_it_is() -> None:
    result = scores()
    assert {name: score.kind for name, score in result.items()} == {
        "uniform": "uniform",
        "left": "left",
        "right": "right",
        "itself": "",
        "previous": "",
        "first": "",
    }
    best = best_heads(list(result.values()))
    assert best == {kind: result[kind] for kind in ("uniform", "left", "right")}


def test_a_perfect_detector_scores_near_one_and_the_plain_average_scores_one() -> None:
    result = scores()
    assert result["uniform"].uniform == pytest.approx(1)
    assert result["left"].left > 0.75
    assert result["left"].right < result["left"].left / 2
    assert result["left"].uniform < 0.3


def test_heads_that_attend_by_position_alone_are_not_detectors() -> None:
    result = scores()
    for name in ("itself", "previous", "first", "uniform"):
        assert abs(result[name].left) < 0.05
        assert abs(result[name].right) < 0.05


def test_attention_before_the_wall_is_counted() -> None:
    result = scores()
    assert result["first"].before == pytest.approx(1)
    assert result["itself"].before == 0
    assert result["left"].before < result["uniform"].before


def test_walks_that_never_meet_a_wall_score_nothing() -> None:
    states = np.ones((2, 6), dtype=np.int64)
    (score,) = score_heads(pointing(np.zeros((2, 6), dtype=np.int64))[None, None], states, LAST)
    assert (score.left, score.right, score.before) == (0, 0, 0)


def long_walks(words: int = 64, length: int = 128, last: int = 8) -> np.ndarray:
    moves = np.random.default_rng(9).choice([-1, 1], size=(words, length))
    states = np.zeros((words, length), dtype=np.int64)
    for word in range(words):
        place = 0
        for t in range(length):
            place = min(max(place + int(moves[word, t]), 0), last)
            states[word, t] = place
    return states


def test_a_head_on_the_last_right_visit_scores_as_right_alone_and_is_drawn_there() -> None:
    states = long_walks()
    attention = pointing(last_visit(states, (8,)))
    (score,) = score_heads(attention[None, None], states, 8)
    # One less what the head would put there by chance: walks of other words have been there too.
    assert score.right > 0.9
    assert abs(score.left) < 0.1
    word = telling_words(states, 8, 1)[0]
    weights = unpack_shares(pack_shares(attention[word]))
    pixels = picture(AttentionMap(title="", weights=weights, states=states[word].tolist(), last_state=8))
    visited = states[word].tolist()
    brightest = pixels.sum(-1)
    for t in range(128):
        wanted = naive_last_visit(visited, (8,), t)
        assert int(brightest[t, : t + 1].argmax()) == (wanted if wanted >= 0 else t)


def test_a_head_on_the_last_wall_of_either_kind_scores_on_both_sides() -> None:
    states = long_walks()
    (score,) = score_heads(pointing(last_visit(states, (0, 8)))[None, None], states, 8)
    assert min(score.left, score.right) > 0.8


def test_the_telling_words_go_from_wall_to_wall() -> None:
    states = np.array(
        [[0, 1, 0, 1, 0, 1, 2], [0, 1, 2, 1, 0, 1, 2], [1, 1, 1, 1, 1, 1, 1], [0, 1, 2, 2, 1, 0, 0]]
    )
    assert telling_words(states, 2, 3) == [1, 3, 0]
