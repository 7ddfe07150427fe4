"""The names of experiments, engines and scales, without importing torch: a wrong one is refused at once."""

from difflib import get_close_matches
from enum import StrEnum
from importlib.util import find_spec

from krohn.base.extras import to_install
from krohn.errors import MissingDependency, UnknownName

EXPERIMENT_NAMES = (
    *("depth", "curves", "stability", "attention", "indirect", "incomplete", "ood", "length", "positions"),
    *("taught", "lasting"),
)
ATLAS = "atlas"
"""Thousands of automata, a network for each; it keeps rows, not runs."""
ENGINE_NAMES = ("local", "ray")


def check_experiment(name: str) -> None:
    """Refuses an unknown experiment; suggests the nearest name or the list."""
    if name not in EXPERIMENT_NAMES:
        near = get_close_matches(name[:40], (*EXPERIMENT_NAMES, ATLAS), n=1)
        hint = f": did you mean {near[0]}?" if near else ""
        known = ", ".join((*EXPERIMENT_NAMES, ATLAS))
        raise UnknownName(f"an experiment must be one of {known}; got {name[:60]!r}{hint}")


def check_engine(name: str) -> None:
    """Refuses an engine that is unknown or not installed."""
    if name not in ENGINE_NAMES:
        raise UnknownName(f"an engine must be one of {', '.join(ENGINE_NAMES)}; got {name[:60]!r}")
    if name == "ray" and find_spec("ray") is None:
        raise MissingDependency(f"--engine ray needs Ray: {to_install('cluster')}")


class Scale(StrEnum):
    """Smoke proves that everything runs (minutes on a CPU), small fits one GPU, paper is the paper's own."""

    SMOKE = "smoke"
    SMALL = "small"
    PAPER = "paper"


def parse_scale(text: str) -> Scale:
    """The scale of that name; an unknown one is refused with the list of the known."""
    if text not in set(Scale):
        raise UnknownName(f"a scale must be one of {', '.join(Scale)}; got {text!r}")
    return Scale(text)
