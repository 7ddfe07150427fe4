"""Human-readable cascades: plain data with words, counters and the original states."""

from typing import Any

from krohn.algebra.counters import counter_tower
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import cycle_notation
from krohn.cascade.holonomy import Cascade
from krohn.cascade.plan import HolonomyPlan, Plan
from krohn.cascade.skeleton import SetClass, Skeleton
from krohn.cascade.words_of_maps import generator_word, spell, transport_word

MAX_GROUP = 2000  # groups up to this order are refined into counters
_OF_COMPONENTS = ("level", "tiles", "group_order", "group", "is_solvable", "has_resets", "kind")
_MAX_LISTED = 64  # class members or group generators listed; beyond, only their number


def plan_as_dict(plan: Plan) -> dict[str, Any]:
    """Components of a plan and its tree; a plan that is one cascade also shows sets and words."""
    payload: dict[str, Any] = {
        "components": [{key: getattr(part, key) for key in _OF_COMPONENTS} for part in plan.components],
        "tree": _tree(plan),
    }
    if isinstance(plan, HolonomyPlan):
        details = [component_as_dict(plan.cascade, part) for part in plan.cascade.components]
        for entry, detail in zip(payload["components"], details, strict=True):
            entry.update(detail)
        payload["num_sets"] = plan.cascade.skeleton.num_sets
        payload["initial"] = list(plan.cascade.initial)
    return payload


def _tree(plan: Plan) -> dict[str, Any]:
    node: dict[str, Any] = {"node": plan.title, "levels": plan.levels}
    if plan.children:
        node["children"] = [_tree(child) for child in plan.children]
    return node


def component_as_dict(cascade: Cascade, part: SetClass) -> dict[str, Any]:
    """One component on the original states: its sets, its tiles, its generators with words."""
    frame = cascade.skeleton
    payload: dict[str, Any] = {
        "representative": state_names(frame, part.representative),
        "tile_states": [state_names(frame, tile) for tile in part.tiles],
        "num_members": len(part.members),
        "counters": _counters(part.group),
        "memory": len(part.tiles) if cascade.is_reset[part.number] else None,
        "generators": [
            {"permutation": list(generator), "cycles": cycle_notation(generator)}
            for generator in list(part.generators)[:_MAX_LISTED]
        ],
    }
    if not part.is_merged:
        for entry, generator in zip(payload["generators"], part.generators, strict=False):
            entry["word"] = spell(frame, generator_word(frame, part, generator))
        payload["transports"] = [
            {"states": state_names(frame, member), "word": spell(frame, transport_word(frame, member))}
            for member in part.members[1:_MAX_LISTED]
        ]
    return payload


def _counters(group: PermutationGroup) -> list[list[int]] | None:
    """Moduli of the counters, section by section; None if not solvable or too large to list."""
    if group.order > MAX_GROUP or not group.is_solvable:
        return None
    return [list(moduli) for moduli in counter_tower(group.generators, group.degree).moduli_by_section]


def state_names(frame: Skeleton, number: int) -> list[str]:
    """The states of a set by their names."""
    return [frame.automaton.state_names[state] for state in frame.states(number)]
