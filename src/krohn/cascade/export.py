"""A plan or a cascade as plain data and as DOT, with the blocks shown on the original states."""

from typing import Any

from krohn.algebra.permutation import cycle_notation
from krohn.algebra.solvable import counter_tower
from krohn.cascade.holonomy import Cascade
from krohn.cascade.plan import Plan
from krohn.cascade.plan_leaves import HolonomyPlan
from krohn.cascade.skeleton import SetClass, Skeleton
from krohn.cascade.words import generator_word, spelled, transport_word

_MAX_GROUP = 2000  # groups up to this order are refined into counters
_MAX_LISTED = 64  # members of a class, generators of a group: more are counted, not listed


def plan_as_dict(plan: Plan) -> dict[str, Any]:
    """Components of a plan and its tree; a plan that is one cascade also shows sets and words."""
    payload: dict[str, Any] = {
        "components": [
            {
                "level": part.level,
                "tiles": part.tiles,
                "group_order": part.group_order,
                "group": part.group,
                "is_solvable": part.is_solvable,
                "has_resets": part.has_resets,
                "kind": part.kind,
            }
            for part in plan.components
        ],
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
    shown = part.members[:_MAX_LISTED]
    payload: dict[str, Any] = {
        "representative": state_names(frame, part.representative),
        "tile_states": [state_names(frame, tile) for tile in part.tiles],
        "num_members": len(part.members),
        "counters": _counters(cascade, part),
        "memory": len(part.tiles) if cascade.is_reset[part.number] else None,
        "generators": [
            {"permutation": list(generator), "cycles": cycle_notation(generator)}
            for generator in list(part.generators)[:_MAX_LISTED]
        ],
    }
    if not part.is_merged:
        for entry, generator in zip(payload["generators"], part.generators, strict=False):
            entry["word"] = spelled(frame, generator_word(frame, part, generator))
        payload["transports"] = [
            {"states": state_names(frame, member), "word": spelled(frame, transport_word(frame, member))}
            for member in shown[1:]
        ]
    return payload


def _counters(cascade: Cascade, part: SetClass) -> list[list[int]] | None:
    """Moduli of the counters, section by section; None if not solvable or too large to list."""
    group = cascade.group(part.number)
    if cascade.group_orders[part.number] > _MAX_GROUP or not group.is_solvable:
        return None
    return [list(moduli) for moduli in counter_tower(group.generators, group.degree).moduli_by_section]


def state_names(frame: Skeleton, number: int) -> list[str]:
    """The states of a set by their names."""
    return [frame.automaton.state_names[state] for state in frame.states(number)]


def skeleton_dot(frame: Skeleton) -> str:
    """The skeleton for Graphviz: one box per class, by level; tiles full, images dashed."""
    lines = ["digraph skeleton {", '  rankdir=TB; node [shape=box, fontname="sans-serif"];']
    for level in range(frame.num_levels):
        names = "; ".join(f"c{part.number}" for part in frame.classes if part.level == level)
        lines.append(f"  {{ rank=same; {names} }}")
    for part in frame.classes:
        states = ", ".join(state_names(frame, part.representative))
        label = f"{{{states}}}\n{len(part.members)} sets, {len(part.tiles)} tiles"
        lines.append(f"  c{part.number} [label={_quoted(label)}];")
    for part in frame.classes:
        tiles = {frame.class_of[tile] for tile in part.tiles} - {-1}
        images = {frame.class_of[row[member]] for row in frame.images for member in part.members}
        lines += [f"  c{part.number} -> c{below};" for below in sorted(tiles)]
        lines += [
            f"  c{part.number} -> c{below} [style=dashed];"
            for below in sorted(images - tiles - {-1, part.number})
        ]
    return "\n".join([*lines, "}", ""])


def plan_dot(plan: Plan) -> str:
    """The tree of a plan for Graphviz; a plan that is one cascade is drawn as its skeleton."""
    if isinstance(plan, HolonomyPlan):
        return skeleton_dot(plan.cascade.skeleton)
    lines = ["digraph plan {", '  rankdir=TB; node [shape=box, fontname="sans-serif"];']
    trail: list[int] = []
    for number, (indent, node) in enumerate(plan.walk()):
        label = _quoted(f"{node.title}\n{node.levels} levels")
        lines.append(f"  n{number} [label={label}];")
        del trail[indent:]
        if trail:
            lines.append(f"  n{trail[-1]} -> n{number};")
        trail.append(number)
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
