"""Plain-language descriptions of registers and heads on the page, checked for truth."""

import json
import re
from dataclasses import replace
from functools import cache
from itertools import accumulate
from random import Random
from typing import Any

import numpy as np
import pytest
from small_machines import LETTER_SIGNS, STATE_SIGNS, unpacked

import krohn
from krohn.automata.zoo import about
from krohn.cascade.holonomy import holonomy_cascade
from krohn.construct.request import Method
from krohn.errors import KrohnError
from krohn.explorer.page_data import small_text
from krohn.network.compiled import CompiledNetwork
from krohn.network.explanation import explain_word
from krohn.network.plain_words import Wording, head_words, register_words
from krohn.network.program import fields_of, interpret_registers
from krohn.network.program_file import meaning_from_json
from krohn.network.register_kinds import KINDS
from krohn.paper.component_cascade import component_cascade
from network.naive_meanings import naive, related

LENGTH = 12
ZOO = [
    *("C2", "C3", "C2xC2", "D8", "Q8", "A4", "S3", "S4", "A5", "Grid4", "Grid3x4", "Dyck4,2", "abab", "Add"),
    *(
        "Memory3",
        "WriteOnce2",
        "PermReset3",
        "T3",
        "regex:(a|b)*abb",
        "regex:a*b*",
        "regex:(ab|ba)*",
        "regex:a*ba*|b*ab*",
    ),
]


@cache
def compiled(spec: str, method: Method = "auto") -> CompiledNetwork:
    return krohn.compile(spec, length=LENGTH, unproved=True, method=method)


def nested(depth: int) -> dict[str, Any]:
    return {"kind": "sum", "of": [nested(depth - 1)]} if depth else {"kind": "letter"}


def sentences(spec: str) -> list[str]:
    network = compiled(spec)
    return [*register_words(network).values(), *(text for layer in head_words(network) for text in layer)]


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("C2", "how often 1 has come, mod 2"),
        ("C3", "the sum of the letters so far, mod 3"),
        ("S4", "how many swaps so far, mod 2: whether the order is even or odd"),
        ("S4", "a wheel of 3: with the counters before, it says in which of 6 cosets the state lies"),
        ("Q8", "how often i or k has come, mod 2"),
        ("A4", "what the letters so far add up to, modulo 3: 1203 adds 1, 1320 adds 2"),
        ("A5", "where the last 2 letters take chair 0"),
        ("Grid4", "the move: L adds −1, R adds 1"),
        ("abab", "counts how often a came out of turn"),
        ("D8", "how often toggle has come, mod 4"),
        ("Dyck4,2", "finds the bracket that this letter would close"),
        ("WriteOnce2", "which came last, of 1 or clear"),
        ("regex:a*b*", "finds the first b"),
        ("regex:(ab)*", "have letters out of turn come yet? 0 no, 1 yes"),
    ],
)
def test_registers_and_heads_are_described_in_plain_words(spec: str, sentence: str) -> None:
    assert sentence in sentences(spec)


def test_no_register_and_no_head_keeps_its_technical_name() -> None:
    """``how many of 1 so far`` was one sentence, ``part 0 unclamped place`` the name of another."""
    technical = re.compile(
        r"\blevel \d|\bsection \d|\[|\]|\bmost recent\b|\bpart 0\b|unclamped|\bof \d+ so far"
    )
    result = {spec: [text for text in sentences(spec) if technical.search(text)] for spec in ZOO}
    assert {spec: texts for spec, texts in result.items() if texts} == {}


def test_no_small_machine_keeps_a_technical_name() -> None:
    for name, machine in unpacked(small_text()).items():
        meaning = machine["meaning"]
        assert [text for key, text in meaning["words"].items() if key == text] == [], name
        for text in (*meaning["words"].values(), *(t for layer in meaning["head_words"] for t in layer)):
            assert not re.search(r"\[|\]|\blevel \d", text), text
        assert machine["automaton"]["letters"] == list(LETTER_SIGNS)
        assert machine["automaton"]["states"] == list(STATE_SIGNS[: len(machine["automaton"]["table"])])


METHODS: list[tuple[str, Method]] = [
    *(("Grid4", "grid"), ("S3", "scan"), ("abab", "scan"), ("T3", "cascade"), ("Add", "cascade")),
    *(
        ("regex:(a|b)*abb", "cascade"),
        ("C2xC2", "features"),
        ("regex:(ab|ba)*", "features"),
        ("abab", "wide"),
    ),
]
EVERY = [*((spec, "auto") for spec in ZOO), *METHODS]


