"""Certificates of Transformers: a right one is accepted, and nothing that lacks a hypothesis."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save as save_tensors
from tests.coq.asking import TRANSFORMER_HEAD, definitions, output_of
from tests.coq.stored_transformers import answers_of, bits, changed, is_right_in_torch, stored

import krohn
from krohn.cli.app import run
from krohn.coq.certificate import transformer_certificate
from krohn.coq.counters import counting
from krohn.coq.counting_hints import Counting
from krohn.coq.cuts import last_cut
from krohn.coq.heads import NoCounters
from krohn.coq.stored import StoredTransformer, bytes_of_tensors, tensors_of_bytes
from krohn.errors import InvalidFile, KrohnError, Unsupported
from krohn.lab.bridge import TorchNetwork
from krohn.network.transformer import Head, Layer, Mlp, Transformer

NAN = 0x7FF8000000000000


def test_every_word_of_100_letters(coq: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net, proof = str(tmp_path / "net"), tmp_path / "proof.json"
    assert run(["compile", "C2", "--length", "100", "--out", net]) == 0
    capsys.readouterr()
    assert run(["verify", net, "--kernel", "--automaton", "C2", "--out", str(proof), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["kernel"]["accepted"]
    assert (answer["claim"]["lengths"], answer["claim"]["order"]) == ({"up_to": 100}, "any")
    written = json.loads(proof.read_text())
    assert (written["claim"][:2], written["sha256"]) == ([0, 100], answer["kernel"]["sha256"])
    assert run(["verify", net, "--kernel", "--automaton", "C3"]) == 1


def test_a_spoiled_file_is_rejected(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = stored(tmp_path, "C2", 4)
    for name, word, reason in (
        ("layers.0.heads.0.W_C", bits(8.5), "krohn-kernel does not accept"),
        ("layers.0.heads.0.W_V", bits(-16.0), "some word leads to a wrong state"),
        ("layers.0.heads.0.W_V", bits(1e30), "krohn-kernel does not accept"),
    ):
        tensors = changed(network, name, 0, word).tensors
        (tmp_path / "model.safetensors").write_bytes(bytes_of_tensors(tensors))
        assert run(["verify", str(tmp_path), "--kernel", "--automaton", "C2"]) == 1
        text = capsys.readouterr().out
        assert "not certified" in text
        assert reason in text, text


def test_counts_have_a_limit(tmp_path: Path) -> None:
    network = changed(stored(tmp_path, "C3", 4), "embedding", 6, bits(1e6))
    with pytest.raises(NoCounters, match="more than 20,000"):
        counting(network.weights, network.automaton)


def lacking(network: StoredTransformer) -> dict[str, tuple[StoredTransformer, Counting]]:
    """The network without one of the checker's hypotheses each; hints are those of the right network."""
    good = counting(network.weights, network.automaton)
    (layer,) = good.layers
    head = "layers.0.heads.0."

    def spoiled(name: str, place: int, word: int) -> tuple[StoredTransformer, Counting]:
        return changed(network, name, place, word), good

    def hints(**other: object) -> tuple[StoredTransformer, Counting]:
        return network, replace(good, layers=(replace(layer, **other),))  # type: ignore[arg-type]

    first, *others = network.tensors
    swapped = replace(network.automaton, table=network.automaton.table[::-1].copy())
    hint = layer.heads[0]
    kinds, counter = layer.groups
    doubled = replace(hint.channels[0], unit=2 * hint.channels[0].unit)
    return {
        "the share of a letter": spoiled("positions", 3 * 5 + 1, bits(0.5)),
        "keys that know no letter": spoiled(head + "W_K", 0, bits(1.0)),
        "queries that know no letter": spoiled(head + "W_Q", 0, bits(1.0)),
        "the unit of a step": spoiled(head + "W_V", 0, bits(17.0)),
        "what a count does": spoiled(head + "W_C", 0, bits(8.5)),
        "the MLP": spoiled("layers.0.mlp.2.b", 0, bits(0.0)),
        "a strict lead": spoiled("readout", 1, bits(0.5)),
        "a number that is none": spoiled("readout", 1, NAN),
        "no sine": spoiled(first.name, 0, 1),
        "a tensor of the right type": (
            replace(network, tensors=(replace(first, dtype="F64"), *others)),
            good,
        ),
        "a shape": (
            replace(
                network,
                tensors=tuple(
                    replace(t, shape=t.shape[::-1]) if t.name == "readout" else t for t in network.tensors
                ),
            ),
            good,
        ),
        "no tensor missing": (replace(network, tensors=tuple(others)), good),
        "the right automaton": (replace(network, automaton=swapped), good),
        "the unit in the hints": hints(heads=(replace(hint, channels=(doubled,)),)),
        "the steps": hints(steps=((1, 1),)),
        "a counter that is not set": hints(sets=((0, None),)),
        "the modulus": hints(groups=(kinds, replace(counter, modulus=2 * counter.modulus - 1))),
        "what a group counts": hints(groups=(kinds, replace(counter, weights=(0,)))),
        "the class after the layer": hints(
            following=tuple({r: 1 - k for r, k in row.items()} for row in layer.following)
        ),
        "classes that exist": hints(classes=1),
        "the owner of each unit": hints(owner=(0,) * len(layer.owner)),
        "an owner for each unit": hints(owner=layer.owner[:-1]),
        "owners that exist": hints(channels=(2, *layer.channels[1:])),
        "a cut inside of the MLP": hints(cut=len(network.weights.layers[0].mlp.weights)),
        "the state of a class": (network, replace(good, states=good.states[::-1])),
        "all that words reach": (network, replace(good, known=good.known[:1])),
    }


