"""Direct products: states are tuples, numbered with the first component as the most significant digit."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.sizes import check_size
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


def _tuple_names(parts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Names of tuples, ``a,b``; plain numbers where commas in names would make two of them equal."""
    names = tuple(",".join(names) for names in itertools.product(*parts))
    return names if len(set(names)) == len(names) else ()
