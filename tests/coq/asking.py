"""Coq's answers to questions beside certificates."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from krohn.coq.coqc import development


def output_of(text: str) -> str:
    """The output of Coq for a file that it must accept."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "question.v").write_text(text)
        command = ["coqc", "-q", "-Q", str(development()), "Krohn", "question.v"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout
