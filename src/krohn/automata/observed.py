"""An automaton whose output is its observation: acceptance of a pattern, the walls of a grid."""

from dataclasses import dataclass, fields

from krohn.automata.semiautomaton import Semiautomaton, Target
from krohn.errors import InvalidInput


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Semiautomaton):
    """An automaton whose networks output φ(q) instead of q; it must have an observation map."""

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
        """Names of the outputs: of the observations, as numerals if they have none."""
        return self.observation_names or tuple(map(str, range(self.num_observations)))


def with_target(automaton: Semiautomaton, target: Target) -> Semiautomaton:
    """The automaton with states or observations as its output."""
    if target == automaton.target:
        return automaton
    if automaton.observe is None:
        raise InvalidInput(
            "target observation needs an automaton that shows something: a regex, a name with @, a file with "
            "observe; or take target state"
        )
    kind = Observed if target == "observation" else Semiautomaton
    return kind(**{field.name: getattr(automaton, field.name) for field in fields(Semiautomaton)})
