"""The longest word that a float format supports, estimated from the program before anything is built.

These are first-order estimates of the typical case, meant to refuse what cannot work; what does work is
decided by the certificate. u is the unit round-off of the format.
"""

from bisect import bisect
from collections.abc import Callable, Iterator
from math import sqrt

from krohn.base.portable import FLOATS
from krohn.network.lowering.assembly import symbolic_head
from krohn.network.lowering.position_codes import PositionCodes
from krohn.network.operations import Clamp, Modulo, Select
from krohn.network.program import Program

ROUNDED_TWICE = 4.0
"""Half types store codes, queries, keys and values: certificates allow a quarter of the usual estimate."""
MAX_LENGTH = 1 << 40
Faults = Callable[[int], Iterator[str]]
"""What is too coarse at a length, one line each."""


def precision_faults(program: Program, length: int, dtype: str) -> Iterator[str]:
    """What is too coarse at this length, one line per fault."""
    unit, half = FLOATS[dtype].unit, FLOATS[dtype].half
    codes = PositionCodes(program.num_padding + length, half)
    worst = []
    for layer in program.layers:
        for operation in layer.attention:
            off = symbolic_head(operation, codes, program).off * unit
            if off * (ROUNDED_TWICE if half else 1) > 1:
                yield f"{operation.describe()}: too coarse"
        for change in layer.maps:
            if half and isinstance(change, Select):
                size = 3 * len(change.function) ** 3  # the range of the sums of a composition
                if size * unit > 1:
                    yield f"{change.describe()}: needs all whole numbers up to {size}"
            counts = any(program.register[n].kind == "wide" for n in change.reads)
            if counts and isinstance(change, (Modulo, Clamp)):
                reach = sum(
                    abs(c) * max(map(abs, program.register[n].bounds(codes.count))) for n, c in change.terms
                )
                if isinstance(change, Modulo) and 4 * reach * sqrt(1 + reach / change.modulus) * unit > 1 / 8:
                    yield f"{change.describe()}: a sum up to {reach} would be off by more than 1/8"
                worst.append(reach * (1.1 * codes.count + 80) * unit)
    # In the worst order T weights and their sum are off by about T roundings; steps allow a quarter, and
    # where several counters meet in a table each counts about three times. Certificates cover any order.
    if dtype == "float32" and sum(worst) * (3 if len(worst) > 1 else 1) > 2 / 9:
        yield "counters: in the worst order of summation they would be off by more than steps allow"


def longest(faults: Faults) -> int:
    """The largest length without a fault; 0 if there is none."""
    lengths = range(1, MAX_LENGTH + 1)
    return bisect(lengths, False, key=lambda length: next(faults(length), None) is not None)
