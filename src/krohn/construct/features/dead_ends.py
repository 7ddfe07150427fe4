"""One track with dead ends: the letters allowed at a place depend on the place alone, and any other is fatal.

The automaton of a date or of (abab)* walks along one track of states, whatever the letters are, until a
letter that is wrong for its place leads to a sink. Whether that has happened is a count of wrong letters.
Where notes of one layer tell which letters are wrong while the word is alive, a second layer counts them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.features.catalogue import one_layer_catalogue
from krohn.construct.features.choosing import Pairs, choose
from krohn.construct.features.counts import Count, PlaceCount
from krohn.construct.features.product import Annotated, Determined, annotate, determine
from krohn.construct.features.writing import FeatureLayers
from krohn.work import Work

MOST_PLACES = 64
MOST_SETS = 48
FATAL = -1

Live = list[frozenset[int]]


def wrong_letters(automaton: Semiautomaton) -> PlaceCount | None:
    """A clamped count of letters that lead every live state of their place into a sink."""
    letters, sinks = range(automaton.num_letters), sinks_of(automaton)
    live, early = _live(automaton, sinks)
    if early is None:
        return None
    members = tuple(
        frozenset(x for x in letters if states and all(automaton.step(q, x) in sinks for q in states))
        for states in live
    )
    if not any(members):
        return None
    return PlaceCount((frozenset(), *members), early, len(members) + 1 - early, 2, True, "wrong letters")


def letters_by_place(automaton: Semiautomaton) -> Iterator[PlaceCount]:
    """Whether a letter of one kind stands at a certain place, for places that every word passes once."""
    live, early = _live(automaton, sinks_of(automaton))
    made = 0
    for place, states in enumerate(live[: None if early is None else early - 1], 1):
        order = sorted(states)
        columns = [tuple(automaton.step(q, x) for q in order) for x in range(automaton.num_letters)]
        for column in sorted(set(columns)):
            kind = frozenset(x for x, other in enumerate(columns) if other == column)
            if made < MOST_SETS and len(kind) < len(columns):
                made += 1
                sets = (frozenset[int](),) * place + (kind, frozenset[int]())
                names = " ".join(automaton.letter_names[x] for x in sorted(kind)[:3])
                yield PlaceCount(sets, place + 1, 1, 2, True, f"{names} at place {place}")


def error_bit(
    plain: Annotated, letters: tuple[int, ...], wanted: Sequence[int], work: Work
) -> FeatureLayers | None:
    """Two layers: features that tell state and fatal letter of living words, and a count of fatal letters.

    What the features show after the fatal letter does not matter: the count stays.
    """
    automaton, sinks = plain.automaton, sinks_of(plain.automaton)
    if len(sinks) != 1:
        return None
    alive = [FATAL if state in sinks else value for state, value in enumerate(wanted)]
    living = replace(plain, ends=frozenset(sinks))
    found = choose(living, one_layer_catalogue(plain), alive, Pairs(), work)
    if found.determined is None or not found.features:
        return None
    noted = annotate(automaton, found.features, strict=plain.strict)
    fatal = frozenset(noted.number[row] for row, value in found.determined.rows.items() if value == FATAL)
    features = (Count(fatal, 2, True, "fatal letters"),)
    proof = determine(noted, features, wanted)
    return FeatureLayers(noted, features, proof, letters) if isinstance(proof, Determined) else None


def sinks_of(automaton: Semiautomaton) -> set[int]:
    """States that no letter leaves."""
    states, letters = range(automaton.num_states), range(automaton.num_letters)
    return {q for q in states if all(automaton.step(q, x) == q for x in letters)}


def _live(automaton: Semiautomaton, sinks: set[int]) -> tuple[Live, int | None]:
    """The states, sinks apart, that some word reaches before its first, second, … letter, until they repeat;
    and the place from which on they do, ``None`` if they do not soon.
    """
    live = frozenset({automaton.start} - sinks)
    seen: dict[frozenset[int], int] = {}
    found: Live = []
    while live not in seen and len(found) < MOST_PLACES:
        seen[live] = len(found) + 1
        found.append(live)
        live = frozenset(automaton.step(q, x) for q in live for x in range(automaton.num_letters)) - sinks
    return found, seen.get(live)
