"""Classes seen through the local monoids eSe: locally testable, threshold testable, locally J-trivial."""

import numpy as np

from krohn.algebra.classes.recognizer import OPEN, YES, Membership, Pattern, Witness, pattern
from krohn.algebra.classes.sided import star_free
from krohn.algebra.classes.syntactic import Syntactic

MOST_PRODUCTS = 300_000_000
"""Products of three elements that the test of thresholds may compare."""


def locally_j_trivial(s: Syntactic) -> Membership:
    """Every eSe is J-trivial.

    Two elements of eSe are R-related there exactly if they are in S, so the classes of S decide.
    """
    for e in s.bases:
        for classes, right in ((s.r_class, True), (s.l_class, False)):
            pair = s.same(s.between(e, e), classes)
            if pair is None:
                continue
            x, y = pair
            there, back = s.route(x, y, right), s.route(y, x, right)
            word, steady = s.word(x), s.word(e)
            go, turn = steady + there + steady, steady + there + steady + back
            if right:
                one, two = pattern(word, [turn]), pattern(word, [turn], go)
            else:
                turn = back + steady + there + steady
                one, two = pattern([turn], word), pattern(go, [turn], word)
            note = "between equal factors, what was left is entered again"
            return Membership(False, None, s.told_apart(x, y, one, two, note))
    return YES


def locally_testable(s: Syntactic) -> Membership:
    """Every eSe is a semilattice (Brzozowski and Simon 1973, McNaughton 1974)."""
    for e in s.bases:
        inside, steady = s.between(e, e), s.word(e)
        for x in inside:
            if x not in s.idempotents:
                word = s.word(x)
                one = pattern([steady], word, [steady])
                two = pattern([steady], word, [steady], word, [steady])
                note = "the same factors of n letters"
                return Membership(False, None, s.told_apart(x, s.product(x, x), one, two, note))
        for classes in (s.r_class, s.l_class):
            pair = s.same(inside, classes)
            if pair is not None:
                x, y = pair
                note = "the same factors of n letters"
                return Membership(False, None, _exchanged(s, (e, e), x, e, y, note))
    return YES


def threshold_testable(s: Syntactic) -> Membership:
    """Star-free, and α u β = β u α for α, β in eSf and u in fSe (Thérien and Weiss 1985)."""
    aperiodic = star_free(s)
    if not aperiodic.holds:
        return aperiodic
    work = 0
    for e in s.bases:  # first the loops, which decide most
        witness = _exchange(s, e, e)
        if witness is not None:
            return Membership(False, None, witness)
    for e in s.bases:
        for f in s.bases:
            if e != f:
                work += len(s.between(e, f)) ** 2 * len(s.between(f, e))
                if work > MOST_PRODUCTS:
                    return OPEN
                witness = _exchange(s, e, f)
                if witness is not None:
                    return Membership(False, None, witness)
    return YES


def _exchange(s: Syntactic, e: int, f: int) -> Witness | None:
    """α, u, β with α u β ≠ β u α."""
    there, back = s.between(e, f), s.between(f, e)
    if len(there) < 2:
        return None
    rows = s.elements.rows
    points = np.unique(rows[e])  # on the image of e the maps are decided
    ways = rows[there].astype(np.intp)
    heads, known = ways[:, points], set[bytes]()
    for u in back:
        after = rows[u][heads].astype(np.intp)  # α u on the image of e
        if after.tobytes() in known:
            continue
        known.add(after.tobytes())
        for i in range(len(there)):  # α u β for all β, against β u α for all β
            differ = (ways[:, after[i]] != ways[i][after]).any(axis=1)
            if differ.any():
                note = "the same factors of n letters, equally often"
                x, y = there[i], there[int(np.flatnonzero(differ)[0])]
                return _exchanged(s, (e, f), x, u, y, note)
    return None


def _exchanged(s: Syntactic, ends: tuple[int, int], x: int, u: int, y: int, note: str) -> Witness:
    """eⁿ x fⁿ u eⁿ y fⁿ and the same with x and y exchanged; u = e where nothing lies between."""
    e, f = ends
    one, two = s.product(s.product(x, u), y), s.product(s.product(y, u), x)
    first, second, between = s.word(e), s.word(f), () if u == e == f else s.word(u)

    def ordered(a: int, b: int) -> Pattern:
        return pattern([first], s.word(a), [second], between, [first], s.word(b), [second])

    return s.told_apart(one, two, ordered(x, y), ordered(y, x), note)
