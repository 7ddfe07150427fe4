"""Products of semiautomata: direct and cascade.

States of a product are tuples, numbered with the first component as the most significant digit.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton, check_size
from krohn.errors import InvalidInput


def direct_product(*components: Semiautomaton) -> Semiautomaton:
    """The components side by side; a letter is a tuple of letters, one for each."""
    if not components:
        raise InvalidInput("a direct product must have at least one component; got none")
    num_states = math.prod(part.num_states for part in components)
    num_letters = math.prod(part.num_letters for part in components)
    name = "x".join(part.name or "?" for part in components)
    check_size(name, num_states, num_letters)
    table = np.zeros((1, 1), dtype=np.int64)
    start = 0
    for part in components:
        rows, columns = table.shape[0] * part.num_states, table.shape[1] * part.num_letters
        pairs = table[:, None, :, None] * part.num_states + part.table[None, :, None, :]
        table = pairs.reshape(rows, columns)
        start = start * part.num_states + part.start
    return Semiautomaton(
        table.astype(np.int32),
        start=start,
        state_names=_tuple_names([part.state_names for part in components]),
        letter_names=_tuple_names([part.letter_names for part in components]),
        name=name,
    )


def cascade_product(
    components: Sequence[Semiautomaton], dependencies: Sequence[npt.ArrayLike]
) -> Semiautomaton:
    """A cascade: each component hears the letter and the states of the components above it.

    The first component reads the letters of the product. ``dependencies[i]`` belongs to component i + 1: an
    array over (state of component 0, …, state of component i, letter) of the letters that it reads.
    """
    if not components or len(dependencies) != len(components) - 1:
        raise InvalidInput(
            "a cascade of n components must have n − 1 dependency functions; "
            f"got {len(components)} components and {len(dependencies)} functions"
        )
    first, *rest = components
    num_states = math.prod(part.num_states for part in components)
    check_size("the cascade product", num_states, first.num_letters)
    table, start = first.table.astype(np.int64), first.start
    for level, (part, heard) in enumerate(zip(rest, dependencies, strict=True), start=1):
        shape = (*(above.num_states for above in components[:level]), first.num_letters)
        letters = _checked_dependency(np.asarray(heard), shape, part.num_letters, level)
        moved = part.table[:, letters.reshape(-1, first.num_letters)]  # own state × state above × letter
        table = (table[:, None, :] * part.num_states + moved.transpose(1, 0, 2)).reshape(
            -1, first.num_letters
        )
        start = start * part.num_states + part.start
    return Semiautomaton(
        table.astype(np.int32),
        start=start,
        state_names=_tuple_names([part.state_names for part in components]),
        letter_names=first.letter_names,
    )


def _checked_dependency(
    letters: npt.NDArray[np.integer], shape: tuple[int, ...], num_letters: int, level: int
) -> npt.NDArray[np.integer]:
    if letters.shape != shape or not np.issubdtype(letters.dtype, np.integer):
        raise InvalidInput(
            f"the dependency function of component {level} must be an integer array of shape {shape}; "
            f"got {letters.dtype} of shape {letters.shape}"
        )
    if letters.min() < 0 or letters.max() >= num_letters:
        raise InvalidInput(
            f"component {level} has letters 0–{num_letters - 1}; its dependency function gives "
            f"{int(letters.min())}–{int(letters.max())}"
        )
    return letters


def _tuple_names(parts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Names of tuples, ``a,b``; plain numbers where commas in names would make two of them equal."""
    names = tuple(",".join(names) for names in itertools.product(*parts))
    return names if len(set(names)) == len(names) else ()
