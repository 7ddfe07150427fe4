"""Patterns against Python's own engine: all short words, and the names of the parser on which they rest."""

import itertools
import re
from pathlib import Path

import pytest

import krohn
from every import every
from krohn.automata.patterns.parsed import items_of, syntax
from krohn.automata.regular import from_regex, looks_like_a_textbook
from krohn.cli.app import run

SIGNS = "ab\n "
SMALL = [
    r"a*+a", r"a*+b", r"(?>ab)b", r"(?:ab){2}+a", r"^a$", r"a$", r"\Aa\Z", r"a\b", r"\ba\b b", r"a\Bb",
    r"\B", r"(?m)^a$", r"(?m:a$)\nb", r"(?=a).b", r"(?!a).", r"(?=a(?!b)).*", r"(?!a*b)a.*", r"(?<=a)b",
    r"a(?<!b)b?", r"(?<=a)b|a", r"(?i)A+", r"(?s).*b", r".+", r"\s\w", r"\S+\s*", r"[^a]+", r"a|ab|",
    r"(a|)*b", r"a{0}", r"(?:)*a", r"(?x) a  b # end", r"(?=a)(?=.b)..", r"(?=.*a)(?=.*b).{2,3}",
    r"(a*)*b", r"a??b", r"(?s:(?!ab).)*", r"a(?=b|$).?", r"(?:(?=a)a|b(?!b))*", r"(?a)\w+", r"[\w-]+",
    r"(?P<x>a)b", r"(?:a|b)+?$", r"^^a|b$$", r"\b", r"(?!)", r"(?=)a",
]  # fmt: skip


@every("pattern", SMALL)
@pytest.mark.parametrize("match", ["full", "search"])
def test_the_verdict_is_that_of_re_on_all_short_words(pattern: str, match: str) -> None:
    automaton, engine = from_regex(pattern, alphabet=SIGNS, match=match), re.compile(pattern)
    assert automaton.observe is not None
    ask = engine.search if match == "search" else engine.fullmatch
    for length in range(5):
        for word in map("".join, itertools.product(SIGNS, repeat=length)):
            last = automaton.run(list(word))[-1] if word else automaton.start
            assert bool(automaton.observe[last]) == bool(ask(word)), (pattern, word)


REAL = [  # as forms of the web have them
    (
        r"^[\w.+-]+@[\w-]+\.[a-z]{2,4}$",
        ["me@x.org", "a.b+c@d-e.com", "me@x", "@x.org", "me@x.org\n", "mé@ü.de"],
    ),
    (r"^\(?\d{3}\)?[-. ]?\d{4}$", ["(030) 1234", "0301234", "030-123", "٠٣٠1234"]),
    (r"^(?=.*\d)(?=.*[a-z]).{4,8}$", ["abc1", "abcd", "1234", "1a", "abcdefgh1"]),
    (r"(?i)^#?([a-f0-9]{6}|[a-f0-9]{3})$", ["#FFF", "aBc123", "#ggg", "ſff"]),
    (r"^(?!.*(?:foo|bar)).+$", ["good", "a foo", "bar", "fo"]),
    (
        r"\b(?:25[0-5]|1?\d?\d)(?:\.(?:25[0-5]|1?\d?\d)){3}\b",
        ["1.2.3.4", "255.255.255.255", "256.1.1.1", "1.2.3"],
    ),
]


@every(("pattern", "words"), REAL)
def test_patterns_of_the_web_are_read_with_all_characters(pattern: str, words: list[str]) -> None:
    automaton, engine = from_regex(pattern), re.compile(pattern)
    assert automaton.observe is not None
    assert any(engine.fullmatch(word) for word in words)
    for word in words:
        assert bool(automaton.observe[automaton.run(word)[-1]]) == bool(engine.fullmatch(word)), word


