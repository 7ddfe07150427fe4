"""The Coq development: nothing is assumed, and its semantics is what torch computes, bit for bit."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save as save_tensors
from tests.coq.asking import HEAD, definitions, output_of
from tests.coq.scalar_network import ScalarNetwork
from tests.recurrent.naive_stacks import random_stack

from krohn.automata.semiautomaton import Semiautomaton
from krohn.coq.certificate import recurrent_certificate
from krohn.coq.coqc import FORMULAS, LISTED, ORDER, SOURCES, assumptions_in
from krohn.coq.exploring import Exploration
from krohn.coq.stored import StoredNetwork, stored_network
from krohn.lab.cards.recurrent_modules import in_training
from krohn.recurrent.recurrent_network import RecurrentNetwork, save
from krohn.recurrent.recurrent_weights import WEIGHTS

DOCS = Path(__file__).parents[2] / "docs" / "kernel.md"
FLOATS = """From Flocq Require Import BinarySingleNaN.
From Krohn Require Import Float32 Network OneOrder Exact Closed.
"""
BITS = """Definition bits (x : f32) : Z := match x with
  | B754_zero s => if s then 0x80000000 else 0
  | B754_finite s m e _ => (if s then 0x80000000 else 0) +
      (if Zpos m <? 0x800000 then Zpos m else Zpos m - 0x800000 + (e + 150) * 0x800000)
  | _ => -1 end.
Fixpoint run_on {F C} (A : Arith F C option) (n : network C) (s : state (F:=F)) (y : list F) (w : list nat)
  : option (list F) :=
  match w with
  | [] => Some y
  | a :: w => match step n s a with Some (y, t) => run_on A n t y w | None => None end
  end.
Definition last_logits {F C} (A : Arith F C option) (f : list word -> C) k z ts (w : list nat) :=
  let n := network_map f (network_of k z ts) in
  match start n with Some s => run_on A n s [] w | None => None end.
