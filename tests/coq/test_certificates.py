"""Certificates: right networks are accepted; no network lacking a hypothesis or with a harmful bit is."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.coq.asking import answers_of

import krohn
from krohn.automata.zoo import parse_spec
from krohn.check.recurrent.cells import Cell
from krohn.cli.app import run
from krohn.coq.certificate import KernelCertificate, recurrent_certificate
from krohn.coq.coqc import AXIOMS, prove
from krohn.coq.exploring import Exploration, explore
from krohn.coq.stored import StoredNetwork, digest_of, stored_network, tensors_of_bytes, whole_of
from krohn.errors import InvalidInput, LimitExceeded, MissingDependency, Unsupported
from krohn.lab.cards.recurrent_modules import states_in_training
from krohn.proving.kernel import kernel_verdict
from krohn.proving.recurrent import close
from krohn.recurrent.recurrent_network import RecurrentNetwork, load, save
from krohn.recurrent.recurrent_weights import WEIGHTS

Stored = Callable[[str, str], StoredNetwork]
STRICTER = {
    "the length of a key is not exactly 0 or 1",
    "a key is not known to the last bit",
    "a memory is rounded, or depends on a library's last bit",
}
"""What the Python checker asks of keys and memories; Coq's claim for one order does without."""


def words_changed(network: StoredNetwork, name: str, changes: dict[int, int]) -> StoredNetwork:
    """The network with other words at some places of a tensor."""
    tensors = []
    for tensor in network.tensors:
        words = tensor.words.copy()
        if tensor.name == name:
            for place, word in changes.items():
                words[place] = word
        tensors.append(replace(tensor, words=words))
    return replace(network, tensors=tuple(tensors))


