"""Values, roles and coordinates of variables on random automata, against words changed by hand."""

import numpy as np
import pytest

import krohn
from cascade.random_automata import random_automaton
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import LimitExceeded
from krohn.lab.interpret import lift
from krohn.lab.interpret.lift import CoordinateLift, lifts, plan_lift, series_lift
from krohn.lab.interpret.readings import Pairs, Readings, draw_pairs
from krohn.lab.interpret.swaps import telling_pairs
from krohn.lab.interpret.variables import (
    Variable,
    candidates,
    distinct,
    letter_variable,
    same_cut,
    state_variable,
    wall_states,
)

LENGTH = 7


def readings_of(automaton: Semiautomaton, count: int = 40) -> tuple[Readings, Pairs]:
    rng = np.random.default_rng(2)
    readings = Readings(automaton, rng.integers(automaton.num_letters, size=(count, LENGTH)))
    return readings, draw_pairs(readings, rng, 200)


def triples(pairs: Pairs) -> list[tuple[int, int, int]]:
    return list(zip(pairs.base.tolist(), pairs.source.tolist(), pairs.at.tolist(), strict=True))


def rotations(order: int, steps: list[int], start: int = 0) -> Semiautomaton:
    letters = [[(state + step) % order for state in range(order)] for step in steps]
    return Semiautomaton.from_letters(letters, start=start)


def named(automaton: Semiautomaton, name: str) -> Variable:
    return next(v for v in candidates(automaton, LENGTH)[0] if v.name == name)


def has(automaton: Semiautomaton, name: str) -> bool:
    return any(v.name == name for v in candidates(automaton, LENGTH)[0])


@every("seed", range(8))
def test_readings_are_runs_of_the_automaton(seed: int) -> None:
    readings, pairs = readings_of(random_automaton(seed, largest=5))
    for word, after, before in zip(
        readings.letters.tolist(), readings.states.tolist(), readings.before.tolist(), strict=True
    ):
        assert after == readings.automaton.run(word)
        assert before == [readings.automaton.start, *after[:-1]]
    assert (pairs.base != pairs.source).all()
    assert set(pairs.at.tolist()) == set(range(LENGTH))


Systems = list[tuple[Semiautomaton, CoordinateLift]]


@pytest.fixture(scope="module")
def systems() -> Systems:
    """Random automata, a line, the group of a square on its corners, and all ways to order three things."""
    groups = [([1, 2, 3, 0], [1, 0, 3, 2]), ([1, 0, 2], [0, 2, 1])]
    automata = [random_automaton(seed, largest=5) for seed in (0, 2, 3, 5, 10, 12)]
    automata += [Semiautomaton.from_letters(letters, start=2) for letters in groups]
    automata.append(krohn.zoo("Grid4"))
    return [(automaton, system) for automaton in automata for system in lifts(automaton)[0]]


def test_tuples_stand_for_the_states_that_words_lead_to(systems: Systems) -> None:
    assert {system.name for _, system in systems} == {"series", "plan", "holonomy"}
    for automaton, system in systems:
        readings, _ = readings_of(automaton)
        along = system.along(readings)
        assert (system.state[along[:, 0]] == readings.automaton.start).all()
        assert (system.state[along[:, 1:]] == readings.states).all()
        assert [system.decode(tuple(row)) for row in system.coordinates.tolist()] == system.state.tolist()
        assert len({tuple(row) for row in system.coordinates.tolist()}) == len(system.coordinates)


def test_a_coordinate_changed_before_the_letter_must_lead_to_one_state(
    systems: Systems,
) -> None:
    """By definition: try every value before the letter, keep those that give the value wanted after it."""
    decided = undecided = 0
    for _, system in systems:
        rows = [tuple(row) for row in system.coordinates.tolist()]
        for place in range(system.coordinates.shape[1]):
            table = system.during(place)
            for (number, letter, value), state in np.ndenumerate(table):
                reached = set()
                for other, row in enumerate(rows):
                    alike = all(p == place or row[p] == rows[number][p] for p in range(len(row)))
                    target = system.table[other, letter]
                    if alike and system.coordinates[target, place] == value:
                        reached.add(int(system.state[target]))
                assert state == (reached.pop() if len(reached) == 1 else -1)
                decided, undecided = decided + (state >= 0), undecided + (state < 0)
    assert decided > 100 < undecided


