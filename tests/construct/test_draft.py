"""Drafts of programs: the requested outputs, in as few layers as possible, without dead code."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from construct.small_automata import called
from every import every
from krohn.automata.zoo import zoo
from krohn.construct.depth_bounds import DepthBounds, bound_depth
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.finite import Finite, joined, register_value, require_rows
from krohn.construct.tight.small_scan import fewest_points, scan_program
from krohn.depth.layer_size import LayerSize
from krohn.depth.lower_bound import Witness, find_two_layer_witness
from krohn.depth.two_words import find_two_words
from krohn.network.program import Program, interpret, interpret_registers

LETTERS = 3
LENGTH = 7
Values = list[int]


class Naive:
    """A draft, with the expected values of each register on some words, position by position."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.words = np.random.default_rng(seed).integers(0, LETTERS, (12, LENGTH))
        self.draft = ProgramDraft(LETTERS)
        self.held: dict[str, list[Values]] = {}
        self.layer: dict[str, int] = {}
        self.needs: dict[str, tuple[str, ...]] = {}

    def visible(self, t: int) -> range:
        return range(t + 1)

    def note(self, name: str, layer: int, needs: tuple[str, ...], value: Callable[[int, int], int]) -> str:
        """``value(word, position)`` with BOS at position 0."""
        self.held[name] = [[value(w, t) for t in range(LENGTH + 1)] for w in range(len(self.words))]
        self.layer[name], self.needs[name] = layer, needs
        return name

    def source(self, name: str, at_bos: int, choices: tuple[int, ...]) -> str:
        letters = [self.rng.choice(choices) for _ in range(LETTERS)]
        self.draft.source(called(name), letters, at_bos)
        return self.note(name, -1, (), lambda w, t: letters[self.words[w, t - 1]] if t else at_bos)

    def bos(self, name: str) -> int:
        return self.held[name][0][0]

    def one_of(self, wanted: Callable[[str], bool]) -> str | None:
        actual = [name for name in self.held if wanted(name) and self.draft.registers[name].kind == "integer"]
        return self.rng.choice(actual) if actual else None

    def is_flag(self, name: str) -> bool:
        return (self.draft.registers[name].low, self.draft.registers[name].high) == (0, 1)

    def head(self) -> str | None:
        """One more head of some kind, where its inputs are there."""
        source, held = self.one_of(lambda name: True), self.held
        assert source is not None
        kind = self.rng.choice(["sum", "place sum", "latest", "end", "back"])
        layer = self.layer[source] + 1
        if kind == "place sum" and self.bos(source) == 0:
            early, cycle = self.rng.choice([([0], [1, 0]), ([0, 1], [0]), ([0, 0], [1, 1, 0])])
            flag = self.draft.places(called(f"places {early} {cycle}"), early, cycle)
            here = (early + 10 * cycle)[: LENGTH + 1]
            total = self.draft.place_sum(flag, source)
            self.note(
                total,
                layer,
                (source,),
                lambda w, t: sum(held[source][w][i] * here[i] for i in self.visible(t)),
            )
            result = self.draft.modulo([(total, 1)], 3, called(f"{total} mod 3"))
            return self.note(result, layer, (total,), lambda w, t: held[total][w][t] % 3)
        if kind == "sum" and self.bos(source) == 0:
            total = self.draft.prefix_sum(source)
            self.note(total, layer, (source,), lambda w, t: sum(held[source][w][i] for i in self.visible(t)))
            size = self.rng.randint(2, 4)
            result = self.draft.modulo([(total, 1)], size, called(f"{total} mod {size}"))
            return self.note(result, layer, (total,), lambda w, t: held[total][w][t] % size)
        if kind == "back":
            distance = self.rng.randint(1, 3)
            result = self.draft.look_back(source, distance)
            return self.note(result, layer, (source,), lambda w, t: held[source][w][max(t - distance, 0)])
        flag = self.one_of(lambda name: self.is_flag(name) and self.bos(name) == int(kind == "latest"))
        if flag is None or "sum" in kind:
            return None
        layer = max(layer, self.layer[flag] + 1)
        end = self.rng.choice(["earliest", "latest"]) if kind == "end" else "latest"
        if kind == "latest":
            result = self.draft.latest_write(flag, source, called(f"latest {source}"))
        else:
            result = self.draft.end_write([flag], end, source, called(f"{end} {source}"))  # type: ignore[arg-type]

        def latest(w: int, t: int) -> int:
            marked = [i for i in self.visible(t) if i and held[flag][w][i]] or [0]
            return held[source][w][marked[0] if end == "earliest" else marked[-1]]

        return self.note(result, layer, (flag, source), latest)

    def table(self) -> str | None:
        """A random function of two registers, one of which a layer has written, or of tokens alone."""
        one, other = self.one_of(lambda name: True), self.one_of(lambda name: True)
        assert one is not None
        assert other is not None
        inputs = tuple(dict.fromkeys((one, other)))
        ranges = [range(self.draft.registers[n].low, self.draft.registers[n].high + 1) for n in inputs]
        rows: dict[tuple[int, ...], tuple[int, ...]] = {(): ()}
        for values in ranges:
            rows = {(*row, value): (self.rng.randint(0, 1),) for row in rows for value in values}
        output = self.draft.fresh(called("table"))
        self.draft.table(inputs, (output,), rows)
        layer = max(self.layer[name] for name in inputs)
        held = self.held
        return self.note(
            output.name, layer, inputs, lambda w, t: rows[tuple(held[n][w][t] for n in inputs)][0]
        )

    def needed(self, name: str) -> set[str]:
        return {name}.union(*(self.needed(other) for other in self.needs[name]))


