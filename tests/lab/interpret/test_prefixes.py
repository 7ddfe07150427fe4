"""Prefix patching against networks whose algorithm is known, and against machines that are no networks."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from letter_paths import (
    AT_ONCE,
    FROM_THE_LEFT,
    STEP_BY_STEP,
    UNDECIDED,
    LetterPath,
    follow_letter,
    places_of,
    signature,
)

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cli.app import run
from krohn.errors import InvalidInput
from krohn.lab.interpret.carrying import letter_pairs, patched
from krohn.lab.interpret.hybrids import Hybrids, classes, counts, left_to_right, scans
from krohn.lab.interpret.prefixes import (
    NONE,
    QUOTIENT,
    SOME_CUT,
    judged,
    kept_counts,
    patch_prefixes,
    prefix_counts,
)
from krohn.lab.interpret.readings import Readings
from krohn.lab.interpret.stages import stages_of_transformer
from krohn.lab.interpret.subject import subject_of_compiled
from network.naive_transformer import random_transformer


def pairs_of(automaton: Semiautomaton, length: int, count: int = 64, seed: int = 0) -> Hybrids:
    rng = np.random.default_rng(seed)
    words = rng.integers(automaton.num_letters, size=(2 * count, length))
    return Hybrids(Readings(automaton, words[:count]), Readings(automaton, words[count:]))


@pytest.mark.parametrize("padding", [0, 2])
@pytest.mark.parametrize("mask", ["causal", "strict"])
def test_resuming_from_a_patched_prefix_equals_the_pass_over_the_whole_stream(
    mask: str, padding: int
) -> None:
    """Only the kept positions are computed again; here all of them are."""
    stages = stages_of_transformer(random_transformer(3, mask=mask, padding=padding))  # type: ignore[arg-type]
    words = np.random.default_rng(1).integers(3, size=(20, 5))
    base, source = stages.run(words[:10]), stages.run(words[10:])
    for layer, stream in enumerate(base.streams):
        for kept in range(1, 5):
            mixed = source.streams[layer].clone()
            mixed[:, -kept:] = stream[:, -kept:]
            whole = stages.finish(layer, mixed)[:, -1]
            assert torch.equal(stages.answer(layer, stream[:, -kept:], source), whole)


def test_cuts_are_the_states_of_the_joined_words() -> None:
    automaton = krohn.zoo("S4")
    pairs = pairs_of(automaton, 6, count=5)
    for number in range(5):
        for first in range(7):
            word = [*pairs.source.letters[number, :first], *pairs.base.letters[number, first:]]
            state = automaton.start
            for letter in word:
                state = int(automaton.table[state, letter])
            assert pairs.cut[number, first] == state


NAMED = [
    ("C4", {"method": "cascade"}, "one step", ["letters", "whole word"]),
    ("C4", {"method": "scan"}, "scan", ["letters", "windows of 2", "windows of 4", "whole word"]),
    ("D6", {"method": "scan"}, "scan", ["letters", "windows of 2", "windows of 4", "whole word"]),
    ("D6", {"method": "cascade", "unproved": True}, "cascade", ["letters", "series: 1 done", "whole word"]),
    (
        "S4",
        {"method": "cascade", "unproved": True},
        "cascade",
        ["letters", "series: 1 done", "series: 2 done", "whole word"],
    ),
    ("Grid4", {"method": "grid"}, "counts", ["letters", "sums", "whole word"]),
]


@pytest.mark.parametrize(("spec", "options", "mechanism", "stages"), NAMED)
def test_compiled_networks_are_named(spec: str, options: Any, mechanism: str, stages: list[str]) -> None:
    report = patch_prefixes(krohn.compile(spec, length=8, **options), pairs=32)
    assert report.mechanism == mechanism
    assert [row.fits[mechanism].stage for row in report.layers] == stages
    assert report.shares[mechanism] == 1.0
    others = {name: share for name, share in report.shares.items() if name not in (mechanism, "one step")}
    joined = others.pop(SOME_CUT)
    assert (joined == 1.0) == (mechanism in ("scan", "one step"))  # a cascade's answers are no joined words'
    assert mechanism == "one step" or all(share < 0.9 for share in others.values())
    assert report.layers[-1].known_from == 1
    assert report.layers[0].known_from is None


# Machines of numbers: what each position holds after each layer, and the last answer from what they hold.


def answers_by(machine: Any, hybrids: Hybrids, kept: list[int], layers: int) -> np.ndarray:
    base, source = (
        [machine(side, layer) for layer in range(layers + 1)] for side in (hybrids.base, hybrids.source)
    )
    out = []
    for layer in range(layers + 1):
        rows = []
        for count in kept:
            first = hybrids.length - count
            held = [
                [*source[layer][pair][:first], *base[layer][pair][first:]]
                for pair in range(len(hybrids.base.letters))
            ]
            rows.append([machine.answer(word, layer) for word in held])
        out.append(rows)
    return np.array(out)


class Wave:
    """Two more letters are done after each layer: a position holds its state, or else its letter."""

    def __init__(self, automaton: Semiautomaton) -> None:
        self.automaton = automaton

    def __call__(self, side: Readings, layer: int) -> list[list[tuple[str, int]]]:
        words = zip(side.letters.tolist(), side.states.tolist(), strict=True)
        return [
            [
                ("state", state) if t < 2 * layer else ("letter", letter)
                for t, (letter, state) in enumerate(zip(*word, strict=True))
            ]
            for word in words
        ]

    def answer(self, held: list[tuple[str, int]], layer: int) -> int:
        state = self.automaton.start
        for kind, value in held:
            state = value if kind == "state" else int(self.automaton.table[state, value])
        return state


class ParityFirst(Wave):
    """Every position has the parity of its own prefix at once, the state only in the end."""

    def __init__(self, automaton: Semiautomaton, parity: np.ndarray) -> None:
        super().__init__(automaton)
        self.parity = parity
        self.other = {int(p): [int(s) for s in np.flatnonzero(parity == p)] for p in np.unique(parity)}

    def __call__(self, side: Readings, layer: int) -> list[list[tuple[int, int, int]]]:
        classed = self.parity[side.states].tolist()
        rows = zip(side.letters.tolist(), side.states.tolist(), classed, strict=True)
        return [list(zip(*row, strict=True)) for row in rows]

    def answer(self, held: list[tuple[int, int, int]], layer: int) -> int:  # type: ignore[override]
        if layer == 3:
            return held[-1][1]
        letters = [letter for letter, _, _ in held]
        state = super().answer([("letter", letter) for letter in letters], layer)
        if layer == 0:
            return state
        # The parity is the last position's; among its states the answer depends on all letters.
        own = self.other[held[-1][2]]
        return own[sum((t + 1) * letter for t, letter in enumerate(letters)) % len(own)]


def test_a_wave_from_the_left_is_named() -> None:
    hybrids, kept = pairs_of(krohn.zoo("A5"), 10), list(range(1, 10))
    answers = answers_by(Wave(hybrids.base.automaton), hybrids, kept, layers=5)
    report = judged("a wave", hybrids, kept, answers)
    assert report.mechanism == "left to right"
    assert [row.fits["left to right"].stage for row in report.layers[1:-1]] == [
        f"{done} letters" for done in (2, 4, 6, 8)
    ]
    assert [row.known_from for row in report.layers] == [None, 9, 7, 5, 3, 1]
    assert report.shares["scan"] < 0.9


class Blocks(Wave):
    """Blocks of 1, 2, 4, … letters from the first on: each position has the letters since its block began."""

    def __call__(self, side: Readings, layer: int) -> list[list[tuple[int, ...]]]:  # type: ignore[override]
        width, words = 2**layer, side.letters.tolist()
        return [[tuple(word[t - t % width : t + 1]) for t in range(len(word))] for word in words]

    def answer(self, held: list[tuple[int, ...]], layer: int) -> int:  # type: ignore[override]
        at, word = len(held) - 1, ()
        while at >= 0:
            word, at = held[at] + word, at - len(held[at])
        return super().answer([("letter", letter) for letter in word], layer)


def test_blocks_from_the_first_letter_are_no_scan_but_some_cut() -> None:
    hybrids, kept = pairs_of(krohn.zoo("A5"), 13), list(range(1, 13))
    report = judged(
        "blocks", hybrids, kept, answers_by(Blocks(hybrids.base.automaton), hybrids, kept, layers=4)
    )
    assert report.mechanism == SOME_CUT
    assert report.shares[SOME_CUT] == 1.0
    for layer, row in enumerate(report.layers):
        assert row.cuts == [(13 - count) // 2**layer * 2**layer for count in kept]
    assert report.layers[2].fits[SOME_CUT].stage == "0 to 3 letters back"
    assert "some cut" in report.verdict


def test_parity_before_the_state_is_named() -> None:
    automaton = krohn.zoo("S4")
    parity = classes(automaton)
    assert parity is not None
    assert len(np.unique(parity)) == 2
    hybrids, kept = pairs_of(automaton, 8, count=128), list(range(1, 8))
    report = judged(
        "parity", hybrids, kept, answers_by(ParityFirst(automaton, parity), hybrids, kept, layers=3)
    )
    assert report.mechanism == QUOTIENT
    assert [row.class_known_from for row in report.layers] == [None, 1, 1, 1]
    assert [row.known_from for row in report.layers] == [None, None, None, 1]
    assert "(2 of them)" in report.verdict


def test_answers_at_random_have_no_mechanism_and_score_at_chance() -> None:
    hybrids, kept = pairs_of(krohn.zoo("D6"), 8, count=256), list(range(1, 8))
    answers = np.random.default_rng(5).integers(6, size=(4, 7, 256))
    report = judged("noise", hybrids, kept, answers)
    assert report.mechanism == NONE
    for row in report.layers:
        assert row.known_from is None
        for fit in row.fits.values():
            assert abs(fit.share - 1 / 6) < 0.06
            assert abs(fit.chance - 1 / 6) < 0.03


@pytest.mark.parametrize(
    ("spec", "number"), [("S4", 2), ("S5", 2), ("D6", 2), ("A4", 3), ("D8", 4), ("Q8", 4)]
)
def test_classes_are_the_largest_commutative_quotient(spec: str, number: int) -> None:
    automaton = krohn.zoo(spec)
    parity = classes(automaton)
    assert parity is not None
    assert len(set(parity.tolist())) == number  # the index of the derived subgroup
    moved = parity[automaton.table]  # the class after a letter depends on the class before it alone
    for letter in range(automaton.num_letters):
        for value in set(parity.tolist()):
            assert len(set(moved[parity == value, letter].tolist())) == 1
    if spec in ("S4", "S5"):
        odd = [sum(a > b for a, b in combinations(name, 2)) % 2 for name in automaton.state_names]
        assert len(set(zip(parity.tolist(), odd, strict=True))) == 2


def test_simple_and_commutative_groups_and_memories_have_no_classes() -> None:
    assert classes(krohn.zoo("A5")) is None
    assert classes(krohn.zoo("C4")) is None  # all of the state
    assert classes(krohn.zoo("Grid4")) is None


def test_only_lines_have_sums() -> None:
    assert len(list(counts(krohn.zoo("Grid5")))) == 1
    assert not list(counts(krohn.zoo("C4")))
    assert not list(counts(krohn.zoo("FlipFlop")))


def test_stages_at_their_ends_are_those_of_every_mechanism() -> None:
    pairs = pairs_of(krohn.zoo("A5"), 9)
    for stage in (*scans(9), *left_to_right(9)):
        width = int(stage.name.split()[2 if stage.mechanism == "scan" else 0])
        cut = 9 - width * -(-4 // width) if stage.mechanism == "scan" else (5 if width <= 5 else 0)
        assert (stage.predict(pairs, 5) == pairs.cut[:, max(cut, 0)]).all()


def test_kept_counts_begin_with_one_and_leave_one_out() -> None:
    assert kept_counts(8) == [1, 2, 3, 4, 5, 6, 7]
    assert kept_counts(100) == [1, 2, 4, 8, 12, 25, 38, 50, 62, 75, 88, 92, 96, 98, 99]
    assert prefix_counts(8) == [1, 2, 3, 4, 5, 6, 7]
    assert prefix_counts(40) == [1, 2, 4, 8, 16, 32, 39]


def test_the_first_letter_is_found_where_the_scan_has_carried_it() -> None:
    """Windows of w letters back from the last one: the first letter's ends at T − w⌊(T−1)/w⌋."""
    for length, within in ((8, [1, 2, 4, None]), (7, [1, 1, 3, None])):
        report = patch_prefixes(krohn.compile("D6", length=length, method="scan"), pairs=32)
        assert [row.first_within for row in report.layers] == within
    once = patch_prefixes(krohn.compile("C4", length=8), pairs=32)
    assert [row.first_within for row in once.layers] == [1, None]


