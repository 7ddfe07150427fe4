"""A compiled network fits together, explains itself, and survives the disk."""

import json
import os
from dataclasses import replace
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidFile, InvalidInput
from krohn.network.compiled import load, save
from krohn.network.layout import Channel, Layout
from krohn.network.program import interpret_registers
from network.hand_written_network import LENGTH, parity_network
from network.hand_written_programs import PARITY, parity_program


def test_the_hand_written_parity_network_is_right_on_every_word() -> None:
    network = parity_network()
    for length in range(1, LENGTH + 1):
        words = np.array(list(product(range(2), repeat=length)))
        expected = [PARITY.run(word) for word in words.tolist()]
        assert network.run(words).tolist() == expected
        assert network.run(words, np.float32).tolist() == expected


def test_explain_reads_the_registers_off_a_real_forward_pass() -> None:
    word = (1, 0, 1, 1)
    explanation = krohn.explain(parity_network(), word)
    meaning = interpret_registers(parity_program(), [word])
    assert np.allclose(explanation.moments[0]["bit"], meaning["bit"][0])
    assert np.allclose(explanation.moments[1]["sum"], meaning["sum"][0])
    assert np.allclose(explanation.moments[-1]["state"], meaning["state"][0])
    assert explanation.states == ("1", "1", "0", "1")
    (head,) = explanation.heads
    assert np.allclose(head.weights[4], [4 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 8])


@pytest.mark.parametrize("variant", ["mod_sum", "count"])
def test_a_network_without_a_program_keeps_the_meanings_of_its_registers(
    variant: str, tmp_path: Path
) -> None:
    network = krohn.compile("Grid4", 4, method="grid", variant=variant, unproved=True)
    network.save(tmp_path)
    assert network.meanings == load(tmp_path).meanings
    named = {channel.register for moment in network.layout.moments for channel in moment if channel.register}
    assert set(network.meanings) == named
    assert "the place on axis 0" in krohn.explain(network, "L R R").text()


def test_the_picture_is_well_formed_and_names_every_register_and_head() -> None:
    text = krohn.explain(parity_network(), (1, 0, 1))._repr_svg_()
    root = ElementTree.fromstring(text)
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"bit", "sum", "state", "Block 1, head 1 attends", "prefix sum of bit", "State"} <= set(words)
    assert words.count("bit") == 1  # a register is shown once, where it is first stored


def test_a_network_survives_the_disk(tmp_path: Path) -> None:
    network = parity_network()
    save(network, tmp_path / "net")
    again = load(tmp_path / "net")
    assert (again.program, again.layout, again.method) == (network.program, network.layout, network.method)
    assert again.automaton == network.automaton
    before, after = network.transformer.tensors(), again.transformer.tensors()
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(("name", "stored"), [("Parity", "Parity"), ("mine", ""), ("S4", ""), ("", "")])
def test_a_name_is_kept_if_it_is_that_of_the_automaton(name: str, stored: str, tmp_path: Path) -> None:
    network = parity_network()
    named = replace(network, automaton=replace(krohn.zoo("Parity"), name=name))
    save(named, tmp_path)
    assert load(tmp_path).automaton.name == stored


class DiskFull(OSError):
    """What a full disk raises here."""


