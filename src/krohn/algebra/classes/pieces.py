"""Classes of subsequences and of one way: strictly piecewise, piecewise testable, R-trivial, R∗G."""

from itertools import combinations

import numpy as np
import numpy.typing as npt

from krohn.algebra.classes.recognizer import OPEN, YES, Membership, Recognizer, Witness, Word, pattern
from krohn.automata.graph import strong_components

MOST_STEPS = 200_000
"""Steps of the search for the longest minimal forbidden subsequence."""
MOST_MET = 8_000_000
"""Pairs of states times states where they may meet: 250 states."""


def strictly_piecewise(language: Recognizer) -> Membership:
    """Closed under deleting letters; k is the length of the longest minimal forbidden subsequence.

    The parameter is missing if the search for it was too long (Rogers and others 2010).
    """
    more = _accepts_more(language)
    for q in range(language.size):
        for a, letter in enumerate(language.letters):
            if more[letter[q], q]:
                before, end = language.words_to[q], _gained(language, letter[q], q)
                words = pattern((*before, a, *end)), pattern(before + end)
                return Membership(False, None, Witness(words, "second refused", "one letter is left out"))
    return Membership(True, _longest_forbidden(language))


def _gained(language: Recognizer, p: int, q: int) -> Word:
    """The shortest word accepted from p and not from q."""
    good = language.accepting
    word = language.path((p, q), lambda node: node[0] in good and node[1] not in good)
    assert word is not None
    return word


def _longest_forbidden(language: Recognizer) -> int | None:
    """Words with the states after one deletion: a minimal forbidden word never takes a loop."""
    live = language.live
    if not live:
        return 0
    level, longest, length, steps = {(language.start, frozenset[int]())}, 0, 0, 0
    while level:
        length += 1
        following = set()
        for q, fewer in level:
            for letter in language.letters:
                p = letter[q]
                steps += 1
                if p == q:
                    continue
                after = frozenset(letter[r] for r in fewer) | {q}
                if p in after or not after <= live:
                    continue
                if p in live:
                    following.add((p, after))
                else:
                    longest = length
        level = following
        if steps > MOST_STEPS:
            return None
    return longest


def _accepts_more(language: Recognizer) -> npt.NDArray[np.bool_]:
    """[p, q]: some word is accepted from p and not from q."""
    accept = np.array([q in language.accepting for q in range(language.size)])
    more: npt.NDArray[np.bool_] = accept[:, None] & ~accept[None, :]
    rows = [np.array(letter) for letter in language.letters]
    while True:
        before = int(more.sum())
        for row in rows:
            more |= more[row[:, None], row[None, :]]
        if int(more.sum()) == before:
            return more


def r_trivial(language: Recognizer) -> Membership:
    """No cycle in the minimal automaton but loops at single states (Brzozowski and Fich 1980)."""
    for part in strong_components(list(zip(*language.letters, strict=True)) or [()] * language.size):
        if len(part) > 1:
            p, q = sorted(part)[:2]
            return Membership(False, None, return_and_again(language, p, q))
    return YES


def return_and_again(language: Recognizer, p: int, q: int) -> Witness:
    """Words that return to p, and that go on to q: u (xy)ⁿ v and u (xy)ⁿ x v."""
    there, back = language.to((p,), (q,)), language.to((q,), (p,))
    start, end = language.words_to[p], language.separating_word(p, q)
    words = pattern(start, [there + back], end), pattern(start, [there + back], there, end)
    return Witness(words, "differ", "what was left is entered again")


def piecewise_testable(language: Recognizer) -> Membership:
    """J-trivial: R-trivial, and two letters at a time lead every state to one place.

    Simon 1975; the test is that of Klíma and Polák (2013).
    """
    one_way = r_trivial(language)
    if not one_way.holds:
        return one_way
    for a, b in combinations(range(len(language.letters)), 2):
        for q in range(language.size):
            ends = _ends(language, q, a, b)
            if len(ends) > 1:
                (r, x), (s, y) = list(ends.items())[:2]
                start, end = language.words_to[q], language.separating_word(r, s)
                words = pattern(start, x, [(a, b)], end), pattern(start, y, [(a, b)], end)
                note = "the same subsequences of n letters"
                return Membership(False, None, Witness(words, "differ", note))
    return YES


def _ends(language: Recognizer, q: int, a: int, b: int) -> dict[int, Word]:
    """The states that two letters lead q to and then leave alone, each with a word."""
    words: dict[int, Word] = {q: ()}
    result = {}
    for p in (queue := [q]):
        steps = [(letter, language.letters[letter][p]) for letter in (a, b)]
        if all(target == p for _, target in steps):
            result[p] = words[p]
        for letter, target in steps:
            if target not in words:
                words[target] = (*words[p], letter)
                queue.append(target)
    return result


def one_idempotent(language: Recognizer) -> Membership:
    """R∗G: every R-class of the syntactic monoid has at most one idempotent (Stiffler 1973).

    It fails if and only if for some p ≠ q one word takes both to p and one takes both to q: a flip-flop.
    """
    if r_trivial(language).holds:
        return YES
    size = language.size
    pairs = list(combinations(range(size), 2))
    if size * len(pairs) > MOST_MET:
        return OPEN
    number = {pair: size + index for index, pair in enumerate(pairs)}  # after the states themselves
    successors = [{letter[state] for letter in language.letters} for state in range(size)]
    for p, q in pairs:
        after = {(letter[p], letter[q]) for letter in language.letters}
        successors.append({one if one == two else number[min(one, two), max(one, two)] for one, two in after})
    meet = [1 << state for state in range(size)] + [0] * len(pairs)  # states to which some word takes both
    for part in strong_components([*map(tuple, successors)]):  # edges lead into earlier ones
        together = 0
        for node in part:
            together |= meet[node]
            for target in successors[node]:
                together |= meet[target]
        for node in part:
            meet[node] = together
    for (p, q), index in number.items():
        if meet[index] >> p & meet[index] >> q & 1:
            return Membership(False, None, flip_flop(language, p, q))
    return YES


def flip_flop(language: Recognizer, p: int, q: int) -> Witness:
    """One word x takes both states to p, and one y takes both to q: the last of x and y decides."""
    x, y = language.to((p, q), (p, p)), language.to((p, q), (q, q))
    start, end = language.words_to[p], language.separating_word(p, q)
    words = pattern(start, [y + x], end), pattern(start, [x + y], end)
    return Witness(words, "differ", "the last of two words decides, which both may come again")
