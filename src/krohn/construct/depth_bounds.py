"""Bounds on depth: an upper bound by a plan that works for every length, a lower bound for long words."""

from dataclasses import dataclass, replace
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.request import DEFAULT_EFFORT, MAX_LENGTH, Proposal, Request
from krohn.construct.sources import SOURCES, proposals
from krohn.depth.layer_size import LayerSize, longest_word
from krohn.depth.lower_bound import Witness, find_witness
from krohn.depth.two_words import MOST_PAIRS, find_two_words
from krohn.errors import LimitExceeded, Unsupported, counted
from krohn.network.lowering.stock_blocks import in_blocks
from krohn.network.operations import Modulo
from krohn.network.program import Program

USUAL = LayerSize()
LONG = MAX_LENGTH
"""A length at which a scan is never the shallowest."""
MOST_STATES = 200


@dataclass(frozen=True)
class DepthBounds:
    """``lower ≤ depth ≤ upper``: the upper bound for every length, the lower one for long words.

    Attributes:
        upper: layers of a plan that works for every length; ``None`` where no such plan is known.
        witness: why fewer layers than ``lower`` fail on long words; ``None`` if nothing is excluded.
        size: of the layers that the lower bound excludes.
        letters: number of letters with distinct actions.
        states: of the minimal automaton whose observation is the output; 1 if the output is the state.
        blocks: of GPT-2 that a plan of ``upper`` layers takes in real numbers; a float format may take more.
        grows: what of this plan grows with the words: ``precision``, and ``width`` of its MLPs; ``None``
            without a plan.
    """

    upper: int | None
    witness: Witness | None
    size: LayerSize = USUAL
    letters: int = 2
    states: int = 1
    blocks: int | None = None
    grows: tuple[str, ...] | None = None

    @property
    def lower(self) -> int:
        """Layers that words of more than ``lower_beyond`` letters need, at this size."""
        return 0 if self.witness is None else self.witness.layers

    @property
    def lower_beyond(self) -> int:
        """The longest word not excluded for fewer than ``lower`` layers of this size."""
        if self.witness is None:
            return 0
        return self.witness.beyond(self.size, self.letters if self.states > 1 else 0, self.states)

    @property
    def one_layer_up_to(self) -> int:
        """Letters of the longest word that one layer of this size can return whole, if no plan does more."""
        return longest_word(self.letters, self.size)

    @property
    def optimal(self) -> bool:
        """Whether the bounds meet, for words of more than ``lower_beyond`` letters."""
        return self.upper == self.lower

    def __str__(self) -> str:
        """Both bounds, the lower one with the words and layers for which it holds."""
        return self._with(self.range)

    @property
    def brief(self) -> str:
        """Both bounds, the lower one with the words alone; ``str`` names the layers too."""
        more = " (--verbose says for which layers)" if self.lower > 1 else ""
        return self._with(f"beyond {counted(self.lower_beyond, 'letter')}{more}")

    def _with(self, scope: str) -> str:
        if self.upper == 0:
            return "0, optimal: the last letter and the place decide"
        if self.optimal:
            return f"{self.upper}, optimal {scope}" if self.lower else f"{self.upper}, optimal"
        most = "no constant depth known" if self.upper is None else f"at most {self.upper} at every length"
        return f"{most}; at least {self.lower} {scope}" if self.lower else most

    @property
    def range(self) -> str:
        """For which words and layers the lower bound holds."""
        words = f"for words of more than {counted(self.lower_beyond, 'letter')}"
        if self.lower < 2:
            return words
        return f"{words} and layers of {self.size}: answers that survive an error of 2^-{self.size.bits}"

    def to_json(self, letter_names: tuple[str, ...], length: int | None = None) -> dict[str, Any]:
        """The keys that analyze shows; for words of a length, bounds meet only if it is beyond the limit."""
        witness = None if self.witness is None else self.witness.to_json(letter_names)
        return {
            "upper": self.upper,
            "lower": self.lower,
            "lower_beyond": self.lower_beyond,
            "lower_for": self.size.to_json(),
            "one_layer_up_to": None if self.upper in (0, 1) else self.one_layer_up_to,
            "optimal": self.optimal and (length is None or length > self.lower_beyond),
            "witness": witness,
            "grows": None if self.grows is None else list(self.grows),
        }


def bound_depth(
    automaton: Semiautomaton, upper: int | None, size: LayerSize | None = None, *, observed: bool = False
) -> DepthBounds:
    """The bounds, given a number of layers that suffices for every length, if there is one.

    With ``observed``, for the observation of the automaton, which must be minimal, instead of its state.
    """
    witness = find_witness(automaton, most=upper, observed=observed)
    states = automaton.num_states if observed else 1
    return DepthBounds(upper, witness, size or USUAL, len(set(automaton.letters)), states)


def depth_bounds(
    automaton: Semiautomaton, effort: float = DEFAULT_EFFORT, *, solvable: bool = True
) -> DepthBounds:
    """The bounds of an automaton: the shallowest plan that does not depend on the length, and a witness.

    If a group of the automaton is known not to be solvable, no such plan is searched for: there is none
    with MLPs of constant depth unless TC⁰ = NC¹. Where the last letter and the place decide, no layer is
    needed: the network that is compiled has one without heads, since its embedding adds letter and place.
    """
    bounds = planned_bounds(automaton, effort, solvable=solvable)
    few = automaton.num_states**2 <= MOST_PAIRS  # then the search for two words is complete
    if few and find_two_words(automaton.table.tolist(), automaton.start) is None:
        return replace(bounds, upper=0, witness=None, grows=())
    return bounds


def planned_bounds(automaton: Semiautomaton, effort: float, *, solvable: bool = True) -> DepthBounds:
    """The bounds with the layers of the plan that is compiled."""
    plans = _lasting_plans(automaton, effort) if solvable else []
    depth = bound_depth(automaton, plans[0].layers if plans else None)
    programs = sorted((in_blocks(plan.program()) for plan in plans), key=lambda program: len(program.layers))
    if not programs:
        return depth
    return replace(depth, blocks=len(programs[0].layers), grows=growing(programs[0]))


def growing(program: Program) -> tuple[str, ...]:
    """What grows with the words: precision with heads, and the MLPs that take remainders of sums."""
    if not any(layer.attention for layer in program.layers):
        return ()
    wide = {register.name for register in program.registers if register.kind == "wide"}
    remainders = (
        change
        for layer in program.layers
        for change in layer.maps
        if isinstance(change, Modulo) and wide & {name for name, _ in change.terms}
    )
    return ("precision", "width") if any(remainders) else ("precision",)


def _lasting_plans(automaton: Semiautomaton, effort: float) -> list[Proposal]:
    """The plans of least depth among those that do not depend on the length."""
    if automaton.num_states > MOST_STATES:
        return []
    request = Request(automaton, LONG, effort=effort)
    lasting = tuple(source for source in SOURCES if source.name != "scan")
    try:
        plans = proposals(request, request.budget(), lasting)
    except (Unsupported, LimitExceeded):
        return []
    least = min(plan.layers for plan in plans)
    return [plan for plan in plans if plan.layers == least]
