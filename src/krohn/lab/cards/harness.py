"""Trains any causal sequence layer on an automaton, and finds its first wrong letter.

A *layer* is made by a factory of one argument, its width d, and maps [batch, T, d] to [batch, T, d]; an
embedding and a linear read-out are put around it. A *network* is made by a factory of two arguments, the
numbers of letters and of states, and maps letters [batch, T] to logits [batch, T, states]. Both must be
causal.

This is not the loop of ``krohn.lab.training``, which moves all replicates of an architecture in flat buffers:
a module of somebody else does not have them (``docs/decisions/training-loops.md``).
"""

import inspect
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput
from krohn.lab.models.kernels import plain
from krohn.proving.by_position import ByPosition

Factory = Callable[..., Any]
_TOLERANCE, _COARSE = 1e-4, 2e-2
"""Relative differences that are rounding: in float32, and by kernels that may compute in bfloat16."""
_POINTS = 25
"""Points of a learning curve."""
_RANDOM_WORDS, _PAIRS, _GROWTH = 4, 8, 8
_OPTIMIZERS = ("adamw", "muon")
RAISED = (Exception, SystemExit)
"""What third-party code may raise, other than the user's own interrupt."""


class TrainingOutOfTime(Exception):
    """The time limit was reached before this network was done."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long to train and how much to test.

    Attributes:
        length: T, letters of a training word; words of T and 4 T letters are tested.
        steps: optimiser steps, with linear decay.
        batch: words in a step.
        lr: initial learning rate.
        seeds: networks trained, one after the other.
        first_seed: seed of the first; the others follow.
        width: width d of a layer.
        tested: size of the test set of each length.
        optimizer: AdamW, or Muon for the matrices and AdamW for the rest.
    """

    length: int = 16
    steps: int = 1000
    batch: int = 64
    lr: float = 1e-2
    seeds: int = 3
    first_seed: int = 0
    width: int = 32
    tested: int = 256
    optimizer: Literal["adamw", "muon"] = "adamw"

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "first_seed":
                if value < 0:
                    raise InvalidInput(f"first_seed must be 0 or more; got {value}")
            elif name != "optimizer" and not value > 0:
                raise InvalidInput(f"{name} must be above 0; got {value}")
        if self.optimizer not in _OPTIMIZERS:
            raise InvalidInput(f"optimizer must be one of {', '.join(_OPTIMIZERS)}; got {self.optimizer!r}")
        if self.length < 2:
            raise InvalidInput(f"length must be at least 2; got {self.length}")


PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"length": 16, "steps": 1000, "batch": 64, "lr": 1e-2, "width": 32},
    "papers": {"length": 128, "steps": 3906, "batch": 512, "lr": 1e-3, "width": 128},
}
"""*quick*: DeltaProduct with two steps learns S3 to four times the length; at a rate of 0.003 it does not.
*papers*: 128 → 512 letters on two million words, as in ``results/tables/stock-protocol.md``.
"""


class Trained(NamedTuple):
    """One network after training.

    Attributes:
        module: the network.
        right: token accuracy on a test set of words of T letters.
        right_at_4: the same at 4 T letters.
        first_step: the first step with 99% accuracy on its fresh batch before the update; ``None`` if none.
        diverged: the step at which the loss was no longer finite and training ended; ``None`` if none.
        seconds: of training.
        parameters: number of trainable parameters.
        curve: pairs of a step and the accuracy on its fresh batch, before the update.
        by_position: how often each letter of the words of 4 T is right.
    """

    module: nn.Module
    right: float
    right_at_4: float
    first_step: int | None
    diverged: int | None
    seconds: float
    parameters: int
    curve: tuple[tuple[int, float], ...] = ()
    by_position: ByPosition | None = None


