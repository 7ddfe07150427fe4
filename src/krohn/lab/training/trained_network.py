"""What training leaves: replicates of a network with their weights, as functions from words to states."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from krohn.automata.observed import with_target
from krohn.automata.reader import Reader
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.files import read_json
from krohn.errors import InvalidFile, InvalidInput, Unsupported, counted
from krohn.lab.models.architectures.looped import Looped, LoopedDecoder
from krohn.lab.models.kernels import plain
from krohn.lab.models.network import Network
from krohn.lab.models.parameters import Weights
from krohn.lab.tasks.batches import Task
from krohn.lab.training.config import RunConfig
from krohn.lab.training.device import device_reasons
from krohn.lab.training.directory import read_config, read_weights
from krohn.lab.training.held_out import read_step_by_step

Words = npt.NDArray[np.int64]

PER_PASS = 512


@dataclass(frozen=True, eq=False, repr=False)
class TrainedNetwork(Reader):
    """R replicates with their weights, and the task they were trained on.

    Attributes:
        network: their architecture.
        weights: by name, [R, …].
        task: on the device of the weights.
        replicate: number of the first of them in its run.
    """

    network: Network
    weights: Weights
    task: Task
    replicate: int = 0

    @property
    def replicates(self) -> int:
        """How many networks there are."""
        return len(next(iter(self.weights.values())))

    @property
    def automaton(self) -> Semiautomaton:
        """The automaton that the network was trained to simulate, with what it outputs."""
        return with_target(self.task.automaton, self.task.config.target)

    @property
    def length(self) -> int:
        """Length of the training words."""
        return self.task.config.length

    def __repr__(self) -> str:
        name, parts = self.automaton.name or "an automaton", counted(self.replicates, "replicate")
        return f"<TrainedNetwork for {name}: words of {self.length:,} letters, {parts}>"

    def task_with(self, **changes: object) -> Task:
        """The same task on words of another length or distribution."""
        return Task(replace(self.task.config, **changes), self.task.automaton, self.task.device)  # type: ignore[arg-type]

    def forward(self, words: Words, /, dtype: object = "float64") -> Words:
        """The states [batch, length] predicted for words of that shape."""
        if self.replicates > 1:
            raise InvalidInput(
                f"words are run by one replicate; here are {self.replicates}: take krohn.load of the run, or "
                "network.logits for all of them"
            )
        return self.decide(words)[0]

    def online(self) -> Callable[[int], int]:
        """See ``Reader``: of looped networks."""
        reads_letters = not self.task.config.scratchpad and not self.task.config.bos
        if not isinstance(self.network, Looped) or not reads_letters or self.replicates > 1:
            return super().online()
        decoder = LoopedDecoder(self.network, self.weights)

        @torch.no_grad()
        def step(letter: int) -> int:
            logits = decoder.step(torch.full((1, 1, 1), letter, device=self.task.device))
            return int(plain.answers(logits)[0, 0])

        return step

    def decide(self, words: Words) -> tuple[Words, npt.NDArray[np.float32]]:
        """The states [batch, length] of words of that shape, and by how much the logit of each leads."""
        parts = [self._decide(words[first : first + PER_PASS]) for first in range(0, len(words), PER_PASS)]
        states, leads = (torch.cat(side).cpu().numpy() for side in zip(*parts, strict=True))
        return states.astype(np.int64), leads

    @torch.no_grad()
    def _decide(self, words: Words) -> tuple[Tensor, Tensor]:
        tokens = torch.from_numpy(np.ascontiguousarray(words))[None].to(self.task.device)
        letters = self.automaton.num_letters
        if self.task.config.scratchpad:
            # The network reads back the states that it wrote itself; given those, one pass has all logits.
            written = read_step_by_step(self.network, self.weights, tokens, letters)
            read = torch.stack((tokens, written + letters), -1).flatten(-2)[..., :-1]
            logits = self.network.logits(self.weights, read)[0, :, 0::2]
            states = torch.where(logits.isnan().any(-1), -1, written[0])
        else:
            logits = self.network.logits(self.weights, self.task.begun(tokens))[0, :, -words.shape[1] :]
            states = plain.answers(logits)
        best = functional.pad(logits, (0, 1), value=-torch.inf).topk(2).values  # a lone state has no rival
        return states, best[..., 0] - best[..., 1]


def read_run(directory: Path, device: str = "cpu") -> TrainedNetwork:
    """The best replicate of a run directory, in float32."""
    if reasons := device_reasons("fp32", device):
        raise Unsupported("; ".join(reasons))
    return read_replicate(directory, read_config(directory), device=device)


def read_replicate(
    directory: Path, config: RunConfig, replicate: int | None = None, *, device: str = "cpu"
) -> TrainedNetwork:
    """A replicate of the run that ``directory`` holds, the best unless named, in float32."""
    number = best_replicate(directory) if replicate is None else replicate
    task = Task(config.task, parse_spec(config.task.spec), torch.device(device))
    network = config.model.build(task.vocabulary, task.classes)
    weights = read_weights(directory, number, network.layout)
    stacked = {name: value[None].to(device) for name, value in weights.items()}
    return TrainedNetwork(network, stacked, task, number)


def best_replicate(directory: Path) -> int:
    """The replicate with the highest accuracy in the result of a finished run."""
    try:
        payload = read_json(directory / "result.json")
        scores = [float(replicate["accuracy"]) for replicate in payload["replicates"]]
        return int(np.argmax(scores))
    except (OSError, ValueError, OverflowError, KeyError, TypeError) as error:
        raise InvalidFile(f"{directory} must hold the result.json of a finished run; {error}") from error