"""


def test_no_axiom_and_no_gap_in_the_sources() -> None:
    assert {path.stem for path in SOURCES.glob("*.v")} == {*LISTED}
    for path in SOURCES.glob("*.v"):
        text = re.sub(r"\(\*.*?\*\)", "", path.read_text(), flags=re.DOTALL)
        assert not re.search(
            r"\b(Admitted|admit|Axiom|Parameter|Conjecture|Abort|give_up|Unset Guard|bypass_check)\b", text
        )


def test_theorems_and_formulas_of_the_checker_stand_on_what_the_page_lists(coq: Path) -> None:
    """Asked together: Coq walks through the same proofs of real numbers for each question.

    That each kind of theorem stands on all four alone is part of every accepted certificate.
    """
    page = DOCS.read_text()
    listed = page.partition("<!-- assumptions -->")[2].partition("<!-- end -->")[0]
    table = page.partition("<!-- formulas -->")[2].partition("<!-- end -->")[0]
    text = (SOURCES / f"{FORMULAS}.v").read_text()
    theorems = set(re.findall(r"^(?:Theorem|Definition) (\w+)", text, re.M))
    named = [name for name in dict.fromkeys(re.findall(r"`(\w+)`", table)) if name in theorems]
    assert {"sum_formula", "softmax_formula", "average_formula", "weight_division"} <= set(named)
    theorems_of_certificates = ("by_coq", "check_is_right")
    together = f"Definition named := ({', '.join([*named, *theorems_of_certificates])})."
    asked = [text, HEAD, together, "Print Assumptions named."]
    found = assumptions_in(output_of("\n".join(asked)))
    assert set(found) == set(re.findall(r"`([\w.]+)`", listed))


def saturated(stored: StoredNetwork, seed: int) -> StoredNetwork:
    """The same, with gates that are 0, one half, or 1 whatever they read."""
    rng = np.random.default_rng(seed)
    tensors = []
    for tensor in stored.tensors:
        numbers = tensor.floats().copy()
        complex_gate = getattr(stored.cell, "gate", "") == "complex" and "gate" in tensor.name
        if re.search(r"(gate|beta|rate)\.weight", tensor.name) and not complex_gate:
            numbers[:] = 0
        if re.search(r"(gate|beta|rate)\.bias", tensor.name) and not complex_gate:
            middle = [] if stored.architecture == "deltaproduct" and "gate" in tensor.name else [0]
            numbers[:] = rng.choice([-150, 150, 150, *middle], numbers.shape)
        tensors.append(replace(tensor, words=numbers.reshape(-1).view(np.uint32)))
    return replace(stored, tensors=tuple(tensors))


def test_random_networks_give_the_bits_of_torch(coq: Path, tmp_path: Path) -> None:
    word, text, expected = [0, 1, 1, 0, 1], [HEAD, FLOATS, BITS], []
    cases = [
        (kind, seed) for kind in ("deltaproduct", "rankone", "unit", "signed", "complex") for seed in (0, 1)
    ]
    for number, (kind, seed) in enumerate(cases):
        cell = random_stack(kind, conv=1 + seed, seed=seed)
        automaton = Semiautomaton(np.zeros((cell.num_states, cell.num_letters), np.int64))
        save(RecurrentNetwork(cell, automaton), tmp_path / str(number))
        network = saturated(stored_network(tmp_path / str(number)), seed)
        expected.append(ScalarNetwork(network).logits(word))
        text.append(definitions(recurrent_certificate(network, Exploration(True, (), True)), str(number)))
        text.append(
            f"Eval vm_compute in option_map (map bits) (given certificate{number} words{number} (fun c ts => "
            "match c with RecurrentInOrder _ k z _ => last_logits same_floats (map float) k z ts "
            f"{str(word).replace(',', ';')}%nat | _ => None end))."
        )
    matches = re.findall(r"Some\s*\[(.*?)\]", output_of("\n".join(text)), re.DOTALL)
    assert len(matches) == len(cases)
    for (kind, seed), bits, logits in zip(cases, matches, expected, strict=True):
        wanted = logits.numpy().view(np.uint32).tolist()
        assert [int(n) for n in bits.split(";")] == wanted, (kind, seed)


def test_exact_networks_give_the_logits_of_the_training_architecture(
    coq: Path, stored: Callable[[str, str], StoredNetwork]
) -> None:
    text, expected = [HEAD, FLOATS, BITS], []
    for number, (name, kind) in enumerate([("S3", "deltaproduct"), ("C2", "diagonal"), ("C3", "rankone")]):
        network = stored(name, kind)
        word = np.random.default_rng(number).integers(network.automaton.num_letters, size=9)
        model, weights = in_training(WEIGHTS[kind](network.automaton))
        with torch.no_grad():
            expected.append(model.logits(weights, torch.from_numpy(word)[None, None])[0, 0, -1].numpy() * 256)
        text.append(definitions(recurrent_certificate(network, Exploration(True, (), True)), str(number)))
        letters = ";".join(map(str, word.tolist()))
        text.append(
            f"Eval vm_compute in given certificate{number} words{number} (fun c ts => match c with "
            "RecurrentInOrder _ k z _ => last_logits integers stored_column k z ts "
            f"[{letters}]%nat | _ => None end)."
        )
    matches = re.findall(r"Some\s*\[(.*?)\]", output_of("\n".join(text)), re.DOTALL)
    assert [[int(n) for n in row.split(";")] for row in matches] == [row.tolist() for row in expected]


def test_stored_bits_are_decoded_as_ieee_754(coq: Path) -> None:
    words = [0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x3F800000, 0xBF800001, 0x7F7FFFFF, 0xDEADBEEF]
    rng = np.random.default_rng(0)
    patterns = rng.integers(2**32, size=200)
    words += [int(w) for w in patterns if (w >> 23) & 255 != 255]
    listed = ";".join(map(str, words))
    text = output_of(
        f"{HEAD}\n{FLOATS}{BITS}Eval vm_compute in map (fun w => bits (float w) =? w) [{listed}].\n"
        "Eval vm_compute in (float 0x7f800000, float 0xff800000, float 0x7fc00000).\n"
    )
    assert text.count("true") == len(words) + 1  # the sign of the negative infinity
    assert "B754_infinity false, B754_infinity true, B754_nan" in " ".join(text.split())


def test_the_bytes_of_the_file_and_their_hash(coq: Path) -> None:
    text, expected = [HEAD], []
    for count in (1, 13, 14, 16):
        words = np.arange(count, dtype=np.uint32) * np.uint32(0x01020304)
        expected.append(hashlib.sha256(save_tensors({"a": words.view(np.float32)})).hexdigest())
        runs = ";".join(f"Run 1 {word}" for word in words.tolist())
        text.append(
            f'Eval vm_compute in sha256 (file_of [{{| Label := F32 "a" [{count}]%nat; Runs := [{runs}] |}}]).'
        )
    matches = re.findall(r"= (\d+)", output_of("\n".join(text)))
    assert [f"{int(number):064x}" for number in matches] == expected


def imports(name: str) -> set[str]:
    """The files of the development that one needs, itself included."""
    named = re.findall(
        r"^From Krohn Require (?:Import |Export )?(.*)\.$", (SOURCES / f"{name}.v").read_text(), re.M
    )
    return {name}.union(*(imports(other) for line in named for other in line.split()))


def test_what_must_be_read_is_counted_and_stands_alone() -> None:
    readme = (SOURCES / "README.md").read_text()
    sizes = {path.stem: len(path.read_text().splitlines()) for path in SOURCES.glob("*.v")}
    rows = re.findall(r"^\| .* \| (`Float32\.v` .*) \| (\d+) \|$", readme, re.M)
    seen = set()
    for files, total in rows:
        counts = {name: int(lines) for name, lines in re.findall(r"`(\w+)\.v` (\d+)", files)}
        assert counts == {name: sizes[name] for name in counts}
        assert int(total) == sum(counts.values())
        kinds = set(counts) - {"Claims"}  # which names every kind of claim
        assert set().union(*map(imports, kinds)) == kinds | {"Sha256"}
        seen |= set(counts)
    assert seen | {"Sha256"} == set(ORDER[: len(seen) + 1])
    assert f"`Sha256.v` ({sizes['Sha256']} lines)" in readme
    for name in seen:
        text = (SOURCES / f"{name}.v").read_text()
        assert not re.search(r"\b(Proof|Lemma|Theorem|Hypothesis)\b", text)


def test_the_sources_are_listed_in_order_and_no_line_is_long() -> None:
    assert (SOURCES / "_CoqProject").read_text().startswith("-Q . Krohn\n")
    assert tuple(LISTED) == (*ORDER, FORMULAS)
    for at, name in enumerate(LISTED):
        assert imports(name) <= {*LISTED[: at + 1]}, name
    for path in SOURCES.glob("*.v"):
        assert max(map(len, path.read_text().splitlines())) < 100, path.name
