"""The experiments by name: the paper's nine, and one of our own."""

from difflib import get_close_matches

from krohn.errors import UnknownName
from krohn.lab.experiments.experiment import Experiment
from krohn.lab.experiments.recipes import (
    attention,
    curves,
    depth,
    generalization,
    incomplete,
    indirect,
    positions,
    stability,
    taught,
)

EXPERIMENTS: dict[str, Experiment] = {
    recipe.name: recipe
    for recipe in (
        depth.EXPERIMENT,
        curves.EXPERIMENT,
        stability.EXPERIMENT,
        attention.EXPERIMENT,
        indirect.EXPERIMENT,
        incomplete.EXPERIMENT,
        generalization.OOD,
        generalization.LENGTH,
        positions.EXPERIMENT,
        taught.EXPERIMENT,
    )
}


def experiment(name: str) -> Experiment:
    """The experiment of that name; an unknown one is refused with the nearest name, or the list."""
    if name not in EXPERIMENTS:
        near = get_close_matches(name[:40], EXPERIMENTS, n=1)
        hint = f": did you mean {near[0]}?" if near else ""
        known = ", ".join(EXPERIMENTS)
        raise UnknownName(f"an experiment must be one of {known}; got {name[:60]!r}{hint}")
    return EXPERIMENTS[name]