def test_the_parser_of_this_python_names_what_is_read() -> None:
    """``re._parser`` is private: a Python that renames its nodes must fail here."""
    pattern = r"a[^b-c\d]|.(?:x)*y+?z?+(?>q)(?=r)(?!s)(?<=t)^\b\1(u)(?(1)v|w)$"
    names = {name for name, _ in items_of(syntax.parse(pattern.replace(r"\1", "", 1) + r"\1"))}
    assert names == {
        "LITERAL", "IN", "ANY", "BRANCH", "MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT", "ATOMIC_GROUP",
        "ASSERT", "ASSERT_NOT", "AT", "SUBPATTERN", "GROUPREF", "GROUPREF_EXISTS",
    }  # fmt: skip
    anchors = {str(value) for name, value in items_of(syntax.parse(r"^$\A\Z\b\B")) if name == "AT"}
    assert anchors == {
        "AT_BEGINNING", "AT_END", "AT_BEGINNING_STRING", "AT_END_STRING", "AT_BOUNDARY", "AT_NON_BOUNDARY",
    }  # fmt: skip


@every("pattern", [r"(a)\1", r"(?P<x>a)(?P=x)", r"(a)?(?(1)b|c)", r"(?>a|ab)c", r"(?:ab|a)++b", r"(?<=\bx)y"])
def test_what_is_not_regular_or_not_read_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(krohn.KrohnError, match=r"back-reference|conditional|atomic|possessive|look-behind"):
        from_regex(pattern)


def test_a_network_reads_characters_by_their_class(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net, spec = str(tmp_path / "net"), r"regex:\d+(-\d+)?"
    assert run(["compile", spec, "-T", "12", "--target", "observation", "--out", net]) == 0
    capsys.readouterr()
    for command in (["run", net], ["simulate", spec, "--observe"]):
        assert run([*command, "17-٣x"]) == 0
        assert capsys.readouterr().out.split() == ["1", "1", "0", "1", "0"]
    again = krohn.load(net)
    assert again.automaton.letter_names == ("-", r"\d", r"\D--[\-]")
    assert again.accepts("2026-11")
    assert not again.accepts("2026-")
    krohn.dump_automaton(again.automaton, tmp_path / "number.json")
    assert krohn.load_automaton(tmp_path / "number.json").run("1-2") == again.automaton.run("1-2")


def test_blanks_are_letters_where_the_pattern_reads_them() -> None:
    automaton = from_regex("a b")
    assert automaton.letter_names == (r"\x20", "a", "b", r"[^\x20ab]")
    assert automaton.observe is not None
    assert automaton.observe[automaton.run("a b")[-1]] == 1
    assert from_regex("(ab)*").run("a b") == from_regex("(ab)*").run("ab")


def test_search_and_slashes(capsys: pytest.CaptureFixture[str]) -> None:
    found, slashes = from_regex("fo+", match="search"), from_regex("/fo+/")
    assert found == slashes
    assert found.name == slashes.name == "regex:/fo+/"
    assert from_regex("/FO+/i").observe is not None
    with pytest.raises(krohn.KrohnError, match="flags"):
        from_regex("/a/q")
    assert from_regex("/b+/A") == from_regex(r"/\Ab+/")
    assert from_regex("/b+ # more/Ax") == from_regex(r"/\Ab+/")


def test_flags_of_other_programs_are_dropped_with_a_line(caplog: pytest.LogCaptureFixture) -> None:
    assert from_regex("/fo+/UHig") == from_regex("/fo+/i")
    assert [record.getMessage() for record in caplog.records] == [
        "HU of /…/flags is dropped: it says in which part of a packet Snort looks",
        "g of /…/flags is dropped: it says how often it matches",
    ]


@every(
    ("pattern", "means"),
    [("(a+b)*abb", "(a|b)*abb"), ("ε∪ab", "(?:)|ab"), ("a·(b∪c)", "a(b|c)"), ("a∪∅", "a|(?!)")],
)
def test_the_notation_of_textbooks_is_read_when_asked_for(pattern: str, means: str) -> None:
    assert looks_like_a_textbook(pattern)
    assert from_regex(pattern, textbook=True) == from_regex(means)
    assert not looks_like_a_textbook(means)
