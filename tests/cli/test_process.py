"""The command as a process: streams that are closed or full, signals, readers that go away."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krohn.automata.zoo import zoo
from krohn.network.compiled import CompiledNetwork, save
from unproved import compile


def exchanged(network: CompiledNetwork) -> CompiledNetwork:
    """The same network with its outputs exchanged."""
    matrices = network.transformer
    readout, bias = np.flip(matrices.readout, axis=1), np.flip(matrices.readout_bias)
    return replace(network, transformer=replace(matrices, readout=readout, readout_bias=bias))


def krohn(*words: str, shell: str = '"$@"', **options: Any) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, inside a line of bash."""
    line = ["bash", "-c", shell, "bash", sys.executable, "-m", "krohn", *words]
    return subprocess.run(line, capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    ("shell", "stderr"),
    [
        ('"$@" zoo C2 >&-', "error: standard output must be open; it is closed"),
        ('"$@" zoo C2 >/dev/full', "error: there must be room for the output: No space left on device"),
        ('"$@" simulate C2 <&-', "error: words must come on standard input"),
        ('"$@" nothing 2>&-', ""),
    ],
)
def test_closed_and_full_streams_are_one_line(shell: str, stderr: str) -> None:
    done = krohn(shell=shell)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(stderr)
    assert done.stderr.count("\n") == bool(stderr)


def test_a_reader_that_goes_away_does_not_change_the_verdict(tmp_path: Path) -> None:
    """What verify decided is its exit status, read or not."""
    save(exchanged(compile(zoo("C2"), 4)), tmp_path / "net")
    done = krohn(str(tmp_path / "net"), shell='"${@:1:3}" verify "$4" | true; echo ${PIPESTATUS[0]}')
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_terminal_of_few_characters_shows_escapes_and_json_stays_json(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    table = {"π": {"→": "π"}}
    payload = {"krohn": 1, "letters": ["→"], "states": ["π"], "start": "π", "next": table}
    file = tmp_path / "automaton.json"
    file.write_text(json.dumps(payload))
    shown = krohn("zoo", str(file), env=environment)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\\u2192" in shown.stdout
    assert json.loads(krohn("zoo", str(file), "--json", env=environment).stdout)["letters"] == ["→"]


INTERRUPTED = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs inherit that it is ignored
sys.argv = ["krohn", "analyze", "S4"]
from krohn.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("module", "status", "stderr"), [("click", -signal.SIGINT, ""), ("numpy", 130, "interrupted\n")]
)
def test_ctrl_c_while_modules_are_read_shows_no_traceback(module: str, status: int, stderr: str) -> None:
    script = INTERRUPTED.format(module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", stderr)


def test_a_closed_pipe_is_not_an_error() -> None:
    command = f"{sys.executable} -m krohn simulate Parity | head -n 1; echo ${{PIPESTATUS[0]}}"
    words = "0 1 1\n" * 100_000
    done = subprocess.run(["bash", "-c", command], input=words, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["0 1 0", "0"]
    assert done.stderr == ""


def test_a_sample_that_is_terminated_leaves_nothing_behind(tmp_path: Path) -> None:
    out = tmp_path / "new" / "words.jsonl"
    words = ["sample", "S5", "--length", "100", "--count", "2000000", "--out", str(out)]
    started = subprocess.Popen([sys.executable, "-m", "krohn", *words], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not list(tmp_path.glob("new/.words*")) and time.monotonic() < until:
        time.sleep(0.01)
    started.send_signal(signal.SIGTERM)
    assert started.communicate()[1] == "terminated\n"
    assert started.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_in_an_export_leaves_nothing_behind(tmp_path: Path) -> None:
    save(compile(zoo("C2"), 4), tmp_path / "net")
    out = tmp_path / "out"
    words = ["export", str(tmp_path / "net"), "--to", "hf", "--out", str(out)]
    done = krohn(*words, shell='ulimit -f 2; "$@"')
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "error: [Errno 27] File too large")
    assert done.stderr.count("error") == 1
    assert not out.exists()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux lists them")
@pytest.mark.parametrize(("chosen", "threads"), [(None, 1), ("2", min(2, os.cpu_count() or 1))])
def test_a_proof_starts_no_threads_of_blas_unless_they_are_asked_for(
    tmp_path: Path, chosen: str | None, threads: int
) -> None:
    """OpenBLAS keeps as many threads as it may use, and those that wait take as much processor time."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    environment |= {} if chosen is None else {"OPENBLAS_NUM_THREADS": chosen}
    save(compile(zoo("C2"), 4), tmp_path / "net")
    net, file = str(tmp_path / "net"), str(tmp_path / "c.json")
    count = "import os, threading; [thread.join(9) for thread in threading.enumerate()[1:]]; "
    count += "print(len(os.listdir('/proc/self/task')))"
    lines = {
        "krohn.cli.process": f"krohn.cli.process.run_as_process(); {count}",
        "krohn.check.__main__": f"krohn.check.__main__.main(sys.argv[2:]); {count}",
    }
    for module, line in lines.items():
        words = ["verify", net, "--out", file] if "cli" in module else ["check", net, file]
        code = f"import sys; import {module}; {line}"
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, env=environment, check=True
        )
        assert int(done.stdout.split()[-1]) == threads
