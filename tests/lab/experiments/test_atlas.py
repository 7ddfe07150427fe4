import json
from collections.abc import Callable
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import krohn
from krohn.lab.experiments.atlas import bars, class_name, read_automata, reproduce_atlas, small_table
from krohn.lab.experiments.atlas_cells import cell_verdicts
from krohn.lab.experiments.atlas_list import PRESENTATIONS, Entry, generated, groups, of_folder
from krohn.lab.experiments.atlas_predictors import mixing, period, predictors
from krohn.lab.experiments.atlas_runs import Cell, read_rows, run_cells
from krohn.lab.experiments.atlas_verdicts import Share, Table, ranks, verdicts

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results"
TINY = {
    "dim": 16, "heads": 2, "mlp": 16, "batch": 4, "steps": 4, "warmup": 2, "eval_every": 2,
    "eval_sequences": 8,
}  # fmt: skip


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return generated()


@pytest.fixture(scope="module")
def automata() -> list[dict[str, Any]]:
    return read_automata(RESULTS / "atlas" / "atlas-automata.jsonl")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return read_rows(RESULTS / "atlas" / "atlas.jsonl")


def test_the_list_is_the_same_everywhere_and_is_that_of_the_results(
    entries: list[Entry], automata: list[dict[str, Any]]
) -> None:
    assert len({one.name for one in entries}) == len({one.table for one in entries}) == len(entries) == 2671
    text = json.dumps([[one.name, one.kind, one.table] for one in entries])
    assert sha256(text.encode()).hexdigest()[:16] == "42ffc393a451f2aa"
    assert [one["automaton"] for one in automata[: len(entries)]] == [one.name for one in entries]


def test_every_state_is_reached_and_kinds_are_what_they_say(entries: list[Entry]) -> None:
    for one in entries:
        letters = list(zip(*one.table, strict=True))
        assert len(letters[0]) == len(one.table)
        assert {0, *(image for row in one.table for image in row)} == set(range(len(one.table)))
        permute = [len(set(letter)) == len(letter) for letter in letters]
        if one.kind in ("groups", "permutations"):
            assert all(permute)
        if one.kind == "one way":
            assert predictors_free_of_cycles(one)


def predictors_free_of_cycles(one: Entry) -> bool:
    """No state that was left is reached again, by reachability alone."""
    reach = np.eye(len(one.table), dtype=bool)
    for state, row in enumerate(one.table):
        reach[state, list(row)] = True
    for _ in one.table:
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    return not (reach & reach.T & ~np.eye(len(one.table), dtype=bool)).any()


def test_presentations_generate_the_whole_group(entries: list[Entry]) -> None:
    for name in list(groups())[::5]:
        tables = [one.table for one in entries if one.automaton.name.startswith(f"{name}:")]
        assert len(tables) <= PRESENTATIONS
        for table in tables[:2]:
            elements = products_of([*zip(*table, strict=True)])
            assert len(elements) == len(table)  # regular: as many elements as states


def test_predictors_of_small_automata_follow_their_definitions(entries: list[Entry]) -> None:
    for one in [entry for entry in entries if entry.kind == "small"][::6]:
        letters, known = list(zip(*one.table, strict=True)), predictors(one.automaton)
        elements = products_of(letters)
        assert known["semigroup"] == len(elements)
        assert known["aperiodic"] == all(is_aperiodic(element) for element in elements)