@pytest.mark.parametrize(
    ("spec", "method"), [*EVERY, *((spec, "paper") for spec in ("FlipFlop", "D6", "T3"))]
)
def test_every_register_has_a_meaning_and_its_name_back_from_json(spec: str, method: Method) -> None:
    network = compiled(spec, method)
    named = {channel.register for moment in network.layout.moments for channel in moment if channel.register}
    assert named <= set(network.meanings)
    assert len(set(network.meanings.values())) == len(network.meanings)
    for name, meaning in network.meanings.items():
        assert meaning.kind != "named"
        stored = json.loads(json.dumps(meaning.to_json()))
        assert meaning_from_json(stored) == meaning
        assert meaning_from_json(stored).name == name


def test_what_the_fields_of_a_meaning_say_is_what_the_register_holds() -> None:
    """By plain counting over the word: the meaning is a claim about values, and not a label."""
    checked = set[str]()
    for spec, method in EVERY:
        network = compiled(spec, method)
        program, automaton = network.program, network.automaton
        assert program is not None
        words = np.random.default_rng(0).integers(automaton.num_letters, size=(6, LENGTH))
        held = interpret_registers(program, words)
        for register in program.registers:
            for number, word in enumerate(words):
                names = [automaton.letter_names[letter] for letter in word]
                for t in range(1, LENGTH + 1):
                    wanted = naive(register.meaning, names[:t], automaton)
                    if wanted is not None:
                        value = held[register.name][number, program.num_padding + t - 1]
                        assert value == wanted, (spec, method, register.name, names[:t])
                        checked.add(register.meaning.kind)
    plain = {"is", "sum", "count", "count up to", "state"}
    stack = {"bracket", "act", "rise", "height", "error", "removed", "held", "on stack"}
    others = {"back", "point", "map", "map before", "failed"}
    assert checked >= plain | stack | others, plain - checked


def test_memories_counters_and_walks_hold_what_their_sentences_say_of_other_registers() -> None:
    checked = set[str]()
    for spec, method in (*EVERY, ("regex:(aa)*b", "cascade"), ("D8", "cascade")):
        network = compiled(spec, method)
        program = network.program
        assert program is not None
        words = np.random.default_rng(1).integers(network.automaton.num_letters, size=(6, LENGTH))
        held = interpret_registers(program, words)
        for number in range(len(words)):
            values = {r.meaning: [int(value) for value in held[r.name][number]] for r in program.registers}
            for meaning, shown in values.items():
                wanted = related(meaning, values, size=4)
                if wanted is not None:
                    checked.add(meaning.kind)
                    assert all(w in (None, v) for w, v in zip(wanted, shown, strict=True)), (spec, meaning)
    wanted = {"memory", "place of reset", "counter", "unclamped"}
    assert checked >= wanted | {"axis sum", "axis key", "axis visit", "axis bit", "axis state"}


def depends(values: Any, others: list[Any]) -> bool:
    """Whether equal entries of the others always stand beside equal values."""
    table: dict[tuple[Any, ...], Any] = {}
    rows = zip(*(np.ravel(other).tolist() for other in others), strict=True)
    each = zip(rows, np.ravel(values).tolist(), strict=True)
    return all(table.setdefault(row, value) == value for row, value in each)


@pytest.mark.parametrize("spec", ["T3", "PermReset3"])
def test_a_stage_is_what_earlier_levels_hold_and_levels_give_the_state(spec: str) -> None:
    network = compiled(spec, "cascade")
    program, automaton = network.program, network.automaton
    assert program is not None
    words = np.random.default_rng(3).integers(automaton.num_letters, size=(60, LENGTH))
    held = {
        name: values[:, program.num_padding :] for name, values in interpret_registers(program, words).items()
    }
    own = [r for r in program.registers if r.meaning.kind in ("counter", "memory", "tile", "stage")]
    assert {r.meaning.kind for r in own} >= {"memory"}
    for register in own:
        meaning = register.meaning
        if meaning.kind in ("stage", "tile"):
            below = meaning.level - (meaning.kind == "stage")
            known = [held[r.name] for r in own if r.meaning.level <= below and r != register]
            assert depends(held[register.name], known), register.name
    states = np.array([[automaton.start, *automaton.run(word)][1:] for word in words])
    held_by_levels = [held[r.name] for r in own if r.meaning.kind != "stage"]
    assert depends(states, held_by_levels)
    assert not depends(states, held_by_levels[:1])