def test_predictions_before_and_after_the_letter_are_those_of_the_tuples(
    systems: Systems,
) -> None:
    for automaton, system in systems:
        readings, pairs = readings_of(automaton)
        along = system.along(readings)
        for part in system.parts:
            after, alone = (
                predict(part, readings, pairs).tolist()
                for predict in (system.predict_after, system.predict_alone)
            )
            for number, (base, source, at) in enumerate(triples(pairs)):
                own, given = (system.coordinates[along[word, at + 1]].tolist() for word in (base, source))
                for place in part.replaced:
                    own[place] = given[place]
                assert after[number] == system.decode(tuple(own))
                moved = system.coordinates[along[base, at]] != system.coordinates[along[base, at + 1]]
                rests = not any(moved[p] for p in range(len(own)) if p not in part.replaced)
                assert alone[number] == (after[number] if rests else -1)
            if len(part.replaced) == 1:
                table = system.during(part.replaced[0])
                during = system.predict_during(part.replaced[0], readings, pairs).tolist()
                for number, (base, source, at) in enumerate(triples(pairs)):
                    wanted = system.coordinates[along[source, at + 1], part.replaced[0]]
                    letter = readings.letters[base, at]
                    assert during[number] == table[along[base, at], letter, wanted]


def test_automata_without_coordinates_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LimitExceeded, match="not a permutation"):
        series_lift(krohn.zoo("FlipFlop"))
    monkeypatch.setattr(lift, "MAX_TUPLES", 3)
    with pytest.raises(LimitExceeded, match="more than 3 tuples"):
        series_lift(krohn.zoo("D6"))
    monkeypatch.setattr(lift, "cascade_plans", lambda *_: iter(()))
    with pytest.raises(LimitExceeded, match="no plan was found"):
        plan_lift(krohn.zoo("D6"))
    result, notes = lifts(krohn.zoo("A5"))
    assert [note.partition(":")[0] for note in notes] == [
        f"no coordinates by {name}" for name in ("series", "plan", "holonomy")
    ]
    assert result == []


@pytest.mark.parametrize(("order", "steps", "modulus"), [(6, [2, 3], 3), (5, [1, 2], 5), (4, [1, 3, 2], 4)])
def test_more_of_a_letter_is_the_word_with_that_many_more(order: int, steps: list[int], modulus: int) -> None:
    automaton = rotations(order, steps, start=1)
    readings, pairs = readings_of(automaton)
    variable = named(automaton, f"count of {automaton.letter_names[0]} modulo {modulus}")
    predicted = variable.roles["more of the letter"](readings, pairs).tolist()
    values, letters = variable.values(readings), readings.letters.tolist()
    for state, (base, source, at) in zip(predicted, triples(pairs), strict=True):
        own, given = (letters[word][: at + 1].count(0) for word in (base, source))
        assert values[base, at] == own % modulus
        assert automaton.run([*letters[base][: at + 1], *[0] * ((given - own) % modulus)])[-1] == state


@pytest.mark.parametrize("spec", ["Grid4", "D6", "FlipFlop"])
def test_letters_that_do_not_commute_are_not_simply_added(spec: str) -> None:
    result = [v for v in candidates(krohn.zoo(spec), LENGTH)[0] if v.family == "count"]
    assert result
    assert not any("more of the letter" in v.roles for v in result)


