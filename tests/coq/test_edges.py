"""The edge between the theorem and the run: what is certified, what is named, and who may deceive whom."""

import io
import json
import os
import shutil
import stat
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.coq.asking import TRANSFORMER_HEAD, output_of

from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.coq.certificate import recurrent_certificate
from krohn.coq.coqc import AXIOMS, ORDER, CoqFailed, KernelVerdict, assumptions_in, beyond, development, prove
from krohn.coq.exploring import explore
from krohn.coq.proof_text import TEXT, proof_text
from krohn.coq.stored import digest_of, stored_network, whole_of
from krohn.proving.evidence import SecondOpinion
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
    """The checker's yes to this network is that of the next test."""
    net = str(written(tmp_path / "net", "C2", "rankone"))
    opinion, yes = SecondOpinion(12, 4096, 4095, "float32"), KernelVerdict(True, "Coq", (), AXIOMS, 1, 1, 500)
    monkeypatch.setattr("krohn.proving.recurrent.run_all", lambda *_: (opinion, None))
    monkeypatch.setattr("krohn.proving.kernel.prove", lambda *_: yes)
    assert run(["verify", net, "--kernel", "--coqc"]) == 1
    text = capsys.readouterr().out
    assert text.startswith(
        "not certified: C2, rankone: Coq proves it for sums in any order, but 4,095 of 4,096"
    )
    assert "proved by Coq" in text


@dataclass(frozen=True)
class Proved:
    """A network that Coq itself has accepted, the answer of the command, and what it wrote."""

    net: Path
    proof: Path
    answer: dict[str, Any]


@pytest.fixture(scope="module")
def proved(coq: Path, tmp_path_factory: pytest.TempPathFactory) -> Proved:
    folder = tmp_path_factory.mktemp("proved")
    net, proof, out = written(folder / "net", "C2", "rankone"), folder / "proof.json", io.StringIO()
    with redirect_stdout(out):
        assert run(["verify", str(net), "--kernel", "--coqc", "--out", str(proof), "--json"]) == 0
    return Proved(net, proof, json.loads(out.getvalue()))


def test_schedule_axioms_and_digests_are_in_the_verdict(proved: Proved) -> None:
    net, proof, answer = proved.net, proved.proof, proved.answer
    automaton = parse_spec("C2")
    assert answer["kernel"]["schedule"] == "letter by letter"
    assert answer["kernel"]["order"] == "any order"
    assert sorted(answer["kernel"]["assumptions"]) == sorted(AXIOMS)
    assert answer["automaton"] == automaton.digest
    assert answer["kernel"]["by"].startswith("Coq 8")
    line, names = answer["kernel"]["configuration"], '[["0", "1"], ["0", "1"]]'
    command = f"(echo '{line}'; echo '{names}'; cat model.safetensors) | sha256sum"
    said = subprocess.run(["sh", "-c", command], cwd=net, capture_output=True, text=True, check=True)
    assert said.stdout.split()[0] == answer["kernel"]["sha256"]
    assert json.loads(proof.read_text())["sha256"] == answer["kernel"]["sha256"]


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
    assert digest_of(first) != digest_of(second)
    other = replace(first.automaton, letter_names=("x", "y"))
    assert digest_of(replace(first, automaton=other)) != digest_of(first)


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


HOSTILE = """]. Unset Universe Checking. Module Type S. Parameter Inline T : Type. End S.
Module F (X : S). Definition U := X.T. End F. Set Printing Depth 3. (* """
"""The beginning of a known way to a proof of False, as text that would be read by Coq if it got there."""


def test_a_certificate_is_numbers_and_nothing_of_it_is_read_as_commands(
    program: Path, proved: Proved, tmp_path: Path
) -> None:
    """Wherever the text stands, the script and the program refuse it, or Coq sees its bytes as numbers."""
    written, network = json.loads(proved.proof.read_text()), proved.net / "model.safetensors"
    script = [sys.executable, "-I", str(Path(proof_text.__code__.co_filename)), str(network)]
    for field in ("claim", "order", "hints", "sha256"):
        for spoiled in (HOSTILE, [HOSTILE], [[1, HOSTILE]], {HOSTILE: 1}, [1.5], None):
            (tmp_path / "F.json").write_text(json.dumps(written | {field: spoiled}))
            answers = [subprocess.run([*script, str(tmp_path / "F.json")], capture_output=True, check=False)]
            if field != "sha256":
                command = [str(program), str(network), str(tmp_path / "F.json")]
                answers.append(subprocess.run(command, capture_output=True, check=False))
            for answer in answers:
                assert answer.returncode != 0
                assert answer.stdout == b""
    named = written | {"letters": [HOSTILE, HOSTILE]}
    assert "Inline" not in proof_text(named, network.read_bytes())
    assert not prove(named, network.read_bytes()).accepted  # names are in the hash


def outside_of_the_fixed_text(text: str) -> str:
    """What is left without the parts that are the same for every certificate, each of which must be there."""
    for part in TEXT.replace("{digest:064x}", "{}").split("{"):
        fixed = part.partition("}")[2] or part
        assert fixed in text
        text = text.replace(fixed, "", 1)
    return text


