"""Named classes against their definitions, on all small automata; every witness is run as words."""

from itertools import combinations, product

import numpy as np
import pytest

import krohn
from every import every
from krohn import from_regex, zoo
from krohn.algebra.classes.balanced import counting_program, letter_seen
from krohn.algebra.classes.naming import NAMES, TIER, NamedClass
from krohn.algebra.classes.recognizer import recognizer
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import small_automata

Map = tuple[int, ...]
TIMES = (1, 2, 3, 6, 7)
SMALL = [*small_automata(2, 2), *small_automata(3, 2)]


def rows(automaton: Semiautomaton) -> dict[str, NamedClass]:
    return {row.name: row for row in krohn.analyze(automaton).classes.rows}


def languages() -> list[Semiautomaton]:
    """The automata of up to three states and two letters with every set of accepting states."""
    result = []
    for automaton in SMALL:
        for count in range(automaton.num_states + 1):
            for chosen in combinations(range(automaton.num_states), count):
                shown = tuple(int(q in chosen) for q in range(automaton.num_states))
                result.append(Semiautomaton(automaton.table, automaton.start, observe=shown))
    return result


# The definitions by identities, over all elements of the semigroup, listed naively.


def times(one: Map, two: Map) -> Map:
    return tuple(two[q] for q in one)


def steady(one: Map) -> Map:
    """The idempotent power."""
    power = one
    while times(power, power) != power:
        power = times(power, one)
    return power


def elements(letters: tuple[Map, ...]) -> list[Map]:
    found = list(dict.fromkeys(letters))
    for element in found:
        found += [x for x in {times(element, letter): 0 for letter in letters} if x not in found]
    return found


def by_identities(letters: tuple[Map, ...]) -> dict[str, bool]:
    """What the identities say; those of two idempotents only where there are few elements."""
    s = elements(letters)
    idempotents = [x for x in s if times(x, x) == x]
    one = tuple(range(len(letters[0])))
    pairs = [(x, y, steady(times(x, y))) for x in [*s, one] for y in [*s, one]]
    right = all(times(w, x) == w for x, _, w in pairs)
    left = all(times(y, w) == w for _, y, w in pairs)
    local = [(e, list(dict.fromkeys(times(times(e, x), e) for x in s))) for e in idempotents]
    aperiodic = all(times(steady(x), x) == steady(x) for x in s)
    result = {
        "R-trivial": right,
        "L-trivial": left,
        "piecewise testable": right and left,
        "star-free": aperiodic,
        "DA": all(
            times(times(w, y), w) == w
            for x in s
            for y in s
            for z in s
            for w in [steady(times(times(x, y), z))]
        ),
        "definite": all(times(x, e) == e for e in idempotents for x in s),
        "locally testable": all(
            times(x, x) == x and times(x, y) == times(y, x)
            for _, inside in local
            for x in inside
            for y in inside
        ),
        "locally J-trivial": all(
            times(w, x) == w and times(y, w) == w
            for _, inside in local
            for x in inside
            for y in inside
            for w in [steady(times(x, y))]
        ),
        "R∗G": all(
            e == f for e, f in combinations([*idempotents, one], 2) if (times(e, f), times(f, e)) == (f, e)
        ),
    }
    if len(s) <= 12:
        result["threshold testable"] = aperiodic and all(
            times(times(a, u), b) == times(times(b, u), a)
            for e in idempotents
            for f in idempotents
            for a in {times(times(e, x), f) for x in s}
            for b in {times(times(e, x), f) for x in s}
            for u in {times(times(f, x), e) for x in s}
        )
    return result


@every("automaton", SMALL)
def test_classes_of_states_are_those_of_the_identities(automaton: Semiautomaton) -> None:
    found = rows(automaton)
    part = recognizer(automaton)
    for name, holds in by_identities(part.letters).items():
        assert found[name].holds is holds, name
    tier = part.on_tier().letters
    if tier:
        of_tier = by_identities(tier)
        for name in ("locally testable", "locally J-trivial"):
            assert found[f"{name}{TIER}"].holds is of_tier[name]


def random_automaton(seed: int) -> Semiautomaton:
    dice = np.random.default_rng(seed)
    states, letters = int(dice.integers(2, 6)), int(dice.integers(1, 4))
    shown = tuple(dice.integers(2, size=states).tolist())
    return Semiautomaton(dice.integers(states, size=(states, letters)), 0, observe=shown)


@every("seed", range(200))
def test_classes_of_random_languages_are_those_of_the_identities(seed: int) -> None:
    part = recognizer(random_automaton(seed))
    if len(elements(part.letters)) > 60:
        return
    found = rows(random_automaton(seed))
    for name, holds in by_identities(part.letters).items():
        assert found[name].holds is holds, name


