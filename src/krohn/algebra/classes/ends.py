"""Classes that look at ends and factors of words: finite, cofinite, definite, strictly local."""

from collections.abc import Iterable
from dataclasses import replace

from krohn.algebra.classes.recognizer import Membership, Recognizer, Witness, Word, pattern

Pair = tuple[int, int]


def finite(language: Recognizer) -> Membership:
    """No cycle among live states; the parameter is the length of the longest word, −1 if there is none."""
    live = language.live
    for q in sorted(live):
        turn = language.loop((q,))
        if turn is not None:
            words = pattern(language.words_to[q], [turn], language.accepted_from(q))
            return Membership(False, None, Witness((words,), "accepted", "infinitely many words"))
    level, length = {language.start} & live, -1
    while level:
        length += 1
        level = {letter[q] for q in level for letter in language.letters} & live
    return Membership(True, length)


def cofinite(language: Recognizer) -> Membership:
    """The complement is finite; the parameter is the length of the longest refused word."""
    other = finite(language.complement())
    if other.witness is None:
        return other
    return Membership(False, None, replace(other.witness, shows="refused", note="infinitely many words"))


def definite(language: Recognizer) -> Membership:
    """The last k letters decide; the parameter is the least k (Perles, Rabin, Shamir 1963)."""
    longest, pair = _longest_apart(language, range(language.size))
    if longest is not None:
        return Membership(True, longest + 1)
    assert pair is not None
    p, q = pair
    turn, end = _pair_loop(language, pair), language.separating_word(p, q)
    one, two = (pattern(language.words_to[state], [turn], end) for state in pair)
    return Membership(False, None, Witness((one, two), "differ", "they end alike"))


def strictly_local(language: Recognizer) -> Membership:
    """All factors of k letters are allowed ones, with ends marked; the parameter is the least k.

    It is so if and only if no word of k − 1 letters leaves two live states apart: then u x v, u′ x v′ ∈ L and
    |x| = k − 1 imply u x v′ ∈ L.
    """
    longest, pair = _longest_apart(language, language.live)
    if longest is not None:
        return Membership(True, longest + 2)
    assert pair is not None
    p, q = pair
    turn, end = _pair_loop(language, pair), language.separating_word(p, q)
    if language.run(p, end) not in language.accepting:
        p, q = q, p
    words, other = language.words_to, language.accepted_from(q)
    patterns = (
        pattern(words[p], [turn], end),
        pattern(words[q], [turn], other),
        pattern(words[q], [turn], end),
    )
    note = "it begins as the second and ends as the first"
    return Membership(False, None, Witness(patterns, "last refused", note))


def _pair_loop(language: Recognizer, pair: Pair) -> Word:
    """A word that leads both states of a pair on a cycle back to themselves."""
    word = language.loop(pair)
    return word if word is not None else language.to(pair, pair[::-1]) * 2


def _longest_apart(language: Recognizer, allowed: Iterable[int]) -> tuple[int | None, Pair | None]:
    """The longest word that leaves two allowed states apart and allowed; a pair on a cycle if there is none.

    −1 if there are not even two allowed states.
    """
    states = sorted(allowed)
    inside = set(states)
    length: dict[Pair, int] = {}
    closed: dict[Pair, bool] = {}
    longest = -1
    for i, p in enumerate(states):
        for q in states[i + 1 :]:
            if (p, q) in closed:
                continue
            closed[p, q], length[p, q] = False, 0
            stack = [((p, q), 0)]
            while stack:
                pair, position = stack.pop()
                if position == len(language.letters):
                    closed[pair] = True
                    longest = max(longest, length[pair])
                    if stack:
                        above = stack[-1][0]
                        length[above] = max(length[above], length[pair] + 1)
                    continue
                stack.append((pair, position + 1))
                letter = language.letters[position]
                one, two = letter[pair[0]], letter[pair[1]]
                if one == two or one not in inside or two not in inside:
                    continue
                target = (one, two) if one < two else (two, one)
                if closed.get(target) is False:
                    return None, target
                if target in closed:
                    length[pair] = max(length[pair], length[target] + 1)
                else:
                    closed[target], length[target] = False, 0
                    stack.append((target, 0))
    return longest, None
