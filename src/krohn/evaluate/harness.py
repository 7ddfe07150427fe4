"""Any sequence layer on state tracking: can its family, did it learn, and up to which length.

A *layer* is made by a factory of one argument, its width d, and maps [batch, T, d] to [batch, T, d]; an
embedding and a linear read-out are put around it. A *network* is made by a factory of two arguments, the
numbers of letters and of states, and maps letters [batch, T] to logits [batch, T, states]. Both must be
causal.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput
from krohn.recurrent.capability import capability

Factory = Callable[..., Any]
TASKS = ("C2", "C3", "D6")
_TOLERANCE = 1e-4


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long to train and how much to test; the defaults take a few minutes on a CPU.

    Attributes:
        length: letters of a training word; words of up to four times as many are tested.
        steps: of the optimiser, AdamW with a linear decay.
        batch: words in a step.
        lr: first learning rate.
        seeds: networks trained, one after the other.
        dim: width d of a layer.
        judged: test words of each length.
    """

    length: int = 16
    steps: int = 300
    batch: int = 64
    lr: float = 3e-3
    seeds: int = 3
    dim: int = 32
    judged: int = 128

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise InvalidInput(f"{name} must be above 0; got {value}")
        if self.length < 2:
            raise InvalidInput(f"length must be at least 2; got {self.length}")

    @property
    def lengths(self) -> tuple[int, ...]:
        """Half the trained length, and so on to four times."""
        return tuple(self.length * half // 2 for half in range(1, 9))


def reach(places: Sequence[float], accuracies: Sequence[float], share: float) -> int:
    """n*: the greatest length with that share of letters right, and at every shorter one looked at."""
    found = 0
    for place, accuracy in zip(places, accuracies, strict=True):
        if accuracy < share:
            break
        found = int(place)
    return found


@dataclass(frozen=True)
class Tracking:
    """What was found: a row for each task."""

    rows: tuple[dict[str, Any], ...]
    length: int

    def __repr__(self) -> str:
        told = ", ".join(f"{row['task']} {row['solved']} of {row['seeds']}" for row in self.rows)
        return f"<Tracking, words of {self.length} letters, solved: {told[:140]}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"length": self.length, "tasks": list(self.rows)}

    def text(self) -> str:
        """A table for people."""
        lines = ["task      can    solved  best     median   n* 95%        n* 99%"]
        for row in self.rows:
            can = {True: "yes", False: "no", None: "?"}[row["can"]]
            solved = f"{row['solved']} of {row['seeds']}"
            lines.append(
                f"{row['task']:9} {can:6} {solved:7} {row['best']:7.2%}  {row['median']:7.2%}  "
                f"{' '.join(map(str, row['n95'])):12}  {' '.join(map(str, row['n99']))}"
            )
        return "\n".join(lines)


def state_tracking(
    module_factory: Factory,
    tasks: Sequence[str | Semiautomaton] = TASKS,
    *,
    family: str | None = None,
    layers: int = 1,
    steps: int = 1,
    effort: Effort | None = None,
    device: str = "cpu",
) -> Tracking:
    """Trains the module on each automaton.

    The verdict is about ``family``, a row of ``krohn analyze``, with as many ``layers`` as the module has and
    ``steps`` for each letter (Householder or rank-one steps).
    """
    effort = effort or Effort()
    rows = []
    for task in tasks:
        automaton = parse_spec(task) if isinstance(task, str) else task
        can, reason = (
            capability(automaton, family, layers, steps) if family else (None, "no family was named")
        )
        seeds = [_trained(module_factory, automaton, effort, seed, device) for seed in range(effort.seeds)]
        own = [accuracies[effort.lengths.index(effort.length)] for accuracies in seeds]
        rows.append(
            {
                "task": automaton.name or str(task),
                "can": can,
                "reason": reason,
                "seeds": effort.seeds,
                "solved": sum(accuracy >= 0.99 for accuracy in own),
                "best": max(own),
                "median": median(own),
                "n95": [reach(effort.lengths, accuracies, 0.95) for accuracies in seeds],
                "n99": [reach(effort.lengths, accuracies, 0.99) for accuracies in seeds],
                "lengths": list(effort.lengths),
                "accuracies": seeds,
            }
        )
    return Tracking(tuple(rows), effort.length)


class _Around(nn.Module):
    """A layer between an embedding and a linear read-out."""

    def __init__(self, layer: nn.Module, dim: int, letters: int, states: int) -> None:
        super().__init__()
        self.embedding, self.layer = nn.Embedding(letters, dim), layer
        self.head = nn.Linear(dim, states)

    def forward(self, words: Tensor) -> Tensor:
        given = self.embedding(words)
        mixed = self.layer(given)
        if not isinstance(mixed, Tensor) or mixed.shape != given.shape:
            raise InvalidInput(f"a layer must map {_shape(given)} to the same shape; got {_shape(mixed)}")
        logits: Tensor = self.head(mixed)
        return logits


def _made(factory: Factory, automaton: Semiautomaton, effort: Effort) -> nn.Module:
    try:
        count = len(
            [p for p in inspect.signature(factory).parameters.values() if p.default is p.empty and p.kind < 2]
        )
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"the factory must be a function whose arguments can be seen; {error}") from error
    if count not in (1, 2):
        raise InvalidInput(
            "a factory takes one argument (width, for a layer) or two (letters, states, for a network); "
            f"got {count}"
        )
    sizes = (effort.dim,) if count == 1 else (automaton.num_letters, automaton.num_states)
    try:
        module = factory(*sizes)
    except Exception as error:  # whatever somebody else's code does
        raise InvalidInput(f"the factory must return a module; it raised {_line(error)}") from error
    if not isinstance(module, nn.Module):
        raise InvalidInput(f"the factory must return a torch.nn.Module; got {type(module).__name__}")
    around = effort.dim, automaton.num_letters, automaton.num_states
    whole = _Around(module, *around) if count == 1 else module
    if not any(parameter.requires_grad for parameter in whole.parameters()):
        raise InvalidInput("the module must have parameters that can be trained; it has none")
    return whole