def test_a_crash_while_replacing_never_pairs_new_matrices_with_an_old_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(parity_network(), tmp_path)

    def crash(*_: object) -> None:
        raise DiskFull

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(DiskFull):
        save(parity_network(), tmp_path)
    assert load(tmp_path).length == parity_network().length
    monkeypatch.undo()
    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(DiskFull):
        save(parity_network(), tmp_path)
    with pytest.raises(InvalidFile, match=r"krohn\.json must exist"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("model.safetensors", "must hold no model.safetensors but that of a compiled network"),
        ("krohn.json", "must hold no krohn.json but that of a compiled network"),
        ("weights.safetensors", "must not hold a training run"),
    ],
)
def test_what_others_wrote_is_not_overwritten(tmp_path: Path, name: str, complaint: str) -> None:
    (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(InvalidInput, match=complaint):
        save(parity_network(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"{}"


def test_an_export_is_not_overwritten_by_a_network(tmp_path: Path) -> None:
    krohn.export(krohn.compile(krohn.zoo("C2"), 4), "hf", tmp_path)
    before = (tmp_path / "model.safetensors").read_bytes()
    with pytest.raises(InvalidInput, match="must not hold an export"):
        save(parity_network(), tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == before


def test_names_that_a_file_cannot_hold_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    named = Semiautomaton(PARITY.table, state_names=("on the left", "right"))
    with pytest.raises(InvalidInput, match="without spaces; got 'on the left'"):
        save(replace(parity_network(), automaton=named), tmp_path / "net")
    assert not (tmp_path / "net").exists()


def damage_tensors(change):  # type: ignore[no-untyped-def]
    def damage(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return damage


def damage_meaning(change):  # type: ignore[no-untyped-def]
    def damage(folder: Path) -> None:
        payload = json.loads((folder / "krohn.json").read_text())
        change(payload)
        (folder / "krohn.json").write_text(json.dumps(payload))

    return damage


def put_nan(tensors: dict[str, np.ndarray]) -> None:
    tensors["embedding"] = np.full_like(tensors["embedding"], np.nan)


def change_shape(tensors: dict[str, np.ndarray]) -> None:
    tensors["layers.0.heads.0.W_Q"] = np.zeros((4, 1))


def change_kind(tensors: dict[str, np.ndarray]) -> None:
    tensors["readout"] = tensors["readout"].astype(np.float32)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_tensors(lambda t: t.pop("readout")), "missing readout"),
        (damage_tensors(lambda t: t.update(extra=np.zeros(1))), "unknown extra"),
        (damage_tensors(put_nan), "NaN or infinity"),
        (damage_tensors(change_shape), "matrices d×k"),
        (damage_tensors(change_kind), "readout must be float64; got float32"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"no"), "safetensors file"),
        (lambda folder: (folder / "model.safetensors").unlink(), "must exist"),
        (lambda folder: (folder / "krohn.json").write_text("{"), "it must be JSON"),
        (damage_meaning(lambda p: p.pop("digest")), "must have the keys"),
        (damage_meaning(lambda p: p.update(krohn=2)), "version 1"),
        (damage_meaning(lambda p: p.update(name=5)), "printable string"),
        (damage_meaning(lambda p: p.update(name="x" * 201)), "at most 200"),
        (damage_meaning(lambda p: p.update(name="a\nb")), "printable string"),
        (damage_meaning(lambda p: p.update(title="x")), "must have the keys"),
        (damage_meaning(lambda p: p.update(digest="0")), "digest"),
        (damage_meaning(lambda p: p.update(length=99)), "length must be 6"),
        (damage_meaning(lambda p: p.update(mask="none")), "mask must be one of causal"),
        (damage_meaning(lambda p: p.update(shape=[[1]])), "shape must be a list, each a list of 2"),
        (damage_meaning(lambda p: p.update(shape=[[2, 2]])), "missing layers.0.heads.1.W_Q"),
        (damage_meaning(lambda p: p["layout"]["moments"].pop()), "moments"),
        (
            damage_meaning(lambda p: p["program"]["layers"].append({"attention": [], "maps": []})),
            "disagree on layers or padding",
        ),
    ],
)
def test_a_damaged_directory_is_refused_in_one_line(damage, message: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    save(parity_network(), tmp_path)
    damage(tmp_path)
    with pytest.raises(InvalidFile, match=message) as caught:
        load(tmp_path)
    assert "\n" not in str(caught.value)


def test_parts_that_do_not_fit_are_refused_together() -> None:
    network = parity_network()
    other = Semiautomaton.from_letters([(0, 1, 2)])
    with pytest.raises(InvalidInput) as caught:
        replace(network, automaton=other, method="magic", layout=Layout(((Channel(),) * 3,) * 3, ((),)))
    reasons = ("method is 'magic'", "2 embeddings for 1 letters", "2 outputs for 3 states", "other heads")
    for reason in reasons:
        assert reason in str(caught.value)