def test_a_count_with_several_letters_to_choose_from_says_a_state_only_if_they_agree() -> None:
    automaton = random_automaton(9, largest=5)
    assert automaton.num_letters == 3
    readings, pairs = readings_of(automaton)
    for variable in (v for v in candidates(automaton, LENGTH)[0] if v.name.startswith("count of 1")):
        modulus = int(variable.name.rpartition(" ")[2]) if "modulo" in variable.name else 100
        predicted = variable.roles["last letter changed"](readings, pairs).tolist()
        for state, (base, source, at) in zip(predicted, triples(pairs), strict=True):
            prefix, given = readings.letters[base, :at].tolist(), readings.letters[source, : at + 1].tolist()
            ends = {
                automaton.run([*prefix, letter])[-1]
                for letter in range(3)
                if ([*prefix, letter].count(1) - given.count(1)) % modulus == 0
            }
            assert state == (ends.pop() if len(ends) == 1 else -1)


def test_a_sum_of_steps_is_the_state_before_it_is_reduced() -> None:
    automaton = rotations(5, [2, 1, 0, 3])
    readings, _ = readings_of(automaton)
    values = named(automaton, "sum of steps").values(readings)
    assert (values % 5 * 2 % 5 == readings.states).all()  # the first letter of order 5 makes two steps
    assert values.max() > 5
    assert not has(rotations(5, [2, 1]), "sum of steps")  # two letters: their counts say as much
    assert not has(krohn.zoo("D6"), "sum of steps")
    assert not has(Semiautomaton.from_letters([[1, 2, 0], [2, 0, 1], [1, 0, 2]]), "sum of steps")


@pytest.mark.parametrize("seed", [1, 4])
def test_the_last_reset_of_another_word_and_then_the_own_letters(seed: int) -> None:
    free = random_automaton(seed, smallest=4, largest=4)
    automaton = Semiautomaton.from_letters([*free.letters, [2] * 4, [1] * 4], start=free.start)
    resets = {automaton.num_letters - 2, automaton.num_letters - 1}
    readings, pairs = readings_of(automaton)
    variable = named(automaton, "last reset")
    predicted, values = variable.roles["replaced"](readings, pairs).tolist(), variable.values(readings)
    letters = readings.letters.tolist()
    for state, (base, source, at) in zip(predicted, triples(pairs), strict=True):
        own, given = ([t for t in range(at + 1) if letters[word][t] in resets] for word in (base, source))
        assert values[base, at] == (letters[base][own[-1]] if own else -1)
        if own and given:
            word = [letters[source][given[-1]], *letters[base][own[-1] + 1 : at + 1]]
            assert automaton.run(word)[-1] == state
        else:
            assert state == -1


def test_walls_are_touched_where_a_moving_letter_does_not_move() -> None:
    automaton = krohn.zoo("Grid5")
    assert wall_states(automaton) == [0, 4]
    assert wall_states(krohn.zoo("D6")) == wall_states(krohn.zoo("FlipFlop")) == []
    with_rest = Semiautomaton.from_letters([[0, 1, 2, 3], [0, 0, 1, 2], [1, 2, 3, 3]])
    assert wall_states(with_rest) == [0, 3]  # resting everywhere makes no wall


def test_letters_back_are_letters_of_the_word() -> None:
    automaton = krohn.zoo("Dyck1,2")
    readings, _ = readings_of(automaton)
    for back in (1, 2, 3):
        values = named(automaton, f"letter {back} back").values(readings)
        assert (values[:, :back] == -1).all()
        assert (values[:, back:] == readings.letters[:, :-back]).all()
    assert not any(v.name == "letter 3 back" for v in candidates(automaton, 3)[0])


@pytest.mark.parametrize(("length", "widths"), [(4, [2]), (5, [2, 4]), (9, [2, 4, 8])])
def test_windows_are_shorter_than_the_word(length: int, widths: list[int]) -> None:
    result = [v.name for v in candidates(krohn.zoo("C2"), length)[0] if v.family == "scan"]
    assert result == [f"map of the last {width} letters" for width in widths]


