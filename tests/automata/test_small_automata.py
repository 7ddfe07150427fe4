"""Small automata up to names, against all renamings; layouts of pictures against distances."""

import math
import re
from itertools import permutations, product
from random import Random
from xml.etree import ElementTree

import numpy as np
import pytest

from every import every
from krohn.automata.diagram import diagram
from krohn.automata.diagram_layout import circle, circles, cycles_of, lattice, line, tree
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import MOST_TABLES, Table, canonical, sample_automata, small_automata
from krohn.automata.zoo import as_automaton, parse_spec, true_name, zoo, zoo_names
from krohn.errors import LimitExceeded

RADIUS = 20.0


def renamings(table: Table) -> set[Table]:
    """The same automaton under all names of letters and of states but the start."""
    states, letters = len(table), len(table[0])
    result = set()
    for order in permutations(range(1, states)):
        place = (0, *order)
        for names in permutations(range(letters)):
            rows = [()] * states
            for state, row in enumerate(table):
                rows[place[state]] = tuple(place[row[letter]] for letter in names)
            result.add(tuple(rows))
    return result


def reaches_all(table: Table) -> bool:
    seen = {0}
    for _ in table:
        seen |= {target for state in seen for target in table[state]}
    return len(seen) == len(table)


@pytest.mark.parametrize(("states", "letters"), [(1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1)])
def test_there_is_one_automaton_of_each_kind(states: int, letters: int) -> None:
    tables = product(product(range(states), repeat=letters), repeat=states)
    kinds = {frozenset(renamings(table)) for table in tables if reaches_all(table)}
    result = [tuple(map(tuple, automaton.table.tolist())) for automaton in small_automata(states, letters)]
    assert len(result) == len(kinds)
    assert {frozenset(renamings(table)) for table in result} == kinds
    assert result == sorted(result)


@every("seed", range(20))
def test_two_tables_have_one_canonical_form_exactly_if_they_are_renamings(seed: int) -> None:
    rng = Random(seed)
    one, other = (tuple(tuple(rng.randrange(3) for _ in range(2)) for _ in range(3)) for _ in range(2))
    if reaches_all(one):
        assert {canonical(table) for table in renamings(one)} == {canonical(one)}
        assert canonical(one) in renamings(one)
        if reaches_all(other):
            assert (canonical(one) == canonical(other)) == (other in renamings(one))


def test_a_sample_is_of_different_kinds_reachable_and_the_same_for_a_seed() -> None:
    first, again, other = (sample_automata(4, 2, 12, seed) for seed in (3, 3, 4))
    tables = [tuple(map(tuple, automaton.table.tolist())) for automaton in first]
    assert tables == [tuple(map(tuple, automaton.table.tolist())) for automaton in again]
    assert tables != [tuple(map(tuple, automaton.table.tolist())) for automaton in other]
    assert len({canonical(table) for table in tables}) == 12
    for automaton, table in zip(first, tables, strict=True):
        assert reaches_all(table)
        assert len(set(automaton.letters)) == 2
    assert len(sample_automata(2, 2, MOST_TABLES, 0)) <= len(small_automata(2, 2))  # and it ends
    with pytest.raises(LimitExceeded, match="at most 2,000,000 automata; got 1,000,000,000"):
        sample_automata(2, 2, 10**9, 0)


@every("seed", range(20))
def test_a_line_is_drawn_exactly_where_neighbours_form_one_path(seed: int) -> None:
    rng = Random(seed)
    size = rng.randint(3, 6)
    order = rng.sample(range(size), size)
    letters = []
    for step in (1, -1):
        letter = [0] * size
        for place, state in enumerate(order):
            letter[state] = order[min(max(place + step, 0), size - 1)]
        letters.append(letter)
    places = line(Semiautomaton.from_letters(letters), RADIUS)
    assert places is not None
    along = sorted(range(size), key=lambda state: places[state][0])
    assert along in (order, order[::-1])
    assert {y for _, y in places} == {0.0}
    gaps = np.diff([places[state][0] for state in along])
    assert (gaps > 2 * RADIUS).all()
    letters[0][order[0]] = order[-1]  # a jump from one end to the other closes the path to a ring
    assert line(Semiautomaton.from_letters(letters), RADIUS) is None


