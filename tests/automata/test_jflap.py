"""JFLAP's files: round trips keep the language, NFAs become sets of states, malicious XML is refused."""

import itertools
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import krohn
from krohn.automata.reading.arrows import finish
from krohn.automata.reading.jflap import jff_text, read_jff
from krohn.cli.app import run

HEAD = "<structure><type>fa</type><automaton>"
TAIL = "</automaton></structure>"


def jff(states: str, arrows: str) -> bytes:
    """States as `0i 1 2f` (i initial, f final), arrows as `0 a 1`, one a line; an arrow may read nothing."""
    nodes = "".join(
        f'<state id="{s.rstrip("if")}" name="q{s.rstrip("if")}"><x>1.0</x><y>2</y>'
        f"{'<initial/>' if 'i' in s else ''}{'<final/>' if 'f' in s else ''}</state>"
        for s in states.split()
    )
    for line in arrows.splitlines():
        source, *letter, target = line.split()
        read = f"<read>{letter[0]}</read>" if letter else "<read/>"
        nodes += f"<transition><from>{source}</from><to>{target}</to>{read}</transition>"
    return f"{HEAD}{nodes}{TAIL}".encode()


def random_automaton(rng: np.random.Generator) -> krohn.Semiautomaton:
    states, letters = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    return krohn.Semiautomaton(
        rng.integers(states, size=(states, letters)),
        start=int(rng.integers(states)),
        letter_names=tuple("<&a"[:letters]) if rng.integers(2) else tuple("abc"[:letters]),
        observe=tuple(map(int, rng.integers(2, size=states))) if rng.integers(4) else None,
    )


def test_two_hundred_random_automata_come_back_with_their_language_and_states(tmp_path: Path) -> None:
    rng = np.random.default_rng(30)
    for number in range(200):
        automaton = random_automaton(rng)
        path = tmp_path / f"{number}.jff"
        krohn.dump_automaton(automaton, path)
        again = krohn.parse_spec(str(path))
        for word in rng.integers(automaton.num_letters, size=(20, 12)).tolist():
            names = [automaton.letter_names[letter] for letter in word]
            before = [automaton.state_names[q] for q in automaton.run(names)]
            assert [again.state_names[q] for q in again.run(names)] == before
            if automaton.observe is not None and any(automaton.observe):
                assert again.observe is not None
                seen = [automaton.observe[q] for q in automaton.run(names)]
                assert [again.observe[q] for q in again.run(names)] == seen


def accepts(arrows: list[tuple[int, str, int]], final: set[int], word: str) -> bool:
    """An NFA by its definition: is there a path?"""
    here = {0}
    for letter in ("", *(part for sign in word for part in (sign, ""))):
        if letter:
            here = {t for s, x, t in arrows if x == letter and s in here}
        else:
            while more := {t for s, x, t in arrows if not x and s in here} - here:
                here |= more
    return bool(here & final)


def test_a_nondeterministic_automaton_becomes_one_of_the_same_language() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        states = int(rng.integers(2, 6))
        final = {int(rng.integers(states))}
        arrows = [
            (int(rng.integers(states)), str(rng.choice(["a", "b", ""])), int(rng.integers(states)))
            for _ in range(2 * states)
        ]
        arrows.append((0, "a", 1))
        arrows.append((1, "b", 0))
        marks = " ".join(f"{s}{'i' if s == 0 else ''}{'f' if s in final else ''}" for s in range(states))
        result = finish(read_jff(jff(marks, "\n".join(f"{s} {x} {t}" for s, x, t in arrows))))
        assert result.observe is not None
        for length in range(1, 7):
            for letters in itertools.product("ab", repeat=length):
                word = "".join(letters)
                assert bool(result.observe[result.run(word)[-1]]) == accepts(arrows, final, word), word


def test_a_missing_arrow_leads_to_a_sink() -> None:
    result = finish(read_jff(jff("0i 1f", "0 a 1\n1 b 0")))
    assert result.state_names == ("q0", "q1", "sink")
    assert result.run("ab") == [1, 0]
    assert result.run("ba") == [2, 2]
    assert result.observe == (0, 1, 0)


def test_files_of_the_first_versions_have_no_automaton_element() -> None:
    data = jff("0i 1f", "0 a 1\n1 a 0").replace(b"<automaton>", b"").replace(b"</automaton>", b"")
    assert finish(read_jff(data)).run("aa") == [1, 0]


def test_a_label_of_two_letters_reads_one_after_the_other() -> None:
    result = finish(read_jff(jff("0i 1f", "0 ab 1\n0 ac 0\n1 b 0\n1 a 1")))
    assert result.letter_names == ("a", "b", "c")
    assert result.state_names == ("q0", "q1", "q0.a", "sink")
    arrows = [(0, "a", 2), (2, "b", 1), (2, "c", 0), (1, "b", 0), (1, "a", 1)]
    assert result.observe is not None
    for letters in itertools.product("abc", repeat=5):
        word = "".join(letters)
        assert bool(result.observe[result.run(word)[-1]]) == accepts(arrows, {1}, word), word


