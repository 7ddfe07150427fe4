"""Sequences per second of the sampler, beside a plain numpy gather in the same run.

The limit: a word of length T and its states are 2·T bytes at one byte each, and every byte must at least be
written once. The first line measures how fast this machine fills memory with both cores, and what that means
in sequences per second; nothing that returns the data can be faster. The second line says the same of the
disk, by writing as many bytes of zeros and syncing; files are written there and, where the system has one, to
a folder in memory, which leaves out the disk.

Run:  python benchmarks/bench_sampling.py [COUNT]
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np

from krohn.automata.datasets import write_dataset
from krohn.automata.sampling import Sampler
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo
from krohn.base.notebook import table

LENGTH = 100
THREADS = 2
ROUNDS = 5
PLAIN = 16_384
NAMES = ("Parity", "S5", "Dyck4,2", "Dyck4,8")


def best(work: Callable[[], None], before: Callable[[], None] = lambda: None) -> tuple[float, float]:
    """Seconds on the clock and seconds of processor time, each the best of a few rounds.

    ``before`` is not counted: it removes an old file, which takes about half as long as writing the new one.
    """
    clocks, processors = [], []
    for _ in range(ROUNDS):
        before()
        clock, processor = time.perf_counter(), time.process_time()
        work()
        clocks.append(time.perf_counter() - clock)
        processors.append(time.process_time() - processor)
    return min(clocks), min(processors)


def memory_limit() -> float:
    """Bytes per second that THREADS threads write to buffers of a chunk's size."""
    buffers = [np.empty(2 * LENGTH * 16_384, dtype=np.uint8) for _ in range(THREADS)]

    def fill(buffer: np.ndarray) -> None:
        for value in range(20):
            buffer.fill(value)

    def work() -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(fill, buffers))

    return 20 * sum(buffer.size for buffer in buffers) / best(work)[0]


def plain_gather(automaton: Semiautomaton, choices: tuple[np.ndarray, np.ndarray] | None, count: int) -> None:
    """The obvious implementation: per position, draw letters for the batch and look up the next states."""
    rng = np.random.default_rng(0)
    state = np.full(count, automaton.start)
    letters = np.empty((count, LENGTH), dtype=np.int64)
    states = np.empty((count, LENGTH), dtype=np.int64)
    for position in range(LENGTH):
        if choices is None:
            letter = rng.integers(0, automaton.num_letters, size=count)
        else:
            feasible, counts = choices
            letter = feasible[state, (rng.random(count) * counts[state]).astype(np.int64)]
        state = automaton.table[state, letter]
        letters[:, position], states[:, position] = letter, state


def feasible_letters(automaton: Semiautomaton) -> tuple[np.ndarray, np.ndarray]:
    """For each state its feasible letters first, and how many there are; the sink may read anything."""
    allowed = automaton.table != automaton.num_states - 1
    allowed[-1] = True
    return np.argsort(~allowed, axis=1, kind="stable"), allowed.sum(axis=1)


def drain(sampler: Sampler, count: int, cores: int) -> None:
    with patch("os.cpu_count", lambda: cores):
        for _ in sampler.chunks(count):
            pass


def disk_limit(folder: Path, size: int) -> float:
    """Bytes per second that one thread writes to a new file and syncs."""
    part = bytes(1 << 22)

    def work() -> None:
        with (folder / "zeros").open("wb", buffering=0) as file:
            for _ in range(size // len(part)):
                file.write(part)
            os.fsync(file.fileno())

    return size // len(part) * len(part) / best(work, lambda: (folder / "zeros").unlink(missing_ok=True))[0]


def measure(name: str, count: int, folders: list[Path]) -> tuple[object, ...]:
    """Plain gather, sampler on one and two threads, its processor time, sampler to a file in each folder."""
    automaton = zoo(name)
    sampler = Sampler(automaton, LENGTH)
    choices = feasible_letters(automaton) if name.startswith("Dyck") else None
    plain = PLAIN / best(lambda: plain_gather(automaton, choices, PLAIN))[0]
    one, _ = best(lambda: drain(sampler, count, 1))
    two, processor = best(lambda: drain(sampler, count, THREADS))

    def to_file(path: Path) -> float:
        return best(
            lambda: write_dataset(sampler, count, path),
            before=lambda: path.unlink(missing_ok=True),
        )[0]

    files = [to_file(folder / "data.npz") for folder in folders]
    rates = [f"{rate / 1e6:.2f} M" for rate in (plain, *(count / seconds for seconds in (one, two, *files)))]
    return (name, *rates[:3], f"{count / two / plain:.1f}×", f"{processor / count * 1e9:.0f}", *rates[3:])


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    size = 2 * LENGTH
    print(
        f"{os.cpu_count()} cores, T = {LENGTH}, {count:,} sequences, best of {ROUNDS}; rates are per second"
    )
    header = ["automaton", "plain", "1 thread", "2 threads", "ratio", "core·ns", "to .npz"]
    with ExitStack() as stack:
        places = [None, "/dev/shm"] if Path("/dev/shm").is_dir() else [None]
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory(dir=place))) for place in places]
        for what, speed in (("memory", memory_limit()), ("disk", disk_limit(folders[0], size * count))):
            print(f"{what}: {size} bytes a sequence at {speed / 1e9:.2f} GB/s = {speed / size / 1e6:.1f} M")
        print()
        rows = [measure(name, count, folders) for name in NAMES]
        print(table((*header, "in memory")[: len(rows[0])], rows))


if __name__ == "__main__":
    main()