@pytest.mark.parametrize("spec", ["FlipFlop", "D6", "T3", "A4"])
def test_channels_of_the_papers_network_hold_what_is_said_of_its_components(spec: str) -> None:
    """Against the components themselves, run letter by letter."""
    network = compiled(spec, "paper")
    whole = component_cascade(holonomy_cascade(network.automaton))
    checked, vectors = set[str](), list[tuple[Any, ...]]()
    for word in np.random.default_rng(4).integers(network.automaton.num_letters, size=(8, LENGTH)).tolist():
        shown = {
            one.name: np.round(one.values[-LENGTH:], 2).tolist()
            for one in explain_word(network, word).registers
        }
        held = {meaning: shown[name] for name, meaning in network.meanings.items() if name in shown}
        before, place, actions = list[Any](), whole.initial, list[Any]()
        for letter in word:
            before.append(place)
            actions.append(whole.moves[place, letter])
            place = tuple(a if isinstance(a, int) else a[q] for a, q in zip(actions[-1], place, strict=True))
        after = [*before[1:], place]
        for meaning, values in held.items():
            wanted = of_component(meaning, before, after, actions, whole) or summed_up(meaning, held)
            if wanted is not None:
                checked.add(meaning.kind)
                assert values == wanted, (meaning, word)
        for number, part in enumerate(whole.components):
            product, names = tuple(range(part.states)), [m for m in held if m.kind == "component coordinate"]
            for t, action in enumerate(actions):
                moved = action[number]
                product = product if isinstance(moved, int) else tuple(moved[q] for q in product)
                vectors.append((number, product, tuple(held[m][t] for m in names if m.number == number)))
    assert len({(n, p) for n, p, _ in vectors}) == len({(n, v) for n, _, v in vectors}) == len({*vectors})
    assert checked >= WANTED[spec]


WANTED = {
    "FlipFlop": {"component target", "component memory", "component idle"},
    "D6": {"group sum", "group product"},
    "A4": {"group sum", "group product"},
    "T3": {"component value", "component before", "component memory", "group sum"},
}


def of_component(meaning: Any, before: Any, after: Any, actions: Any, whole: Any) -> list[int] | None:
    """What is said of a component, from its states and what letters do to it."""
    i, resets = meaning.number, []
    match meaning.kind:
        case "component value":
            return [states[i] for states in after]
        case "component before":
            return [states[i] for states in before]
        case "component idle":
            return [int(not isinstance(action[i], int)) for action in actions]
        case "component target":
            return [action[i] if isinstance(action[i], int) else 0 for action in actions]
        case "component memory":
            for action in actions:
                last = resets[-1] if resets else whole.initial[i]
                resets.append(action[i] if isinstance(action[i], int) else last)
            return resets
    return None


def summed_up(meaning: Any, held: dict[Any, list[Any]]) -> list[int] | None:
    """A sum adds up what the coordinate was before; a product takes it modulo a prime."""
    if meaning.kind == "group sum":
        given = [
            m
            for m in held
            if (m.group, m.number) == (meaning.group, meaning.number) and (m.start or 0) < meaning.start
        ]
        return [*accumulate(held[max(given, key=lambda m: m.start or 0)])]
    if meaning.kind == "group product":
        sums = held[replace(meaning, kind="group sum")]
        prime = max(held[meaning]) + 1
        return [total % prime for total in sums]
    return None


def test_a_number_for_the_last_letter_is_that_of_the_letter() -> None:
    for spec, method in (("WriteOnce2", "auto"), ("FlipFlop", "features")):
        network = compiled(spec, method)  # type: ignore[arg-type]
        program, names = network.program, network.automaton.letter_names
        assert program is not None
        words = np.random.default_rng(2).integers(len(names), size=(40, LENGTH))
        held = interpret_registers(program, words)
        latest = [
            register
            for register in program.registers
            if register.meaning.kind == "latest letter" and register.meaning.of[0].kind == "letters"
        ]
        assert latest
        for register in latest:
            (letters,) = register.meaning.of
            values: dict[str, set[int]] = {}
            for word, shown in zip(words, held[register.name][:, program.num_padding :], strict=True):
                last = "none yet"
                for letter, value in zip(word, shown, strict=True):
                    last = names[letter] if names[letter] in letters.letters else last
                    values.setdefault(last, set()).add(int(value))
            assert all(len(each) == 1 for each in values.values())
            assert len(set.union(*values.values())) == len(values) == len(letters.letters) + 1