def test_a_lattice_needs_names_of_cells_and_moves_to_neighbours() -> None:
    grid = zoo("Grid3x4")
    places = lattice(grid, RADIUS)
    assert places is not None
    for state, row in enumerate(grid.table.tolist()):
        for target in row:
            assert math.dist(places[state], places[target]) in (
                0.0,
                pytest.approx(2 * RADIUS + 1.8 * 26.0),
            )
    far = grid.table.copy()
    far[0, 0] = 11
    assert lattice(Semiautomaton(far, state_names=grid.state_names), RADIUS) is None
    assert lattice(zoo("Grid9"), RADIUS) is None


def broom(chain: int, twigs: int) -> Semiautomaton:
    """A long path and many short twigs at its beginning, a letter for each way out, and a sink."""
    sink = 1 + chain + twigs
    rows = [[1, *range(1 + chain, sink)]] + [[q + 1, *[sink] * twigs] for q in range(1, chain)]
    return Semiautomaton(np.array(rows + [[sink] * (1 + twigs)] * (twigs + 2)))


SMALL = {name: zoo(name) for name in zoo_names() if zoo(name).num_states <= 24}
CROWDED = {f"broom {chain}, {twigs}": broom(chain, twigs) for chain, twigs in ((1, 20), (8, 20), (20, 8))}


@every("name", [*SMALL, *CROWDED])
def test_no_layout_puts_two_states_onto_each_other(name: str) -> None:
    automaton = (SMALL | CROWDED)[name]
    count = automaton.num_states
    layouts = [circle(list(range(count)), RADIUS), tree(automaton, -1, RADIUS)]
    if all(sorted(letter) == list(range(count)) for letter in automaton.letters):
        layouts.append(circles(automaton, list(range(automaton.num_letters)), RADIUS))
    for places in layouts:
        gaps = [math.dist(p, q) for i, p in enumerate(places) for q in places[:i]]
        assert min(gaps, default=math.inf) >= 2 * RADIUS
    shapes = ElementTree.fromstring(diagram(automaton)).iter("{http://www.w3.org/2000/svg}circle")
    states = [
        tuple(float(c.attrib[k]) for k in ("cx", "cy", "r")) for c in shapes if c.get("class") == "state"
    ]
    for i, (x, y, radius) in enumerate(states):
        assert all(math.dist((x, y), other[:2]) >= 2 * radius for other in states[:i])


def test_a_tree_has_rings_by_the_length_of_the_shortest_word() -> None:
    automaton = zoo("Dyck3,2")
    sink = automaton.state_names.index("sink")
    places = tree(automaton, sink, RADIUS)
    rings: dict[int, set[float]] = {}
    for state, name in enumerate(automaton.state_names):
        if state != sink:
            depth = 0 if name == "empty" else len(name)
            rings.setdefault(depth, set()).add(round(math.hypot(*places[state]), 6))
    assert all(len(result) == 1 for result in rings.values())
    radii = [min(rings[depth]) for depth in sorted(rings)]
    assert radii == sorted(radii)
    assert radii[0] == 0.0


def test_cycles_are_walked_from_their_least_state() -> None:
    assert cycles_of(np.array([2, 1, 4, 0, 3], dtype=np.int32)) == [[0, 2, 4, 3], [1]]


def test_a_diagram_is_the_same_every_time_and_names_with_markup_are_kept() -> None:
    odd = Semiautomaton.from_letters([(1, 0), (0, 0)], state_names=("<p>", "&q"), letter_names=('"', "'"))
    assert diagram(odd) == diagram(odd)
    root = ElementTree.fromstring(diagram(odd))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"<p>", "&q"} <= set(texts)
    assert any('"' in (text or "") for text in texts)


@pytest.mark.parametrize("name", ["S4", "Dyck4,2", "C2xC3", "regex:(ab)*", "table:01.10", "Grid4@boundary"])
def test_a_true_name_gives_this_very_automaton(name: str) -> None:
    automaton = parse_spec(name)
    assert true_name(automaton) == name
    changed = automaton.table.copy()
    changed[0, 0] = (changed[0, 0] + 1) % automaton.num_states
    assert true_name(Semiautomaton(changed, name=name)) == ""
    assert true_name(Semiautomaton(automaton.table, name="no such name")) == ""
    assert as_automaton(automaton) is automaton


def test_names_of_files_are_not_read_to_see_whether_they_are_true(tmp_path: object) -> None:
    assert true_name(Semiautomaton(np.array([[0]]), name="/etc/passwd.json")) == ""
    assert re.match("C2x", zoo("C2xC2xC2").name)
