"""An automaton that is asked for what it shows: acceptance of a regex, the walls of a grid."""

from dataclasses import dataclass, fields
from typing import Literal

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput

Target = Literal["state", "observation"]


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Semiautomaton):
    """The same automaton, of which a network outputs φ(q) instead of q; it must have an observation map."""

    @property
    def target(self) -> Target:
        """What a network of it outputs."""
        return "observation"

    @property
    def outputs(self) -> tuple[int, ...]:
        """φ(q) for every state."""
        assert self.observe is not None
        return self.observe

    @property
    def output_names(self) -> tuple[str, ...]:
        """Observations are numbers."""
        return tuple(map(str, range(self.num_observations)))


def asked(automaton: Semiautomaton, target: Target) -> Semiautomaton:
    """The automaton, asked for its states or for its observation."""
    if target == automaton.target:
        return automaton
    if automaton.observe is None:
        raise InvalidInput(
            "target observation needs an automaton that shows something: a regex, a name with @, a file with "
            "observe; or take target state"
        )
    kind = Observed if target == "observation" else Semiautomaton
    return kind(**{field.name: getattr(automaton, field.name) for field in fields(Semiautomaton)})
