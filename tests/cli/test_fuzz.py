"""A small part of the fuzzing: command lines and damaged files of every format end as they should."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_seeded_command_lines_and_damaged_files_end_as_they_should() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "benchmarks" / "fuzz.py"), "--count", "60"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("60 inputs (")
    assert done.stdout.endswith("findings: 0\n")