@pytest.mark.parametrize(
    ("payload", "match"),
    [
        ({"kind": "counted"}, "the kind of a meaning must be one of"),
        ({"kind": "counter", "level": 0, "section": 1}, "the meaning 'counter' needs modulus"),
        ({"kind": "letter", "level": 0}, "the meaning 'letter' cannot have level"),
        ({"kind": "sum", "of": [{"kind": "letter"}, {"kind": "letter"}]}, "cannot have these parts"),
        ({"kind": "settling one", "state": -1}, "must have numbers from 0 on"),
        ({"kind": "letter", "colour": 1}, "a register's meaning must have the keys"),
        ({"kind": "position from 0", "modulus": "2"}, "modulus must be an integer"),
        (nested(100), "at most 8 deep"),
    ],
)
def test_a_malformed_meaning_is_refused_in_one_line(payload: dict[str, Any], match: str) -> None:
    with pytest.raises(KrohnError, match=match) as error:
        meaning_from_json(payload)
    assert "\n" not in str(error.value)


def drawn(rng: Random, depth: int = 0) -> dict[str, Any]:
    """Some kind with fields of the right types, most of them not its own."""
    payload: dict[str, Any] = {"kind": rng.choice([*KINDS]), "part": rng.choice([["0"], ["²", "٣"], []])}
    numbers = ("level", "section", "modulus", "residue", "number", "start", "length", "state")
    payload |= {name: rng.choice([0, 1, 2, 10**15]) for name in numbers if rng.random() < 0.5}
    payload |= {"letters": rng.choice([["a"], ["a", "10"]])} if rng.random() < 0.3 else {}
    return payload | ({"of": [drawn(rng, depth + 1) for _ in range(rng.choice([1, 2]))]} if depth < 2 else {})


def test_whatever_a_file_says_a_register_means_it_has_a_name_and_words_or_is_refused() -> None:
    rng, accepted = Random(0), 0
    words = Wording(compiled("S4").automaton, compiled("S4"))
    for _ in range(120):
        payload = drawn(rng)
        for kind in KINDS:  # with the fields that this kind has
            probe = {key: value for key, value in payload.items() if key in fields_of(kind)[1]} | {
                "kind": kind
            }
            try:
                meaning = meaning_from_json(probe)
            except KrohnError:
                continue
            accepted += 1
            assert meaning.name
            assert words.of(meaning)
    assert accepted > 500


@pytest.mark.parametrize("spec", ["Q8", "A4", "S3", "S4"])
def test_counters_tell_the_cosets_that_are_named(spec: str) -> None:
    """States with the same counters are a block: every letter takes blocks to blocks."""
    network = compiled(spec)
    automaton, words = network.automaton, register_words(network)
    rng = np.random.default_rng(1)
    assert network.program is not None
    meanings = {register.name: register.meaning for register in network.program.registers}
    section = {name: m.section or 0 for name, m in meanings.items() if m.kind == "counter"}
    counters = list(section)
    seen: dict[int, dict[str, int]] = {}
    for _ in range(40):
        word = tuple(map(int, rng.integers(automaton.num_letters, size=LENGTH)))
        shown = krohn.explain(network, word).to_frame().iloc[-LENGTH:]
        for t, state in enumerate(automaton.run(list(word))):
            seen[state] = {name: round(float(shown[name].iloc[t])) for name in counters}
    assert len(seen) == automaton.num_states
    claims = 0
    for name in counters:
        match = re.search(r"which of (\d+) cosets|which (state) it is", words[name])
        if not match:
            continue
        claims += 1
        block = {q: tuple(c[n] for n in counters if section[n] <= section[name]) for q, c in seen.items()}
        assert len(set(block.values())) == int(match[1] or automaton.num_states)
        for letter in range(automaton.num_letters):
            moved = {(block[q], block[automaton.step(q, letter)]) for q in seen}
            assert len(moved) == len(set(block.values()))
    assert claims


def test_one_sentence_says_what_an_automaton_is() -> None:
    assert about(krohn.zoo("C2")).startswith("A counter from 0 to 1 that starts again at 0")
    assert about(krohn.parse_spec("regex:ab*")).startswith("Does the word read so far match ab*?")
    for name in krohn.zoo():
        text = about(krohn.zoo(name))
        assert "{" not in text
        assert text.endswith((".", "?"))
        assert not text.startswith("A machine with"), name
