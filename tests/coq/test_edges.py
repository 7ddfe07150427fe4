"""The edge between the theorem and the run: what is certified, what is named, and who may deceive whom."""

import io
import json
import os
import shutil
import stat
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.coq.asking import output_of

from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.coq.certificate_text import HEAD, TRANSFORMER_HEAD
from krohn.coq.coqc import AXIOMS, ORDER, CoqFailed, CoqVerdict, check_text, development
from krohn.coq.stored import digest_of, stored_network
from krohn.proving.outcome import SecondOpinion
from krohn.recurrent.recurrent_network import RecurrentNetwork, save
from krohn.recurrent.recurrent_weights import WEIGHTS


def written(folder: Path, name: str, architecture: str) -> Path:
    """The network of an automaton, in a folder."""
    automaton = parse_spec(name)
    save(RecurrentNetwork(WEIGHTS[architecture](automaton), automaton), folder)
    return folder


def test_one_order_is_not_certified(coq: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = str(written(tmp_path / "net", "C3", "diagonal"))
    assert run(["verify", net, "--kernel", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert not answer["certified"]
    assert answer["kernel"]["accepted"]
    assert answer["kernel"]["order"] == "order from left to right, not fused"
    assert "a device may take them otherwise" in answer["kernel"]["reason"]
    assert answer["exact"]["words"] >= 2_000
    assert answer["exact"]["wrong"] == 0


def test_words_that_are_run_wrong_are_not_certified(
    coq: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coq's yes to this network is that of the next test."""
    net = str(written(tmp_path / "net", "C2", "rankone"))
    opinion, yes = SecondOpinion(12, 4096, 4095, "float32"), CoqVerdict(True, 1.0, AXIOMS, "8.16.1", 1.0, 500)
    monkeypatch.setattr("krohn.proving.recurrent.run_all", lambda *_: (opinion, None))
    monkeypatch.setattr("krohn.proving.kernel.check_text", lambda text: yes)
    assert run(["verify", net, "--kernel"]) == 1
    text = capsys.readouterr().out
    assert text.startswith(
        "not certified: C2, rankone: Coq proves it for sums in any order, but 4,095 of 4,096"
    )
    assert "proved by Coq" in text


@dataclass(frozen=True)
class Proved:
    """A network that Coq has accepted, the answer of the command, and what it wrote."""

    net: Path
    proof: Path
    answer: dict[str, Any]


@pytest.fixture(scope="module")
def proved(coq: Path, tmp_path_factory: pytest.TempPathFactory) -> Proved:
    folder = tmp_path_factory.mktemp("proved")
    net, proof, out = written(folder / "net", "C2", "rankone"), folder / "proof.v", io.StringIO()
    with redirect_stdout(out):
        assert run(["verify", str(net), "--kernel", "--out", str(proof), "--json"]) == 0
    return Proved(net, proof, json.loads(out.getvalue()))


def test_schedule_axioms_and_digests_are_in_the_verdict(proved: Proved) -> None:
    net, proof, answer = proved.net, proved.proof, proved.answer
    automaton = parse_spec("C2")
    assert answer["kernel"]["schedule"] == "letter by letter"
    assert answer["kernel"]["order"] == "any order"
    assert sorted(answer["kernel"]["assumptions"]) == sorted(AXIOMS)
    assert answer["automaton"] == automaton.digest
    assert "Krohn.Recurrent.any_order" in proof.read_text()
    line = answer["kernel"]["configuration"]
    command = f"(echo '{line}'; cat model.safetensors) | sha256sum"
    said = subprocess.run(["sh", "-c", command], cwd=net, capture_output=True, text=True, check=True)
    assert said.stdout.split()[0] == answer["kernel"]["sha256"]
    assert f"0x{answer['kernel']['sha256']}" in proof.read_text()


def test_configuration_outside_of_the_file_is_in_the_hash(tmp_path: Path) -> None:
    net = written(tmp_path / "net", "C2", "rankone")
    first = stored_network(net)
    description = json.loads((net / "recurrent.json").read_text())
    assert description["options"]["heads"] == 2
    description["options"] |= {"heads": 1, "key_dim": 8, "value_dim": 2}
    (net / "recurrent.json").write_text(json.dumps(description))
    second = stored_network(net)
    assert (first.line, second.line) == (
        "rank one: heads 2, steps 1, keys 4, values 1",
        "rank one: heads 1, steps 1, keys 8, values 2",
    )
    assert first.digest != second.digest
    whole = (net / "model.safetensors").read_bytes()
    assert digest_of("diagonal: unit 2", whole) != digest_of("diagonal: signed 2", whole)


def test_softmax_may_multiply_by_the_reciprocal_and_exp_is_a_relation(coq: Path) -> None:
    """x = 1 + 2⁻²², y = 3: the quotient and the product with the rounded reciprocal differ."""
    output = output_of(
        f"{TRANSFORMER_HEAD}\nFrom Flocq Require Import BinarySingleNaN.\nFrom Krohn Require Recurrent.\n"
        "Definition x := float 0x3f800005. Definition y := float 0x40400000.\n"
        "Definition r := Bmult mode_NE x (Bdiv mode_NE one y).\n"
        "Check (or_intror eq_refl : divided x y r).\n"
        "Eval vm_compute in Beqb r (Bdiv mode_NE x y).\n"
        "Check (is_exp : (f32 -> f32 -> Prop) -> Prop).\n"
        "Check (Recurrent.is_sigmoid : (f32 -> f32 -> Prop) -> Prop).\n"
        "Check (Recurrent.is_gate : (f32 -> f32 -> Prop) -> Prop).\n"
    )
    assert "= false" in output


def read_by(library: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Coq on the reader's file."""
    command = ["coqtop", "-q", "-batch", "-Q", str(library), "Krohn", "-l", "proof.reader.v"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def compiled(library: Path, folder: Path) -> int:
    command = ["coqc", "-q", "-Q", str(library), "Krohn", "proof.v"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


def test_the_readers_file_is_not_deceived_by_names_defined_anew(
    coq: Path, proved: Proved, tmp_path: Path
) -> None:
    assert proved.answer["certified"]
    for name in ("proof.v", "proof.reader.v"):
        shutil.copy(proved.proof.with_name(name), tmp_path)
    assert compiled(coq, tmp_path) == 0
    answer = read_by(coq, tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert all(axiom in answer.stdout for axiom in AXIOMS)
    text = (tmp_path / "proof.v").read_text()
    proof = text[text.index("Proof.") : text.index("Qed.")]
    anew = "Definition right_on_every_word {A B} (_ : A) (_ : B) (_ : Z) (_ : mixer) (_ : sizes) "
    anew += "(_ : list tensor) (_ : automaton) := True.\n"
    hostile = text.replace("Theorem network", anew + "Theorem network").replace(proof, "Proof. exact I. ")
    hostile = hostile.replace("Krohn.Recurrent.right_on", "right_on")
    (tmp_path / "proof.v").write_text(hostile)
    assert compiled(coq, tmp_path) == 0  # its last lines look as before, and Coq accepts it
    answer = read_by(coq, tmp_path)
    assert answer.returncode != 0
    assert "right_on_every_word" in answer.stdout + answer.stderr
    assert not check_text(hostile).accepted  # without krohn's four axioms nothing is


def test_other_axioms_are_not_accepted(coq: Path) -> None:
    verdict = check_text(
        f"{HEAD}\nAxiom cheat : 1 = 2.\nTheorem network_is_right : 1 = 2.\nProof. exact cheat. Qed.\n"
        "Print Assumptions network_is_right.\n"
    )
    assert not verdict.accepted
    assert verdict.reason == "the theorem must stand on four axioms; it stands on cheat"


@pytest.mark.parametrize("flag", ["Guard", "Positivity", "Universe"])
def test_a_check_that_is_off_is_not_accepted(coq: Path, flag: str) -> None:
    """Coq lists these beside the axioms, in words; with either of them 1 = 2 can be proved."""
    axioms = ", ".join(f"@{name}" for name in AXIOMS)
    text = (
        f"{HEAD}\nFrom Coq Require ClassicalDedekindReals FunctionalExtensionality Classical_Prop.\n"
        f"Definition four := ({axioms}).\n%s\n"
        "Definition network_is_right := (four, unchecked).\nPrint Assumptions network_is_right.\n"
    )
    unchecked = {
        "Guard": "Fixpoint unchecked (n : nat) : False := unchecked (S n).",
        "Positivity": "Inductive unchecked := curry (f : unchecked -> False).",
        "Universe": "Definition all : Type := Type. Definition unchecked : all := all.",
    }[flag]
    plain = check_text(text % "Definition unchecked := 0.")
    assert plain.accepted
    verdict = check_text(text % f"Unset {flag} Checking.\n{unchecked}\nSet {flag} Checking.")
    assert not verdict.accepted
    assert "unchecked" in verdict.reason


def test_a_changed_compiled_file_is_noticed(
    coq: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shutil.copytree(coq, tmp_path / "krohn" / coq.name)
    (tmp_path / "krohn").chmod(0o700)
    assert development() == tmp_path / "krohn" / coq.name
    file = tmp_path / "krohn" / coq.name / "Certificate.vo"
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    file.write_bytes(whole)
    with pytest.raises(CoqFailed, match=r"Certificate\.vo in .* is not: remove that folder"):
        development()
    (tmp_path / "krohn").chmod(0o777)
    with pytest.raises(CoqFailed, match="others can write to"):
        development()


FAKE = """#!/bin/sh
if [ "$1" = --print-version ]; then echo "8.16.1 4.13.1"; exit 0; fi
for last; do :; done
echo "$last" >> "$LOG"
sleep 0.01
touch "${last%.v}.vo"
echo "Axioms:"
"""


def fake_coqc(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``coqc`` that says yes to everything, in the order in which it is asked, and a cache of its own."""
    program = folder / "bin" / "coqc"
    program.parent.mkdir()
    program.write_text(FAKE + "".join(f'echo "{axiom} : x"\n' for axiom in AXIOMS))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("LOG", str(folder / "log"))


def test_a_coqc_that_accepts_everything_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_coqc(tmp_path, monkeypatch)
    with pytest.raises(CoqFailed, match="accepts that 0 = 1"):
        check_text("anything")


def test_two_processes_compile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_coqc(tmp_path, monkeypatch)
    ask = [sys.executable, "-c", "from krohn.coq.coqc import development; print(development())"]
    both = [subprocess.Popen(ask, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = {process.communicate()[0] for process in both}
    assert len(said) == 1
    assert (tmp_path / "log").read_text().split() == [f"{name}.v" for name in ORDER]
