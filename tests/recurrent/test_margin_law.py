"""The laws of margins are exact where their assumptions hold, and the page has what the script writes."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "research"))

import margin_law  # noqa: E402

T, AHEAD, SIZE = margin_law.T, 60, 5


def maps(kind: str) -> list[tuple[Tensor, Tensor]]:
    """An affine contraction for each of two letters; "one": the same one, alike in all directions."""
    generator = torch.Generator().manual_seed(3)
    result = []
    for _ in range(2):
        turn = torch.linalg.qr(torch.randn(SIZE, SIZE, generator=generator, dtype=torch.float64)).Q
        shrink = turn @ torch.diag(torch.tensor([0.95, 0.9, 0.8, 0.7, 1.0], dtype=torch.float64)) @ turn.mT
        result.append((shrink, torch.randn(SIZE, generator=generator, dtype=torch.float64)))
    if kind == "one":
        result = [(0.9 * torch.eye(SIZE, dtype=torch.float64), result[0][1])] * 2
    return result


def path(kind: str, tail: np.ndarray) -> Tensor:
    """Memories [letters, 2, numbers] of two words with the same letters after the first."""
    generator = torch.Generator().manual_seed(4)
    place = torch.randn(2, SIZE, generator=generator, dtype=torch.float64)
    places, letters = [place], maps(kind)
    for letter in tail:
        matrix, shift = letters[letter]
        place = place @ matrix.mT + shift
        places.append(place)
    return torch.stack(places)


@pytest.mark.parametrize("pattern", [(0, 1), (0, 0, 1, 1), (0,)])
def test_letters_maps_are_exact_where_letters_act_by_affine_maps(pattern) -> None:
    tail = np.tile(pattern, T + AHEAD)[: T + AHEAD - 1]
    true = path("affine", tail)
    predicted = margin_law.letter_maps(true[:T], tail)
    assert torch.allclose(predicted, true[T:], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(("kind", "law"), [("affine", "period"), ("one", "one_rate"), ("one", "period")])
def test_laws_of_periods_are_exact_where_their_assumption_holds(kind: str, law: str) -> None:
    """One rate needs the same rate in all directions; the period's map does not."""
    true = path(kind, np.tile((0, 1), AHEAD))
    ends, later = true[:T:2], true[T::2][:20]
    if law == "period":
        predicted = margin_law.period_map(ends, len(later))
    else:
        predicted = margin_law.one_rate(ends, 0.81, len(later))
    assert torch.allclose(predicted, later, atol=1e-3, rtol=1e-3)


def test_one_rate_fails_where_directions_differ() -> None:
    true = path("affine", np.tile((0, 1), AHEAD))
    ends, later = true[:T:2], true[T::2][:20]
    shrink = float(margin_law.apart(ends[-1]) / margin_law.apart(ends[-2]))
    gap = (margin_law.one_rate(ends, shrink, 20) - later).abs().max()
    assert float(gap) > 0.05


def test_the_first_wrong_letter_counts_both_words() -> None:
    answers = torch.tensor([[1, 1, 1, 2], [2, 2, 1, 2]])
    assert margin_law.first_wrong(answers) == 3
    assert margin_law.first_wrong(answers[:, :2]) is None


def test_the_table_of_the_page_is_what_the_script_writes() -> None:
    text = margin_law.PAGE.read_text(encoding="utf-8")
    assert f"<!-- margins -->\n{margin_law.table()}\n<!-- end -->" in text
