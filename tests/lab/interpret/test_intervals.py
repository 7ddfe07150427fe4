"""Wilson's interval of a share against its definition."""

import pytest

from krohn.lab.interpret.findings import wilson


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (1, 7), (3, 9), (9, 9), (20, 50)])
def test_wilson_ends_where_the_share_is_as_far_as_the_quantile_allows(successes: int, trials: int) -> None:
    share = successes / trials
    for end in wilson(successes, trials):
        if 0 < end < 1:
            assert (share - end) ** 2 == pytest.approx(1.959963984540054**2 * end * (1 - end) / trials)