# Every witness, as words.


def check_witnesses(automaton: Semiautomaton) -> int:
    """Runs both words of each no, for several n; how many were run."""
    names, shown = automaton.letter_names, automaton.observe or tuple(range(automaton.num_states))
    count = 0
    for row in krohn.analyze(automaton).classes.rows:
        assert (row.witness is None) == (row.holds is not False), row.name
        if row.witness is None or not row.witness["patterns"]:
            assert row.holds or row.name == "solvable"
            continue
        for n in TIMES:
            seen = []
            for parts in row.witness["patterns"]:
                word = [x for part in parts for x in part["word"] * (n if part["repeated"] else 1)]
                seen.append(
                    shown[automaton.run([names.index(x) for x in word])[-1] if word else automaton.start]
                )
            expected = {
                "differ": len(set(seen)) == 2,
                "accepted": seen == [1],
                "refused": seen == [0],
                "last refused": seen == [1, 1, 0],
                "second refused": seen == [1, 0],
            }
            assert expected[row.witness["shows"]], (row.name, n, seen)
            count += 1
    return count


@every("seed", range(200))
def test_witnesses_hold_for_random_languages(seed: int) -> None:
    automaton = random_automaton(seed)
    held = [row for row in krohn.analyze(automaton).classes.rows if row.holds]
    assert check_witnesses(automaton) > 0 or len(held) >= len(NAMES) - 2


@pytest.mark.parametrize(
    "name", ["S3", "Q8", "FlipFlop", "abab", "Dyck2,2", "Grid4", "Parity", "T3", "Memory3"]
)
def test_witnesses_hold_for_named_automata(name: str) -> None:
    assert check_witnesses(zoo(name))


def test_the_two_words_of_a_flip_flop_lead_where_they_say() -> None:
    flip = rows(zoo("FlipFlop"))["R∗G"]
    assert flip.witness is not None
    assert flip.witness["shows"] == "differ"


# Ends, factors and subsequences against words.

WORDS = [word for size in range(9) for word in product((0, 1), repeat=size)]


def accepted(automaton: Semiautomaton) -> set[tuple[int, ...]]:
    assert automaton.observe is not None
    return {w for w in WORDS if automaton.observe[automaton.run(w)[-1] if w else automaton.start]}


def factors(word: tuple[int, ...], k: int) -> set[tuple[int, ...]]:
    marked = (2, *word, 3)
    return {marked[i : i + k] for i in range(max(1, len(marked) - k + 1))}


def subsequences(word: tuple[int, ...], k: int) -> set[tuple[int, ...]]:
    return {part for size in range(k + 1) for part in combinations(word, size)}


@pytest.mark.slow
def test_k_is_least_for_all_small_languages() -> None:
    """Strictly local, strictly piecewise, definite, finite: against all words of up to eight letters."""
    decided = 0
    for automaton in languages():
        good, found = accepted(automaton), rows(automaton)
        local = {k: strict(good, factors, k) for k in range(1, 6)}
        row = found["strictly local"]
        least = next((k for k in range(2, 6) if local[k]), None) if not local[1] else 1
        assert row.parameter == least or (row.parameter, least) == (2, 1), automaton
        row = found["strictly piecewise"]
        assert row.parameter == next((k for k in range(5) if strict(good, subsequences, k)), None)
        longest = max(map(len, good), default=-1)
        assert found["finite"].parameter == (longest if longest < 6 else None)
        decided += row.holds is True
    assert decided > 20


def strict(good: set[tuple[int, ...]], parts: object, k: int) -> bool:
    """Whether exactly the words whose parts all occur in accepted words are accepted."""
    assert callable(parts)
    allowed = {part for word in good for part in parts(word, k)}
    return all(
        (word in good) == (parts(word, k) <= allowed and bool(good)) for word in WORDS if len(word) < 8
    )


# C-RASP.


@pytest.mark.parametrize(
    ("pattern", "holds"),
    [
        ("(ab)*", True),
        ("(a|bac)*", True),
        ("(ab|bba)*", False),
        ("(a|b)*b", False),
        ("(aa)*", False),
        ("a*b*", True),
        ("(ab|bbaa)*", True),
        ("(a|b)*aa(a|b)*", False),
    ],
)
def test_counting_decides_what_is_published(pattern: str, holds: bool) -> None:
    assert rows(from_regex(pattern))["C-RASP"].holds is holds


