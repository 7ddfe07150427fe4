"""Hostile .jff files: read or refused in seconds."""

import time
import tracemalloc

import pytest

from krohn.automata.reading.arrows import finish
from krohn.automata.reading.jflap import read_jff
from krohn.errors import KrohnError, LimitExceeded

STATES = 4000


def drawn(arrows: list[tuple[int, int, str]], name: str = "q") -> bytes:
    """A file of 4,000 states with these arrows."""
    states = "".join(
        f'<state id="{n}" name="{name}{n}">{"<initial/>" * (n == 0)}</state>' for n in range(STATES)
    )
    lines = "".join(
        f"<transition><from>{a}</from><to>{b}</to><read>{letter}</read></transition>"
        for a, b, letter in arrows
    )
    return f"<structure><type>fa</type><automaton>{states}{lines}</automaton></structure>".encode()


def seconds_to(data: bytes, error: type[KrohnError]) -> float:
    begin = time.process_time()
    with pytest.raises(error):
        finish(read_jff(data))
    return time.process_time() - begin


def test_character_references_are_joined_in_linear_time() -> None:
    """3.5 MB of them took 11 seconds."""
    data = f"<structure><type>{'&#97;' * 700_000}</type></structure>".encode()
    assert seconds_to(data, KrohnError) < 3


def test_large_sets_of_states_are_counted() -> None:
    """Each of up to 4,096 sets has thousands of members, for each of 16 letters."""
    jumps = [(n, (n * 5 + 7 * k) % STATES, "abcdefghijklmnop"[k]) for n in range(STATES) for k in range(8)]
    more = [(0, n, "a") for n in range(0, STATES, 2)]
    begin = time.process_time()
    assert finish(read_jff(drawn(jumps + more))).num_states == 4296
    jumps += [(n, (n * 3 + 1) % STATES, "a") for n in range(STATES)]
    assert seconds_to(drawn(jumps + more), LimitExceeded) < 15
    assert time.process_time() - begin < 25


def test_long_labels_on_long_names_take_no_memory() -> None:
    """An arrow that reads 100 letters goes through 99 states named after the first one."""
    arrows = [(0, n, f"{n:09b}" + "ab" * 45) for n in range(100)]
    data = drawn(arrows).replace(b'name="q0"', b'name="' + b"x" * 1_000_000 + b'"')
    tracemalloc.start()
    assert finish(read_jff(data)).num_states > 75 * 90
    assert tracemalloc.get_traced_memory()[1] < 1e8
    tracemalloc.stop()