def test_words_that_differ_in_the_first_letter_alone() -> None:
    automaton = krohn.zoo("D6")
    pairs = letter_pairs(pairs_of(automaton, 9, count=20).base, 0, 30)
    assert len(pairs.base.letters) == 20  # two letters: one other first letter for each word
    assert (pairs.base.letters[:, 1:] == pairs.source.letters[:, 1:]).all()
    assert (pairs.base.letters[:, 0] != pairs.source.letters[:, 0]).all()
    assert (pairs.base.states[:, -1] != pairs.source.states[:, -1]).all()
    reset = letter_pairs(Readings(krohn.zoo("FlipFlop"), np.full((4, 6), 1)), 0, 8)
    assert not len(reset.base.letters)  # the last letters decide


@pytest.mark.parametrize("place", [1, 2, 3, 5])
def test_a_letter_is_found_where_the_scan_has_carried_it(place: int) -> None:
    """Windows of w letters end at T, T − w, …; the letter is in the first that ends at it or behind it."""
    result = follow_letter(subject_of_compiled(krohn.compile("D6", length=8, method="scan")), place, pairs=16)
    for width, within in zip((1, 2, 4), result.within, strict=False):
        wanted = min(end for end in range(8, 0, -width) if end >= place) - place + 1
        assert within == min((count for count in result.patched if count >= wanted), default=None)
    assert result.within[-1] is None
    with pytest.raises(InvalidInput, match="one of 1–7"):
        follow_letter(subject_of_compiled(krohn.compile("D6", length=8, method="scan")), 8)


