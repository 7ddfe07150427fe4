"""The experiments by name: the paper's nine, the uniform depth map, and the networks that are kept."""

from krohn.errors import UnknownName
from krohn.experiments.experiment import Experiment
from krohn.experiments.recipes import (
    attention,
    curves,
    depth,
    incomplete,
    indirect,
    length,
    networks,
    ood,
    positions,
    stability,
    uniform,
)

EXPERIMENTS: dict[str, Experiment] = {
    recipe.EXPERIMENT.name: recipe.EXPERIMENT
    for recipe in (
        *(depth, uniform, curves, stability, attention, indirect, incomplete),
        *(ood, length, positions, networks),
    )
}


def experiment(name: str) -> Experiment:
    """The experiment of that name; an unknown one is refused with the list of the known."""
    if name not in EXPERIMENTS:
        raise UnknownName(f"an experiment must be one of {', '.join(EXPERIMENTS)}; got {name!r}")
    return EXPERIMENTS[name]