class FirstWrong(NamedTuple):
    """The first wrong letter, counted from 1, on long words; ``None`` if there is none in ``tested``."""

    letter: int | None
    word: str
    tested: int


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
        if (mixed.dtype, mixed.device) != (given.dtype, given.device):
            kept, got = (f"{x.dtype} on {x.device}".removeprefix("torch.") for x in (given, mixed))
            raise InvalidInput(f"a layer must return {kept}, as it was given; got {got}: end with .to(x)")
        logits: Tensor = self.head(mixed)
        return logits


def make_module(factory: Factory, automaton: Semiautomaton, effort: Effort) -> nn.Module:
    """The factory's module; a layer is put between an embedding and a read-out."""
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
    sizes = (effort.width,) if count == 1 else (automaton.num_letters, automaton.num_states)
    try:
        module = factory(*sizes)
    except RAISED as error:
        raise InvalidInput(f"the factory must return a module; it raised {_line(error)}") from error
    if not isinstance(module, nn.Module):
        raise InvalidInput(f"the factory must return a torch.nn.Module; got {type(module).__name__}")
    around = effort.width, automaton.num_letters, automaton.num_states
    whole = _Around(module, *around) if count == 1 else module
    if not any(parameter.requires_grad for parameter in whole.parameters()):
        raise InvalidInput("the module must have parameters that can be trained; it has none")
    return whole


def logits_of(module: nn.Module, words: Tensor, states: int) -> Tensor:
    """The logits of words; an exception in the module becomes a one-line error."""
    try:
        result = module(words)
    except InvalidInput:
        raise
    except RAISED as error:
        raise InvalidInput(
            f"the module must run on words {_shape(words)}; it raised {_line(error)}"
        ) from error
    if not isinstance(result, Tensor) or result.shape != (*words.shape, states):
        raise InvalidInput(f"the module must return logits {(*words.shape, states)}; got {_shape(result)}")
    return result


@torch.no_grad()
def check_causal(module: nn.Module, automaton: Semiautomaton, length: int, device: str) -> None:
    """Refuses a module whose output at a position depends on a later letter."""
    module.eval()
    generator = torch.Generator().manual_seed(1)
    words = torch.randint(automaton.num_letters, (4, length), generator=generator)
    before = logits_of(module, words.to(device), automaton.num_states)
    if not bool(before.isfinite().all()):
        raise InvalidInput("the module must return finite numbers; some are not")
    most = _TOLERANCE * max(1.0, float(before.abs().max()))
    again = logits_of(module, words.to(device), automaton.num_states)
    if float((before - again).abs().max()) > most:
        raise InvalidInput(
            "the module is not deterministic in eval mode; remove what is random, such as dropout, "
            "and what is kept from one call to the next"
        )
    for place in {1, length // 2, length - 1}:
        changed = words.clone()
        changed[:, place:] = torch.randint(automaton.num_letters, (4, length - place), generator=generator)
        changed[:, place] = (words[:, place] + 1) % automaton.num_letters
        after = logits_of(module, changed.to(device), automaton.num_states)
        gap = (before[:, :place] - after[:, :place]).abs().max()
        if float(gap) > most:
            raise InvalidInput(
                f"the module must be causal; its answers before letter {place + 1} change with later "
                "letters: mask what comes after, and do not norm over the length"
            )
    _check_apart(module, words.to(device), before, most if device == "cpu" else _COARSE / _TOLERANCE * most)


def _check_apart(module: nn.Module, words: Tensor, before: Tensor, most: float) -> None:
    """Refuses a module whose answers to a word depend on other words, their order or what follows."""
    half = max(1, words.shape[1] // 2)
    first = _time_first(module)
    end = "do not read a word from its end, and norm nothing over the length"
    for what, given, wanted, advice in (
        ("the order of the words in its batch", words.flip(0), before.flip(0), first),
        ("the other words of its batch", words[-1:], before[-1:], first),
        ("the number of words in its batch", words.repeat(3, 1), before.repeat(3, 1, 1), first),
        ("the number of letters that follow, as in a padded batch", words[:, :half], before[:, :half], end),
    ):
        if float((logits_of(module, given, before.shape[2]) - wanted).abs().max()) > most:
            raise InvalidInput(f"a word's answers must not depend on {what}; these do: {advice}")


def _time_first(module: nn.Module) -> str:
    """What to change so that words are apart: the line that makes a part with time first, if there is one."""
    for name, part in module.named_modules():
        if getattr(part, "batch_first", True):
            continue
        parent, _, attribute = name.rpartition(".")
        owner = type(module.get_submodule(parent))
        try:
            lines, start = inspect.getsourcelines(owner)
        except (OSError, TypeError):
            continue
        for number, line in enumerate(lines, start):
            if f"self.{attribute} =" in line:
                return f"add batch_first=True in line {number}, {line.strip()[:80]}"
    return "put the batch first, as in nn.GRU(d, d, batch_first=True), and norm nothing over the batch"


def train_module(
    factory: Factory,
    automaton: Semiautomaton,
    effort: Effort,
    seed: int,
    device: str,
    tick: Callable[[], None] = lambda: None,
) -> Trained:
    """Trains one network; ``tick`` is called before each step and may raise ``TrainingOutOfTime``."""
    begin = time.monotonic()
    # A stranger's layer draws its weights from torch's global stream: seeded here, and put back afterwards.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = make_module(factory, automaton, effort).to(device)
        check_causal(module, automaton, effort.length, device)
        first, diverged, curve = _fit(module, automaton, effort, seed, device, tick)
    seconds = time.monotonic() - begin
    module.eval()
    generator = torch.Generator().manual_seed(1_000_003 + seed)  # not the seed of training
    tested = [
        _tested(module, automaton, times * effort.length, effort.tested, generator, device)
        for times in (1, 4)
    ]
    right, right_at_4 = (one.share(1, one.length) for one in tested)
    count = sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
    return Trained(module, right, right_at_4, first, diverged, seconds, count, curve, tested[1])


def _fit(
    module: nn.Module,
    automaton: Semiautomaton,
    effort: Effort,
    seed: int,
    device: str,
    tick: Callable[[], None],
) -> tuple[int | None, int | None, tuple[tuple[int, float], ...]]:
    """Trains; returns ``first_step``, ``diverged`` and ``curve`` of ``Trained``."""
    module.train()
    generator = torch.Generator().manual_seed(seed)
    optimizers, solved = _optimizers(module, effort), None
    curve: list[tuple[int, float]] = []
    for step in range(effort.steps):
        tick()
        for optimizer in optimizers:
            rate = effort.lr * min(1, (step + 1) / 20) * (1 - step / effort.steps)
            optimizer.param_groups[0]["lr"] = rate
        words, states = batch(automaton, effort.batch, effort.length, generator, device)
        logits, loss = passes(module, words, states, automaton.num_states)
        shown = step * _POINTS // effort.steps != (step - 1) * _POINTS // effort.steps
        if solved is None or shown:
            right = float((logits.argmax(-1) == states).double().mean())
            solved = step if solved is None and right >= 0.99 else solved
            curve += [(step, round(right, 4))] if shown else []
        if not bool(loss.isfinite()):
            return solved, step, tuple(curve)
        if step == 0:
            _check_gradients(module)
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        with warnings.catch_warnings():  # Muon multiplies in bfloat16, even without hardware support
            warnings.filterwarnings("ignore", message="mkldnn_matmul")
            for optimizer in optimizers:
                optimizer.step()
    return solved, None, tuple(curve)


def passes(module: nn.Module, words: Tensor, states: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Logits and loss of a batch; the gradients of this batch are left in the parameters."""
    module.zero_grad()
    logits = logits_of(module, words, count)
    loss = functional.cross_entropy(logits.flatten(0, 1).float(), states.flatten())
    try:
        loss.backward()  # type: ignore[no-untyped-call]
    except RAISED as error:
        raise InvalidInput(f"the module must have a backward pass; it raised {_line(error)}") from error
    return logits, loss


def _check_gradients(module: nn.Module) -> None:
    """Refuses a layer none of whose parameters got a gradient."""
    own = module.layer if isinstance(module, _Around) else module
    every = [parameter for parameter in own.parameters() if parameter.requires_grad]
    if every and all(parameter.grad is None for parameter in every):
        raise InvalidInput(
            "gradients must reach the layer's parameters, and none does; take detach and no_grad out of it"
        )


def _optimizers(module: nn.Module, effort: Effort) -> list[torch.optim.Optimizer]:
    """AdamW; with Muon for the matrices that are neither embeddings nor the read-out."""
    every = {name: p for name, p in module.named_parameters() if p.requires_grad}
    matrices = {
        name: p
        for name, p in every.items()
        if effort.optimizer == "muon" and p.ndim == 2 and not name.startswith(("embedding", "head", "wte"))
    }
    rest = [p for name, p in every.items() if name not in matrices]
    result: list[torch.optim.Optimizer] = [torch.optim.AdamW(rest, effort.lr)] if rest else []
    if matrices:
        options: dict[str, Any] = {"adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.01}
        result.append(torch.optim.Muon(list(matrices.values()), effort.lr, **options))
    return result


def long_words(automaton: Semiautomaton, length: int) -> Iterator[tuple[str, Tensor]]:
    """Words with late errors: random ones, one letter repeated, two letters alternating."""
    generator = torch.Generator().manual_seed(2_000_003)
    letters = range(automaton.num_letters)
    for _ in range(_RANDOM_WORDS):
        yield "random letters", torch.randint(automaton.num_letters, (length,), generator=generator)
    names = automaton.letter_names
    for letter in letters[:_PAIRS]:
        yield f"{names[letter]} repeated", torch.full((length,), letter)
    pairs = [(one, two) for one in letters for two in letters if one < two]
    for one, two in pairs[:_PAIRS]:
        yield f"{names[one]} and {names[two]} in turn", torch.tensor([one, two]).repeat(length)[:length]


@torch.no_grad()
def first_wrong(
    module: nn.Module,
    automaton: Semiautomaton,
    longest: int,
    device: str,
    tick: Callable[[], None] = lambda: None,
) -> FirstWrong:
    """The first wrong letter on long words; prefixes first, so that early failures are cheap."""
    names, words = zip(*long_words(automaton, longest), strict=True)
    given = torch.stack(words)
    states = _states(automaton, given)
    lengths = [longest]
    while lengths[0] > 256:
        lengths.insert(0, -(-lengths[0] // _GROWTH))
    for length in lengths:
        tick()
        logits = logits_of(module, given[:, :length].to(device), automaton.num_states)
        wrong = plain.answers(logits).cpu() != states[:, :length]
        if bool(wrong.any()):
            first = [int(row.int().argmax()) if bool(row.any()) else longest for row in wrong]
            letter = min(first)
            return FirstWrong(letter + 1, names[first.index(letter)], length)
    return FirstWrong(None, "", longest)


@torch.no_grad()
def _tested(
    module: nn.Module,
    automaton: Semiautomaton,
    length: int,
    count: int,
    generator: torch.Generator,
    device: str,
) -> ByPosition:
    words, states = batch(automaton, count, length, generator, device)
    right = plain.answers(logits_of(module, words, automaton.num_states)) == states
    return ByPosition(tuple(right.sum(0).tolist()), count)


def batch(
    automaton: Semiautomaton, count: int, length: int, generator: torch.Generator, device: str
) -> tuple[Tensor, Tensor]:
    """Words of uniform letters and the state after each letter."""
    words = torch.randint(automaton.num_letters, (count, length), generator=generator)
    return words.to(device), _states(automaton, words).to(device)


def _states(automaton: Semiautomaton, words: Tensor) -> Tensor:
    return torch.from_numpy(automaton.simulate(words.numpy()).astype("int64"))


def _shape(value: object) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__


def _line(error: BaseException) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:120]}"