def products_of(letters: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    elements = set(letters)
    while True:
        products = {tuple(b[image] for image in a) for a, b in product(elements, letters)}
        if products <= elements:
            return elements
        elements |= products


def is_aperiodic(element: tuple[int, ...]) -> bool:
    power, seen = element, []
    while power not in seen:
        seen.append(power)
        power = tuple(element[image] for image in power)
    return power == seen[-1]


def test_walks_on_a_cycle_have_its_period_and_a_lazy_one_mixes() -> None:
    turn = np.array([[1], [2], [3], [0]])
    assert period(turn) == 4
    assert mixing(turn, 0, 32) == 0  # after a multiple of the period it is where it was
    lazy = np.array([[0, 1], [1, 2], [2, 0]])
    assert period(lazy) == 1
    assert 2 <= mixing(lazy, 0, 32) <= 8


def test_the_shipped_table_is_made_from_the_results(
    rows: list[dict[str, Any]], automata: list[dict[str, Any]]
) -> None:
    shipped = (ROOT / "src/krohn/construct/atlas.csv").read_text()
    assert shipped == small_table(rows, automata)


def test_the_page_says_what_the_figure_shows(
    rows: list[dict[str, Any]], automata: list[dict[str, Any]]
) -> None:
    page = " ".join((ROOT / "docs/atlas.md").read_text().split())
    small, _, length, abelian, inner, outer = (share for _, share in bars(Table(rows, automata)))
    assert f"{small.hits:,} of {small.of:,} with fewer than 3,000 elements" in page
    assert length.hits == length.of
    assert f"all {length.of} were learned" in page
    assert f"G₀ abelian: {abelian.hits + inner.hits} of {abelian.of + inner.of}." in page
    assert f"G₀ not abelian: {outer.hits} of {outer.of}" in page
    assert f"Of {inner.of} presentations" in page
    assert f"{inner.hits} were learned" in page
    unplaced = Table(rows, automata).of(
        "none", lambda row: row["kind"] == "groups", lambda row: row["derived"] > 1 == row["g0_derived"]
    )
    assert len(unplaced) == inner.of
    assert not any(row["learned"] for row in unplaced)
    assert "without positions, which tell the place modulo the order of a letter, none." in page


def test_the_page_is_short_and_says_what_came_of_the_tenth(
    rows: list[dict[str, Any]], automata: list[dict[str, Any]]
) -> None:
    page = (ROOT / "docs/atlas.md").read_text()
    assert len(page.split()) <= 600
    assert page.count("![") == 1
    judged = [*verdicts(rows, automata), *cell_verdicts(rows, automata)]
    assert sum(one.right is False for one in judged) == 9
    assert f"nine of {len(judged)} were wrong" in " ".join(page.split())
    measured = {one.number: one.measured for one in judged}
    assert measured[21].startswith("abelian 16 of 35")
    assert measured[22].startswith("39 of 39")
    assert measured[23].startswith("332 of 338")
    for said in ("16 of 35", "39 of 39", "for 332", "182 of these 184"):
        assert said in " ".join(page.split()), said


def test_all_rows_with_all_predictors_can_be_fitted_by_others(tmp_path: Path) -> None:
    frame = reproduce_atlas("small", RESULTS / "atlas", run=False).to_frame()
    frame.to_parquet(tmp_path / "atlas.parquet")
    read = pd.read_parquet(tmp_path / "atlas.parquet")
    assert len(read) == len(frame) == 9130
    wanted = {
        "aperiodic",
        "g0_derived",
        "mixing",
        "entropy",
        "learned",
        "length",
        "replicate",
        "accuracy_128",
    }
    assert wanted <= set(read.columns)
    here = read[(read.kind == "groups") & (read.positions == "sinusoidal") & (read.length == 32)]
    here = here[(here.replicate == 0) & (here.layers == 4) & (here.optimizer == "muon")]
    here = here[here.distribution == "uniform"]
    assert here.groupby(here.g0_derived == 1).learned.sum().to_dict() == {False: 2, True: 296}


def test_verdicts_are_those_that_the_research_page_lists(
    rows: list[dict[str, Any]], automata: list[dict[str, Any]]
) -> None:
    page = (ROOT / "research/atlas-predictions.md").read_text()
    result = [one.to_json() for one in (*verdicts(rows, automata), *cell_verdicts(rows, automata))]
    assert [one["number"] for one in result] == list(range(1, 26))
    for one in result:
        assert f"| {one['number']} | {one['question']} | {one['expected']} | {one['verdict']} |" in page


def test_a_rule_is_wrong_as_soon_as_one_part_breaks_it(
    rows: list[dict[str, Any]], automata: list[dict[str, Any]]
) -> None:
    cascades = {one["automaton"] for one in automata if one["kind"] == "cascade"}
    failing = [row | {"learned": row["learned"] and row["automaton"] not in cascades} for row in rows]
    assert verdicts(rows, automata)[0].right is True
    assert verdicts(failing, automata)[0].right is False


def test_rules_on_a_tenth_can_fail_and_are_open_without_rows(
    rows: list[dict[str, Any]], automata: list[dict[str, Any]]
) -> None:
    main = [row for row in rows if row["length"] == 32 and row["replicate"] == 0]
    main = [row for row in main if row["distribution"] == "uniform"]
    assert [one.right for one in cell_verdicts(main, automata)] == [None] * 7

    def judged(change: Callable[[dict[str, Any]], bool]) -> list[bool | None]:
        changed = [row if row in main else row | {"learned": change(row)} for row in rows]
        return [one.right for one in cell_verdicts(changed, automata)]

    none, every = judged(lambda row: False), judged(lambda row: True)
    assert (none[0], none[4], none[5], none[6]) == (False,) * 4
    assert (every[1], every[2], every[4]) == (False,) * 3, "more than at 32 letters, groups too"
    assert (every[0], every[6]) == (True, True)


def test_intervals_and_areas() -> None:
    assert Share(0, 10).interval == pytest.approx((0.0, 0.2775), abs=1e-3)  # Wilson, by his formula
    assert Share(5, 10).interval == pytest.approx((0.2366, 0.7634), abs=1e-3)
    values, hits = [1.0, 2.0, 2.0, 3.0], [True, True, False, False]
    pairs = [(a, b) for a, hit in zip(values, hits, strict=True) if hit for b, other in
             zip(values, hits, strict=True) if not other]  # fmt: skip
    assert ranks(values, hits) == sum((a < b) + (a == b) / 2 for a, b in pairs) / len(pairs)


def test_a_queue_goes_on_where_it_was_cut(entries: list[Entry], tmp_path: Path) -> None:
    few, file = entries[:5], tmp_path / "rows.jsonl"
    cells = (Cell(length=5, layers=1), Cell(length=5, layers=1, positions="none"))
    run_cells(few, cells, file, device="cpu", together=3, changes=TINY, deadline=0.0)
    assert not file.exists()
    run_cells(few, cells[:1], file, device="cpu", together=3, changes=TINY)
    run_cells(few, cells, file, device="cpu", together=3, changes=TINY)
    done = file.read_text()
    run_cells(few, cells, file, device="cpu", together=3, changes=TINY)
    assert file.read_text() == done
    named = {(row["automaton"], row["positions"], row["length"]) for row in read_rows(file)}
    assert named == {(one.name, positions, 5) for one in few for positions in ("sinusoidal", "none")}


def test_the_smoke_scale_runs_and_adds_a_folder(tmp_path: Path) -> None:
    result = reproduce_atlas("smoke", tmp_path / "atlas", device="cpu")
    assert result.missing == 0
    assert {"automaton", "class", "sensitivity", "positions", "learned", "words_read", "longer"} <= set(
        result.rows[0]
    )
    (tmp_path / "more").mkdir()
    krohn.dump_automaton(krohn.parse_spec("Dyck2,2"), tmp_path / "more" / "mine.json")
    (tmp_path / "more" / "notes.txt").write_text("hello")
    assert [(one.name, one.kind) for one in of_folder(tmp_path / "more")] == [("mine", "more")]


def test_classes_need_the_algebra(automata: list[dict[str, Any]]) -> None:
    known = {one["automaton"]: class_name(one) for one in automata}
    assert known["Grid4"] == "aperiodic"
    assert known["S3"] == "solvable groups"
    assert sum(name == "undecided" for name in known.values()) == 2
