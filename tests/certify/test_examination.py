"""What is said about networks without a proof."""

import numpy as np
import numpy.typing as npt
import pytest

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.simulation import simulate
from krohn.certify.examination import clopper_pearson, examine
from krohn.errors import InvalidInput

PARITY = Semiautomaton.from_letters([(0, 1), (1, 0)])


def right(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return simulate(PARITY, words).astype(np.int64)


def forgets_after_ten(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    states = right(words)
    states[:, 10:] = 0
    return states


def test_a_perfect_network_is_reported_without_being_called_certified() -> None:
    report = examine(right, PARITY, 20, samples=100)
    assert (report.exhaustive, report.exhaustive_wrong, report.right) == (13, 0, 100)
    assert report.counterexample is None
    assert report.high == 1.0
    assert report.low == pytest.approx(0.025 ** (1 / 100), abs=1e-6)
    assert not hasattr(report, "certified")


def test_a_network_that_fails_late_is_found_out_by_sampling() -> None:
    report = examine(forgets_after_ten, PARITY, 20, samples=50, max_words=100)
    assert report.exhaustive_wrong == 0
    assert report.right == 0
    assert report.counterexample is not None
    word = report.counterexample.word
    assert len(word) == 11
    assert PARITY.run(word)[-1] == report.counterexample.expected == 1


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 10, 0.0, 0.308498),
        (5, 10, 0.187086, 0.812914),
        (10, 10, 0.691502, 1.0),
        (90, 100, 0.823778, 0.950995),
    ],
)
def test_the_interval_is_that_of_clopper_and_pearson(
    successes: int, trials: int, low: float, high: float
) -> None:
    assert clopper_pearson(successes, trials, 0.95) == pytest.approx((low, high), abs=2e-6)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(InvalidInput, match="must be positive"):
        examine(right, PARITY, 0)
