"""The named classes of what an automaton shows, the smallest first, each no with its witness."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from krohn.algebra.classes import balanced, ends, local, pieces, sided
from krohn.algebra.classes.recognizer import OPEN, YES, Membership, Recognizer, Witness, pattern, recognizer
from krohn.algebra.classes.syntactic import Syntactic
from krohn.algebra.one_length import OneLength
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import LimitExceeded, counted

MOST_PAIRS = 2_000_000
"""Most pairs of states times letters that act differently."""

SHOWN = 8
"""Letters of a tier that a sentence lists."""
TIER = " on a tier"

# Each name with its source and what membership means, in one clause. No class lies inside an earlier one, so
# nothing smaller is named than the first that holds.
NAMES: dict[str, tuple[str, str]] = {
    "finite": ("", "no word is longer than {letters}"),
    "cofinite": ("", "every word that is longer than {letters}"),
    "definite": ("Perles, Rabin, Shamir 1963", "an end of {letters} decides"),
    "strictly local": (
        "McNaughton, Papert 1971; Caron 2000",
        "factors of {letters}, with the ends marked, are allowed or not",
    ),
    "strictly piecewise": ("Rogers et al. 2010", "subsequences of up to {letters} are allowed or not"),
    "piecewise testable": ("Simon 1975; Klíma, Polák 2013", "which short subsequences occur decides"),
    "locally testable": ("Brzozowski, Simon 1973; McNaughton 1974", "which short factors occur decides"),
    "threshold testable": (
        "Thérien, Weiss 1985; Beauquier, Pin 1991",
        "which short factors occur how often, up to a bound, decides",
    ),
    "locally J-trivial": (
        "Knast 1983; Heinz et al. 2023 (MLRegTest's PLT)",
        "between equal factors it is piecewise testable",
    ),
    "strictly local on a tier": (
        "Heinz, Rawal, Tanner 2011; Lambert, Rogers 2020",
        "factors of {letters} are allowed or not, where only {tier} are seen",
    ),
    "locally testable on a tier": (
        "Lambert, Rogers 2020",
        "which short factors occur decides, where only {tier} are seen",
    ),
    "threshold testable on a tier": (
        "Lambert, Rogers 2020",
        "which short factors occur how often decides, where only {tier} are seen",
    ),
    "locally J-trivial on a tier": (
        "Heinz et al. 2023 (MLRegTest's TPLT)",
        "between equal factors it is piecewise testable, where only {tier} are seen",
    ),
    "R-trivial": ("Brzozowski, Fich 1980", "no word leads back to a state that was left"),
    "L-trivial": ("Brzozowski, Fich 1980", "the same as R-trivial, read from the end"),
    "DA": ("Thérien, Wilke 1998", "first-order logic with two variables, and unambiguous products"),
    "C-RASP": (
        "docs/length.md of the repository; Huang et al. 2410.02140",
        "counting positions decides, with no position known",
    ),
    "star-free": ("Schützenberger 1965; McNaughton, Papert 1971", "first-order logic of the order"),
    "quasi-aperiodic": (
        "Barrington, Compton, Straubing, Thérien 1992",
        "AC⁰: beyond star-free only the length is counted modulo a number",
    ),
    "solvable": (
        "Barrington, Thérien 1988",
        "all groups inside are solvable: counting, in layers, modulo numbers",
    ),
    "not solvable": ("Barrington 1989", "a group inside is not solvable: as hard as all of NC¹"),
    "R∗G": (
        "Stiffler 1973",
        "no flip-flop: no two words that may both come again, of which the last decides",
    ),
}


@dataclass(frozen=True)
class NamedClass:
    """One class: whether what is shown lies in it, with its parameter or a witness."""

    name: str
    holds: bool | None
    parameter: int | None
    tier: tuple[str, ...] | None
    witness: dict[str, Any] | None
    source: str
    meaning: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "holds": self.holds,
            "parameter": self.parameter,
            "tier": None if self.tier is None else list(self.tier),
            "witness": self.witness,
            "source": self.source,
            "meaning": self.meaning,
        }


@dataclass(frozen=True)
class Classes:
    """All named classes of an automaton: those it lies in, the smallest first, then the others."""

    rows: tuple[NamedClass, ...]
    is_language: bool

    @property
    def smallest(self) -> NamedClass | None:
        """The first class that holds; ``None`` where every test met its limit."""
        return self.rows[0] if self.rows[0].holds else None

    def text(self) -> tuple[str, str]:
        """The smallest class with its source, and what it means in one clause."""
        row = self.smallest
        if row is None:
            return (
                "of no named class that could be decided",
                "the automaton is beyond the limits of the tests",
            )
        name = row.name if row.parameter is None else f"{row.name}, k = {row.parameter}"
        what = "the language" if self.is_language else "the state after a word"
        return f"{what} is {name}" + (f" ({row.source})" if row.source else ""), row.meaning


def classify(
    automaton: Semiautomaton, one_length: OneLength | None, unsolvable: str, *, decided: bool = True
) -> Classes:
    """All named classes of what an automaton shows.

    ``one_length`` are words of one length that form a group, ``unsolvable`` names a group that is not
    solvable, both of the minimal automaton, if there are any: they are found without listing elements, if
    they could be ``decided`` at all.
    """
    shown, names = recognizer(automaton), automaton.letter_names
    tier = tuple(name for name, a in zip(names, shown.alike, strict=True) if a in shown.tier)
    rows = []
    verdicts = _verdicts(shown)
    verdicts["quasi-aperiodic"] = _quasi_aperiodic(shown, one_length)
    verdicts["solvable"] = Membership(False, None, Witness((), note=unsolvable)) if unsolvable else YES
    if unsolvable:
        verdicts["not solvable"] = YES
    if not decided:
        verdicts |= {"quasi-aperiodic": OPEN, "solvable": OPEN}
    for name, (source, meaning) in NAMES.items():
        if name not in verdicts:
            continue
        verdict = verdicts[name]
        witness = None if verdict.witness is None else verdict.witness.to_json(names)
        of_tier = tier if name.endswith(TIER) else None
        letters = "a few letters" if verdict.parameter is None else counted(verdict.parameter, "letter")
        listed = (" ".join(tier[:SHOWN]) + " …" * (len(tier) > SHOWN)) or "no letters"
        clause = meaning.format(letters=letters, tier=listed)
        if verdict.parameter == -1:
            clause = {"finite": "no word at all", "cofinite": "every word"}[name]
        rows.append(NamedClass(name, verdict.holds, verdict.parameter, of_tier, witness, source, clause))
    order = (True, False, None)
    return Classes(tuple(sorted(rows, key=lambda row: order.index(row.holds))), shown.is_language)


def _verdicts(shown: Recognizer) -> dict[str, Membership]:
    """By name; a class that speaks of accepted words is left out where more than that is shown."""
    tests: dict[str, Callable[[Recognizer], Membership]] = {
        "definite": ends.definite,
        "piecewise testable": pieces.piecewise_testable,
        "R-trivial": pieces.r_trivial,
        "C-RASP": balanced.counting_program,
        "R∗G": pieces.one_idempotent,
    }
    if shown.is_language:
        tests |= {
            "finite": ends.finite,
            "cofinite": ends.cofinite,
            "strictly local": ends.strictly_local,
            "strictly piecewise": pieces.strictly_piecewise,
        }
    if shown.size**2 * len(shown.letters) > MOST_PAIRS:
        return dict.fromkeys([*tests, *LOCAL, *SIDED], OPEN)
    result = {name: shown.spelled(test(shown)) for name, test in tests.items()}
    if shown.is_language:
        tier = shown.on_tier()
        result[f"strictly local{TIER}"] = tier.spelled(ends.strictly_local(tier))
    return result | _listed(shown)


def _listed(shown: Recognizer) -> dict[str, Membership]:
    """What needs the elements of the syntactic semigroup, on all letters and on the tier."""
    if not shown.tier:  # the one state
        return dict.fromkeys([*LOCAL, *SIDED], YES)
    try:
        whole = Syntactic(shown)
        part = whole if len(shown.tier) == len(shown.letters) else Syntactic(shown.on_tier())
    except LimitExceeded:
        return dict.fromkeys([*LOCAL, *SIDED], OPEN)
    result = {name: shown.spelled(test(whole)) for name, test in SIDED.items()}
    for suffix, elements in (("", whole), (TIER, part)):
        spelled = elements.language.spelled
        result |= {f"{name}{suffix}": spelled(verdict) for name, verdict in _local(elements)}
    return result


def _local(elements: Syntactic) -> Iterator[tuple[str, Membership]]:
    """The first that holds implies those after it; where the largest fails, so do the others."""
    testable, widest = local.locally_testable(elements), local.locally_j_trivial(elements)
    yield "locally testable", testable
    if testable.holds:
        yield "threshold testable", YES
    elif widest.holds is False:
        yield "threshold testable", widest
    else:
        yield "threshold testable", local.threshold_testable(elements)
    yield "locally J-trivial", widest


def _quasi_aperiodic(shown: Recognizer, one_length: OneLength | None) -> Membership:
    """Words of one length of which one turns a state that another leaves."""
    if one_length is None:
        return YES
    note = "words of one length form a group"
    if one_length.words:
        fixing, moving = (tuple(shown.alike[a] for a in word) for word in one_length.words[:2])
        for p in range(shown.size):
            q = shown.run(p, moving)
            if shown.run(p, fixing) == p != q:
                start, end = shown.words_to[p], shown.separating_word(p, q)
                words = pattern(start, [fixing], fixing, end), pattern(start, [fixing], moving, end)
                return shown.spelled(Membership(False, None, Witness(words, "differ", note)))
    return Membership(False, None, Witness((), "differ", note))


LOCAL = tuple(
    f"{name}{suffix}"
    for suffix in ("", TIER)
    for name in ("locally testable", "threshold testable", "locally J-trivial")
)
SIDED = {"L-trivial": sided.l_trivial, "DA": sided.two_variables, "star-free": sided.star_free}
