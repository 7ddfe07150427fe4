"""What makes the same input give the same bytes on every machine: nearest floats, and budgets of work.

Logarithm, exponential, sine and cosine are the float nearest to the true value. The functions of the C
library, and the vector instructions that numpy uses where available, may be off in the last bit, each in its
own way. Weights that must match byte for byte are computed here, in integers and high-precision decimals.
``FLOATS`` are the formats that networks run in.

A budget says how much work a search may do, in units of about one transition table lookup. Searches spend
units before each step, and keep the best result so far when none are left.
"""

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from functools import cache
from math import frexp, inf, isfinite, ldexp
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput, LimitExceeded


class FloatFormat(NamedTuple):
    """A binary float format: bits of the significand, the leading one included, and the largest number."""

    bits: int
    largest: float

    @property
    def unit(self) -> float:
        """The unit round-off: rounding to nearest changes a number by at most this share of it."""
        return 2.0**-self.bits

    @property
    def half(self) -> bool:
        """Whether it is shorter than float32: numbers are computed in float32 and rounded when stored."""
        return self.bits < 24


FLOATS = {
    "float64": FloatFormat(53, float(np.finfo(np.float64).max)),
    "float32": FloatFormat(24, float(np.finfo(np.float32).max)),
    "float16": FloatFormat(11, float(np.finfo(np.float16).max)),
    "bfloat16": FloatFormat(8, 2.0**127 * (2 - 2.0**-7)),
}

SHORT = {
    **{"fp64": "float64", "f64": "float64", "double": "float64"},
    **{"fp32": "float32", "f32": "float32", "float": "float32", "single": "float32"},
    **{"bf16": "bfloat16", "fp16": "float16", "f16": "float16", "half": "float16"},
}
"""Aliases of float formats."""


def float_name(dtype: Any) -> str:
    """The name of a float format, from its name, an alias, or a numpy or torch type; else unchanged."""
    text = str(dtype)
    if isinstance(dtype, str) or text.startswith("torch."):
        return SHORT.get(text.removeprefix("torch."), text.removeprefix("torch."))
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        return dtype if isinstance(dtype, int | float) else text  # type: ignore[return-value]


PLACES = 192
"""Binary places: enough for results near 0, and for those nearly half-way between two floats."""
DIGITS = Context(prec=45, Emin=-999999, Emax=999999)
PARTS = 256
"""Size of the table of logarithms of fractions; the remainder is small."""
TINY = 2.0**-40
"""Below this sin x = x and cos x = 1, to the nearest float."""


