"""How far trained networks hold beyond the trained length: right states by letter, for several networks.

Run: python research/beyond_trained.py FOLDER …

A FOLDER is a run directory with weights, such as `device_queue.py` keeps. Networks of one automaton get the
same words, twice as long as those of training; the first column covers the trained length.
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from krohn.automata.sampling import sample
from krohn.lab.interpret.readings import Readings
from krohn.lab.interpret.subject import subject_of_run
from krohn.lab.training.directory import read_config

SHARES = (0.0, 1.0, 1.1, 1.25, 1.5, 2.0)
WORDS, AT_ONCE, SEED = 64, 8, 1 << 20


def right_states(folder: Path) -> list[tuple[int, int, float]]:
    """The first and the last letter of each part of the words, and the share of right states between them."""
    trained = read_config(folder).task.length
    ends = [round(share * trained) for share in SHARES]
    subject = subject_of_run(folder, ends[-1])
    letters = sample(subject.automaton, length=ends[-1], count=WORDS, seed=SEED).letters.astype(np.int64)
    answers = [subject.stages.run(part).answers for part in np.split(letters, WORDS // AT_ONCE)]
    right = np.concatenate(answers) == Readings(subject.automaton, letters).states
    return [(start + 1, end, float(right[:, start:end].mean())) for start, end in pairwise(ends)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    for folder in parser.parse_args().folders:
        parts = (f"{start}–{end} {100 * share:.1f}%" for start, end, share in right_states(folder))
        print(f"{folder.name}: {', '.join(parts)}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
