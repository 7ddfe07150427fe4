"""A record of operations and of how each hands its gradient back: differentiation without a graph."""

from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

# Small work on one thread: waiting for another costs more than its help is worth.
#
# When a second program runs on the machine, threads of a product wait for each other's time slices: 64 × 320
# by 320 × 192 takes 8 ms instead of 0.14 ms then, and 0.24 ms on one thread (two cores of a Neoverse N1).


_SMALL = 1 << 22  # multiplications


class OneThreadIfSmall:
    """A context in which torch uses one thread if there are few multiplications to do."""

    def __init__(self, multiplications: int) -> None:
        self._small, self._before = multiplications <= _SMALL, 0

    def __enter__(self) -> None:
        if self._small:
            self._before = torch.get_num_threads()
            torch.set_num_threads(1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._small:
            torch.set_num_threads(self._before)


# A record of operations and of how each hands its gradient back: differentiation without a graph.


Back = Callable[["Gradients"], None]


class Gradients:
    """Gradients of intermediate results by identity; the record keeps the tensors alive meanwhile."""

    def __init__(self) -> None:
        self._known: dict[int, Tensor] = {}

    def take(self, result: Tensor) -> Tensor:
        """The gradient of a result that was used; it is not asked for again."""
        return self._known.pop(id(result))

    def take_if_used(self, result: Tensor) -> Tensor | None:
        """As ``take``, none if nothing depends on the result."""
        return self._known.pop(id(result), None)

    def give(self, operand: Tensor, gradient: Tensor) -> None:
        """Sets the gradient of an operand; each result is the operand of one operation at most."""
        assert id(operand) not in self._known, "a result may be used once"
        self._known[id(operand)] = gradient


class Tape:
    """Operations in the order they were done. Weights' gradients are written to their ``.grad``, whole."""

    def __init__(self) -> None:
        self._backs: list[Back] = []

    def record(self, back: Back) -> None:
        """Adds an operation by the way its gradients go back."""
        self._backs.append(back)

    def replay(self, gradients: Gradients) -> None:
        """All gradients, from those of the last results; the tape is empty afterwards."""
        while self._backs:
            self._backs.pop()(gradients)


class _Recorded(Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, compute: Callable[[Tape], Tensor]) -> Tensor:
        tape = Tape()
        loss = compute(tape)
        ctx.tape, ctx.loss = tape, loss
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None]:
        known = Gradients()
        known.give(ctx.loss, gradients[0])
        ctx.tape.replay(known)
        return None, None


def recorded(weight: Tensor, compute: Callable[[Tape], Tensor]) -> Tensor:
    """What ``compute`` returns, as one node of torch's graph that hangs on ``weight``."""
    out: Tensor = _Recorded.apply(weight, compute)  # type: ignore[no-untyped-call]
    return out
