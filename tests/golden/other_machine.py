"""A simulated machine that rounds differently: outputs promised byte for byte must not change on it.

``python tests/golden/other_machine.py SCRIPT …`` runs a script on it.

What IEEE 754 fixes (+ − · / √ of floats) is left alone. What each machine may do in its own way is done
differently: every value of exp, log, sin, tanh … is moved to a neighbouring float, and the sums inside krohn
(``@``, ``.sum()``, ``.mean()``, ``einsum``) are taken from the last term to the first.
"""

import ast
import math
import runpy
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import numpy as np

NUMPY = "exp exp2 log log2 log10 log1p expm1 sin cos tan tanh sinh cosh arcsin arccos arctan arctan2"
MATH = "exp exp2 log log2 log10 log1p expm1 sin cos tan tanh sinh cosh asin acos atan atan2"


def moved(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with each value that is no integer moved up to the next float."""

    def off(*given: Any, **options: Any) -> Any:
        exact = np.asarray(function(*given, **options))
        if exact.dtype.kind != "f":
            return exact[()]
        whole = ~np.isfinite(exact) | (exact == np.rint(exact))
        result = np.where(whole, exact, np.nextafter(exact, exact.dtype.type(np.inf)))
        if (out := options.get("out")) is not None:
            out[...] = result
            return out
        return result[()]

    return off


def product(left: Any, right: Any) -> Any:
    """``left @ right``, the last term first."""
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return left @ right
    return left[..., ::-1] @ (right[::-1] if right.ndim == 1 else right[..., ::-1, :])


def reduced(name: str, array: Any, *given: Any, **options: Any) -> Any:
    """``array.sum(…)`` or ``array.mean(…)``, the last term first."""
    if isinstance(array, np.ndarray) and array.dtype.kind == "f":
        axis = options.get("axis", given[0] if given else None)
        array = np.flip(array) if axis is None else np.flip(array, axis)
    return getattr(array, name)(*given, **options)


class Otherwise(ast.NodeTransformer):
    """Sums of a module's source, replaced by those above."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        return self.call("product", [node.left, node.right], [], node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if not isinstance(function, ast.Attribute) or function.attr not in ("sum", "mean"):
            return node
        if isinstance(function.value, ast.Name) and function.value.id in ("np", "torch", "mx"):
            return node
        return self.call(
            "reduced", [ast.Constant(function.attr), function.value, *node.args], node.keywords, node
        )

    @staticmethod
    def call(name: str, arguments: list[ast.expr], keywords: list[ast.keyword], at: ast.AST) -> ast.AST:
        result = ast.Call(ast.Name(f"__{name}__", ast.Load()), arguments, keywords)
        return ast.fix_missing_locations(ast.copy_location(result, at))


class Loader(SourceFileLoader):
    """Compiles a module of krohn with the other sums."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        tree = Otherwise().visit(ast.parse(data, path))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)  # never the compiled file of the machine itself
        return self.source_to_code(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(__product__=product, __reduced__=reduced)
        super().exec_module(module)


class Finder(MetaPathFinder):
    """Gives krohn's modules that loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname.split(".")[0] == "krohn" else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Loader(fullname, spec.loader.path)
        return spec


def disturb() -> None:
    """Makes this process run on the other machine from here on."""
    with suppress(ImportError):
        import_module("ml_dtypes")  # it adds loops to numpy's own functions while it is loaded
    for name in NUMPY.split():
        setattr(np, name, moved(getattr(np, name)))
    for name in MATH.split():
        if hasattr(math, name):
            setattr(math, name, _plain(moved(getattr(math, name))))
    plain = np.einsum
    np.einsum = lambda *given, **options: plain(*given, **{"optimize": True, **options})  # type: ignore[assignment]
    sys.meta_path.insert(0, Finder())


def _plain(function: Callable[..., Any]) -> Callable[..., float]:
    return lambda *given: float(function(*given))


if __name__ == "__main__":
    disturb()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
