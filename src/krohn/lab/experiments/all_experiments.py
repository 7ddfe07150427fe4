"""The experiments by name: the paper's nine, and two of our own."""

from krohn.lab.experiments.experiment import Experiment
from krohn.lab.experiments.names import check_experiment
from krohn.lab.experiments.recipes import (
    attention,
    curves,
    depth,
    generalization,
    incomplete,
    indirect,
    lasting,
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
        lasting.EXPERIMENT,
    )
}


def experiment(name: str) -> Experiment:
    """The experiment of that name; an unknown one is refused with the nearest name, or the list."""
    check_experiment(name)
    return EXPERIMENTS[name]
