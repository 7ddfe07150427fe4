"""Plain-language descriptions of registers and heads on the page, checked for truth."""

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from small_machines import LETTER_SIGNS, STATE_SIGNS, unpacked

import krohn
from krohn.explorer.page_data import small_text
from krohn.network.plain_words import about, head_words, register_words

LENGTH = 12
ZOO = [
    *("C2", "C3", "C2xC2", "D8", "Q8", "A4", "S3", "S4", "A5", "Grid4", "Grid3x4", "Dyck4,2", "abab", "Add"),
    *("Memory3", "WriteOnce2", "PermReset3", "T3", "regex:(a|b)*abb", "regex:a*b*", "regex:(ab|ba)*"),
]


@cache
def sentences(spec: str) -> list[str]:
    network = krohn.compile(spec, length=LENGTH, unproved=True)
    return [*register_words(network).values(), *(text for layer in head_words(network) for text in layer)]


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("C2", "how often 1 has come, mod 2"),
        ("C3", "the sum of the letters so far, mod 3"),
        ("S4", "how many swaps so far, mod 2: whether the order is even or odd"),
        ("S4", "a wheel of 3: with the counters before, it says in which of 6 cosets the state lies"),
        ("Q8", "how often i or k has come, mod 2"),
        ("A4", "what the letters so far add up to, mod 3: 1 for 1203, 2 for 1320"),
        ("A5", "where the last 2 letters take chair 0"),
        ("Grid4", "the move: −1 for L, 1 for R"),
        ("abab", "counts how often a came out of turn"),
        ("D8", "how often toggle has come, mod 4"),
        ("Dyck4,2", "finds the bracket that this letter would close"),
        ("WriteOnce2", "which came last, of 1 or clear"),
        ("regex:a*b*", "has b come yet? 0 no, 1 yes"),
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


def counted(text: str) -> Callable[[list[str]], int] | None:
    """The claim of a sentence about numbers of letters, parsed independently."""
    if match := re.fullmatch(r"how often (.+?) has come(?:, mod (\d+))?", text):
        letters = re.split(", | or ", match[1])
        modulus = int(match[2] or 10**9)
        return lambda word: sum(letter in letters for letter in word) % modulus
    if match := re.fullmatch(r"the sum of the letters so far(?:, mod (\d+))?", text):
        modulus = int(match[1] or 10**9)
        return lambda word: sum(map(int, word)) % modulus
    if match := re.fullmatch(r"what the letters so far add up to(?:, mod (\d+))?: (.+)", text):
        pairs = (item.replace("−", "-").split(" for ") for item in match[2].split(", "))
        values = {name: int(value) for value, name in pairs}
        if not match[1]:
            return lambda word: sum(values.get(letter, 0) for letter in word)
        modulus = int(match[1])
        return lambda word: sum(values.get(letter, 0) for letter in word) % modulus
    if match := re.fullmatch(r"has (\w+) come yet\? 0 no, 1 yes", text):
        return lambda word: int(match[1] in word)
    if text.startswith("how many swaps so far, mod 2"):
        odd = lambda name: sum(a > b for i, a in enumerate(name) for b in name[i + 1 :]) % 2  # noqa: E731
        return lambda word: sum(map(odd, word)) % 2
    return None


@pytest.mark.parametrize("spec", ["C2", "C3", "Q8", "A4", "S3", "S4", "D8", "regex:a*b*", "regex:(ab|ba)*"])
def test_sentences_about_numbers_of_letters_are_true(spec: str) -> None:
    network = krohn.compile(spec, length=LENGTH, unproved=True)
    names = network.automaton.letter_names
    rng = np.random.default_rng(0)
    checked = set()
    for _ in range(20):
        word = rng.integers(len(names), size=LENGTH)
        shown = network.explain(tuple(map(int, word))).to_frame().iloc[-LENGTH:]
        for register, text in register_words(network).items():
            truth = counted(text)
            if truth is None or register not in shown:
                continue
            letters = [names[a] for a in word]
            meant = [truth(letters[: t + 1]) for t in range(LENGTH)]
            assert shown[register].astype(float).tolist() == pytest.approx(meant), (register, text)
            checked.add(text)
    assert checked


@pytest.mark.parametrize("spec", ["Q8", "A4", "S3", "S4"])
def test_counters_tell_the_cosets_that_are_named(spec: str) -> None:
    """States with the same counters are a block: every letter takes blocks to blocks."""
    network = krohn.compile(spec, length=LENGTH, unproved=True)
    automaton, words = network.automaton, register_words(network)
    rng = np.random.default_rng(1)
    counters = [name for name in words if re.search(r"^level 0 section \d+ count", name)]
    section = {name: int(re.search(r"section (\d+)", name)[1]) for name in counters}  # type: ignore[index]
    seen: dict[int, dict[str, int]] = {}
    for _ in range(40):
        word = tuple(map(int, rng.integers(automaton.num_letters, size=LENGTH)))
        shown = network.explain(word).to_frame().iloc[-LENGTH:]
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