def test_changed_names_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = jff("0i 1f", "0 a 1\n1 a 0").replace(b'name="q0"', b'name="even number"')
    assert finish(read_jff(data)).state_names == ("even_number", "q1")
    assert "names of states have no spaces here: 'even number' is called 'even_number'" in caplog.text
    krohn.dump_automaton(krohn.zoo("D6"), tmp_path / "d6.jff")
    assert "a letter of JFLAP is one character: toggle is a, drive is b" in caplog.text
    again = krohn.load_automaton(tmp_path / "d6.jff")
    assert again.letter_names == ("a", "b")
    assert again.run("abba") == krohn.zoo("D6").run("toggle drive drive toggle")


def test_it_is_a_spec_everywhere_and_is_written_by_zoo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "abab.jff"
    assert run(["zoo", "abab@accept", "--out", str(path)]) == 0
    tree = ElementTree.parse(path).getroot()
    assert tree.findtext("type") == "fa"
    assert len(tree.findall("automaton/state")) == 5
    assert len(tree.findall("automaton/transition")) == 10
    assert len(tree.findall("automaton/state/final")) == 1
    for line in ("analyze {}", "compile {} -T 8", "decompose {}", "zoo {}"):
        assert run(line.format(path).split()) == 0
    for other in ("json", "jff"):
        assert run(["zoo", str(path), "--out", str(tmp_path / f"again.{other}")]) == 0
        assert krohn.load_automaton(tmp_path / f"again.{other}").run("abab") == krohn.zoo("abab").run("abab")
    assert run(["zoo", "C2", "--out", str(tmp_path / "c2.txt")]) == 2
    assert run(["zoo", "Dyck4,2@top", "--out", str(tmp_path / "top.jff")]) == 2
    assert "observations must be 0 or 1" in capsys.readouterr().err
    assert not (tmp_path / "top.jff").exists()


BILLION = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<structure><type>&b;</type></structure>"""
OUTSIDE = b"""<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><structure><type>&x;</type></structure>"""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BILLION, "no document type and no entities"),
        (OUTSIDE, "no document type and no entities"),
        (BILLION.decode().encode("utf-16"), "no document type and no entities"),
        (b"<!DOCTYPE structure SYSTEM 'http://example.org/x.dtd'><structure/>", "no document type"),
        (b"<structure>" + b"<a>" * 60_000, "16 deep"),
        (b"<structure>" + b"<a/>" * 250_000 + b"</structure>", "200,000 elements"),
        (b" " * 4_000_001, "at most 4,000,000 bytes"),
        (b"", "must be XML"),
        (b"\xff\xfe\x00", "must be XML"),
        (b"{}", "must be XML"),
        (b"<structure>&unknown;</structure>", "must be XML"),
        (b"<?xml version='1.0' encoding='klingon'?><structure/>", "must be XML"),
        (b"<structure><type>turing</type></structure>", "must hold a finite automaton"),
        (b"<html/>", "must hold a finite automaton"),
        (b"<structure><type>fa</type><automaton/></structure>", "must have states"),
        (jff("0 1f", "0 a 1"), "one initial state; got 0"),
        (jff("0i 1i", "0 a 1"), "one initial state; got 2"),
        (jff("0i 0f", "0 a 0"), "an id of its own"),
        (jff("0i 1f", "0 a 7"), "must be the id of a state; got '7'"),
        (jff("0i 1f", ""), "arrows must read letters"),
        (jff("0i", "0 a 0").replace(b"<read>a</read>", b"<read>a b</read>"), "letters without spaces"),
        (
            jff("0i", "0 a 0").replace(b"<from>0</from>", b"<from>0</from><from>0</from>"),
            "must have one <from>",
        ),
    ],
)
def test_invalid_automata_are_refused_in_one_line(
    data: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.jff"
    path.write_bytes(data)
    begin = time.process_time()
    assert run(["analyze", str(path)]) == 2
    assert time.process_time() - begin < 5
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert "internal error" not in err


def test_an_automaton_with_too_many_sets_of_states_is_refused() -> None:
    """The letter 16 places from the end: 2¹⁶ sets."""
    arrows = ["0 a 0", "0 b 0", "0 a 1", *(f"{s} {x} {s + 1}" for s in range(1, 16) for x in "ab")]
    states = "0i " + " ".join(map(str, range(1, 16))) + " 16f"
    with pytest.raises(krohn.KrohnError, match="50,000 states when it is made"):
        finish(read_jff(jff(states, "\n".join(arrows))))


def test_names_that_are_markup_are_text() -> None:
    odd = krohn.Semiautomaton(np.array([[1], [0]]), state_names=('"><x>', "&amp;"), letter_names=("<",))
    again = finish(read_jff(jff_text(odd).encode()))
    assert again.state_names == odd.state_names
    assert again.letter_names == odd.letter_names