def bits(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


@pytest.mark.parametrize(
    ("name", "architecture"), [("C2", "diagonal"), ("S3", "deltaproduct"), ("Grid4", "diagonal")]
)
def test_right_networks_are_accepted(program: Path, tmp_path: Path, name: str, architecture: str) -> None:
    automaton = parse_spec(name)
    save(RecurrentNetwork(WEIGHTS[architecture](automaton), automaton), tmp_path / "net")
    verdict = kernel_verdict(tmp_path / "net", automaton, out=tmp_path / "proof.json")
    kernel = verdict.more["kernel"]
    assert verdict.certified
    assert kernel["by"] == "krohn-kernel"
    assert kernel["accepted"]
    assert (kernel["order"], verdict.claim.order) == ("any order", "any")
    assert kernel["pairs"] == len(explore(stored_network(tmp_path / "net")).hints)
    assert kernel["sha256"] == json.loads((tmp_path / "proof.json").read_text())["sha256"]


def test_a_changed_bit_and_a_rounded_network(program: Path, stored: Stored) -> None:
    """By Coq and by the program: the same data, the same answers."""
    network = stored("C3", "diagonal")
    search = explore(network)
    assert (search.any_order, search.right) == (False, True)
    certificate = recurrent_certificate(network, search)
    changed = words_changed(network, "head.bias", {0: bits(1e9)})
    longer = replace(certificate, claim=[1, 0, *certificate.claim[2:]])
    cases = [certificate, replace(certificate, network=changed), longer]
    assert answers_of(cases) == [True, False, False]
    written = certificate.to_json()
    by_coq = prove(written, whole_of(network))
    assert by_coq.accepted
    assert sorted(by_coq.assumptions) == sorted(AXIOMS)
    head = next(tensor.words for tensor in network.tensors if tensor.name == "head.weight")
    harmless = words_changed(network, "head.weight", {int(np.flatnonzero(head == 0)[0]): 0x80000000})
    assert answers_of([replace(certificate, network=harmless)]) == [True]
    assert not prove(written, whole_of(harmless)).accepted  # the hash is that of another file
    assert not prove(written | {"sha256": digest_of(changed)}, whole_of(changed)).accepted
    assert not prove(written | {"letters": ["a", "b", "c"]}, whole_of(network)).accepted


def lacking(network: StoredNetwork) -> dict[str, tuple[StoredNetwork, Exploration]]:
    """The network of C2 without one of the checker's hypotheses each."""
    search = explore(network)
    automaton = network.automaton
    gate, head = "h.0.mix.gate.weight", "head.weight"

    def changed(name: str, number: float, place: int | None = None) -> tuple[StoredNetwork, Exploration]:
        old = next(t for t in network.tensors if t.name == name)
        at = int(np.flatnonzero(old.words)[0]) if place is None else place
        return words_changed(network, name, {at: bits(number)}), search

    last = network.tensors[-1]
    turned = [replace(t, shape=t.shape[::-1]) if t.name == head else t for t in network.tensors]
    hints = [list(row) for row in search.hints]
    hints[1][0] = hints[1][0] + 1
    swapped = replace(automaton, table=automaton.table[::-1].copy())
    zeros = np.flatnonzero(next(t for t in network.tensors if t.name == head).words == 0)
    minus_zeros = words_changed(network, head, {int(place): 0x80000000 for place in zeros})
    return {
        "the sign of zero": (minus_zeros, search),
        "a gate that is not saturated": changed(gate, 100.0),
        "a sum that is rounded": changed(head, 1 / 3),
        "a sum of more than 24 bits": changed("head.bias", 2.0**17, 0),
        "a number that is none": changed("head.bias", np.nan, 0),
        "an infinite number": changed("head.bias", np.inf, 0),
        "a shape": (replace(network, tensors=tuple(turned)), search),
        "no tensor missing": (replace(network, tensors=network.tensors[:-1]), search),
        "no other tensor": (replace(network, tensors=(*network.tensors, replace(last, name="x"))), search),
        "no tensor twice": (replace(network, tensors=(*network.tensors[:-1], network.tensors[0])), search),
        "a strict lead": (words_changed(network, head, dict.fromkeys(range(10), 0)), search),
        "the right automaton": (replace(network, automaton=swapped), search),
        "the right hints": (network, Exploration(True, tuple(map(tuple, hints)), True)),
        "a hint for each letter": (network, Exploration(True, tuple(row[:1] for row in search.hints), True)),
        "all pairs": (network, Exploration(True, search.hints[:-1], True)),
    }


def test_without_one_hypothesis_nothing_is_accepted(program: Path, stored: Stored) -> None:
    network = stored("C2", "diagonal")
    cases = {"nothing": (network, explore(network))} | lacking(network)
    given = {name: recurrent_certificate(*case) for name, case in cases.items()}
    right = given["nothing"]

    def of_table(*rows: list[int]) -> KernelCertificate:
        return replace(right, claim=[*right.claim[:-1], [0, 2, rows]])

    given |= {"a complete table": of_table([0, 1], [1]), "states that exist": of_table([0, 1], [1, 2])}
    given |= {"hints to their end": replace(right, hints=[*right.hints, 7])}
    harmless = ("nothing", "the sign of zero")
    assert dict(zip(given, answers_of(given.values()), strict=True)) == {n: n in harmless for n in given}


def cell_of(network: StoredNetwork) -> Cell:
    return replace(network.cell, tensors={tensor.name: tensor.floats() for tensor in network.tensors})


def test_what_is_accepted_after_a_flipped_bit_is_right(program: Path, stored: Stored) -> None:
    rng = np.random.default_rng(20)
    flips: list[tuple[StoredNetwork, Exploration]] = []
    counts, alone = Counter[str](), Counter[str | None]()
    for name, architecture, count in (
        ("C2", "diagonal", 130),
        ("FlipFlop", "diagonal", 50),
        ("S3", "deltaproduct", 20),
    ):
        network = stored(name, architecture)
        for number in range(count):
            tensor = network.tensors[rng.integers(len(network.tensors))]
            place, bit = int(rng.integers(tensor.words.size)), int(rng.integers(32))
            if number % 2:  # half of those drawn are judged
                continue
            flipped = words_changed(network, tensor.name, {place: int(tensor.words[place]) ^ (1 << bit)})
            try:
                search = explore(flipped, limit=200)
            except LimitExceeded:
                counts["no certificate"] += 1
                continue
            flips.append((flipped, search))
    answers = answers_of(recurrent_certificate(*flip) for flip in flips)
    for (flipped, search), answer in zip(flips, answers, strict=True):
        counts[str(answer)] += 1
        if answer:
            cell, automaton = cell_of(flipped), flipped.automaton
            proof = close(cell, automaton)
            if proof.every_length:
                assert proof.any_order >= search.any_order
            else:
                assert (
                    not search.any_order
                )  # Coq's claim is for one order; the checker asks about torch's norms too
                alone[proof.reason] += 1
            words = rng.integers(automaton.num_letters, size=(20, 30))
            truth = np.array([automaton.run(word) for word in words])
            assert (states_in_training(cell, "cpu")(words) == truth).all()
    assert counts["True"] + counts["False"] + counts["no certificate"] == 100
    assert counts["True"] >= 70, counts
    assert counts["False"] + counts["no certificate"] >= 10, counts
    assert sum(alone.values()) <= 3
    assert set(alone) <= STRICTER, alone


def test_the_command_and_its_exit_status(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = str(tmp_path / "net")
    assert run(["compile", "C2", "--architecture", "rankone", "--out", net]) == 0
    capsys.readouterr()
    assert run(["verify", net, "--kernel", "--automaton", "C2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["certified"]
    assert answer["kernel"]["accepted"]
    assert answer["kernel"]["seconds"] > 0
    assert answer["kernel"]["by"] == "krohn-kernel"
    assert "zarith" in answer["kernel"]["trusts"]
    assert (answer["claim"]["lengths"], answer["claim"]["dtype"]) == ("every", "float32")
    assert run(["verify", net, "--kernel", "--automaton", "C3"]) == 1
    assert "not certified" in capsys.readouterr().out
    assert krohn.verify(load(net), automaton="C2", kernel=True).certified


def test_bad_questions_have_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    automaton = parse_spec("C2")
    for architecture in ("lstm", "diagonal"):
        save(RecurrentNetwork(WEIGHTS[architecture](automaton), automaton), tmp_path / architecture)
    net = str(tmp_path / "diagonal")
    for arguments in (["--out", str(tmp_path / "x.v")], ["--length", "3"], ["--dtype", "bfloat16"]):
        assert run(["verify", net, "--kernel", *arguments]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) <= 3
    with pytest.raises(Unsupported, match="lstm"):
        stored_network(tmp_path / "lstm")
    with pytest.raises(InvalidInput, match="got a callable"):
        krohn.verify(lambda words: words, automaton="C2", kernel=True)
    with pytest.raises(InvalidInput, match=r"\.json"):
        kernel_verdict(net, out=tmp_path / "F.v")
    (tmp_path / "mine.json").write_text('{"mine": 1}')
    with pytest.raises(InvalidInput, match="choose another"):
        kernel_verdict(net, out=tmp_path / "mine.json")
    assert run(["verify", net, "--coqc"]) == 2
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    capsys.readouterr()
    assert run(["verify", net, "--kernel"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "no coqc is installed; apt-get install coq libcoq-flocq" in line
    with pytest.raises(MissingDependency, match="apt-get install coq libcoq-flocq"):
        kernel_verdict(net, out=tmp_path / "later.json")
    assert json.loads((tmp_path / "later.json").read_text())["claim"]


def test_only_files_that_safetensors_writes_are_read(tmp_path: Path) -> None:
    automaton = parse_spec("C2")
    save(RecurrentNetwork(WEIGHTS["diagonal"](automaton), automaton), tmp_path)
    whole = (tmp_path / "model.safetensors").read_bytes()
    assert {t.name for t in tensors_of_bytes(whole)} == set(load(tmp_path).cell.tensors)
    for broken in (whole + b"\0", whole.replace(b'"F32"', b'"I32"'), whole[:5], b""):
        with pytest.raises((InvalidInput, Unsupported)):
            tensors_of_bytes(broken)
