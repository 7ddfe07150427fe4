"""Semigroups of random automata by the definitions of the textbooks: elements, ideals, groups."""

import random
from collections import Counter

from every import every
from krohn.algebra.analysis import algebra_of
from krohn.algebra.green import Eggbox
from krohn.algebra.packed import product_of_word
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transition_semigroup import TransitionSemigroup
from krohn.automata.semiautomaton import Semiautomaton

Map = tuple[int, ...]


def random_letters(seed: int) -> list[Map]:
    dice = random.Random(seed)
    size = dice.randint(2, 4)
    kinds = [dice.random() < 0.4 for _ in range(dice.randint(1, 3))]
    return [
        tuple(dice.sample(range(size), size) if permutes else dice.choices(range(size), k=size))
        for permutes in kinds
    ]


def then(first: Map, second: Map) -> Map:
    return tuple(second[point] for point in first)


def generated(letters: list[Map]) -> list[Map]:
    result = set(letters)
    while True:
        more = {then(element, letter) for element in result for letter in letters} - result
        if not more:
            return sorted(result)
        result |= more


class Definitions:
    """Green's relations from principal ideals S¹s, sS¹ and S¹sS¹, written out."""

    def __init__(self, letters: list[Map]) -> None:
        self.elements = generated(letters)
        one = tuple(range(len(letters[0])))
        self.monoid = sorted({*self.elements, one})
        self.right = {s: frozenset(then(s, t) for t in self.monoid) for s in self.elements}
        self.left = {s: frozenset(then(t, s) for t in self.monoid) for s in self.elements}
        two_sided = {
            ideal: frozenset().union(*(self.left[r] for r in ideal)) for ideal in set(self.right.values())
        }
        self.both = {s: two_sided[self.right[s]] for s in self.elements}
        self.idempotents = [e for e in self.elements if then(e, e) == e]

    def h_class(self, element: Map) -> list[Map]:
        key = (self.right[element], self.left[element])
        return [s for s in self.elements if (self.right[s], self.left[s]) == key]

    def counts(self) -> dict[str, int]:
        regular = {self.both[e] for e in self.idempotents}
        return {
            "num_d": len(set(self.both.values())),  # in a finite semigroup D = J
            "num_r": len(set(self.right.values())),
            "num_l": len(set(self.left.values())),
            "num_h": len({(self.right[s], self.left[s]) for s in self.elements}),
            "num_regular_d": len(regular),
            "num_idempotents": len(self.idempotents),
        }

    def groups(self) -> Counter[tuple[int, tuple[int, ...]]]:
        """One maximal subgroup of each regular D-class, if not trivial: order, and how often which order."""
        result: Counter[tuple[int, tuple[int, ...]]] = Counter()
        seen = set()
        for idempotent in self.idempotents:
            members = self.h_class(idempotent)
            if self.both[idempotent] not in seen and len(members) > 1:
                result[len(members), element_orders(members, idempotent)] += 1
            seen.add(self.both[idempotent])
        return result


def element_orders(members: list[Map], one: Map) -> tuple[int, ...]:
    orders = []
    for member in members:
        power, order = member, 1
        while power != one:
            power, order = then(power, member), order + 1
        orders.append(order)
    return tuple(sorted(orders))


def orders_in(group: PermutationGroup) -> tuple[int, ...]:
    return element_orders([tuple(g) for g in group.elements()], tuple(range(group.degree)))


@every("seed", range(40))
def test_the_report_says_what_the_definitions_say(seed: int) -> None:
    letters = random_letters(seed)
    meant, report = Definitions(letters), algebra_of(Semiautomaton.from_letters(letters))
    assert (report.semigroup_size, report.monoid_size) == (len(meant.elements), len(meant.monoid))
    assert report.green is not None
    assert {key: getattr(report.green, key) for key in meant.counts()} == meant.counts()
    assert report.is_group == all(len(set(s)) == len(s) for s in meant.elements)
    result = Counter((part.order, orders_in(part.group)) for part in report.groups)
    assert result == meant.groups()
    assert report.is_aperiodic == (not result)


@every("seed", range(40, 60))
def test_a_group_sits_where_the_report_says(seed: int) -> None:
    letters = random_letters(seed)
    meant, report = Definitions(letters), algebra_of(Semiautomaton.from_letters(letters))
    for part in report.groups:
        assert part.idempotent is not None
        one = product_of_word(letters, part.idempotent.word * part.idempotent.exponent)
        assert one == part.idempotent.images == then(one, one)
        assert set(part.states) == set(one)
        members = {tuple(s[state] for state in part.states) for s in meant.h_class(one)}
        acting = {tuple(part.states[place] for place in g) for g in part.group.elements()}
        assert members == acting


@every("seed", range(12))
def test_names_and_doubled_letters_change_no_verdict(seed: int) -> None:
    letters = random_letters(seed)
    dice = random.Random(seed)
    size = len(letters[0])
    renamed = dice.sample(range(size), size)
    back = [renamed.index(state) for state in range(size)]
    moved = [tuple(renamed[letter[back[state]]] for state in range(size)) for letter in letters]
    dice.shuffle(moved)
    products = [*letters, then(letters[0], letters[-1])]  # a word as a letter of its own

    def verdicts(given: list[Map]) -> tuple[object, ...]:
        report = algebra_of(Semiautomaton.from_letters(given))
        groups = sorted((part.name, part.order, part.factors) for part in report.groups)
        return report.semigroup_size, report.monoid_size, report.green, groups, report.complexity

    assert verdicts(moved) == verdicts(letters) == verdicts([*letters, letters[0]])
    assert (
        verdicts(products)[:-1] == verdicts(letters)[:-1]
    )  # AC⁰ depends on the lengths of words, and so on letters


@every("seed", range(60, 75))
def test_rows_and_stars_of_the_text_are_classes_and_idempotents(seed: int) -> None:
    letters = random_letters(seed)
    meant = Definitions(letters)
    text = Eggbox(TransitionSemigroup(letters).d_classes).text()
    boxes = [block.splitlines() for block in text.split("\n\n")]
    counts: Counter[object] = Counter()
    for caption, *rows in boxes:
        cells = [row.split() for row in rows]
        shape = (len(cells), len(cells[0]), sum(row.count("*") for row in cells))
        counts[int(caption.split(":")[0].removeprefix("rank ")), shape] += 1
    expected: Counter[object] = Counter()
    for ideal in set(meant.both.values()):
        members = [s for s in meant.elements if meant.both[s] == ideal]
        shape = (
            len({meant.right[s] for s in members}),
            len({meant.left[s] for s in members}),
            sum(then(s, s) == s for s in members),
        )
        expected[len(set(members[0])), shape] += 1
    assert counts == expected
    ranks = [int(caption.split(":")[0].removeprefix("rank ")) for caption, *_ in boxes]
    assert ranks == sorted(ranks, reverse=True)