def test_without_one_hypothesis_nothing_is_accepted(program: Path, tmp_path: Path) -> None:
    network = stored(tmp_path, "C2", 6)
    cases = {"nothing": (network, counting(network.weights, network.automaton))} | lacking(network)
    answers = answers_of(cases.values(), longer=network.length + 1)
    names = [*cases, "as many positions as letters"]
    assert dict(zip(names, answers, strict=True)) == {name: name == "nothing" for name in names}


def test_heads_that_pick_places_and_two_counters_in_one_channel(program: Path, tmp_path: Path) -> None:
    """D8 counts at odd and at even places with two heads; Q8 reads two counters; abab counts to one."""
    places, pairs = stored(tmp_path / "D8", "D8", 9), stored(tmp_path / "Q8", "Q8", 4)
    short, ends = stored(tmp_path / "short", "D8", 5), stored(tmp_path / "abab", "abab", 9)
    ended = counting(ends.weights, ends.automaton)
    (mistakes,) = ended.layers
    kind, counter = mistakes.groups
    assert (counter.modulus, counter.stops) == (2, True)

    def stopped(**other: object) -> Counting:
        groups = (kind, replace(counter, **other))  # type: ignore[arg-type]
        return replace(ended, layers=(replace(mistakes, groups=groups),))

    picked, counted = (counting(n.weights, n.automaton) for n in (places, pairs))
    assert (picked.period, [g.weights for g in picked.layers[0].groups]) == (8, [(), (1, 1, 0), (0, 0, 1)])
    assert [g.modulus for g in counted.layers[0].groups] == [1, 2, 2]
    (layer,), (mixed, last) = picked.layers, counted.layers
    first, second, third = layer.heads
    kinds, odd, every = layer.groups

    def hints(**other: object) -> Counting:
        return replace(picked, layers=(replace(layer, **other),))  # type: ignore[arg-type]

    everywhere = replace(first, picks=(True,) * 8)
    near = changed(places, "layers.0.heads.0.W_K", 7, bits(8.0))
    cases = {
        "nothing of D8": (places, picked),
        "nothing of Q8": (pairs, counted),
        "nothing of abab": (ends, ended),
        "that a count stops": (ends, stopped(stops=False)),
        "that it rises until it stops": (ends, stopped(weights=tuple(-w for w in counter.weights))),
        "nothing of words too short for a period": (short, counting(short.weights, short.automaton)),
        "which places are picked": (places, hints(heads=(everywhere, second, third))),
        "keys that hide the other places": (near, picked),
        "the place of each class": (places, hints(places=layer.places[::-1])),
        "both heads in one group": (places, hints(groups=(kinds, replace(odd, weights=(1, 0, 0)), every))),
        "the period of the places": (places, replace(picked, period=4)),
        "a step only where it is seen": (places, hints(steps=(layer.steps[2], *layer.steps[1:]))),
        "one counter for each unit": (
            pairs,
            replace(counted, layers=(replace(mixed, owner=tuple(min(o, 1) for o in mixed.owner)), last)),
        ),
    }
    answers = answers_of(cases.values())
    assert dict(zip(cases, answers, strict=True)) == {name: name.startswith("nothing") for name in cases}


