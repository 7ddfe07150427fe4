"""Hand-built networks that attack assumptions of the checker: each is wrong when run, none is certified."""

import pytest

from check.attacks import CONTROLS, DECEIVED, Attack
from check.attacks_refused import NEVER
from check.judge import wrong_word
from every import every
from krohn.proving.attempts import arithmetic, attempt


@every(("attack", "dtype"), [*DECEIVED, *NEVER])
def test_a_network_that_runs_wrong_is_not_certified(attack: Attack, dtype: str) -> None:
    network, automaton, length = attack()
    assert wrong_word(network, automaton, length, dtype) is not None
    assert attempt(network, automaton, length, arithmetic(dtype))[1] is not None


@pytest.mark.parametrize(("control", "dtype"), CONTROLS)
def test_the_same_idea_with_harmless_sizes_is_certified(control: Attack, dtype: str) -> None:
    network, automaton, length = control()
    assert wrong_word(network, automaton, length, dtype) is None
    assert attempt(network, automaton, length, arithmetic(dtype))[1] is None
