"""Plans of one or two layers whose heads see features: found by search, proved by a product machine."""

from collections.abc import Sequence

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.features.annotated import Annotated, annotate
from krohn.construct.features.back import Back
from krohn.construct.features.catalogue import one_layer_catalogue, two_layer_catalogue
from krohn.construct.features.choosing import Effort, Pairs, choose
from krohn.construct.features.dead_ends import wrong_letters
from krohn.construct.features.feature import Feature
from krohn.construct.features.place import Place
from krohn.construct.features.product import Determined, determine
from krohn.construct.features.registers import first_layers, merged_letters
from krohn.construct.features.writing import FeaturePlan
from krohn.errors import LimitExceeded

STEPS = 150_000
"""Steps of a search by default: a second or two."""
MAX_DELAY = 12
MOST_STATES = 600
KEPT_PAIRS = 60
MOST_IN_SECOND = 3


def feature_plan(
    automaton: Semiautomaton, wanted: Sequence[int], most_layers: int, steps: int = STEPS
) -> FeaturePlan | None:
    """The shallowest plan within the steps; ``wanted[q]`` is what must be read off in state q."""
    if automaton.num_states > MOST_STATES:
        return None
    merged, letters = merged_letters(automaton)
    plain = annotate(merged, ())
    effort = Effort(steps)
    try:
        plan = _one_layer(plain, wanted, letters, effort)
        if plan is None and most_layers > 1:
            plan = _two_layers(plain, wanted, letters, effort)
    except LimitExceeded:
        return None
    return plan


def _one_layer(
    plain: Annotated, wanted: Sequence[int], letters: tuple[int, ...], effort: Effort
) -> FeaturePlan | None:
    for features in _presets(plain):
        found = determine(plain, features, wanted)
        if isinstance(found, Determined):
            return FeaturePlan(plain, tuple(features), found, letters)
    wrong = wrong_letters(plain.automaton)
    special: list[Feature] = [] if wrong is None else [wrong, Place(wrong.early, wrong.period)]
    catalogue = special + one_layer_catalogue(plain)
    found = choose(plain, catalogue, wanted, Pairs(), effort)
    return _planned(plain, found.features, found.determined, letters)


def _presets(plain: Annotated) -> list[list[Feature]]:
    """What needs no search: definite automata, and one track with dead ends."""
    found: list[list[Feature]] = []
    delay = delay_of(plain.automaton)
    if delay is not None:
        found.append([Back(distance, plain.automaton.num_letters) for distance in range(1, delay)])
    wrong = wrong_letters(plain.automaton)
    if wrong is not None:
        found.append([wrong])
        found.append([wrong, Place(wrong.early, wrong.period)])
    return found


def _two_layers(
    plain: Annotated, wanted: Sequence[int], letters: tuple[int, ...], effort: Effort
) -> FeaturePlan | None:
    pairs = Pairs()
    for notes in first_layers(plain):
        try:
            annotated = annotate(plain.automaton, notes)
        except LimitExceeded:
            continue
        effort.spend(len(annotated.rows))
        found = choose(annotated, two_layer_catalogue(annotated), wanted, pairs, effort, MOST_IN_SECOND)
        if found.determined is not None:
            return _planned(annotated, found.features, found.determined, letters)
        pairs.known.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
        del pairs.known[KEPT_PAIRS:]
    return None


def _planned(
    annotated: Annotated,
    features: tuple[Feature, ...],
    determined: Determined | None,
    letters: tuple[int, ...],
) -> FeaturePlan | None:
    return None if determined is None else FeaturePlan(annotated, features, determined, letters)


def delay_of(automaton: Semiautomaton) -> int | None:
    """d such that the last d letters determine the state, whatever came before; ``None`` if there is none."""
    states, letters = range(automaton.num_states), range(automaton.num_letters)
    pairs = {(p, q) for p in states for q in range(p)}
    for delay in range(MAX_DELAY + 1):
        if not pairs:
            return delay
        steps = ((automaton.step(p, x), automaton.step(q, x)) for p, q in pairs for x in letters)
        after = {(max(step), min(step)) for step in steps if step[0] != step[1]}
        if after == pairs:
            return None
        pairs = after
    return None
