"""The task: an automaton, a length, the labels that are shown, and the distribution of inputs."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """One simulation task.

    Attributes:
        spec: the automaton, as on the command line.
        length: letters per sequence, T.
        target: predict the state q_t, or the automaton's observation φ(q_t).
        reveal: probability that a label is shown during training.
        scratchpad: interleave inputs and states, σ₁ q₁ σ₂ q₂ … σ_T, and read step by step at test time.
        distribution: of the inputs, as ``krohn.automata.distributions`` lists them; ``auto`` is the paper's.
        bos: prepend a beginning-of-sequence token; it has no label.
    """

    spec: str
    length: int = 100
    target: Literal["state", "observation"] = "state"
    reveal: float = 1.0
    scratchpad: bool = False
    distribution: str = "auto"
    bos: bool = False

    @property
    def num_tokens(self) -> int:
        """Tokens per sequence: T, T + 1 with BOS, or 2T − 1 with a scratchpad."""
        return self.tokens_of(self.length)

    def tokens_of(self, letters: int) -> int:
        """Tokens up to the label of the letter number ``letters``."""
        return 2 * letters - 1 if self.scratchpad else letters + self.bos

    def reasons(self) -> list[str]:
        """Every error in the task, whatever the automaton; empty if there is none."""
        wrong = []
        if self.length < 1:
            wrong.append(f"length must be at least 1; got {self.length}")
        if self.target not in ("state", "observation"):
            wrong.append(f"target must be state or observation; got {self.target!r}")
        if not 0.0 < self.reveal <= 1.0:
            wrong.append(f"reveal must lie in (0, 1]; got {self.reveal}")
        if self.bos and self.scratchpad:
            wrong.append("a scratchpad has no token for the beginning; use bos without scratchpad")
        return wrong