def _logits(module: nn.Module, words: Tensor, states: int) -> Tensor:
    try:
        found = module(words)
    except InvalidInput:
        raise
    except Exception as error:  # whatever somebody else's code does
        raise InvalidInput(
            f"the module must run on words {_shape(words)}; it raised {_line(error)}"
        ) from error
    if not isinstance(found, Tensor) or found.shape != (*words.shape, states):
        raise InvalidInput(f"the module must return logits {(*words.shape, states)}; got {_shape(found)}")
    return found


@torch.no_grad()
def check_causal(module: nn.Module, automaton: Semiautomaton, length: int, device: str) -> None:
    """Refuses a module whose answer at a place changes with a later letter."""
    module.eval()
    generator = torch.Generator().manual_seed(1)
    words = torch.randint(automaton.num_letters, (4, length), generator=generator)
    before = _logits(module, words.to(device), automaton.num_states)
    if not bool(before.isfinite().all()):
        raise InvalidInput("the module must return finite numbers; some are not")
    for place in {1, length // 2, length - 1}:
        changed = words.clone()
        changed[:, place:] = torch.randint(automaton.num_letters, (4, length - place), generator=generator)
        changed[:, place] = (words[:, place] + 1) % automaton.num_letters
        after = _logits(module, changed.to(device), automaton.num_states)
        gap = (before[:, :place] - after[:, :place]).abs().max()
        if float(gap) > _TOLERANCE * max(1.0, float(before.abs().max())):
            raise InvalidInput(
                f"the module must be causal; its answers before letter {place + 1} change with later "
                "letters: mask what comes after, and do not norm over the length"
            )


def _trained(
    factory: Factory, automaton: Semiautomaton, effort: Effort, seed: int, device: str
) -> list[float]:
    """Trains one module; the share of letters right at each length, on words of another seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = _made(factory, automaton, effort).to(device)
        check_causal(module, automaton, effort.length, device)
        _fit(module, automaton, effort, seed, device)
    module.eval()
    generator = torch.Generator().manual_seed(1_000_003 + seed)
    return [
        _accuracy(module, automaton, length, effort.judged, generator, device) for length in effort.lengths
    ]


def _fit(module: nn.Module, automaton: Semiautomaton, effort: Effort, seed: int, device: str) -> None:
    module.train()
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW([p for p in module.parameters() if p.requires_grad], effort.lr)
    for step in range(effort.steps):
        optimizer.param_groups[0]["lr"] = effort.lr * min(1, (step + 1) / 20) * (1 - step / effort.steps)
        words, states = _batch(automaton, effort.batch, effort.length, generator, device)
        logits = _logits(module, words, automaton.num_states)
        loss = functional.cross_entropy(logits.flatten(0, 1).float(), states.flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()


@torch.no_grad()
def _accuracy(
    module: nn.Module,
    automaton: Semiautomaton,
    length: int,
    count: int,
    generator: torch.Generator,
    device: str,
) -> float:
    words, states = _batch(automaton, count, length, generator, device)
    right = _logits(module, words, automaton.num_states).argmax(-1) == states
    return float(right.double().mean())


def _batch(
    automaton: Semiautomaton, count: int, length: int, generator: torch.Generator, device: str
) -> tuple[Tensor, Tensor]:
    """Words of uniform letters and the states after each."""
    words = torch.randint(automaton.num_letters, (count, length), generator=generator)
    table = torch.from_numpy(automaton.table.astype("int64"))
    state, states = torch.full((count,), automaton.start), []
    for place in range(length):
        state = table[state, words[:, place]]
        states.append(state)
    return words.to(device), torch.stack(states, 1).to(device)


def _shape(value: object) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__


def _line(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:120]}"