def path(place: int, *within: int | None) -> LetterPath:
    return LetterPath(place, 8, [1, 16 - place], [[1.0, 1.0]] * len(within), list(within))


def test_how_letters_are_carried() -> None:
    """A wave that is 2, 4, 8, 12 letters far after layers 1 to 4; a scan; a sum over all positions."""
    wave = [path(1, 1, 2, 4, 8, 12, None), path(5, 1, 1, 1, 4, 8, None), path(9, 1, 1, 1, 1, 3, None)]
    assert signature(wave) == FROM_THE_LEFT
    scan = [path(1, 1, 2, 4, 8, None), path(5, 1, 2, 4, 4, None), path(9, 1, 2, 4, 8, None)]
    assert signature(scan) == STEP_BY_STEP
    assert signature([path(1, 1, 1, None, None), path(5, 1, None, None, None)]) == AT_ONCE
    assert signature([path(1, 1, 2, 4, None), path(5, 1, 1, 11, None)]) == AT_ONCE  # all that are behind it
    assert (
        signature([path(1, 1, 2, None), path(3, 1, 1, None), path(5, 1, 2, None), path(9, 1, 1, None)])
        == UNDECIDED
    )
    assert signature([path(1, 1, 2, 4, None), path(14, 1, 2, 2, None)]) == UNDECIDED  # no room
    no_pairs = [replace(each, pairs=0) for each in scan]
    assert signature(no_pairs) == signature([]) == UNDECIDED  # no letter changes the last state