def test_a_block_without_heads_and_units_that_share_an_error(program: Path, tmp_path: Path) -> None:
    """D6 as compiled by default: a count, a block without heads that maps its residue, a count again."""
    network = stored(tmp_path, "D6", 6, unproved=False)
    assert [len(layer.heads) for layer in network.weights.layers] == [1, 0, 1]
    good = counting(network.weights, network.automaton)
    (first, between, last), block = good.layers, "layers.1."
    assert (first.cut, between.keys, last.cut, good.right) == (1, (0,) * 4, 1, True)

    def spoiled(name: str, place: int, word: int) -> tuple[StoredTransformer, Counting]:
        return changed(network, block + name, place, word), good

    def hints(**other: object) -> tuple[StoredTransformer, Counting]:
        return network, replace(good, layers=(first, replace(between, **other), last))  # type: ignore[arg-type]

    cases = {
        "nothing": (network, good),
        "where a step begins": spoiled("mlp.0.b", 0, bits(2.25)),
        "weights that cancel": spoiled("mlp.1.W", 0, bits(-2.5)),
        "what a block keeps": spoiled("keep_attention", 0, bits(0.0)),
        "what its MLP replaces": spoiled("keep_mlp", 0, bits(1.0)),
        "that each class is looked at by itself": hints(keys=()),
        "the class after the block": hints(following=between.following[::-1]),
        "no head in the hints": hints(heads=first.heads),
        "a block for each hint": (network, replace(good, layers=(first, last))),
    }
    answers = answers_of(cases.values())
    assert dict(zip(cases, answers, strict=True)) == {name: name == "nothing" for name in cases}


def test_an_mlp_that_cannot_be_cut_is_refused() -> None:
    """One unit sees two counters at once, and nothing comes after it."""
    both = Mlp((np.array([[1.0], [1.0]]), np.array([[1.0, 0.0]])), (np.array([-1.0]), np.zeros(2)))
    layer = Layer((), both, np.zeros(2), np.ones(2))
    effects, spans = list(np.eye(2)), [range(5), range(5)]
    with pytest.raises(Unsupported, match="this one cannot"):
        last_cut(layer, np.zeros((1, 2)), [effects[0], effects[0] + effects[1]], spans)
    still = replace(layer, keep_mlp=np.zeros(2))
    assert last_cut(still, np.zeros((1, 2)), effects, spans).moduli == (5, 5)
    with pytest.raises(Unsupported, match="few values of them differ"):
        last_cut(still, np.zeros((1, 2)), effects, [range(200), range(200)])


@pytest.mark.parametrize("name", ["C2", "FlipFlop"])
def test_what_coq_accepts_after_a_flipped_bit_is_right(program: Path, tmp_path: Path, name: str) -> None:
    network, rng = stored(tmp_path / "net", name, 3), np.random.default_rng(28)
    numbers = [(t, place) for t in network.tensors for place in np.flatnonzero(t.words).tolist()]
    cases, counts = [], Counter[str]()
    for _ in range(60):
        tensor, place = numbers[rng.integers(len(numbers))]
        flipped = changed(
            network, tensor.name, place, int(tensor.words[place]) ^ (1 << int(rng.integers(40, 64)))
        )
        try:
            cases.append((flipped, counting(flipped.weights, flipped.automaton)))
        except (NoCounters, KrohnError):
            counts["no certificate"] += 1
    for (flipped, _), answer in zip(cases, answers_of(cases), strict=True):
        counts[str(answer)] += 1
        assert not answer or is_right_in_torch(flipped)
    assert counts["True"] >= 10, counts
    assert counts["False"] + counts["no certificate"] >= 10, counts