def drafted(seed: int) -> Naive:
    naive = Naive(seed)
    naive.source("step", 0, (-1, 0, 1))
    naive.source("writes", 1, (0, 1))
    naive.source("marks", 0, (0, 1))
    for _ in range(7):
        naive.head() if naive.rng.random() < 0.6 else naive.table()
    return naive


def finished(naive: Naive, target: str) -> Program:
    register = naive.draft.registers[target]
    values = {(v,): v - register.low for v in range(register.low, register.high + 1)}
    return naive.draft.finish_outputs((target,), values, len(values), {})


@every("seed", range(40))
def test_a_program_holds_what_was_drafted_at_every_position(seed: int) -> None:
    naive = drafted(seed)
    target = [name for name in naive.held if naive.draft.registers[name].kind == "integer"][-1]
    program = finished(naive, target)
    result = interpret_registers(program, naive.words)
    needed = {name for name in naive.needed(target) if name in result}
    assert target in needed
    for name in needed:
        assert result[name].tolist() == naive.held[name], name
        low, high = program.register[name].bounds(LENGTH)
        assert low <= result[name].min() <= result[name].max() <= high
    low = naive.draft.registers[target].low
    assert interpret(program, naive.words).tolist() == [
        [value - low for value in word[1:]] for word in naive.held[target]
    ]


@every("seed", range(40))
def test_layers_are_as_few_as_the_longest_way_to_the_output_and_what_it_does_not_need_is_dropped(
    seed: int,
) -> None:
    naive = drafted(seed)
    target = [name for name in naive.held if naive.draft.registers[name].kind == "integer"][-1]
    program = finished(naive, target)
    assert program.depth == max(naive.layer[target] + 1, 0)
    registers = {register.name for register in program.registers}
    sources = {source.register for source in program.sources}
    assert {name for name in registers - naive.needed(target) if not name.startswith("places")} <= sources
    for layer in program.layers:
        patterns = [operation.pattern for operation in layer.attention]
        assert len(set(patterns)) == len(patterns)  # one head for each place to look at


def test_a_name_that_is_taken_gets_a_number() -> None:
    draft = ProgramDraft(2)
    names = [draft.source(draft.fresh(called("x")), [0, 1], 0) for _ in range(3)]
    assert names == ["x", "x#2", "x#3"]


def test_ever_remembers() -> None:
    draft = ProgramDraft(2)
    ever = draft.ever(draft.source(called("one"), [0, 1], 0), called("ever"))
    program = draft.finish_outputs((ever,), {(0,): 0, (1,): 1}, 2, {})
    words = np.array([[0, 0, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0]])
    assert (interpret_registers(program, words)[ever][:, 1:] == np.maximum.accumulate(words, axis=1)).all()


