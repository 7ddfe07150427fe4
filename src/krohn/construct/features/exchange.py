"""The exchange law: a quick proof that no counts, first, last and nearby letters can determine the state.

Exchange letters x and y at two positions of one residue, with both letters before the first and after the
second position at that residue: all counts by residue, all first and last positions, and the letters near
both ends stay. If the state changes, no features of these kinds determine it (places counted one by one at
the beginning apart). For residues modulo N, where the sets of maps of words of exactly j letters repeat with
period N, a conflict carries over to every other modulus.
"""

from itertools import combinations, product

from krohn.automata.semiautomaton import Semiautomaton, Transformation

MOST_MAPS = 400
OTHERWISE = 12
MOST_NODES = 200_000


def exact_length_period(automaton: Semiautomaton) -> int | None:
    """N with: words of exactly j letters have the same maps as those of j + N, for all j ≥ N − 1."""
    letters = automaton.letters
    sets = [frozenset(letters)]
    seen: dict[frozenset[Transformation], int] = {}
    while sets[-1] not in seen:
        seen[sets[-1]] = len(sets)
        longer: set[Transformation] = set()
        for f, g in product(sets[-1], letters):
            longer.add(tuple(g[q] for q in f))
            if len(longer) > MOST_MAPS:
                return None
        sets.append(frozenset(longer))
    first, period = seen[sets[-1]], len(sets) - seen[sets[-1]]
    return period * (first // period + 1)


def exchange_conflict(automaton: Semiautomaton, *, strict: bool = False) -> bool:
    """Whether some exchange changes the state; ``False`` also where the search would be too large.

    Under a strict mask the last letter is not among those that heads see, so it must change the next state.
    """
    if automaton.num_states**2 > MOST_NODES:
        return False
    modulus = exact_length_period(automaton) or OTHERWISE
    if modulus * automaton.num_states**2 > MOST_NODES:
        return False
    # Letters that keep most states apart first: resets hide what was exchanged before them.
    order = sorted(range(automaton.num_letters), key=lambda letter: -len(set(automaton.letters[letter])))
    pairs = combinations(order, 2)
    return any(_conflict(automaton, modulus, x, y, strict=strict) for x, y in pairs)


def _conflict(automaton: Semiautomaton, modulus: int, x: int, y: int, *, strict: bool) -> bool:
    """Nodes: stage (before, between, after), whether x and y were seen at the residue, phase, two states."""
    table, letters = automaton.table.tolist(), range(automaton.num_letters)
    todo = [(1, False, False, phase, automaton.start, automaton.start) for phase in range(modulus)]
    seen = set(todo)
    while todo:  # depth first: a conflict lies deep, and often there are many
        stage, had_x, had_y, phase, p, q = todo.pop()
        here, one, other = (phase + 1) % modulus == 0, table[p], table[q]
        steps = [
            (stage, had_x or (here and a == x), had_y or (here and a == y), one[a], other[a]) for a in letters
        ]
        if here and stage == 1 and had_x and had_y:
            steps.append((2, True, True, one[x], other[y]))
        if here and stage == 2:
            steps.append((3, False, False, one[y], other[x]))
        for after, now_x, now_y, first, second in steps:
            if after == 3 and first == second:
                continue
            if after == 3 and now_x and now_y and not (strict and table[first] == table[second]):
                return True
            node = (after, now_x, now_y, (phase + 1) % modulus, first, second)
            if node not in seen:
                seen.add(node)
                todo.append(node)
    return False
