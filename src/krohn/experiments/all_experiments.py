"""The experiments by name: the paper's nine, and some of our own."""

from krohn.experiments.experiment import Experiment
from krohn.experiments.names import check_experiment
from krohn.experiments.recipes import (
    attention,
    curves,
    depth,
    expressivity,
    incomplete,
    indirect,
    length,
    networks,
    ood,
    positions,
    sample,
    stability,
)

EXPERIMENTS: dict[str, Experiment] = {
    recipe.EXPERIMENT.name: recipe.EXPERIMENT
    for recipe in (
        *(depth, curves, stability, attention, indirect, incomplete),
        *(ood, length, positions, networks, expressivity, sample),
    )
}


def experiment(name: str) -> Experiment:
    """The experiment of that name; an unknown one is refused with the nearest name, or the list."""
    check_experiment(name)
    return EXPERIMENTS[name]
