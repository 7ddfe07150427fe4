"""Machines of other programs: every format against what its own manual says a small file means."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import krohn
from krohn.automata.files import FILES, read_machine
from krohn.automata.reading.arrows import build
from krohn.automata.reading.valuations import classes, variable
from krohn.cli.app import run


def machine(text: str, suffix: str, outputs: bool = True) -> tuple[krohn.Semiautomaton, list[str]]:
    return build(read_machine(text.encode(), suffix), outputs=outputs)


def shows(automaton: krohn.Semiautomaton, word: list[str] | str) -> list[str]:
    return [automaton.observed[state] for state in automaton.run(word)]


ENDS_IN_AB = "0\t0\ta\ta\n0\t0\tb\tb\n0\t1\ta\ta\n1\t2\tb\tb\n2\n"
DOT_AB = """digraph "ends in ab" {  // as AALpy writes it
s0 [label="s0", shape=circle]; s1 [label=<s<b>1</b>>]
s2 [shape=doublecircle];
s0 -> s1 [label=a]; s0 -> s0 [label="b"]; s1 -> s1 [label="a"];
s1 -> s2 [label="b"]; s2 -> s1 [label="a"]; s2 -> s0 [label="b"];
__start0 [label="", shape=none]; __start0 -> s0 [label=""];
}"""
CSV_AB = "state,a,b\n->p,q,p\nq,q,r\n*r,q,p\n"
HOA_AB = """HOA: v1
States: 3
Start: 0
AP: 1 "b"
Acceptance: 1 Inf(0)
--BODY--
State: 0 [!0] 1 [0] 0
State: 1 [!0] 1 [0] 2
State: 2 {0} [!0] 1 [0] 0
--END--"""


@pytest.mark.parametrize(
    ("text", "suffix", "letters"),
    [
        (ENDS_IN_AB, ".att", "ab"),
        (ENDS_IN_AB, "", "ab"),
        (ENDS_IN_AB.replace("\t", " "), ".fst", "ab"),
        (DOT_AB, ".dot", "ab"),
        (DOT_AB, "", "ab"),
        (CSV_AB, ".csv", "ab"),
        (CSV_AB.replace(",", "\t"), ".tsv", "ab"),
        (CSV_AB, ".unknown", "ab"),
        (HOA_AB, ".hoa", "01"),
        (HOA_AB, "", "01"),
    ],
)
def test_the_same_language_in_every_format_for_acceptors(text: str, suffix: str, letters: str) -> None:
    automaton, _ = machine(text, suffix)
    assert automaton.letter_names == tuple(letters)
    assert automaton.observe is not None
    for length in range(1, 7):
        for word in itertools.product(range(2), repeat=length):
            expected = word[-2:] == (0, 1)
            assert bool(automaton.observe[automaton.run(list(word))[-1]]) == expected, word


def test_what_is_changed_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "ab.att").write_text(ENDS_IN_AB + "7 0 a a\n")
    automaton = krohn.load_automaton(tmp_path / "ab.att")
    assert automaton.num_states == 3
    assert caplog.messages == [
        "ab: made deterministic: 4 states become 3 sets of states",
        "ab: 1 states are left out, which no word reaches: '7'",
    ]
    caplog.clear()
    (tmp_path / "partial.att").write_text("0 1 a\n1 0 b\n1\n")
    partial = krohn.load_automaton(tmp_path / "partial.att")
    assert partial.state_names == ("0", "1", "sink")
    assert shows(partial, "abab") == ["1", "0", "1", "0"]
    assert shows(partial, "aab") == ["1", "0", "0"]
    assert caplog.messages == ["partial: missing arrows lead to a sink"]


MEALY = """digraph { a -> b [label="coin|button / one coin"]; b -> a [label="coin/two"];
  b -> b [label="button<br />x"]; start -> a; start [shape=point] }"""


def test_a_mealy_machine_shows_the_output_of_its_last_arrow() -> None:
    text = MEALY.replace('"button<br />x"', "<button<br />x / y>")
    automaton, notes = machine(text, ".dot")
    assert automaton.letter_names == ("button", "coin")
    assert shows(automaton, ["coin", "button", "coin"]) == ["one_coin", "x_/_y", "two"]
    assert automaton.num_states == 4  # a at the start, b/one_coin, b/x, a/two
    assert "2 states become 4 of a state and the last output (--outputs drop keeps the 2)" in "".join(notes)
    dropped, _ = machine(text, ".dot", outputs=False)
    assert dropped.num_states == 2
    assert dropped.observe is None


def test_a_transducer_of_att_has_outputs_and_symbols(tmp_path: Path) -> None:
    (tmp_path / "t.att").write_text("0 1 1 2\n1 0 2 1\n0 0 2 2\n1 1 1 1\n0\n1\n")
    (tmp_path / "t.isyms").write_text("<eps> 0\npush 1\npull 2\n")
    (tmp_path / "t.osyms").write_text("<eps> 0\nopen 1\nshut 2\n")
    automaton = krohn.load_automaton(tmp_path / "t.att")
    assert automaton.letter_names == ("pull", "push")
    assert shows(automaton, ["push", "push", "pull", "pull"]) == ["shut", "open", "open", "shut"]


def test_epsilon_and_weights_of_att() -> None:
    silent, notes = machine("0 1 1 1\n1 2 0 0\n2 0 2 2\n2 0.5\n", ".att")
    assert silent.letter_names == ("1", "2")
    assert silent.observe is not None
    assert [silent.observe[q] for q in silent.run(["1", "2", "1"])] == [1, 0, 1]
    assert any("0 reads nothing" in line for line in notes)
    assert "weights are not read" in notes
    weighted, notes = machine("0 0 a 0.5\n0 1 b 0.25\n1\n1 1 a 1.5\n", ".att")
    assert weighted.observe is not None
    assert "weights are not read" in notes
    assert weighted.letter_names == ("a", "b")


KISS = """.i 2
.o 1
.s 2
.r off
1- off on 1
0- off off 0
-1 on on 1
-0 on off 0
.e
"""


def test_kiss2_reads_classes_of_valuations() -> None:
    automaton, _ = machine(KISS, ".kiss2")
    assert automaton.letter_names == ("00", "01", "10", "11")
    state = "off"
    rng = np.random.default_rng(0)
    for word in rng.integers(4, size=(50, 6)).tolist():
        state, expected = "off", []
        for letter in word:
            first, second = automaton.letter_names[letter]
            state = (
                ("on" if first == "1" else "off") if state == "off" else ("on" if second == "1" else "off")
            )
            expected.append("1" if state == "on" else "0")
        assert shows(automaton, word) == expected
    few, _ = machine(".i 3\n1-- a b 1\n0-- a a 0\n1-- b a 1\n0-- b b 0\n", ".kiss")
    assert few.letter_names == ("0--", "1--")  # eight valuations, two classes


@pytest.mark.parametrize("bits", [0, 1, 3, 4])
def test_classes_are_those_that_no_label_tells_apart(bits: int) -> None:
    rng = np.random.default_rng(bits)
    for _ in range(30):
        sets = [int(rng.integers(1 << (1 << bits))) for _ in range(3)]
        found = classes(sets, bits)
        by_members: dict[tuple[int, ...], int] = {}
        for value in range(1 << bits):
            key = tuple(one >> value & 1 for one in sets)
            by_members[key] = by_members.get(key, 0) | 1 << value
        assert sorted(block for block, _ in found) == sorted(by_members.values())
        assert len({name for _, name in found}) == len(found)
    for index in range(bits):
        assert [value for value in range(1 << bits) if variable(index, bits) >> value & 1] == [
            value for value in range(1 << bits) if value >> index & 1
        ]


def test_labels_of_hoa_bind_as_its_grammar_says() -> None:
    """! most, then &, then |; aliases stand for labels."""
    head = 'HOA: v1\nStart: 0\nAP: 3 "a" "b" "c"\nAlias: @x !0 & 1\nAcceptance: 1 Inf(0)\n--BODY--\n'
    label, meaning = (
        "@x | !(0|1) & 2 | !!0&!2",
        lambda a, b, c: (not a and b) or (not (a or b) and c) or (a and not c),
    )
    text = f"{head}State: 0 [{label}] 1 [!({label})] 0\nState: 1 {{0}} [t] 0\n--END--"
    automaton, notes = machine(text, ".hoa")
    assert any("infinite words" in line for line in notes)
    assert automaton.observe is not None
    classes_of = {name: automaton.observe[automaton.run([name])[0]] for name in automaton.letter_names}
    assert len(classes_of) == 2
    yes = next(name for name, value in classes_of.items() if value).rstrip("…")
    a, b, c = (sign == "1" for sign in yes)
    assert meaning(a, b, c)


def test_marks_on_arrows_of_hoa_belong_to_the_state_after_them() -> None:
    text = HOA_AB.replace("State: 2 {0} ", "State: 2 ").replace("[0] 2", "[0] 2 {0}")
    automaton, _ = machine(text, ".hoa")
    assert automaton.observe is not None
    for word in itertools.product(range(2), repeat=5):
        assert bool(automaton.observe[automaton.run(list(word))[-1]]) == (word[-2:] == (0, 1))


def test_a_table_with_outputs_or_several_targets() -> None:
    moore, _ = machine("state;a;b;output\nx;y;x;low\n->y;x;y;high\n", ".csv")
    assert shows(moore, "aab") == ["low", "high", "high"]
    nfa, notes = machine('state,a,b\n->p,"p,q",p\n*q,,\n', ".csv")
    assert shows(nfa, "aba") == ["1", "0", "1"]
    assert any("made deterministic" in line for line in notes)
    mealy, _ = machine("state,a,b\np,q/1,p/0\nq,p/1,q/2\n", ".csv")
    assert shows(mealy, "abab") == ["1", "2", "1", "0"]


RANDOM = np.random.default_rng(71)


@pytest.mark.parametrize("suffix", [".att", ".dot", ".json"])
def test_what_is_written_is_read_as_the_same(suffix: str, tmp_path: Path) -> None:
    for number in range(40):
        states, letters = int(RANDOM.integers(1, 7)), int(RANDOM.integers(1, 4))
        observe = [None, (0, 1), ("on", "off", 'a"b')][number % 3]
        automaton = krohn.Semiautomaton(
            RANDOM.integers(states, size=(states, letters)),
            start=int(RANDOM.integers(states)),
            letter_names=(("a", "0", "x y".replace(" ", "-")), ("0", "1", "2"))[number % 2][:letters],
            observe=None if observe is None else tuple(observe[i % len(observe)] for i in range(states)),
        )
        krohn.dump_automaton(automaton, tmp_path / f"m{suffix}")
        again = krohn.load_automaton(tmp_path / f"m{suffix}")
        for word in RANDOM.integers(letters, size=(5, 9)).tolist():
            names = [automaton.letter_names[letter] for letter in word]
            if automaton.observe is None:
                states_then = [automaton.state_names[q] for q in automaton.run(names)]
                assert [again.state_names[q] for q in again.run(names)] == states_then
            elif any(automaton.observe):
                assert shows(again, names) == shows(automaton, names)
        for file in tmp_path.iterdir():
            file.unlink()


def test_zoo_writes_and_reads_the_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    abab = krohn.zoo("abab")
    before = [abab.state_names[state] for state in abab.run("abab")]
    for suffix in (".att", ".dot", ".json", ".jff"):
        path = tmp_path / f"abab{suffix}"
        assert run(["zoo", "abab@accept", "--out", str(path)]) == 0
        assert run(["simulate", str(path), *"abab"]) == 0
        assert capsys.readouterr().out.split()[-4:] == before
    assert "digraph krohn" in (tmp_path / "abab.dot").read_text()
    assert run(["zoo", "abab", "--out", str(tmp_path / "abab.dot")]) == 0  # its own file


def test_names_that_graphviz_would_split_are_refused(tmp_path: Path) -> None:
    comma = krohn.Semiautomaton(np.array([[1, 0], [0, 1]]), letter_names=("a,b", "c"), observe=(0, 1))
    with pytest.raises(krohn.KrohnError, match="cannot hold these names"):
        krohn.dump_automaton(comma, tmp_path / "x.dot")
    assert not (tmp_path / "x.dot").exists()
    krohn.dump_automaton(comma, tmp_path / "x.att")
    assert krohn.load_automaton(tmp_path / "x.att").letter_names == ("a,b", "c")


REFUSED = [
    ("0 1 a a\n--\n0 1 b b\n", ".att", "one machine"),
    ("0 1 a a a a\n", ".att", "line 1: a line must be"),
    ("graph { a -- b }", ".dot", "directed"),
    ('digraph { a -> b [label="x:0.5"]; b -> a [label="y:0.5"]; }', ".dot", "certain"),
    ("digraph { a -> b }", ".dot", "labels"),
    ('digraph { a -> b [label="say "hi""] }', ".dot", "is a quote not escaped"),
    (
        'digraph { a -> b [label="x/1"]; a -> b [label="x/2"]; b -> b [label="x/1"] }',
        ".dot",
        "--outputs drop",
    ),
    (".i 2\n0 a b 1\n", ".kiss2", "line 2: a row of KISS2"),
    (f".i 17\n{'-' * 17} a a 1\n", ".kiss2", "at most 16 bits"),
    ("HOA: v1\nStart: 0&1\n--BODY--\n--END--", ".hoa", "alternates"),
    (HOA_AB.replace("[!0]", "[!7]"), ".hoa", "label must be"),
    (HOA_AB.replace("[!0]", "[!(0]"), ".hoa", "label must be"),
    ("p,a\np,p,p\n", ".csv", "at most 2 cells"),
    ("only\n", ".csv", "row of letters"),
    ("no machine", ".txt", "must be a file of AT&T"),
    ("", "", "must be a file of AT&T"),
]


@pytest.mark.parametrize(("text", "suffix", "says"), REFUSED)
def test_what_is_no_machine_is_refused_in_one_line(
    text: str, suffix: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"bad{suffix}"
    path.write_text(text)
    assert run(["analyze", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    assert "internal error" not in err
    assert re.search(says, err), err


def test_the_error_for_an_unknown_name_names_the_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "nothing"]) == 2
    err = capsys.readouterr().err
    assert all(suffix in err for suffix in (".json", ".jff", ".dot", ".att", ".kiss2", ".hoa", ".csv"))
    assert {".att", ".fst", ".dot", ".kiss2", ".kiss", ".hoa", ".csv", ".tsv", ".json", ".jff"} <= set(FILES)


def test_without_an_extension_of_att_its_lines_must_be_those_of_a_machine() -> None:
    """Numbers as states, or final states among those of the arrows; three words a line are any text."""
    said = "taken for AT&T's text, by its lines"
    named = "p q a\nq p b\nq\n"
    for text in (ENDS_IN_AB, named):
        assert said in machine(text, "")[1]
        assert said in machine(text, ".txt")[1]
        assert said not in machine(text, ".att")[1]
    for prose in ("the quick fox\nover a dog\nand home again\n", "p q a\nq p b\nthe end\n", "p q a\n"):
        with pytest.raises(krohn.KrohnError, match=r"no line is a final state: if it is, call it \.att"):
            machine(prose, ".txt")
    assert machine("p q a\n", ".att")[0].num_letters == 1