def brute_cut(one: np.ndarray, other: np.ndarray) -> bool:
    """Same prefixes known, and two prefixes of one length agree in the one if and only if in the other."""
    for t in range(one.shape[1]):
        for v in range(len(one)):
            for w in range(v):
                if (one[v, t] == one[w, t]) != (other[v, t] == other[w, t]):
                    return False
    return bool(((one < 0) == (other < 0)).all())


@every("seed", range(12))
def test_two_variables_are_one_if_they_cut_prefixes_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = rng.integers(-1, 2, size=(5, 2))
    other = np.where(one >= 0, (one + rng.integers(2, size=2)) % 2, -1)  # renamed at each position
    assert same_cut(one, other)
    spoiled = other.copy()
    spoiled[rng.integers(5), rng.integers(2)] = 2
    assert same_cut(one, spoiled) == brute_cut(one, spoiled) == same_cut(spoiled, one)


def test_indistinguishable_variables_are_dropped_or_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    readings, _ = readings_of(krohn.zoo("C3"))
    constant = Variable("one", "count", "", lambda given: np.ones_like(given.letters))
    prefix = Variable("prefix", "count", "", lambda given: np.arange(given.letters.size).reshape(-1, LENGTH))
    variables, notes = distinct([constant, prefix, state_variable(), letter_variable()], readings)
    assert [v.name for v in variables] == ["state", "letter"]
    assert notes == ["prefix: 280 values are too many to tell apart"]
    monkeypatch.setattr("krohn.lab.interpret.variables.MAX_VALUES", 280)
    variables, notes = distinct([prefix, state_variable()], readings)
    assert not notes
    assert list(variables[0].roles) == ["moved with its state"]  # a prefix determines its state
    assert variables[1].roles.keys() == {"moved"}


@pytest.mark.parametrize(
    ("spec", "name"),
    [("D6", "letter"), ("Grid4", "map of the last 2 letters"), ("Grid4", "count of L"), ("A4", "state")],
)
def test_telling_and_quiet_pairs_by_their_definition(spec: str, name: str) -> None:
    readings, _ = readings_of(krohn.zoo(spec))
    variable = named(readings.automaton, name)
    role = next(iter(variable.roles.values()))
    chosen = telling_pairs(variable, role, readings, np.random.default_rng(0), 20)
    pairs = draw_pairs(readings, np.random.default_rng(0), 24 * 20)
    values, predicted, run = variable.values(readings), role(readings, pairs).tolist(), readings.automaton.run
    telling, quiet = [], []
    for state, (base, source, at) in zip(predicted, triples(pairs), strict=True):
        words = [readings.letters[word, : at + 1].tolist() for word in (base, source)]
        plain, full = (run(word)[-1] for word in words)
        lettered = run([*words[0][:-1], words[1][-1]])[-1]
        own, other = values[base, at], values[source, at]
        if state not in readings.states or min(own, other) < 0 or own == other:
            continue
        if state == plain and full != plain:
            quiet.append((base, source, at))
        if state != plain and (name == "state" or state != full) and (name == "letter" or state != lettered):
            telling.append((base, source, at, state))
    assert not chosen.alike
    assert [
        (*one, p) for one, p in zip(triples(chosen.pairs), chosen.predicted.tolist(), strict=True)
    ] == telling[:20]
    assert triples(chosen.quiet) == quiet[:10]
    assert len(telling) > 10
    assert name != "map of the last 2 letters" or len(quiet) > 10


def test_pairs_that_do_not_tell_a_variable_from_the_state_are_marked() -> None:
    """The count of ones modulo 2 is the state, so that no swap of it can say anything else."""
    readings, _ = readings_of(krohn.zoo("Parity"))
    variable = named(readings.automaton, "count of 1 modulo 2")
    role = variable.roles["more of the letter"]
    telling = telling_pairs(variable, role, readings, np.random.default_rng(0), 40)
    assert telling.alike
    assert not telling_pairs(
        variable, role, readings, np.random.default_rng(0), 40, [letter_variable()]
    ).alike
    assert len(telling) == 40
    assert (telling.predicted != readings.states[telling.pairs.base, telling.pairs.at]).all()
