"""Classes seen through Green's relations of the whole semigroup: L-trivial, DA, star-free."""

from krohn.algebra.classes.recognizer import YES, Membership, Recognizer, Witness, pattern
from krohn.algebra.classes.syntactic import Syntactic


def l_trivial(s: Syntactic) -> Membership:
    """L-classes are single: R-trivial, read from the end."""
    pair = s.same(range(s.size), s.l_class)
    if pair is None:
        return YES
    x, y = pair
    there, back = s.route(x, y, False), s.route(y, x, False)
    one, two = pattern([back + there], s.word(x)), pattern(there, [back + there], s.word(x))
    return Membership(
        False, None, s.told_apart(x, y, one, two, "read from the end, what was left is entered again")
    )


def two_variables(s: Syntactic) -> Membership:
    """DA: every element of a regular D-class is idempotent (Thérien and Wilke 1998)."""
    regular = {s.d_class[e] for e in s.idempotents}
    for x in range(s.size):
        if s.d_class[x] in regular and x not in s.idempotents:
            e = min(y for y in s.idempotents if s.r_class[y] == s.r_class[x])
            word = s.word(x)
            turn = word + s.route(x, e, True)
            one, two = pattern([turn], word), pattern([turn], word, word)
            note = "a regular element that is not idempotent"
            return Membership(False, None, s.told_apart(x, s.product(x, x), one, two, note))
    return YES


def star_free(s: Syntactic) -> Membership:
    """H-classes are single: no word counts modulo a number (Schützenberger 1965)."""
    seen: dict[tuple[int, int], int] = {}
    for x in range(s.size):
        if seen.setdefault((s.r_class[x], s.l_class[x]), x) != x:
            return Membership(False, None, counting(s))
    return YES


def counting(s: Syntactic) -> Witness:
    """A word w of least length that turns states about a cycle of m: u (wᵐ)ⁿ v and u (wᵐ)ⁿ w v."""
    for x in range(s.size):
        row = s.elements[x]
        for p in range(len(row)):
            cycle, q = [p], row[p]
            while q not in cycle:
                cycle.append(q)
                q = row[q]
            if q == p and len(cycle) > 1:
                return turning(s.language, p, row[p], s.word(x), len(cycle))
    raise AssertionError("an H-class of several elements turns some states")


def turning(language: Recognizer, p: int, q: int, word: tuple[int, ...], turns: int) -> Witness:
    """The word takes p to q and, so many times, back to p."""
    start, end = language.words_to[p], language.separating_word(p, q)
    note = f"it counts a word modulo {turns}"
    return Witness(
        (pattern(start, [word * turns], end), pattern(start, [word * turns], word, end)), "differ", note
    )
