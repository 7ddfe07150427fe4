"""A proposal: one way to build the network, with its layers known before any matrix is made.

A source of proposals is a function of the request and the work it may spend. ``krohn.construct.plans`` lists
the sources; the driver asks them all and chooses by the objective.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from krohn.construct.request import Request
from krohn.network.program import Program
from krohn.work import Work


@dataclass(frozen=True, eq=False)
class Proposal:
    """A way to build the network.

    Attributes:
        method: the method that the network is labelled with: ``cascade``, ``scan``, ``features``.
        layers: layers of the network.
        program: writes the program; called only for proposals that may be chosen.
        lines: the plan in words, one line for each part.
    """

    method: str
    layers: int
    program: Callable[[], Program]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """Where proposals come from.

    Attributes:
        name: what the source is called in messages.
        methods: the methods of a request that ask it.
        propose: the proposals, none or several; it raises ``Unsupported`` or ``LimitExceeded`` with the
            reason if it has none, and keeps to the work it is given.
        least: the fewest layers that it can propose: it is not asked where as few have been found already.
    """

    name: str
    methods: tuple[str, ...]
    propose: Callable[[Request, Work], Iterable[Proposal]]
    least: Callable[[Request], int]
