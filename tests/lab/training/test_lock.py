"""Two processes cannot train into one directory, and a dead one does not keep it."""

import subprocess
import sys
from pathlib import Path

import pytest

from krohn.cli.app import run
from krohn.errors import InvalidFile, Unsupported
from krohn.lab.training.directory_lock import LOCK, sole_user
from krohn.lab.training.loop import train
from lab.training.small_runs import LINE, small_run

HOLDER = """
import sys
from pathlib import Path
from krohn.lab.training.directory_lock import sole_user
with sole_user(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_directory_in_use_is_refused_until_its_process_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "run"
    sizes = ["--length", "5", "--layers", "1", "--dim", "16", "--heads", "2", "--mlp", "16", "--batch", "2"]
    quick = ["--steps", "6", "--eval-every", "3", "--eval-sequences", "8", "--device", "cpu"]
    command = ["train", "Grid3", *sizes, *quick, "--out", str(place)]
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert run(command) == 2
        refused = capsys.readouterr().err.splitlines()[-1]
        assert refused.startswith(f"error: {place} must be trained by one process at a time; another is")
        assert not (place / "config.json").exists()
        holder.kill()
    assert run(command) == 0
    assert run(command) == 0, "what the killed process left behind does not matter"


def test_a_thread_is_another_user_too(tmp_path: Path) -> None:
    with sole_user(tmp_path / "run"), pytest.raises(Unsupported, match="one process at a time"):
        train(small_run(), directory=tmp_path / "run", device="cpu", automaton=LINE)


def test_the_lock_ends_with_the_call_even_if_it_fails(tmp_path: Path) -> None:
    config = small_run(steps=10)
    train(config, directory=tmp_path / "run", device="cpu", automaton=LINE)
    (tmp_path / "run" / "state.safetensors").write_bytes(b"")
    for _ in range(2):
        with pytest.raises(InvalidFile, match="must be a checkpoint"):
            train(config, directory=tmp_path / "run", device="cpu", automaton=LINE)


def test_nothing_is_put_into_a_directory_of_others(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(InvalidFile, match="must be empty"):
        train(small_run(), directory=tmp_path, device="cpu", automaton=LINE)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    assert LOCK not in {path.name for path in tmp_path.iterdir()}


def test_a_file_system_without_locks_is_used_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("krohn.lab.training.directory_lock.fcntl.flock", refuse)
    with sole_user(tmp_path / "run"):
        assert [record.getMessage() for record in caplog.records] == [
            f"{tmp_path / 'run' / 'lock'} cannot be locked ([Errno 37] No locks available)"
        ]
