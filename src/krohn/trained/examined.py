"""A trained run compared with an automaton: all words up to a length, and samples of longer ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Counterexample
from krohn.evaluate.trained_states import TrainedStates
from krohn.tasks.input_distributions import feasible_letters
from krohn.trained.exact import Allowed, ExactCount, count, longest
from krohn.trained.sampled import Sample, habitual, legal, sampled, uniform

RECURRENT = ("lstm", "gru")
LONG = 300
"""Letters of sampled words on networks that carry a state: errors grow slowly there."""


@dataclass(frozen=True)
class Examined:
    """The results of running words.

    Attributes:
        exact: on all words of the largest length that the effort allows.
        legal: the same on the training distribution's support, where that avoids a sink.
        sample: random words of the training length.
        habits: words that repeat and alternate; long ones on recurrent networks.
    """

    exact: ExactCount
    legal: ExactCount | None
    sample: Sample
    habits: Sample

    @property
    def counterexample(self) -> Counterexample | None:
        """A shortest wrong word if all words were run; otherwise the sampled one with the earliest error."""
        result = [self.exact.shortest, self.sample.wrong, self.habits.wrong]
        return min((one for one in result if one is not None), key=lambda one: len(one.word), default=None)

    @property
    def right_in_training(self) -> bool:
        """Whether no wrong word was found in the support of the training distribution, as are the samples."""
        short = self.exact if self.legal is None else self.legal
        return short.wrong == 0 and self.sample.wrong is None and self.habits.wrong is None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "exact": self.exact.to_json(),
            "exact_in_training": None if self.legal is None else self.legal.to_json(),
            "sample": self.sample.to_json(),
            "habits": self.habits.to_json(),
        }


def examine_run(
    trained: TrainedStates, automaton: Semiautomaton, length: int | None = None, effort: float = 1.0
) -> Examined:
    """Runs all words of the largest length up to ``length`` that the effort allows, and samples."""
    asked = length or trained.length
    reach = longest(trained, asked, effort)
    may = words_of_training(trained)
    recurrent = kind_of(trained) in RECURRENT
    far = max(asked, LONG) if recurrent and length is None else asked
    random, repeating = uniform(automaton, asked), habitual(automaton, far)
    if may is not None:
        random, repeating = (legal(automaton, words, may) for words in (random, repeating))
    return Examined(
        count(trained, automaton, reach),
        None if may is None else count(trained, automaton, reach, may),
        sampled(trained.forward, automaton, random),
        sampled(trained.forward, automaton, repeating),
    )


def kind_of(trained: TrainedStates) -> str:
    """The name of the network's architecture."""
    config = getattr(trained.network, "config", None)
    return str(getattr(config, "kind", ""))


def words_of_training(trained: TrainedStates) -> Allowed | None:
    """The letters that training draws in each state, if it avoids a sink; none if it draws all."""
    if not trained.task.distribution.follows_state:
        return None
    allowed = np.zeros(trained.automaton.table.shape, dtype=bool)
    for state, letters in enumerate(feasible_letters(trained.automaton)):
        allowed[state, letters] = True
    return allowed
