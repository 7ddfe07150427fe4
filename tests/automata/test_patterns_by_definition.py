"""Patterns against the semantics of regular expressions: sets of words, built from the leaves up."""

import itertools
import random

from every import every
from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton

LONGEST = 5
Words = frozenset[str]
Meant = tuple[str, Words]  # a pattern, and its words of at most LONGEST letters


def short(words: itertools.chain[str] | set[str]) -> Words:
    return frozenset(word for word in words if len(word) <= LONGEST)


def joined(left: Words, right: Words) -> Words:
    return short({a + b for a in left for b in right})


def power(words: Words, times: int) -> Words:
    result: Words = frozenset({""})
    for _ in range(times):
        result = joined(result, words)
    return result


def repeated(words: Words, least: int, most: int | None) -> Words:
    """All numbers of copies; beyond LONGEST + least copies nothing new is short."""
    last = least + LONGEST if most is None else most
    return frozenset().union(*(power(words, times) for times in range(least, last + 1)))


LEAVES: list[Meant] = [
    ("a", frozenset("a")),
    ("b", frozenset("b")),
    (".", frozenset("abc")),
    ("[ab]", frozenset("ab")),
    ("[^a]", frozenset("bc")),
    ("[a-c]", frozenset("abc")),
    ("()", frozenset({""})),
    ("[c]", frozenset("c")),
]
REPEATS: list[tuple[str, int, int | None]] = [
    ("*", 0, None), ("+", 1, None), ("?", 0, 1), ("{2}", 2, 2), ("{1,2}", 1, 2), ("{2,}", 2, None),
    ("{,2}", 0, 2),
]  # fmt: skip


def grown(dice: random.Random, size: int) -> Meant:
    """A random pattern with about that many leaves, in parentheses wherever it is not one leaf."""
    if size <= 1:
        return dice.choice(LEAVES)
    if dice.random() < 0.3:
        text, words = grown(dice, size - 1)
        sign, least, most = dice.choice(REPEATS)
        return f"({text}){sign}", repeated(words, least, most)
    cut = dice.randint(1, size - 1)
    (left, one), (right, other) = grown(dice, cut), grown(dice, size - cut)
    operator = dice.choice(("", "|"))
    meaning = {"": joined, "|": frozenset.union}[operator]
    return f"(({left}){operator}({right}))", meaning(one, other)


def accepted(automaton: Semiautomaton) -> Words:
    assert automaton.observe is not None
    result = {""} if automaton.observe[automaton.start] else set()
    for length in range(1, LONGEST + 1):
        for letters in itertools.product(automaton.letter_names, repeat=length):
            if automaton.observe[automaton.run(letters)[-1]]:
                result.add("".join(letters))
    return frozenset(result)


@every("seed", range(40))
def test_a_pattern_accepts_the_words_that_it_means(seed: int) -> None:
    text, words = grown(random.Random(seed), 2 + seed % 5)
    assert accepted(from_regex(text, alphabet="abc")) == words, text


@every("seed", range(12))
def test_no_two_states_of_a_pattern_mean_the_same_and_the_numbers_are_those_of_the_search(seed: int) -> None:
    text, _ = grown(random.Random(100 + seed), 4)
    automaton = from_regex(text, alphabet="abc")
    assert automaton.observe is not None
    size = automaton.num_states
    words = [word for length in range(size) for word in itertools.product(range(3), repeat=min(length, 4))]
    answers = {
        tuple(automaton.observe[automaton.run(word, start=state)[-1] if word else state] for word in words)
        for state in range(size)
    }
    assert len(answers) == size
    order = [automaton.start]
    for state in order:  # grows while it is read
        order += [q for q in dict.fromkeys(automaton.table[state].tolist()) if q not in order]
    assert order == list(range(size))


def test_operators_bind_as_the_text_says() -> None:
    """Repetitions bind most, then sequences; | binds least."""
    same = [
        ("ab*", "a(b*)"),
        ("ab|c", "(ab)|c"),
        ("a|bc*", "a|(b(c*))"),
        ("ab?c{2}", "a(b?)(c{2})"),
        ("(a?){3}", "a{0,3}"),
    ]
    for plain, explicit in same:
        left, right = from_regex(plain, alphabet="abc"), from_regex(explicit, alphabet="abc")
        assert accepted(left) == accepted(right), plain
        assert left == right, plain
    assert accepted(from_regex("ab*", alphabet="abc")) != accepted(from_regex("(ab)*", alphabet="abc"))


@every(
    ("pattern", "letters"),
    [
        ("[a-c]", ("[a-c]", "[^a-c]")),
        ("[-a]", ("[\\-a]",)),
        ("[ab]a", ("a", "b")),
        ("[]a]", ("[\\]a]",)),
        ("a[^]]", ("]", "a", "[^\\]a]")),
        ("\\*\\+", ("*", "+")),
        ("\\x41", ("A",)),
        ("\\d", ("\\d", "\\D")),
        (".", ("\\n", "[^\\n]")),
        ("(?s).", ("any",)),
        ("(?a)\\w", ("\\w", "[^0-9A-Z_a-z]")),
        ("(?i)k", ("[KkK]", "[^KkK]")),
        ("/a/", ("a", "[^a]")),
    ],
)
def test_letters_are_classes_that_the_pattern_does_not_tell_apart(
    pattern: str, letters: tuple[str, ...]
) -> None:
    assert from_regex(pattern).letter_names == letters


@every("seed", range(8))
def test_a_longer_alphabet_changes_no_verdict_on_old_words(seed: int) -> None:
    dice = random.Random(500 + seed)
    text, words = grown(dice, 4)
    if "." in text or "^a" in text:
        text, words = "(ab|c)*[ab]", accepted(from_regex("(ab|c)*[ab]", alphabet="abc"))
    larger = accepted(from_regex(text, alphabet="abcd"))
    assert larger == words  # d stands in no pattern
