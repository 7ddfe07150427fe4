"""Errata of the background, the examples and the statement of Theorem 2: what is printed, computed."""

import math

import krohn
from krohn.algebra.group_names import group_name
from krohn.algebra.permgroup import PermutationGroup
from krohn.automata.quotients import minimize


def test_erratum_43_a_context_free_language_has_no_finite_automaton() -> None:
    """Each greater bound on the depth of brackets needs more states, so no automaton does all depths."""
    sizes = [minimize(krohn.zoo(f"Dyck{depth},1")).num_states for depth in range(1, 6)]
    assert sizes == sorted(set(sizes))


def test_erratum_44_c4_is_a_smaller_extension_that_does_not_split() -> None:
    """A split extension has a complement: a subgroup that meets the kernel in the identity alone."""
    turn = (1, 2, 3, 0)
    c4 = PermutationGroup([turn], degree=4)
    assert (c4.order, group_name(c4)) == (4, "C4")
    powers = [tuple((point + k) % 4 for point in range(4)) for k in range(4)]
    kernel = {powers[0], powers[2]}
    complements = [
        {powers[0], other}
        for other in powers[1:]
        if PermutationGroup([other], degree=4).order == 2 and {powers[0], other} & kernel == {powers[0]}
    ]
    assert complements == []
    assert c4.order < krohn.zoo("Q8").num_states


def test_erratum_45_the_norms_of_the_statement_are_less_than_those_of_the_proof() -> None:
    """All maps of three points: the term that is left out decides where words are short."""
    automaton = krohn.zoo("T3")
    states = automaton.num_states
    size = krohn.analyze(automaton).semigroup_size
    assert size == 27
    for length, decides in ((2, True), (64, False)):
        stated = 6 * states * length * math.log(length)
        left_out = 2**states * (size + 5 * states)
        assert (left_out > stated) is decides


def test_erratum_46_the_cube_has_a_copy_of_c3_for_each_place_not_for_each_element() -> None:
    over_places = 3**8 * math.factorial(8) * 2**12 * math.factorial(12)
    assert over_places == 12 * krohn.analyze("Rubik").semigroup_size


def test_erratum_47_the_failure_state_of_abab_does_not_accept() -> None:
    automaton = krohn.zoo("abab@accept")
    assert automaton.observe is not None
    shown = "".join(str(automaton.observe[state]) for state in automaton.run("ababbabab"))
    assert shown == "000100000" != "000111111"
