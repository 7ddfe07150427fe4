"""The reports of analyze, decompose, atlas, zoo, simulate and sample, recomputed from the definitions."""

import io
import itertools
import json
import random
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from every import every
from krohn.automata.quotients import reachable
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.construct.depth_bounds import depth_bounds

Capture = pytest.CaptureFixture[str]
Map = tuple[int, ...]
Set = frozenset[int]

TABLES = tuple(
    f"table:{'.'.join(''.join(str(rng.randrange(4)) for _ in range(2)) for _ in range(4))}"
    for rng in map(random.Random, range(5))
)
NAMED = ("FlipFlop", "C4", "D6", "abab", "T3", "Dyck2,1", "Grid3")


def asked(capsys: Capture, *arguments: str, status: int = 0) -> Any:
    assert run([*arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def algebra_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search for the depth, which takes seconds and has tests of its own."""
    known = depth_bounds(parse_spec("Parity"), solvable=True)
    monkeypatch.setattr("krohn.construct.depth_bounds.depth_bounds", lambda *_, **__: known)


def after(one: Map, two: Map) -> Map:
    """First one, then two."""
    return tuple(two[point] for point in one)


def semigroup(letters: Collection[Map]) -> set[Map]:
    result = set(letters)
    while new := {after(s, a) for s in result for a in letters} - result:
        result |= new
    return result


def groups_of_one_length(automaton: Semiautomaton) -> bool:
    """Whether the maps of words of some one length hold a group, on the states that words reach."""
    part = reachable(automaton)
    now, seen = frozenset(part.letters), set[frozenset[Map]]()
    while now not in seen:
        seen.add(now)
        for s in now:
            powers = [s]
            while (more := after(powers[-1], s)) not in powers:
                powers.append(more)
            if more == s and len(powers) > 1 and now.issuperset(powers):
                return True
        now = frozenset(after(s, a) for s in now for a in part.letters)
    return False


def classes(elements: Iterable[Map], ideal: dict[Map, frozenset[Map]]) -> int:
    return len({ideal[element] for element in elements})


@pytest.mark.usefixtures("algebra_only")
@pytest.mark.parametrize("spec", [*TABLES, *NAMED])
def test_the_numbers_of_an_analysis_are_those_of_the_semigroup_written_out(
    spec: str, capsys: Capture
) -> None:
    report = asked(capsys, "analyze", spec)
    automaton = parse_spec(spec)
    identity = tuple(range(automaton.num_states))
    every = semigroup(automaton.letters)
    monoid = every | {identity}
    assert (report["num_states"], report["num_letters"]) == automaton.table.shape
    assert (report["semigroup_size"], report["monoid_size"]) == (len(every), len(monoid))
    assert report["is_group"] == all(sorted(s) == list(identity) for s in every)
    steady = []
    for s in every:
        power = s
        for _ in range(len(every)):
            power = after(power, s)
        steady.append(after(power, s) == power)
    assert report["is_aperiodic"] == all(steady)
    # The smallest group that is not solvable is A5, of 60 elements: none of these has so large a group.
    assert report["is_solvable"]
    assert report["complexity"] == ("ACC0" if groups_of_one_length(automaton) else "AC0")


@pytest.mark.usefixtures("algebra_only")
@pytest.mark.parametrize("spec", [*TABLES, *NAMED])
def test_green_s_classes_and_the_groups_in_them_are_those_of_the_ideals(spec: str, capsys: Capture) -> None:
    report = asked(capsys, "analyze", spec)
    automaton = parse_spec(spec)
    every = semigroup(automaton.letters)
    monoid = every | {tuple(range(automaton.num_states))}
    right = {s: frozenset(after(s, t) for t in monoid) for s in monoid}
    left = {s: frozenset(after(t, s) for t in monoid) for s in monoid}
    both = {s: frozenset(after(t, u) for t in left[s] for u in monoid) for s in monoid}
    idempotents = [s for s in every if after(s, s) == s]
    cells = {(right[s], left[s]) for s in every}
    assert report["green"] == {
        "D": classes(every, both),  # D = J, since everything is finite
        "R": classes(every, right),
        "L": classes(every, left),
        "H": len(cells),
        "regular_D": classes(idempotents, both),
        "idempotents": len(idempotents),
    }
    orders = {both[e]: sum((right[s], left[s]) == (right[e], left[e]) for s in every) for e in idempotents}
    nontrivial = sorted(order for order in orders.values() if order > 1)
    assert sorted(group["order"] for group in report["groups"] if group["order"] > 1) == nontrivial
    for group in report["groups"]:
        if (shown := group["idempotent"]) is None:
            continue
        word = [automaton.letter_names.index(name) for name in shown["word"]] * shown["exponent"]
        ends = [automaton.run(word, start=q)[-1] for q in range(automaton.num_states)]
        assert [automaton.state_names[q] for q in ends] == shown["images"]
        assert tuple(ends) in idempotents
        assert sorted(group["states"]) == sorted(set(shown["images"]))


def image_sets(letters: Collection[Map]) -> set[Set]:
    """All images of the set of states, and the single states."""
    size = len(next(iter(letters)))
    every = semigroup(letters) | {tuple(range(size))}
    return {frozenset(s) for s in every} | {frozenset({q}) for q in range(size)}


@every("spec", [*TABLES, *NAMED])
def test_a_plain_cascade_has_the_levels_tiles_and_groups_of_the_holonomy_theorem(
    spec: str, capsys: Capture
) -> None:
    report = asked(capsys, "decompose", spec, "--plain")
    automaton = parse_spec(spec)
    maps = semigroup(automaton.letters) | {tuple(range(automaton.num_states))}
    sets = image_sets(automaton.letters)
    moved = {part: [frozenset(s[q] for q in part) for s in maps] for part in sets}
    under = {(p, q) for p in sets for q in sets if any(p <= image for image in moved[q])}
    height: dict[Set, int] = {}
    for part in sorted(sets, key=len):
        height[part] = 0
    for _ in sets:  # longest chains: as many rounds as there are sets suffice
        for part in sets:
            lower = [height[p] for p in sets if (p, part) in under and (part, p) not in under]
            height[part] = 0 if len(part) == 1 else 1 + max(lower, default=0)
    top = max(height.values())
    assert report["num_sets"] == len(sets)
    assert report["levels"] == report["plain_levels"] == top
    assert report["covering_checked"] is True
    expected = {}
    for part in (part for part in sets if len(part) > 1):
        inner = [p for p in sets if p < part]
        tiles = [p for p in inner if not any(p < q for q in inner)]
        onto = [s for s in maps if {s[q] for q in part} == part]
        group = {tuple(tiles.index(frozenset(s[q] for q in tile)) for tile in tiles) for s in onto}
        kind = frozenset(p for p in sets if (p, part) in under and (part, p) in under)
        expected[kind] = (top - height[part], len(tiles), len(group), len(kind))
    shown = [(c["level"], c["tiles"], c["group_order"], c["num_members"]) for c in report["components"]]
    assert sorted(shown) == sorted(expected.values())


@pytest.mark.parametrize(("states", "letters"), [(2, 1), (2, 2), (3, 1)])
def test_the_atlas_has_each_small_automaton_once_for_people_and_machines(
    states: int, letters: int, capsys: Capture
) -> None:
    report = asked(capsys, "atlas", "--states", str(states), "--letters", str(letters))

    def kind(rows: tuple[Map, ...]) -> frozenset[tuple[Map, ...]]:
        """All tables that another order of the letters and of the states other than 0 gives."""
        size = len(rows)
        names = [(0, *rest) for rest in itertools.permutations(range(1, size))]
        orders = itertools.permutations(range(letters))
        return frozenset(
            tuple(tuple(name[rows[name.index(q)][a]] for a in order) for q in range(size))
            for order in orders
            for name in names
        )

    def all_reached(rows: tuple[Map, ...]) -> bool:
        seen = {0}
        for _ in rows:
            seen |= {target for state in seen for target in rows[state]}
        return len(seen) == len(rows)

    expected = {
        kind(rows)
        for size in range(2, states + 1)
        for rows in itertools.product(itertools.product(range(size), repeat=letters), repeat=size)
        if all_reached(rows)
    }
    tables = [tuple(map(tuple, row["table"])) for row in report["automata"]]
    assert len(tables) == len(expected)
    assert {kind(table) for table in tables} == expected
    assert report["optimal"] == sum(row["optimal"] for row in report["automata"])
    assert all(row["lower"] <= row["depth"] for row in report["automata"])
    assert run(["atlas", "--states", str(states), "--letters", str(letters)]) == 0
    lines = capsys.readouterr().out.splitlines()
    written = [" ".join("".join(map(str, row)) for row in table) for table in tables]
    assert [line[: len(text)] for line, text in zip(lines[2:], written, strict=False)] == written


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A file whose name has spaces and letters of several scripts, as have the names in it."""
    payload = {
        "krohn": 1,
        "letters": ["drück", "停"],
        "states": ["дверь", "ø"],
        "start": "ø",
        "next": {"дверь": {"drück": "ø", "停": "дверь"}, "ø": {"drück": "дверь", "停": "ø"}},
        "observe": {"дверь": 7, "ø": 0},
    }
    path = tmp_path / "mein Automat № 1 ✓.json"
    path.write_text(json.dumps(payload, ensure_ascii=False), encoding="utf-8")
    return path


def test_names_of_any_script_go_through_every_command(
    odd: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = asked(capsys, "zoo", str(odd))
    assert (shown["states"], shown["letters"]) == (["дверь", "ø"], ["drück", "停"])
    assert (shown["start"], shown["table"], shown["observe"]) == ("ø", [[1, 0], [0, 1]], [7, 0])
    assert asked(capsys, "analyze", str(odd))["name"] == odd.stem
    words = "drück 停 drück\n\n停\n"
    for extra, expected in (([], "дверь дверь ø\n\nø\n"), (["--observe"], "7 7 0\n\n0\n")):
        monkeypatch.setattr("sys.stdin", io.StringIO(words))
        assert run(["simulate", str(odd), *extra]) == 0
        assert capsys.readouterr().out == expected
    picture = odd.with_name("ein Bild – 図.svg")
    asked(capsys, "zoo", str(odd), "--svg", str(picture))
    assert all(name in picture.read_text(encoding="utf-8") for name in ("дверь", "ø", "drück", "停"))


def read(path: Path) -> tuple[list[list[int]], list[list[int]]]:
    """Words and states of a data set in any of the three forms."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return arrays["letters"].tolist(), arrays["states"].tolist()
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return [row["letters"] for row in rows], [row["states"] for row in rows]
    columns = pq.read_table(path).to_pydict()
    return columns["letters"], columns["states"]


@pytest.mark.parametrize("spec", ["D6", "Dyck2,1", "Grid3x4"])
def test_the_three_forms_of_a_data_set_hold_the_same_words_and_their_states(
    spec: str, tmp_path: Path, capsys: Capture
) -> None:
    rows = parse_spec(spec).table.tolist()
    held = []
    for suffix in ("npz", "jsonl", "parquet"):
        path = tmp_path / f"a set.{suffix}"
        older = ["sample", spec, "--length", "7", "--count", "900", "--seed", "1", "--out", str(path)]
        assert run(older) == 0  # replaced whole: nothing of it is left
        capsys.readouterr()
        text = asked(
            capsys, "sample", spec, "--length", "7", "--count", "9", "--seed", "3", "--out", str(path)
        )
        assert (text["count"], text["length"], text["seed"], text["out"]) == (9, 7, 3, str(path))
        assert text["seconds"] >= 0
        held.append(read(path))
    words, states = held[0]
    assert held[1] == held[2] == held[0]
    assert [len(word) for word in words] == [7] * 9
    for word, run_of_it in zip(words, states, strict=True):
        state, expected = parse_spec(spec).start, []
        for letter in word:
            state = rows[state][letter]
            expected.append(state)
        assert run_of_it == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"a set.{s}" for s in ("jsonl", "npz", "parquet")]


@pytest.mark.parametrize("options", [["--count", "0"], ["--length", "-1"], ["--distribution", "fair"]])
def test_a_sample_that_is_refused_leaves_the_old_file_as_it_was(
    options: list[str], tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "old.npz"
    path.write_bytes(b"kept")
    line = ["sample", "C3", "--length", "4", "--count", "5", "--out", str(path), *options]
    text = asked(capsys, *line, status=2)
    assert set(text) == {"error"}
    assert run(line) == 2
    streams = capsys.readouterr()
    assert (streams.out, streams.err) == ("", f"error: {text['error']}\n")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("old.npz", b"kept")]
