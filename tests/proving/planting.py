"""Bugs planted in gadgets: a compiler function whose result is slightly changed."""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

import krohn.construct.compiling  # noqa: F401  every module that uses a gadget, before one is replaced
from krohn.construct.tight.finite import Finite
from krohn.network.lowering.heads import GADGETS
from krohn.network.lowering.symbolic_head import SymbolicHead
from krohn.network.lowering.table_code import TableCode
from krohn.network.program import Program
from krohn.network.transformer import Head, Layer, Mlp, Transformer
from krohn.paper.positions import PositionCode

PARTS = ("krohn.network.lowering", "krohn.paper", "krohn.construct.tight")


def gadgets() -> dict[str, Callable[..., Any]]:
    """Every public function of the compiler's parts that returns weights, plans of weights or a program."""
    result = {}
    for part in PARTS:
        package = importlib.import_module(part)
        for info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{part}.{info.name}")
            for name, function in inspect.getmembers(module, inspect.isfunction):
                if function.__module__ == module.__name__ and not name.startswith("_") and "mean" not in name:
                    returns = str(inspect.signature(function).return_annotation)
                    if any(kind in returns for kind in KINDS):
                        result[f"{part.rpartition('.')[2]}.{info.name}.{name}"] = function
    return result


KINDS = (
    *("Mlp'", "Head'", "Layer", "Matrix", "SymbolicHead", "Program'", "Transformer", "GroupSimulator"),
    *(
        "ResetSimulator",
        "PositionCode'",
        "Axis",
        "numpy.ndarray",
        "NDArray",
        "Finite'",
        "TableCode'",
    ),
)


def damaged(value: Any) -> Any:
    """The same kind of thing with a sign, an order or a code changed."""
    if isinstance(value, Mlp):
        return replace(value, weights=(*value.weights[:-1], -value.weights[-1]))
    if isinstance(value, Head):
        return replace(value, value=-value.value)
    if isinstance(value, Layer):
        heads = tuple(damaged(head) for head in value.heads)
        return replace(value, heads=heads) if heads else replace(value, mlp=damaged(value.mlp))
    if isinstance(value, Transformer):
        return replace(value, readout=np.roll(value.readout, 1, axis=1))
    if isinstance(value, SymbolicHead):
        return replace(value, value=tuple({c: -2 * w for c, w in column.items()} for column in value.value))
    if isinstance(value, Program):
        codes = list(value.readout.codes)
        return replace(value, readout=replace(value.readout, codes=tuple(codes[1:] + codes[:1])))
    if isinstance(value, PositionCode):
        return replace(value, points=value.points[::-1])
    if isinstance(value, TableCode):
        return replace(value, values=np.roll(value.values, 1, axis=0))
    if isinstance(value, Finite):
        values = sorted(value.values)
        return value.renamed(dict(zip(values, values[1:] + values[:1], strict=True)).__getitem__)
    if isinstance(value, np.ndarray):
        return np.roll(value, 1, axis=0) if len(value) > 1 else -value
    if isinstance(value, (tuple, list)) and len(value):
        place = int(isinstance(value[0], float))
        return type(value)([*value[:place], damaged(value[place]), *value[place + 1 :]])
    if is_dataclass(value):
        return _damaged_field(value)
    return value


def _damaged_field(whole: Any) -> Any:
    for item in fields(whole):
        value = getattr(whole, item.name)
        if isinstance(value, (Mlp, Head, Layer, np.ndarray)) or (
            isinstance(value, tuple) and value and isinstance(value[0], (Mlp, Head, Layer))
        ):
            return replace(whole, **{item.name: damaged(value)})
    return whole


@contextmanager
def planted(function: Callable[..., Any], wrong: Callable[..., Any] | None = None) -> Iterator[None]:
    """Replaces the function everywhere in the compiler, its registry included, by a wrong one.

    By default the wrong one damages the result.
    """

    @wraps(function)
    def bug(*args: Any, **options: Any) -> Any:
        return damaged(function(*args, **options))

    used = wrong or bug
    places = [
        (module, name)
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith(("krohn.construct", "krohn.paper", "krohn.network"))
        for name, value in vars(module).items()
        if value is function
    ]
    registered = {kind: gadget for kind, gadget in GADGETS.items() if gadget is function}
    assert places or registered, "a bug must be planted somewhere"
    for module, name in places:
        setattr(module, name, used)
    GADGETS.update(dict.fromkeys(registered, used))
    try:
        yield
    finally:
        for module, name in places:
            setattr(module, name, function)
        GADGETS.update(registered)
