"""Theorem "Simulation of solvable groups": a wreath product for every step of a composition series."""

from krohn.algebra.permutation import compose
from krohn.algebra.solvable import SolvableSeries
from krohn.construct.paper.group_simulator import GroupSimulator, cyclic_simulator, trivial_simulator
from krohn.construct.paper.wreath_product import wreath_product


def solvable_simulator(series: SolvableSeries, length: int, counting: str = "relu") -> GroupSimulator:
    """Sim(G, T) on the vectors of ``series.encode``: depth 3l − 2 for a series of length l."""
    current = trivial_simulator()
    for height, step in enumerate(series.steps):
        quotient = cyclic_simulator(step.prime, length, counting)
        current = wreath_product(current, quotient, step.prime) if height else quotient
    return GroupSimulator(
        current.layers, current.rep_dim, current.rep_size, series.encode, series.elements, compose
    )
