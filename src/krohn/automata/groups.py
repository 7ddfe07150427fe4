"""Small groups acting on themselves: cyclic, dihedral, quaternion (the paper's Appendix B.1)."""

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.sizes import check_size
from krohn.errors import InvalidInput


def cyclic(n: int, letters: tuple[int, ...] | None = None) -> Semiautomaton:
    """Addition modulo ``n``; the letters are all elements unless some are chosen."""
    if n < 1:
        raise InvalidInput(f"a cyclic group Cn must have n ≥ 1; got C{n}: write C2, C3, …")
    check_size(f"C{n}", n, n if letters is None else len(letters))
    chosen = tuple(range(n)) if letters is None else letters
    table = (np.arange(n)[:, None] + np.array(chosen)[None, :]) % n
    return Semiautomaton(table, letter_names=tuple(map(str, chosen)), name=f"C{n}")


def dihedral(order: int) -> Semiautomaton:
    """D of the given order 2n: a car on a ring of n places that turns around (toggle) or drives on.

    State ``n·toggle + place``; drive moves the place by +1 if the toggle is 0, by −1 if it is 1.
    """
    if order < 2 or order % 2:
        raise InvalidInput(
            f"a dihedral group is named by its order, an even number ≥ 2; got D{order}: write D6, D8, …"
        )
    n = order // 2
    check_size(f"D{order}", order, 2)
    toggle, place = np.divmod(np.arange(order), n)
    turned = n * (1 - toggle) + place
    driven = n * toggle + (place + 1 - 2 * toggle) % n
    names = tuple(f"{s},{p}" for s, p in zip(toggle.tolist(), place.tolist(), strict=True))
    return Semiautomaton(
        np.stack([turned, driven], axis=1),
        state_names=names,
        letter_names=("toggle", "drive"),
        name=f"D{order}",
    )


def quaternion() -> Semiautomaton:
    """Q8 = {±1, ±i, ±j, ±k} under right multiplication by 1, i, j, k; states 4–7 are the negatives."""
    # Products of units as (sign, unit): i·j = k, j·k = i, k·i = j, i² = j² = k² = −1.
    units = [
        [(0, 0), (0, 1), (0, 2), (0, 3)],
        [(0, 1), (1, 0), (0, 3), (1, 2)],
        [(0, 2), (1, 3), (1, 0), (0, 1)],
        [(0, 3), (0, 2), (1, 1), (1, 0)],
    ]
    table = [
        [4 * (sign ^ product_sign) + unit for product_sign, unit in units[element]]
        for sign in (0, 1)
        for element in range(4)
    ]
    names = ("1", "i", "j", "k")
    return Semiautomaton(
        np.array(table), state_names=(*names, *(f"-{x}" for x in names)), letter_names=names, name="Q8"
    )
