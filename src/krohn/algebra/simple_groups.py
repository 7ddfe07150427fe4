"""Names of finite simple groups by their orders: alternating, classical, Suzuki and small sporadic."""

from functools import cache
from math import factorial, gcd, prod
from random import Random

from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import order, prime_factors

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
_PRIME_POWERS = [q for q in range(2, 129) if len(set(prime_factors(q))) == 1]


def simple_group_name(group: PermutationGroup) -> str:
    """The name of a simple group; ``Simple(N)`` if its order N is not in the table."""
    if group.order == 20160:
        # The only order up to 10⁸ with two simple groups: A8 has no subgroup of index 21, and only A8 has
        # elements of order 6 and 15.
        plane = group.degree == 21 or not _has_element_of_order(group, (6, 15))
        return "PSL(3,4)" if plane else "A8"
    return _names_by_order().get(group.order, f"Simple({group.order})")


def is_simple_order(number: int) -> bool:
    """Whether the table has a non-abelian simple group of this order; it is complete below a million."""
    return number in _names_by_order()


def _has_element_of_order(group: PermutationGroup, orders: tuple[int, ...]) -> bool:
    rng = Random(0)
    chain = group.chain
    return any(order(chain.unpack(chain.random_element(rng))) in orders for _ in range(200))


@cache
def _names_by_order() -> dict[int, str]:
    """First name wins, so that A5 is not PSL(2,5) and PSL(2,7) is not PSL(3,2)."""
    names: dict[int, str] = {}
    for degree in range(5, 60):
        names.setdefault(factorial(degree) // 2, f"A{degree}")
    for q in _PRIME_POWERS:
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


KNOWN_ORDERS = 1_000_000  # the table of simple groups is complete below this order