def log(x: float) -> float:
    """The natural logarithm of a positive number."""
    assert 0 < x < inf
    fraction, power = frexp(x)  # x = fraction · 2^power, 1/2 ≤ fraction < 1
    near = int(fraction * PARTS + 0.5)
    over, under = (fraction - near / PARTS).as_integer_ratio()  # the difference is exact
    both = (near << PLACES) // PARTS + (int(ldexp(fraction, 53)) << (PLACES - 53))
    rest = _artanh((over << 2 * PLACES) // (under * both))  # of (fraction − near)/(fraction + near)
    return (_log_of(near, PARTS) + rest - power * _log_of(1, 2)) / (1 << PLACES)


def exp(x: float) -> float:
    """e to the power of x."""
    return float(DIGITS.exp(Decimal(float(x))))


def sin(x: float) -> float:
    """The sine of a finite angle of at most a few million."""
    return float(x) if abs(x) < TINY else _wave(float(x), 0)


def cos(x: float) -> float:
    """The cosine of a finite angle of at most a few million."""
    return 1.0 if abs(x) < TINY else _wave(float(x), 1)


def each(function: Callable[[float], float], values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Applies the function to every entry."""
    array = np.asarray(values, dtype=np.float64)
    return np.array([function(value) for value in array.ravel().tolist()]).reshape(array.shape)


def few_bits(value: float, bits: int) -> float:
    """Rounds to ``bits`` bits, which hides differences in rounding error."""
    fraction, power = frexp(value)
    return ldexp(round(ldexp(fraction, bits)), power - bits)


def at_least(value: float, digits: int = 6, noise: float = 2.0**-30) -> float:
    """A lower bound in few decimal digits, of a value that is known up to ``noise``·value.

    Twice the noise is subtracted first, so that values around a round number do not fall to both sides of it.
    """
    if not isfinite(value):
        return value
    below = Decimal(value) - abs(Decimal(value)) * Decimal(2 * noise)
    unit = Decimal(1).scaleb(below.adjusted() + 1 - digits)
    return float((below / unit).to_integral_value(ROUND_FLOOR) * unit)


def portable_bound(value: float) -> float:
    """A lower bound that is the same on every machine: values of up to 12 bits stay, others round down."""
    return value if not isfinite(value) or few_bits(value, 12) == value else at_least(value)


def _wave(x: float, quarters: int) -> float:
    """sin(x + quarters·π/2): the angle less the nearest multiple of π/2, then the series."""
    assert isfinite(x)
    over, under = x.as_integer_ratio()
    scaled, half = (over << PLACES) // under, _pi() >> 1
    turns = (2 * scaled + half) // (2 * half)
    rest, quarter = scaled - turns * half, (turns + quarters) % 4
    value = _series(rest, quarter % 2)
    return (-value if quarter >= 2 else value) / (1 << PLACES)


def _series(rest: int, even: int) -> int:
    """Taylor's series of sine (or cosine, if ``even``) at an angle of at most π/4, in units of 2^-PLACES."""
    square, degree = rest * rest >> PLACES, 1 - even
    term = 1 << PLACES if even else rest
    total = 0
    while term:
        total += term
        term = -(term * square >> PLACES) // ((degree + 1) * (degree + 2))
        if term == -1:  # shifting a negative number right ends at −1, never 0
            break
        degree += 2
    return total


def _artanh(z: int) -> int:
    """2·artanh z = 2z + 2z³/3 + …, in units of 2^-PLACES."""
    square, power, total, odd = z * z >> PLACES, 2 * abs(z), 0, 1
    while power:
        total += power // odd
        power, odd = power * square >> PLACES, odd + 2
    return total if z > 0 else -total


@cache
def _log_of(over: int, under: int) -> int:
    """log(over/under) in units of 2^-PLACES, for a fraction between 1/2 and 1."""
    return _artanh(((over - under) << PLACES) // (over + under))


@cache
def _pi() -> int:
    """π in units of 2^-PLACES, by Machin: 16 arctan(1/5) − 4 arctan(1/239)."""
    return (16 * _arc(5) - 4 * _arc(239)) >> 32


def _arc(x: int) -> int:
    """arctan(1/x) in units of 2^-(PLACES + 32)."""
    power, total, odd = (1 << (PLACES + 32)) // x, 0, 1
    while power:
        total += power // odd if odd % 4 == 1 else -(power // odd)
        power, odd = power // (x * x), odd + 2
    return total


UNITS = 3_000_000
"""What a search may spend at effort 1: about three seconds on an ordinary CPU."""


class BudgetSpent(LimitExceeded):
    """A search has spent its units; the handler keeps the best result so far."""


class Budget:
    """A number of units to spend, and a list of what was skipped for lack of units.

    A part of a budget spends its own units and those of the whole.
    """

    def __init__(self, units: float) -> None:
        if not units > 0:
            raise InvalidInput(f"a search must have some units of work; got {units}")
        self.units = units
        self.done = 0
        self.given_up: list[str] = []
        self._whole: Budget | None = None

    def part(self, units: float) -> "Budget":
        """A sub-budget with its own units; what it skips is listed here."""
        result = Budget(max(units, 1))
        result._whole, result.given_up = self, self.given_up
        return result

    @property
    def left(self) -> float:
        """Units that can still be spent."""
        own = self.units - self.done
        return own if self._whole is None else min(own, self._whole.left)

    def pieces(self, cost: int, most: int) -> int:
        """How many items of ``cost`` units each are affordable, at most ``most``."""
        return most if self.left >= cost * most else int(self.left // cost)

    def spend(self, units: float) -> None:
        """Spends units before they are used; if too few are left, spends none and raises ``BudgetSpent``."""
        if units > self.left:
            raise BudgetSpent(
                f"the search may take {self.units:,.0f} units of work; raise --effort (effort=)"
            )
        self._add(int(units))

    def _add(self, units: int) -> None:
        self.done += units
        if self._whole is not None:
            self._whole._add(units)

    def give_up(self, what: str) -> None:
        """Records, once, what was skipped for lack of units."""
        if what not in self.given_up:
            self.given_up.append(what)


def unlimited() -> Budget:
    """An unlimited budget, for callers that have their own limits."""
    return Budget(float("inf"))