def random_network(seed: int) -> Transformer:
    """Small whole numbers, two heads; scores are multiples of 128, so weights are whole shares or nothing."""
    rng = np.random.default_rng(seed)

    def whole(*shape: int) -> np.ndarray:
        return rng.integers(-2, 3, shape).astype(np.float64)

    def layer() -> Layer:
        heads = tuple(Head(128 * whole(3, 2), whole(3, 2), whole(3, 2), whole(2, 3)) for _ in range(2))
        keep = rng.integers(0, 2, (2, 3)).astype(np.float64)
        return Layer(heads, Mlp((whole(3, 4), whole(4, 3)), (whole(4), whole(3))), keep[0], keep[1])

    return Transformer(whole(2, 3), whole(1, 3), whole(4, 3), (layer(), layer()), whole(3, 2), whole(2))


RUN = """From Flocq Require Import BinarySingleNaN.
Definition scaled (x : f32) : Z := match x with
  | B754_zero _ => 0
  | B754_finite s m e _ => (if s then -1 else 1) *
      (if e <? -10 then Z.pos m / 2 ^ (-10 - e) else Z.pos m * 2 ^ (e + 10))
  | _ => 1 end%Z.
Definition saturated_exp (x : f32) : f32 := if smaller x zero then zero else one.
"""


def test_random_networks_give_the_logits_of_torch(coq: Path, tmp_path: Path) -> None:
    """Where nothing is rounded every order gives one result: what torch gives is what Coq gives."""
    frame = stored(tmp_path, "C2", 3)
    nothing = Counting(1, (), (), (), True)
    text, expected = [TRANSFORMER_HEAD, RUN], []
    for seed in range(12):
        weights = random_network(seed)
        tensors = tensors_of_bytes(save_tensors(weights.tensors()))
        network = replace(frame, weights=weights, tensors=tensors)
        word = [(seed >> i) & 1 for i in range(3)]
        both = []
        for dtype in (torch.float32, torch.float64):
            with torch.no_grad():
                both.append(TorchNetwork(weights, dtype)(torch.tensor([word]))[0].double().numpy() * 1024)
        text.append(definitions(transformer_certificate(network, nothing), str(seed)))
        letters = ";".join(map(str, word))
        text.append(
            f"Eval vm_compute in match given certificate{seed} words{seed} (fun c ts => match c with "
            "TransformerUpTo _ z _ => Some (transformer_of z ts) | _ => None end) with None => [] "
            f"| Some tr => let y := forward_result saturated_exp tr [{letters}]%nat in "
            "map (fun t => map scaled (y t)) [0;1;2]%nat end."
        )
        expected.append(both)
    matches = re.findall(r"= \[\[(.*?)\]\]", output_of("\n".join(text)), re.DOTALL)
    compared = 0
    for rows, (short, long) in zip(matches, expected, strict=True):
        for row, a, b in zip(rows.split("]"), short, long, strict=True):
            if (a == b).all() and (a == np.rint(a)).all():
                compared += 1
                assert [int(n) for n in re.findall(r"-?\d+", row)] == a.tolist()
    assert compared >= 15


def test_what_is_not_covered_is_refused_in_one_line(
    coq: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = str(tmp_path / "net")  # it compares two positions, so that words reach too many pairs
    assert run(["compile", "regex:a*b*", "--length", "64", "--out", net]) == 0
    capsys.readouterr()
    assert run(["verify", net, "--kernel"]) == 2
    message = capsys.readouterr().err
    assert "words reach more than 10,000 pairs" in message
    assert len(message.strip().splitlines()) <= 2
    with pytest.raises(InvalidFile, match="must be a directory with"):
        krohn.verify(tmp_path, kernel=True)