@pytest.mark.parametrize(
    ("spec", "method", "wanted"),
    [("D6", "scan", STEP_BY_STEP), ("D6", "cascade", AT_ONCE), ("C4", "cascade", AT_ONCE)],
)
def test_letters_of_compiled_networks(spec: str, method: str, wanted: str) -> None:
    subject = subject_of_compiled(krohn.compile(spec, length=16, method=method))
    assert signature([follow_letter(subject, place, pairs=16) for place in places_of(16)]) == wanted


def test_patched_answers_of_layer_zero_are_those_of_the_joined_words() -> None:
    network = krohn.compile("C2", length=6, method="scan")
    hybrids = pairs_of(network.automaton, 6)
    answers = patched(stages_of_transformer(network.transformer), hybrids, [1, 3, 5])
    for row, kept in zip(answers[0], (1, 3, 5), strict=True):
        assert (row == hybrids.cut[:, 6 - kept]).all()


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nets") / "scan"
    krohn.save(krohn.compile("C2", length=8, method="scan"), folder)
    return folder


def test_the_command_prints_the_mechanism(scan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["understand", str(scan), "--prefixes", "--effort", "0.5"]) == 0
    text = capsys.readouterr().out
    assert "scan (by layer: 0 letters, 1 windows of 2, 2 windows of 4, 3 whole word" in text
    assert run(["understand", str(scan), "--prefixes", "--effort", "0.5", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["mechanism"] == "scan"
    assert report["kept"] == [1, 2, 3, 4, 5, 6, 7]
    assert len(report["layers"]) == 4
    assert report["layers"][1]["fits"]["scan"]["stage"] == "windows of 2"
    assert report["layers"][1]["fits"]["scan"]["share"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--length", "9"], "between 4 and 8"),
        (["--effort", "0.01"], "between 8 and 4096 pairs"),
        (["--out", "page.html"], "--json"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, scan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["understand", str(scan), "--prefixes", *arguments]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 1
    assert message in error[0]


def test_from_python_too(scan: Path) -> None:
    with pytest.raises(InvalidInput, match="between 8 and 4096"):
        patch_prefixes(scan, pairs=2)
    assert patch_prefixes(scan, pairs=16).mechanism == "scan"
