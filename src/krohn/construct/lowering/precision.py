"""The longest word that a float format supports, estimated from the program before anything is built.

These are first-order estimates of the usual case, there to refuse what cannot work; what does work is for
the certificate to say. u is the unit round-off of the format.
"""

from collections.abc import Iterator
from math import sqrt

from krohn.construct.lowering.attention_gadgets import GADGETS
from krohn.construct.lowering.position_codes import PositionCodes
from krohn.network.position_maps import Clamp, Modulo, Select
from krohn.network.program import Program

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
HALF_TYPES = ("float16", "bfloat16")
ROUNDED_TWICE = 4.0
"""Half types store codes, queries, keys and values: certificates allow a quarter of the usual estimate."""
MAX_LENGTH = 1 << 40


def precision_faults(program: Program, length: int, dtype: str) -> Iterator[str]:
    """What is too coarse at this length, one line each."""
    unit, half = UNIT[dtype], dtype in HALF_TYPES
    codes = PositionCodes(program.num_padding + length, program.mask, half)
    worst = []
    for layer in program.layers:
        for operation in layer.attention:
            off = GADGETS[type(operation)].logit_error(operation, codes, program) * unit
            if off * (ROUNDED_TWICE if half else 1) > 1:
                yield f"{operation.describe()}: too coarse"
        for change in layer.maps:
            if half and isinstance(change, Select):
                size = 3 * len(change.function) ** 3  # what the sums of a composition reach
                if size * unit > 1:
                    yield f"{change.describe()}: not all whole numbers up to {size} are there"
            if isinstance(change, (Modulo, Clamp)):
                reach = sum(
                    abs(c) * max(map(abs, program.register[n].bounds(codes.count))) for n, c in change.terms
                )
                if isinstance(change, Modulo) and 4 * reach * sqrt(1 + reach / change.modulus) * unit > 1 / 8:
                    yield f"{change.describe()}: a sum up to {reach} would be off by more than 1/8"
                worst.append(reach * (1.1 * codes.count + 80) * unit)
    # In the worst order T weights and their sum are off by about T roundings; steps allow a quarter, and
    # where several counters meet in a table each counts about three times. Certificates ask for any order.
    if dtype == "float32" and sum(worst) * (3 if len(worst) > 1 else 1) > 2 / 9:
        yield "counters: in the worst order of summation they would be off by more than steps allow"


def largest_length(program: Program, dtype: str) -> int:
    """The longest word the estimates allow; 0 if none."""
    low, high = 0, MAX_LENGTH
    while low < high:
        middle = (low + high + 1) // 2
        if any(True for _ in precision_faults(program, middle, dtype)):
            high = middle - 1
        else:
            low = middle
    return low
