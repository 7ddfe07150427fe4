"""Names of finite simple groups by their orders: alternating, classical, Suzuki and small sporadic."""

from functools import cache
from math import factorial, gcd, prod
from random import Random

from krohn.algebra.generated_group import GeneratedGroup
from krohn.algebra.permutation import order

_SPORADIC = {
    "M11": 7920,
    "M12": 95040,
    "J1": 175560,
    "M22": 443520,
    "J2": 604800,
    "M23": 10200960,
    "HS": 44352000,
    "J3": 50232960,
    "M24": 244823040,
    "McL": 898128000,
}
_PRIME_POWERS = [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37, 41, 43, 47, 49]
_MORE_PRIME_POWERS = [
    53,
    59,
    61,
    64,
    67,
    71,
    73,
    79,
    81,
    83,
    89,
    97,
    101,
    103,
    107,
    109,
    113,
    121,
    125,
    127,
    128,
]


def simple_group_name(group: GeneratedGroup) -> str:
    """The name of a simple group; ``Simple(N)`` if its order N is not in the table."""
    if group.order == 20160:
        # The only order up to 10⁸ with two simple groups: only A8 has elements of order 6 and 15.
        return "A8" if _has_element_of_order(group, (6, 15)) else "PSL(3,4)"
    return _names_by_order().get(group.order, f"Simple({group.order})")


def is_simple_order(number: int) -> bool:
    """Whether the table has a non-abelian simple group of this order; it is complete below a million."""
    return number in _names_by_order()


def _has_element_of_order(group: GeneratedGroup, orders: tuple[int, ...], tries: int = 200) -> bool:
    rng = Random(0)
    numbers = group.chain.numbers
    return any(order(numbers.unpack(group.chain.random_element(rng))) in orders for _ in range(tries))


@cache
def _names_by_order() -> dict[int, str]:
    """First name wins, so that A5 is not PSL(2,5) and PSL(2,7) is not PSL(3,2)."""
    names: dict[int, str] = {}
    for degree in range(5, 60):
        names.setdefault(factorial(degree) // 2, f"A{degree}")
    for q in [*_PRIME_POWERS, *_MORE_PRIME_POWERS]:
        if q > 3:
            names.setdefault(_linear_order(2, q), f"PSL(2,{q})")
    for dimension in (3, 4, 5, 6):
        for q in _PRIME_POWERS[:10]:
            names.setdefault(_linear_order(dimension, q), f"PSL({dimension},{q})")
    for dimension in (3, 4, 5):
        for q in _PRIME_POWERS[:8]:
            if (dimension, q) != (3, 2):
                names.setdefault(_unitary_order(dimension, q), f"PSU({dimension},{q})")
    for q in _PRIME_POWERS[1:8]:
        symplectic = q**4 * (q**2 - 1) * (q**4 - 1) // gcd(2, q - 1)
        names.setdefault(symplectic, f"PSp(4,{q})")
    names.setdefault(29120, "Sz(8)")
    names.setdefault(1451520, "PSp(6,2)")
    for name, size in _SPORADIC.items():
        names.setdefault(size, name)
    return names


def _linear_order(dimension: int, q: int) -> int:
    size: int = q ** (dimension * (dimension - 1) // 2) * prod(q**i - 1 for i in range(2, dimension + 1))
    return size // gcd(dimension, q - 1)


def _unitary_order(dimension: int, q: int) -> int:
    size: int = q ** (dimension * (dimension - 1) // 2)
    size *= prod(q**i - (-1) ** i for i in range(2, dimension + 1))
    return size // gcd(dimension, q + 1)
