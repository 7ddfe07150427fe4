"""How large an automaton may be, checked before anything is built."""

from math import factorial

from krohn.errors import LimitExceeded

MAX_STATES = 500_000
MAX_ENTRIES = 20_000_000


def check_size(name: str, num_states: int, num_letters: int) -> None:
    """Refuses a table beyond the limits; counts from ``capped_factorial`` or ``capped_power`` will do."""
    if num_states > MAX_STATES:
        count = f"{num_states:,}" if num_states < 10**12 else "more than a trillion"
        raise LimitExceeded(
            f"an automaton may have at most {MAX_STATES:,} states; {name} has {count}: choose a smaller one"
        )
    if num_states * num_letters > MAX_ENTRIES:
        raise LimitExceeded(
            f"a transition table may have at most {MAX_ENTRIES:,} entries; "
            f"{name} has {num_states:,} states × {num_letters:,} letters: choose fewer letters"
        )


def capped_factorial(n: int) -> int:
    """``n!``, or some number beyond every limit once it is that large: 15! is more than a trillion."""
    return factorial(min(n, 15))


def capped_power(base: int, exponent: int) -> int:
    """``base ** exponent``, or some number beyond every limit once it is that large, as 2⁴⁰ is."""
    power: int = base ** min(exponent, 40)
    return power