def test_a_finite_value_is_a_constant_a_register_or_a_table() -> None:
    draft = ProgramDraft(3)
    draft.source(called("x"), [0, 1, 2], 0)
    whole = register_value("x", range(3))
    assert whole.register(draft, called("again")) == "x"
    assert whole.renamed(lambda value: 7).register(draft, called("seven")) == ""
    parity = whole.renamed(lambda value: value % 2)
    assert parity.values == {0, 1}
    name = parity.register(draft, called("parity"))
    assert draft.sources[name].letters == (0, 1, 0)
    both = joined(
        draft, [whole, parity], [called("x"), called("parity")], {(a, a % 2): 10 + a for a in range(3)}
    )
    assert both.rows == {(x, y): 10 + x for x in range(3) for y in range(3) if x % 2 == y % 2}
    assert Finite((), {(): 5}).register(draft, called("five")) == ""
    require_rows(100_000, ["x"])


@pytest.mark.parametrize(("name", "points"), [("S4", 4), ("A5", 5), ("D8", 4), ("Q8", None), ("T3", None)])
def test_a_scan_moves_the_fewest_points_that_determine_the_state(name: str, points: int | None) -> None:
    automaton = zoo(name)
    result = fewest_points(automaton)
    assert (None if result is None else len(result.letters[0])) == points
    if result is not None:
        rng = np.random.default_rng(2)
        for word in rng.integers(automaton.num_letters, size=(30, 8)).tolist():
            image = tuple(range(len(result.letters[0])))
            for letter in word:
                image = tuple(result.letters[letter][x] for x in image)
            assert result.state[image] == automaton.run(word)[-1]


@pytest.mark.parametrize(("length", "depth"), [(1, 0), (2, 1), (3, 2), (5, 3), (8, 3)])
def test_a_scan_has_a_layer_for_each_doubling_and_the_right_states(length: int, depth: int) -> None:
    automaton = zoo("S3")
    program = scan_program(automaton, length)
    assert program.depth == depth
    words = np.random.default_rng(length).integers(automaton.num_letters, size=(40, length))
    assert interpret(program, words).tolist() == [automaton.run(word) for word in words.tolist()]


SIZE = LayerSize(1, 2, 24)
SCHEME = find_two_layer_witness(zoo("D6"))
WORDS = find_two_words([[0, 1], [1, 0]], 0)
LONG = (
    "for words of more than 593 letters and layers of 1 head of dimension 2 and 24 bits: answers that "
    "survive an error of 2^-24"
)


@pytest.mark.parametrize(
    ("upper", "witness", "text"),
    [
        (2, SCHEME, f"2, optimal {LONG}"),
        (3, SCHEME, f"at most 3 at every length; at least 2 {LONG}"),
        (None, SCHEME, f"no constant depth known; at least 2 {LONG}"),
        (1, WORDS, "1, optimal for words of more than 1 letter"),
        (2, WORDS, "at most 2 at every length; at least 1 for words of more than 1 letter"),
        (1, None, "at most 1 at every length"),
        (0, None, "0, optimal: the last letter and the place decide"),
    ],
)
def test_bounds_on_the_depth_name_the_words_and_layers_they_hold_for(
    upper: int | None, witness: Witness | None, text: str
) -> None:
    bounds = DepthBounds(upper, witness, SIZE)
    assert str(bounds) == text
    assert bounds.brief.partition(" beyond ")[0] == text.partition(" for words ")[0]
    shown = bounds.to_json(("a", "b"))
    assert shown["optimal"] == (upper == bounds.lower)
    assert shown["lower_for"] == {"heads": 1, "head_dim": 2, "bits": 24}
    beyond = shown["lower_beyond"]
    assert not bounds.to_json(("a", "b"), beyond)["optimal"] or not bounds.lower
    assert bounds.to_json(("a", "b"), beyond + 1)["optimal"] == bounds.optimal


def test_a_network_of_one_layer_needs_no_scheme_and_one_of_none_no_witness() -> None:
    one, none, two = bound_depth(zoo("C2"), 1), bound_depth(zoo("C1"), 0), bound_depth(zoo("D6"), 2)
    assert (one.optimal, one.lower, one.lower_beyond) == (True, 1, 1)
    assert (none.optimal, none.lower, none.witness) == (True, 0, None)
    assert (two.optimal, two.lower, two.lower_beyond > 90_000) == (True, 2, True)
    assert bound_depth(zoo("D6"), None).lower == 2
