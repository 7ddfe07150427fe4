"""Networks in files that others wrote: run operator by operator, so that they are read as any module is.

A file is data. Its operators are looked up in a list, none of its text is executed, and what they make is
bounded before it is made.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from krohn.check.graph.graph import LARGEST
from krohn.errors import InvalidInput
from krohn.lab.provable.tracing import Scalars, meta

MOST_WORK = 1 << 31
"""Multiplications of a pass on constants and shapes."""
MOST_MADE = 1 << 26
"""Entries of all tensors of a pass."""
BROKEN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RuntimeError)
"""What an operator on wrong arguments raises."""
Run = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float32]]


class FileModule(nn.Module, ABC):
    """What a file says is run on tokens [word, position].

    Attributes:
        sizes: how many words and positions it reads, where the file says it; None for any number.
        outside: another program that runs the file itself, if there is one here, and its name.
    """

    sizes: tuple[int | None, int | None]
    outside: tuple[str, Run] | None = None

    def __init__(self) -> None:
        super().__init__()
        self.doubles: dict[str, Tensor] = {}

    def keep(self, name: str, tensor: Tensor) -> None:
        """Weights as buffers, which have a type; numbers in float64, of scales, as they are."""
        if tensor.dtype == torch.float64:
            self.doubles[name] = tensor
        else:
            self.register_buffer(name, tensor)

    def kept(self, name: str) -> Tensor:
        """One of them."""
        return self.doubles[name] if name in self.doubles else self.get_buffer(name)

    @abstractmethod
    def passed(self, tokens: Tensor) -> Any:
        """The logits."""

    def forward(self, tokens: Tensor) -> Any:
        """The logits, if the file is for words of this length."""
        for size, given, what in zip(self.sizes, tokens.shape, ("words", "tokens"), strict=True):
            if size is not None and size != given:
                raise InvalidInput(
                    f"the file is for {size} {what} at once alone, not {given}: export it with any number of "
                    f"{what} (dynamic_axes, or dynamic_shapes)"
                )
        with bounded():
            return self.passed(tokens)


@contextmanager
def bounded() -> Iterator[None]:
    """Refuses what would be larger than a graph may be."""
    with Bounded():
        yield


class Bounded(TorchDispatchMode):
    """Asks for the shape of each result before it is made."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.work = self.made = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func._schema.returns and func._schema.returns[0].alias_info is None:
            self.ask(func, args, kwargs)
        return func(*args, **kwargs)

    def ask(self, func: Any, args: Any, kwargs: Any) -> None:
        """Adds what the operator makes."""
        placed = any(one.name == "device" for one in func._schema.arguments)
        shapes = tree_map(meta, args), tree_map(meta, kwargs) | ({"device": "meta"} if placed else {})
        try:
            outs = func(*shapes[0], **shapes[1])
        except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
            return  # what has no shape is one value, or raises when it is run
        entries = sum(out.numel() for out in tree_flatten(outs)[0] if isinstance(out, Tensor))
        name = func._schema.name
        inner = 1
        if name.endswith(("mm", "matmul", "linear", "einsum", "attention", "conv1d")):
            inner = max(
                one.shape[-1] for one in tree_flatten(shapes)[0] if isinstance(one, Tensor) and one.dim()
            )
        self.made += entries
        self.work += entries * inner
        if entries > LARGEST or self.made > MOST_MADE or self.work > MOST_WORK:
            raise InvalidInput(
                f"the file makes tensors that are too large ({name.split('::')[-1]}): at most {LARGEST:,} "
                f"entries each and {MOST_MADE:,} in all"
            )


def known(value: Any, what: str) -> Any:
    """A tensor that does not depend on tokens."""
    if isinstance(value, Scalars):
        raise InvalidInput(f"{what} depends on the value of a token")
    return value


def line_of(error: Exception) -> str:
    """What an error of a library says, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
