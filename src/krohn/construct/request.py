"""The request (what to compile, and how) and the proposals that sources of networks return.

A proposal is one way to build the network, with its depth known before any matrix is built. A source of
proposals is a function of the request and a budget. ``krohn.construct.sources`` lists the
sources; the driver calls them all and chooses by the objective.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, TypedDict, get_args

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton, Target
from krohn.base.portable import FLOATS, UNITS, Budget, float_name
from krohn.errors import InvalidInput
from krohn.network.program import Program
from krohn.paper.composition import Gadget
from krohn.paper.theorem3 import Variant

Method = Literal["auto", "scan", "cascade", "features", "wide", "paper", "grid"]
Objective = Literal["depth", "blocks", "parameters", "width"]
Activation = Literal["relu", "sin"]
DEFAULT_EFFORT = 1.0
MAX_SETS = MAX_ROWS = 20_000
"""Image sets of a decomposition, and reachable rows of a table, at effort 1."""
MAX_LENGTH = 1 << 24
"""Every position has an encoding of its own, so words cannot be arbitrarily long."""

OPTION_METHODS = {"gadget": ("scan",), "variant": ("grid",)}
"""The options of the paper's constructions and the methods that have them."""

CHOICES: dict[str, tuple[str | None, ...]] = {
    "method": get_args(Method),
    "activation": get_args(Activation),
    "objective": get_args(Objective),
    "target": get_args(Target),
    "dtype": (*FLOATS, None),
    "gadget": (*get_args(Gadget), None),
    "variant": (*get_args(Variant), None),
}


def choices(option: str) -> tuple[str, ...]:
    """The values that an option of ``compile`` may have: ``choices("method")``."""
    return tuple(value for value in CHOICES[option] if value is not None)


class TransformerOptions(TypedDict, total=False):
    """Options of a compilation.

    Attributes:
        method: ``scan``, ``paper`` and ``grid`` are Theorems 1, 2 and 3 as the paper builds them (corrected);
            ``cascade`` is the tight compiler; ``auto`` the shallowest that fits.
        activation: ``sin`` makes the counters of ``paper`` and ``grid`` two units wide.
        objective: what to minimise; ``blocks`` are those of a stock decoder, with one hidden layer each.
        target: what it outputs; ``observation`` is what the automaton shows, with only the heads it needs.
        dtype: the float format to support; words that are too long for it are refused. By default, and for
            short formats, MLPs have steps that are exact in every format and count wraps in two rounds (few
            units, several hidden layers); ``float64`` gives MLPs of one or two hidden layers instead.
        gadget: how ``scan`` composes maps: ``direct`` (narrowest in memory), ``plateau`` (as printed),
            ``hat`` (the width Theorem 1 states, no tolerance).
        variant: heads and second MLP of ``grid``; see ``krohn.paper.theorem3.build_grid``.
        effort: how hard to search; 10 allows ten times the work; equal effort gives the same network.
    """

    method: Method
    activation: Activation
    objective: Objective
    target: Target
    dtype: str | None
    gadget: Gadget | None
    variant: Variant | None
    effort: float


@dataclass(frozen=True)
class Request:
    """What to compile and how; validated, with all faults reported at once."""

    automaton: Semiautomaton
    length: int
    method: Method = "auto"
    activation: Activation = "relu"
    objective: Objective = "depth"
    target: Target = "state"
    dtype: str | None = None
    gadget: Gadget | None = None
    variant: Variant | None = None
    effort: float = DEFAULT_EFFORT

    def __post_init__(self) -> None:
        given: Any = self.length
        if isinstance(given, np.integer):  # accept numpy integers
            object.__setattr__(self, "length", int(given))
        if self.dtype is not None:
            object.__setattr__(self, "dtype", float_name(self.dtype))
        wrong = list(_faults(self))
        if wrong:
            raise InvalidInput("; ".join(wrong))

    @property
    def scan_depth(self) -> int:
        """⌈log₂ T⌉, the layers of a scan: it works for every automaton, and each plan is compared with it."""
        return (self.length - 1).bit_length()

    @property
    def max_sets(self) -> int:
        """The largest family of image sets that is searched."""
        return max(1, round(MAX_SETS * self.effort))

    @property
    def max_rows(self) -> int:
        """The most reachable rows of a table."""
        return max(1, round(MAX_ROWS * self.effort))

    def budget(self) -> Budget:
        """The budget of the searches."""
        return Budget(UNITS * self.effort)


def _faults(request: Request) -> Iterator[str]:
    length = request.length
    if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= MAX_LENGTH:
        yield f"length must be an integer from 1 to {MAX_LENGTH:,}; got {length!r}"
    for name, allowed in CHOICES.items():
        if getattr(request, name) not in allowed:
            known = ", ".join(str(value) for value in allowed)
            yield f"{name} must be one of {known}; got {getattr(request, name)!r}"
    for name, methods in OPTION_METHODS.items():
        if getattr(request, name) is not None and request.method not in methods:
            yield f"{name} is an option of method {' and '.join(methods)}; got method {request.method}"
    for name, usual in (("objective", "depth"), ("target", "state")):
        value = getattr(request, name)
        if request.method in ("scan", "paper", "grid") and value != usual:  # these networks are of one size
            yield f"{name} {value} is for methods cascade and auto; got method {request.method}"
    if request.activation != "relu" and request.method not in ("paper", "grid"):
        yield f"activation {request.activation} is for methods paper and grid; got method {request.method}"
    if not 0 < request.effort < inf:
        yield f"effort must be positive; got {request.effort!r}"


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
class ProposalSource:
    """Where proposals come from.

    Attributes:
        name: what the source is called in messages.
        methods: the request methods that use it.
        propose: the proposals, none or several; it raises ``Unsupported`` or ``LimitExceeded`` with the
            reason if it has none, and stays within its budget.
        least: the fewest layers it can propose; the source is skipped if a plan has that few already.
    """

    name: str
    methods: tuple[str, ...]
    propose: Callable[[Request, Budget], Iterable[Proposal]]
    least: Callable[[Request], int]
