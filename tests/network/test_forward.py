"""The plain forward pass: masks, blocks of rows, refusals."""

import numpy as np
import pytest

from krohn.errors import InvalidInput
from krohn.network import forward
from krohn.network.forward import apply_mlp, attend, caster, logits, visible
from krohn.network.transformer import SIN, Head, Mlp
from network.hand_written_network import parity_transformer


def test_masks_show_what_they_say() -> None:
    assert visible(3).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert visible(4, range(2, 4)).tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    words = np.random.default_rng(0).integers(0, 2, (7, 6))
    whole = logits(parity_transformer(), words)
    monkeypatch.setattr(forward, "SCORE_ENTRIES", 20)
    assert np.allclose(logits(parity_transformer(), words), whole)


def test_a_head_is_the_softmax_of_its_scores() -> None:
    rng = np.random.default_rng(1)
    head = Head(*(rng.normal(size=shape) for shape in ((4, 2), (4, 2), (4, 3), (3, 4))))
    stream = rng.normal(size=(2, 5, 4))
    out = attend(head, stream, caster("float64"))
    for word in range(2):
        for t in range(5):
            scores = [stream[word, t] @ head.query @ head.key.T @ stream[word, i] for i in range(t + 1)]
            weights = np.exp(scores) / np.exp(scores).sum()
            mixed = sum(w * stream[word, i] @ head.value @ head.output for i, w in enumerate(weights))
            assert np.allclose(out[word, t], mixed)


def test_units_have_the_activation_they_are_given() -> None:
    mlp = Mlp((np.eye(2), np.eye(2)), (np.zeros(2), np.zeros(2)), (np.array([0, SIN]),))
    assert np.allclose(
        apply_mlp(mlp, np.array([[-2.0, -2.0], [3.0, 3.0]]), caster("float64")),
        [[0, np.sin(-2)], [3, np.sin(3)]],
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (np.zeros((1, 7), dtype=int), "length ≤ 6; got 7"),
        (np.array([[2]]), r"\[0, 2\); got 2"),
        (np.array([-1]), "batch, length"),
    ],
)
def test_words_that_do_not_fit_are_refused(words: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        logits(parity_transformer(), words)
