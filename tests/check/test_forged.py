"""Networks that are wrong in torch, with the certificate of one that is right: its claim is written anew for
them, and its witness is kept. So would whoever wants a wrong network to be believed.

Both programs say no, ``python -m krohn.check`` and ``krohn verify --recheck``; a harmless twin is certified.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import save_file

from check.test_deceivers import Construction, of
from check.test_unread import mixing_two_points, right_in_torch, with_head
from krohn.automata.files import automaton_payload
from krohn.check.__main__ import main
from krohn.check.certificate import Certificate
from krohn.check.claim import Claim
from krohn.check.rules import RULES, read_net
from krohn.cli.app import run
from krohn.network.compiled import save
from krohn.proving.attempts import arithmetic, attempt
from krohn.proving.verification import verify
from krohn.proving.witness.search import checkable_table
from proving.built_networks import compiled


def written(folder: Path, construction: Construction) -> None:
    """The files that decide answers, and no description."""
    network, automaton, length = construction
    folder.mkdir()
    save_file(network.tensors(), folder / "model.safetensors")
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.layers]
    about = {"krohn": 1, "length": length, "mask": "causal", "shape": shape, "target": "state"}
    (folder / "krohn.json").write_text(json.dumps({**about, "automaton": automaton_payload(automaton)}))


def forged(folder: Path, honest: Claim, witness: Any) -> Path:
    """A certificate whose claim fits the folder in everything, with a witness from elsewhere."""
    net = read_net(folder)
    claim = replace(honest, network=net.digest, configuration=net.configuration)
    claim = replace(claim, assumptions=RULES["transformer"].assumptions(net, claim))
    result = Certificate(claim, "transformer", RULES["transformer"].version, witness)
    (folder / "forged.json").write_text(json.dumps(result.to_json()))
    return folder / "forged.json"


def claim_about(folder: Path, construction: Construction, dtype: str) -> Claim:
    _, automaton, length = construction
    net, names = read_net(folder), (automaton.letter_names, automaton.state_names)
    table = checkable_table(automaton)
    return Claim(net.kind, net.digest, net.configuration, *names, table, "state", length, dtype)


@pytest.mark.parametrize("length", [27, 30])
def test_a_silent_head_with_values_of_65504_in_float16(length: int, tmp_path: Path) -> None:
    """W_C is 0; over 27 positions the average is stored as infinity, and 0 times that is no number."""
    network, automaton, _ = of(compiled("FlipFlop", length, "auto", "float16"))
    twins = {value: (with_head(network, value, 0.0), automaton, length) for value in (60000.0, 65504.0)}
    record, failure, _ = attempt(*twins[60000.0], arithmetic("float16"))
    assert failure is None
    for value, twin in twins.items():
        folder = tmp_path / str(value)
        written(folder, twin)
        file = forged(folder, claim_about(folder, twin, "float16"), record.witness)
        assert right_in_torch(twin, "float16") == (value < 65504)
        assert main([str(folder), str(file)]) == (0 if value < 65504 else 1)


def test_a_column_of_values_that_nothing_reads_in_float32_rechecked(tmp_path: Path) -> None:
    """The column of W_V is the difference of two points, 3·10^38 times; W_C does not read it."""
    honest = compiled("C3", 6, "scan", "float32")
    silent = tuple(tuple(replace(head, operations=()) for head in heads) for heads in honest.layout.heads)
    honest = replace(honest, program=None, layout=replace(honest.layout, heads=silent))
    report = verify(honest, "float32", second_opinion=False)
    assert report.certified
    assert report.claim is not None
    for scale, wrong in ((2.0**115, False), (3e38, True)):
        twin = mixing_two_points("C3", scale, "float32")
        folder = tmp_path / str(wrong)
        save(replace(honest, transformer=twin[0]), folder)
        file = forged(folder, report.claim, report.witness)
        assert right_in_torch(twin, "float32") is not wrong
        assert main([str(folder), str(file)]) == int(wrong)
        assert run(["verify", str(folder), "--recheck", str(file)]) == int(wrong)
        assert run(["verify", str(folder), "--dtype", "float32"]) == int(wrong)
