"""Heads that look back: A5 is accepted, and nothing that lacks a hypothesis or has a harmful bit."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.coq.stored_transformers import answers_of, bits, changed, is_right_in_torch, stored

from krohn.coq.scanning import Scanning
from krohn.coq.stored import StoredTransformer
from krohn.proving.kernel import kernel_verdict, scan_hints

Case = tuple[StoredTransformer, Scanning]


def lacking(network: StoredTransformer, good: Scanning) -> dict[str, Case]:
    """The network without one of the checker's hypotheses each; hints are those of the right network."""
    head = "layers.1.heads.0."

    def spoiled(name: str, place: int, word: int) -> Case:
        return changed(network, name, place, word), good

    def hints(**other: object) -> Case:
        layer = replace(good.layers[1], **other)  # type: ignore[arg-type]
        return network, replace(good, layers=(good.layers[0], layer))

    first = good.layers[0]
    swapped = replace(network.automaton, table=network.automaton.table[::-1].copy())
    rows = (good.states[1], good.states[0], *good.states[2:])
    letters = (good.letters[1], good.letters[0], *good.letters[2:])
    return {
        "queries that know no letter": spoiled(head + "W_Q", 0, bits(30.0)),
        "keys that know no letter": spoiled(head + "W_K", 0, bits(30.0)),
        "the position that is looked at": spoiled(head + "W_K", 5 * 5, bits(0.0)),
        "the value of a register": spoiled(head + "W_V", 0, bits(1.5)),
        "its copy": spoiled(head + "W_C", 5, bits(1.5)),
        "the letters": spoiled("embedding", 0, bits(1.0)),
        "the padding": spoiled("padding", 1, bits(2.0)),
        "the MLP": spoiled("layers.1.mlp.0.b", 2, bits(0.5)),
        "its second matrix": spoiled("layers.1.mlp.1.W", 0, bits(-4.5)),
        "a strict lead": spoiled("readout", 1, bits(6.0)),
        "a number that is none": spoiled("readout", 1, 0x7FF8000000000000),
        "the right automaton": (replace(network, automaton=swapped), good),
        "the channels of registers": hints(current=first.current[::-1]),
        "the values that are copied": hints(value=first.value[::-1]),
        "the channels of copies": hints(back=first.back[::-1]),
        "the channels after the layer": hints(following=first.following[::-1]),
        "the registers of states": (network, replace(good, states=rows)),
        "the registers of letters": (network, replace(good, letters=letters)),
        "windows as long as words": (network, replace(good, layers=good.layers[:1])),
    }


def test_without_one_hypothesis_nothing_is_accepted(program: Path, tmp_path: Path) -> None:
    network = stored(tmp_path, "A5", 4)
    good = scan_hints(network)
    assert (good.registers, len(good.states)) == (5, 60)
    cases: dict[str, Case] = {"nothing": (network, good)} | lacking(network, good)
    answers = answers_of(cases.values(), longer=network.length + 1)
    names = [*cases, "as many positions as letters"]
    assert dict(zip(names, answers, strict=True)) == {name: name == "nothing" for name in names}


def test_what_is_accepted_after_a_flipped_bit_is_right(program: Path, tmp_path: Path) -> None:
    network, rng = stored(tmp_path, "A5", 4), np.random.default_rng(44)
    good, flipped = scan_hints(network), []
    numbers = [t for t in network.tensors if t.dtype == "F64"]
    while len(flipped) < 12:
        tensor = numbers[rng.integers(len(numbers))]
        place, bit = int(rng.integers(tensor.words.size)), int(rng.integers(44, 64))
        if tensor.words[place]:
            word = int(tensor.words[place]) ^ (1 << bit)
            flipped.append((changed(network, tensor.name, place, word), good))
    answers = answers_of(flipped)
    for (other, _), accepted in zip(flipped, answers, strict=True):
        if accepted:
            assert is_right_in_torch(other)
    assert 1 <= sum(answers) <= 11


def test_a5_is_certified_by_the_whole_path(coq: Path, tmp_path: Path) -> None:
    stored(tmp_path, "A5", 4)
    verdict = kernel_verdict(tmp_path, out=tmp_path / "proof.json")
    assert verdict.certified, verdict.reason
    kernel = verdict.more["kernel"]
    assert (kernel["schedule"], kernel["pairs"], verdict.length) == ("whole words", 60, 4)
    assert json.loads((tmp_path / "proof.json").read_text())["hints"][0] == 1
