"""Small files that would make the checker work for minutes or fill the memory: refused, in seconds."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

import krohn
from check.test_deceivers import of
from check.test_forged import claim_about, forged, written
from krohn.automata.files import automaton_payload
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.certificate import Certificate
from krohn.check.claim import Claim
from krohn.check.rules import RULES, read_net
from krohn.network.transformer import Transformer
from krohn.proving.witness.search import checkable_table

SECONDS, KILOBYTES = 20, 1_000_000
WATCH = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime, used.ru_maxrss)
sys.exit(done.returncode)
"""


def answer(folder: Path, certificate: Path, status: int = 1) -> str:
    """What the checker prints last, in bounded time and memory."""
    checker = [sys.executable, "-I", "-m", "krohn.check", str(folder), str(certificate)]
    command = [sys.executable, "-c", WATCH, *checker]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20 * SECONDS, check=False)
    *said, used = [*done.stderr.splitlines(), *done.stdout.splitlines()]
    seconds, kilobytes = map(float, used.split())
    assert (done.returncode, seconds < SECONDS, kilobytes < KILOBYTES) == (status, True, True), (said, used)
    return said[-1]


def gru_of(folder: Path, letters: int, **tensors: Any) -> Path:
    """A GRU of one unit and one answer for every letter, and the claim that it is right on all words."""
    folder.mkdir()
    shapes = {"wte": (letters, 1), "weight_hh": (1, 3), "weight_ih": (1, 3), "bias_hh": (3,)}
    shapes |= {"bias_ih": (3,), "head.weight": (1, 1), "head.bias": (1,)}
    weights = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    weights |= {name: np.array(value, np.float32) for name, value in tensors.items()}
    save_file(weights, folder / "model.safetensors")
    automaton = Semiautomaton(np.zeros((1, letters), dtype=np.int32))
    about = {"krohn": 2, "architecture": "gru", "options": {"embedding": 1, "hidden": 1}}
    (folder / "recurrent.json").write_text(json.dumps({**about, "automaton": automaton_payload(automaton)}))
    net = read_net(folder)
    names, table = (automaton.letter_names, automaton.state_names), checkable_table(automaton)
    claim = Claim(net.kind, net.digest, net.configuration, *names, table, "state", None, "float32")
    claim = replace(claim, assumptions=RULES["closure"].assumptions(net, claim))
    certificate = Certificate(claim, "closure", RULES["closure"].version, None)
    (folder / "certificate.json").write_text(json.dumps(certificate.to_json()))
    return folder / "certificate.json"


def test_a_closure_of_many_small_steps(tmp_path: Path) -> None:
    """One new vector after each letter, under 400 letters: 800,000 small calls, more than 400 seconds."""
    certificate = gru_of(tmp_path / "net", 400, bias_ih=[0.0, 8.0, 1.0])
    assert sum(file.stat().st_size for file in (tmp_path / "net").iterdir()) < 30_000
    assert "needs more work than it is given" in answer(tmp_path / "net", certificate)


def blank(letters: int, dim: int, length: int, states: int) -> Transformer:
    """One layer without heads whose channels all hold numbers."""
    return Transformer(
        np.ones((letters, dim)), np.ones((1, dim)), np.arange(1.0 + length)[:, None] * np.ones(dim), (),
        np.ones((dim, states)), np.zeros(states),
    )  # fmt: skip


def test_letters_and_positions_that_are_added_in_every_combination(tmp_path: Path) -> None:
    """Half a megabyte: 4,000 letters at 4,000 positions took 4.1 GB."""
    automaton = Semiautomaton(np.zeros((1, 4000), dtype=np.int32))
    network = (blank(4000, 8, 4000, 1), automaton, 4000)
    written(tmp_path / "net", network)
    claim = claim_about(tmp_path / "net", network, "float32")
    file = forged(tmp_path / "net", claim, {"kind": "layered", "steps": []})
    assert "more work" in answer(tmp_path / "net", file)


def test_a_scan_of_thousands_of_points(tmp_path: Path) -> None:
    """24 kB of a witness: boxes for 4,000 values of 4,000 points took 6.7 GB."""
    points = 4000
    automaton = Semiautomaton(np.zeros((1, 1), dtype=np.int32))
    network = (blank(1, points, 1, 1), automaton, 1)
    written(tmp_path / "net", network)
    claim = claim_about(tmp_path / "net", network, "float32")
    every = list(range(points))
    witness = {"kind": "scan", "letters": [every], "padding": every, "channels": [every]}
    assert "points" in answer(tmp_path / "net", forged(tmp_path / "net", claim, witness))


def test_the_same_kinds_of_small_size_are_proved(tmp_path: Path) -> None:
    """The budgets refuse sizes, not kinds: a closure and a scan as krohn writes them are answered yes."""
    krohn.compile("S3", architecture="gru").save(tmp_path / "gru")
    scan = krohn.compile("C2", 8, method="scan")
    scan.save(tmp_path / "scan")
    assert of(scan)[2] == 8
    for name in ("gru", "scan"):
        krohn.verify(tmp_path / name).save(tmp_path / f"{name}.json")
        assert answer(tmp_path / name, tmp_path / f"{name}.json", 0).startswith("yes")
