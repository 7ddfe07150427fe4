"""``krohn equal``: the same observations after every word, against lists of words."""

import itertools
import json
import re

import numpy as np
import pytest

import krohn
from every import every
from krohn.cli.app import run

PAIRS = [
    ("(ab)*a", "a(ba)*"),
    ("(a|b)*", "[ab]*"),
    ("a*", "a+"),
    (r"\d+", "[0-9]+"),
    ("[a-z]*", "[a-y]*z*"),
    ("(?i)ab", "[Aa][Bb]"),
    ("a", "b"),
]


@every(("one", "other"), PAIRS)
def test_the_word_tells_patterns_apart_and_none_is_shorter(one: str, other: str) -> None:
    result = krohn.equal(f"regex:{one}", f"regex:{other}")
    engines = [re.compile(one), re.compile(other)]
    for length in range(4):
        differ = [
            word
            for word in map("".join, itertools.product("abzAB0٣", repeat=length))
            if bool(engines[0].fullmatch(word)) != bool(engines[1].fullmatch(word))
        ]
        if differ:
            assert not result.equal
            assert result.word is not None
            assert len(result.word) <= length
            return
    assert result.equal


def test_random_automata_differ_where_words_say_so() -> None:
    rng = np.random.default_rng(1)
    verdicts = set()
    for _ in range(200):
        one, other = (
            krohn.Semiautomaton(rng.integers(2, size=(2, 2)), observe=tuple(rng.integers(2, size=2).tolist()))
            for _ in range(2)
        )
        result = krohn.equal(one, other)
        assert one.observe is not None
        assert other.observe is not None
        short = [
            word
            for length in range(5)
            for word in itertools.product(range(2), repeat=length)
            if one.observe[(one.run(word) or [0])[-1]] != other.observe[(other.run(word) or [0])[-1]]
        ]
        assert result.equal == (not short)
        assert result.word is None or tuple(map(int, result.word)) == short[0]
        verdicts.add(result.equal)
    assert verdicts == {True, False}


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["equal", "regex:(ab)*a", "regex:a(ba)*"]) == 0
    assert "equal: they show the same" in capsys.readouterr().out
    assert run(["equal", "regex:a*", "regex:a*b", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"equal": False, "word": [], "shown": ["1", "0"]}
    assert run(["equal", "C2", "C3"]) == 2
    assert run(["equal", "abab", "abab@accept"]) == 2