ODD_NUMBERS = (
    '"12"',
    '"1_000"',
    '"\u0663"',  # a digit of another script
    "1" * 5000,
    "-" + "9" * 4000,
    "1e3",
    "1.0",
    "NaN",
    "-Infinity",
    "true",
    "null",
    "[" * 2000 + "]" * 2000,
    '{"a": {"b": 1}}',
    '[[1, "]. Axiom no : False. (*"]]',
    '"(* \\" *)"',
)
ODD_NAMES = (
    '"',
    "'",
    "*)",
    "(*",
    "\\",
    "\n",
    "]",
    ";",
    "\u202e",
    "\U0001f600",
    "\ud800",
    "0x1",
    "Type",
    HOSTILE,
)


def test_nothing_but_digits_gets_into_the_text(proved: Proved) -> None:
    """What stands where numbers or names are said to be is refused, or its numerals are all there is."""
    written, network = proved.proof.read_text(), (proved.net / "model.safetensors").read_bytes()
    plain, read, refused = json.loads(written), 0, 0
    cases = [plain | {key: [[name, name]] * 2} for key in ("letters", "states") for name in ODD_NAMES]
    cases += [plain | {key: [name, name]} for key in ("letters", "states", "sha256") for name in ODD_NAMES]
    cases += [plain | {"sha256": name} for name in (*ODD_NAMES, "0x12", " 12\n", "-5", "1_0", "\u0663", "")]
    for field in ("claim", "order", "hints", "letters", "states", "sha256"):
        for odd in ODD_NUMBERS:
            for where in (odd, f"[{odd}]", f"[[3, {odd}], 1]"):
                text = json.dumps(plain | {field: "HERE"}).replace('"HERE"', where)
                try:
                    cases.append(json.loads(text))
                except (ValueError, RecursionError):  # as the script has it
                    refused += 1
    for case in cases:
        try:
            text = proof_text(case, network)
        except (ValueError, TypeError, KeyError, RecursionError):
            refused += 1
            continue
        read += 1
        assert set(outside_of_the_fixed_text(text)) <= set("0123456789abcdef-[]; \n")
    assert min(read, refused) > 50


def test_the_script_needs_nothing_of_krohn(proved: Proved, coq: Path, tmp_path: Path) -> None:
    shutil.copy(proof_text.__code__.co_filename, tmp_path / "script.py")
    network = proved.net / "model.safetensors"
    command = [sys.executable, "-I", "script.py", str(network), str(proved.proof)]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    said = output_of(text)
    assert "RecurrentInOrder AnyOrder (Heads 2 1 4 1 true)" in " ".join(said.split())
    assert "Table := [[0%nat; 1%nat]; [1%nat; 0%nat]]" in " ".join(said.split())
    assert sorted(assumptions_in(said)) == sorted(AXIOMS)


def test_other_axioms_are_not_accepted(coq: Path) -> None:
    said = output_of("Axiom cheat : 1 = 2.\nPrint Assumptions cheat.\n")
    assert beyond(assumptions_in(said)) == "the theorem must stand on four axioms; it stands on cheat"


@pytest.mark.parametrize(
    ("network", "certificate"),
    [
        (b"", b"{}"),
        (b"x" * 99, b""),
        (b"x" * 99, b"[" * 10_000),
        (b"", b'{"claim": [9], "order": [], "hints": []}'),
    ],
)
def test_the_program_ends_with_one_line(
    program: Path, tmp_path: Path, network: bytes, certificate: bytes
) -> None:
    (tmp_path / "n").write_bytes(network)
    (tmp_path / "c").write_bytes(certificate)
    for files in ([tmp_path / "n", tmp_path / "c"], [tmp_path / "n", tmp_path / "no"], [tmp_path / "n"]):
        done = subprocess.run([program, *files], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1


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
    (tmp_path / "krohn").chmod(0o700)
    tmp_path.chmod(0o777)
    with pytest.raises(CoqFailed, match="others can write to"):
        development()
    tmp_path.chmod(0o700)
    (tmp_path / "krohn").chmod(0o777)
    with pytest.raises(CoqFailed, match="others can write to"):
        development()


FAKE = """#!/bin/sh
if [ "$1" = --print-version ]; then echo "8.16.1 4.13.1"; exit 0; fi
if [ "$1" = -where ]; then exit 0; fi
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
    network = stored_network(written(tmp_path / "net", "C2", "rankone"))
    certificate = recurrent_certificate(network, explore(network)).to_json()
    fake_coqc(tmp_path, monkeypatch)
    with pytest.raises(CoqFailed, match="accepts that 0 = 1"):
        prove(certificate, whole_of(network))


def test_two_processes_compile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_coqc(tmp_path, monkeypatch)
    ask = [sys.executable, "-c", "from krohn.coq.coqc import development; print(development())"]
    both = [subprocess.Popen(ask, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = {process.communicate()[0] for process in both}
    assert len(said) == 1
    assert (tmp_path / "log").read_text().split() == [f"{name}.v" for name in ORDER]
