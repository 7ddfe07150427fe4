"""One track with dead ends: the letters allowed at a place depend on the place alone, and any other is fatal.

The automaton of a date or of (abab)* walks along one track of states, whatever the letters are, until a letter
that is wrong for its place leads to a sink. Whether that has happened is a count of wrong letters, by place.
"""

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.features.place_counts import PlaceCount

MOST_PLACES = 64


def wrong_letters(automaton: Semiautomaton) -> PlaceCount | None:
    """A clamped count of letters that lead every live state of their place into a sink."""
    states, letters = range(automaton.num_states), range(automaton.num_letters)
    sinks = {q for q in states if all(automaton.step(q, x) == q for x in letters)}
    live = frozenset({automaton.start} - sinks)
    seen: dict[frozenset[int], int] = {}
    members: list[frozenset[int]] = [frozenset()]
    while sinks and live not in seen and len(members) < MOST_PLACES:
        seen[live] = len(members)
        fatal = (x for x in letters if live and all(automaton.step(q, x) in sinks for q in live))
        members.append(frozenset(fatal))
        live = frozenset(automaton.step(q, x) for q in live for x in letters) - sinks
    if live not in seen or not any(members):
        return None
    early = seen[live]
    return PlaceCount(tuple(members), early, len(members) - early, 2, True, "wrong letters")
