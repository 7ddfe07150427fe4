"""The ceiling of networks without positions: the two published numbers, and every word one by one."""

from collections import Counter, defaultdict
from itertools import product

import pytest
from ceilings import position_free_ceiling

from krohn.automata.zoo import parse_spec
from krohn.errors import Unsupported


def by_listing(spec: str, length: int) -> float:
    """Every uniform word; one answer for all prefixes that repeat one letter, the right one elsewhere."""
    automaton = parse_spec(spec)
    answers: dict[int, Counter[int]] = defaultdict(Counter)
    right = 0
    for word in product(range(automaton.num_letters), repeat=length):
        state = automaton.start
        for place, letter in enumerate(word):
            state = int(automaton.table[state, letter])
            if set(word[: place + 1]) == {word[0]}:
                answers[word[0]][state] += 1
            else:
                right += 1
    right += sum(max(result.values()) for result in answers.values())
    return right / (length * automaton.num_letters**length)


def test_parity_and_dyck_at_forty_letters() -> None:
    assert f"{float(position_free_ceiling(parse_spec('C2'), 40)):.4f}" == "0.9917"
    assert f"{float(position_free_ceiling(parse_spec('Dyck4,2'), 40)):.4f}" == "0.9880"


@pytest.mark.parametrize(("spec", "length"), [("C2", 6), ("C3", 5), ("Grid4", 7), ("D6", 5), ("Q8", 4)])
def test_the_ceiling_is_that_of_all_words(spec: str, length: int) -> None:
    assert float(position_free_ceiling(parse_spec(spec), length)) == pytest.approx(by_listing(spec, length))


def test_other_distributions_are_refused() -> None:
    with pytest.raises(Unsupported, match="uniform or feasible"):
        position_free_ceiling(parse_spec("C2"), 5, "bernoulli:0.3")
