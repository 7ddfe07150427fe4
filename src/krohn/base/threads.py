"""Numerical libraries held to one thread."""

from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[object]:
    """Limits BLAS to one thread: for small products, threads cost more time than they save."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited


@cache
def _libraries() -> "ThreadpoolController":
    """The libraries with threads, numpy's among them; looking for them takes longer than a small proof."""
    from threadpoolctl import ThreadpoolController  # lazy import: training loads this module, and needs none

    return ThreadpoolController()
