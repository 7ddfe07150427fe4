"""The eight constructions that earlier versions certified although torch or transformers answer them wrongly.

Each is a folder here, as a user would have it, beside its control with harmless sizes. ``krohn verify`` says
no to it and yes to the control, and so does ``python -m krohn.check`` to a certificate with the control's
witness and a claim that is written anew for it. What each answers in torch is in the tests it is taken from.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import krohn
from check.test_deceivers import Construction, of
from check.test_norm_deceiver import LETTERS, PROMPT, STATES, decoder
from check.test_unread import last_letter, mixing_two_points, with_head, with_late_unit
from krohn.automata.files import automaton_payload
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.__main__ import main
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.recurrent.cells import GruCell
from krohn.check.rules import RULES, read_net
from krohn.cli.app import run
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.recurrent.recurrent_network import RecurrentNetwork
from krohn.recurrent.recurrent_weights import gru
from proving.built_networks import compiled
from recurrent.test_deceivers import held_lstm, last_bit_of_tanh, line, with_units_in_front

Writers = tuple[Callable[[Path], object], Callable[[Path], object]]
"""The construction, and its control."""


def transformer(build: Callable[[float], Construction], wrong: float, harmless: float) -> Writers:
    def write(size: float, folder: Path) -> None:
        network, automaton, _ = build(size)
        channels = tuple(Channel() for _ in range(network.dim))
        heads = tuple(tuple(HeadMeaning("any") for _ in layer.heads) for layer in network.layers)
        layout = Layout((channels,) * (2 * network.depth + 1), heads)
        CompiledNetwork(network, automaton, "scan", None, layout).save(folder)

    return lambda folder: write(wrong, folder), lambda folder: write(harmless, folder)


def unread_unit(size: float) -> Construction:
    network, automaton, length = of(compiled("FlipFlop", 28, "scan", "float32"))
    return with_late_unit(network, 1, size, 25), automaton, length


def silent_head(size: float) -> Construction:
    network, automaton, length = of(compiled("FlipFlop", 30, "auto", "float16"))
    return with_head(network, size, 0.0), automaton, length


def sum_head(size: float) -> Construction:
    network, automaton, length = last_letter(30)
    return with_head(network, size, 2.0**-16), automaton, length


def norm(threshold: float, folder: Path) -> None:
    """A GPT-2 as ``krohn export`` would write it."""
    folder.mkdir()
    save_file(decoder(threshold), folder / "model.safetensors", {"format": "pt"})
    sizes = {"n_layer": 1, "n_head": 1, "n_embd": 8, "n_inner": 2, "n_positions": 7, "vocab_size": 5}
    config = {"model_type": "gpt2", **sizes, "activation_function": "relu", "layer_norm_epsilon": 1e-5}
    config |= {"tie_word_embeddings": False, "dtype": "float32"}
    config |= dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0)
    automaton = automaton_payload(Semiautomaton.from_letters([(0, 0), (1, 1)]))
    tokens = {"prompt": PROMPT, "letters": LETTERS, "states": STATES}
    for name, payload in (
        ("config", config),
        ("automaton", automaton),
        ("export", {"target": "state", "length": 6, "tokens": tokens}),
    ):
        (folder / f"{name}.json").write_text(json.dumps(payload))


def configured(folder: Path, **fields: Any) -> None:
    krohn.export(krohn.compile("C2", length=4), "hf", folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **fields}))


def readout(folder: Path, *, large: bool) -> None:
    """2^127 + 2^127 − 2^127."""
    automaton = krohn.zoo("C2")
    tensors = with_units_in_front(gru(automaton), 3)
    if large:
        for name in ("head.weight", "head.bias"):
            tensors[name] *= np.float32(2.0**110)
        tensors["head.weight"][:3] = np.float32([2.0**127, 2.0**127, -(2.0**127)])[:, None]
    RecurrentNetwork(GruCell(tensors), automaton).save(folder)


def last_bit(folder: Path, share: float) -> None:
    candidate, rival = last_bit_of_tanh()
    cell = held_lstm(candidate, rival)
    bias = np.array([rival * share, 0.0], np.float32)
    network = replace(cell, tensors={**cell.tensors, "head.bias": bias})
    RecurrentNetwork(network, line()).save(folder)


CONSTRUCTIONS: dict[str, tuple[Writers, str]] = {
    "1 an unread unit overflows late": (transformer(unread_unit, 2.0**100, 2.0**40), "float32"),
    "2 a silent head with values of 65504": (transformer(silent_head, 65504.0, 60000.0), "float16"),
    "3 a Sum head with values of 65504": (transformer(sum_head, 65504.0, 60000.0), "float16"),
    "4 an unread column mixes two points": (
        transformer(lambda size: mixing_two_points("C3", size, "float32"), 3e38, 2.0**115),
        "float32",
    ),
    "5 a channel of 0 after LayerNorm": ((lambda f: norm(5.2, f), lambda f: norm(6.5, f)), "float32"),
    "6 layer_norm_epsilon": ((lambda f: configured(f, layer_norm_epsilon=1e15), configured), "float32"),
    "6 scale_attn_weights": ((lambda f: configured(f, scale_attn_weights=False), configured), "float32"),
    "7 a read-out of 2^127": (
        (lambda f: readout(f, large=True), lambda f: readout(f, large=False)),
        "float32",
    ),
    "8 the last bit of tanh": ((lambda f: last_bit(f, 1.0), lambda f: last_bit(f, 0.99)), "float32"),
}


def about(folder: Path, honest: Certificate) -> Certificate:
    """The certificate with a claim that fits this folder in everything."""
    net = read_net(folder)
    claim = replace(honest.claim, network=net.digest, configuration=net.configuration)
    return replace(
        honest, claim=replace(claim, assumptions=RULES[honest.rules].assumptions(net, honest.claim))
    )


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_a_construction_is_refused_and_its_control_is_certified(name: str, tmp_path: Path) -> None:
    (wrong, harmless), dtype = CONSTRUCTIONS[name]
    wrong(tmp_path / "wrong")
    harmless(tmp_path / "control")
    for folder, status in ((tmp_path / "control", 0), (tmp_path / "wrong", 1)):
        file = folder.with_suffix(".json")
        assert run(["verify", str(folder), "--dtype", dtype, "--out", str(file)]) == status
        assert file.exists() == (status == 0)
    honest = read_certificate(tmp_path / "control.json")
    for folder, status in ((tmp_path / "control", 0), (tmp_path / "wrong", 1)):
        file = tmp_path / "forged.json"
        file.write_text(json.dumps(about(folder, honest).to_json()))
        assert main([str(folder), str(file)]) == status