def test_a_program_for_a_bac_star_is_right_on_all_short_words() -> None:
    """D = #b − #c, K = #(a where D = 1) − #c: what the balanced counts of (a|bac)* come to."""
    automaton = from_regex("(a|bac)*")
    assert automaton.observe is not None
    assert rows(automaton)["C-RASP"].parameter == 2
    for size in range(8):
        for word in product("abc", repeat=size):
            d = k = 0
            wrong = False
            for letter in word:
                wrong |= {"a": d == k == 1, "b": d != 0, "c": not d == k == 1}[letter] or d not in (0, 1)
                k += (letter == "a" and d == 1) - (letter == "c")
                d += (letter == "b") - (letter == "c")
            state = automaton.run(["abc".index(x) for x in word])[-1] if word else automaton.start
            assert (not wrong and d == 0) == bool(automaton.observe[state]), word


@every("seed", range(120))
def test_counting_lies_between_two_classes_and_is_of_the_monoid(seed: int) -> None:
    """R ⊆ C-RASP ⊆ star-free without flip-flops; the right Cayley graph of the monoid answers alike."""
    automaton = random_automaton(seed)
    found = rows(automaton)
    verdict = found["C-RASP"].holds
    assert not found["R-trivial"].holds or verdict
    assert not verdict or (found["star-free"].holds and found["R∗G"].holds)
    part = recognizer(automaton)
    monoid = [tuple(range(part.size))]
    for element in monoid:
        monoid += [x for x in {times(element, letter): 0 for letter in part.letters} if x not in monoid]
        if len(monoid) > 40:
            return
    table = [[monoid.index(times(element, letter)) for letter in part.letters] for element in monoid]
    assert counting_program(recognizer(Semiautomaton(np.array(table, dtype=np.int32), 0))).holds is verdict


def test_a_letter_that_is_seen_need_not_be_remembered() -> None:
    assert counting_program(letter_seen(recognizer(from_regex("(a|b)*b")))).holds
    assert not counting_program(letter_seen(recognizer(from_regex("(a|b)*bb")))).holds


# What is shown.


@pytest.mark.parametrize(
    ("spec", "name", "parameter"),
    [
        ("abc", "finite", 3),
        ("(a|b)*a", "definite", 1),
        ("(ab)*", "strictly local", 2),
        ("(ab*)*", "strictly local", 2),
        ("a*b*", "strictly local", 2),
        ("(a|b)*a(a|b)*", "piecewise testable", None),
        ("c*(ac*bc*)*", "strictly local on a tier", 2),
        ("(a|b)*aa(a|b)*", "locally testable", None),
        ("(aa)*", "quasi-aperiodic", None),
    ],
)
def test_the_smallest_class_is_named_first(spec: str, name: str, parameter: int | None) -> None:
    first = krohn.analyze(from_regex(spec)).to_json()["classes"][0]
    assert (first["name"], first["holds"]) == (name, True)
    assert parameter is None or first["parameter"] == parameter


SEPARATING = """
(aa)* (ab)* (a|b)*a b*ab* (a|b)*a(a|b)* a|bb (ab|bba)* b*a?b* a(a|b)* (a|b)*ab(a|b)* (b|ab*a)*ab* (a|bac)*
c*(ac*b)*c* (c*ac*b)*c* c*(ac*bc*)* (a|b)*b(a|c)* b*ab*ab* c*ac*(ac*bc*)* (a|b|c)*a(b|c)* c*(a|b)(a|b|c)*
(a|b)(a|b)* c*b(b|c)*a(b|c)* (a|b)*|(a|b)*cc*a(a|b|c)* (a|b|c)*ac*c(a|b)*|(a|b)*
(a|b)*|(a|b)*cc*(ac*bc*)* (a|b)*|(a|b)*cc*a(a|b|c)*c(a|b)*
"""


def test_no_class_lies_inside_an_earlier_one() -> None:
    """For each two names some language is in the later one and not in the earlier one."""
    found = [
        rows(automaton) for automaton in (*map(from_regex, SEPARATING.split()), zoo("A5"), zoo("Parity"))
    ]
    order = [name for name in NAMES if name != "not solvable"]
    inside = [
        (early, late)
        for early, late in combinations(order, 2)
        if all(row[early].holds for row in found if late in row and early in row and row[late].holds)
    ]
    assert inside == []


def test_states_that_cannot_be_told_apart_do_not_count() -> None:
    """A counter whose states all show the same is the empty language or that of all words."""
    turned = Semiautomaton(np.array([[1], [0]], dtype=np.int32), 0, observe=(1, 1))
    assert krohn.analyze(turned).to_json()["classes"][0]["name"] == "cofinite"
