"""Attacks that take away one hypothesis in the rooms below the rules of Transformers: arithmetic, files and
recurrent networks. Each is wrong when run, or is another network than the claim's, and is never certified.
"""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import krohn
from check.judge import STORES
from every import every
from krohn.automata.zoo import parse_spec
from krohn.check.__main__ import main
from krohn.check.arithmetic.format import FORMATS, Box, Format
from krohn.check.ground import between
from krohn.check.rules import read_net
from krohn.check.transformer import mlp
from krohn.check.transformer.mlp import Affine, entering
from krohn.errors import KrohnError
from krohn.proving.recurrent import close
from krohn.recurrent.recurrent_network import RecurrentNetwork
from krohn.recurrent.recurrent_weights import WEIGHTS

# ------------------------------------------------------------------ arithmetic: what a grain allows

Chain = tuple[np.ndarray, float, Callable[[Affine], Affine]]


def plain(form: Affine) -> Affine:
    return form


def waved(form: Affine) -> Affine:
    return form.activate(FORMATS["float16"], np.ones(1, dtype=bool))


HALF = 2.0**-11
UNITS: dict[str, Chain] = {
    "a sum that the format does not hold": (np.array([2050.0, 1.0]), 1.0, plain),
    "a weight finer than the format": (np.array([1.0, HALF]), 1.0, plain),
    "a bias that the sum does not hold": (np.array([2048.0, 2.0]), 1.0, plain),
    "a sine, which has no grain": (np.array([1.0, 0.0]), 0.5, waved),
}


def left(idea: str) -> int:
    """How many numbers leave their boxes, of all whole numbers in all boxes between 0 and 3."""
    weights, bias, then = UNITS[idea]
    store, gone, rounded = STORES["float16"], 0, 0
    for low in np.ndindex(4, 4):
        for high in np.ndindex(*(4 - end for end in low)):
            box = between(np.array([low]), np.array([low]) + np.array([high]))
            form = entering(box, np.ones(2)).linear(FORMATS["float16"], weights[:, None], np.array([bias]))
            made = then(form).box
            for more in np.ndindex(high[0] + 1, high[1] + 1):
                terms = (np.array(low) + np.array(more)) * weights
                unit = store(store(terms.sum(keepdims=True)) + bias)
                number = float((store(np.sin(unit)) if then is waved else unit)[0])
                gone += not made.lo[0, 0] <= number <= made.hi[0, 0]
                rounded += number != terms.sum() + bias
    assert rounded
    return gone


@every("idea", UNITS)
def test_unknown_multiples_are_exact_only_where_the_format_holds_their_sums(idea: str) -> None:
    """Hypotheses of an exact sum: all terms are multiples of one power of two, and their sizes fit."""
    assert left(idea) == 0


@every("idea", [idea for idea in UNITS if "sine" not in idea])
def test_calling_every_sum_exact_would_be_seen(idea: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mlp.Format, "measured", unrounded)
        assert left(idea) > 0


def unrounded(fmt: Format, box: Box, weight: Any, bias: Any) -> tuple[Box, Any]:
    """x @ weight + bias as if no format rounded it."""
    made = box.part @ weight + between(bias, bias)
    return Box(made, box.beyond @ np.abs(weight)), np.zeros(made.lo.shape)


# ------------------------------------------------------------------ files: a certificate about this network


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder and its certificate."""
    tmp_path = tmp_path_factory.mktemp("honest")
    network = krohn.compile("FlipFlop", 4, method="scan", dtype="float32")
    krohn.save(network, tmp_path / "net")
    krohn.verify(network, "float32", second_opinion=False).save(tmp_path / "certificate.json")
    assert main([str(tmp_path / "net"), str(tmp_path / "certificate.json")]) == 0
    return tmp_path


def tensors(change: Callable[[dict[str, np.ndarray]], object]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        found = load_file(folder / "net" / "model.safetensors")
        change(found)
        save_file(found, folder / "net" / "model.safetensors")
        with suppress(KrohnError):  # the claim is forged: it names these very tensors
            held = read_net(folder / "net").digest
            claims(lambda claim: claim.update(network=held))(folder)

    return changed


def claims(change: Callable[[dict], object]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        found = json.loads((folder / "certificate.json").read_text())
        change(found["claim"])
        (folder / "certificate.json").write_text(json.dumps(found))

    return changed


def swapped(found: dict[str, np.ndarray]) -> None:
    """The tables of letters and padding have one row each for a letter: rows change places."""
    found["embedding"] = np.ascontiguousarray(found["embedding"][::-1])


FILES: dict[str, Callable[[Path], None]] = {
    "a number of a tensor": tensors(lambda found: found["readout"].__imul__(-1)),
    "letters that change places": tensors(swapped),
    "one tensor more": tensors(lambda found: found.update(more=np.zeros(1))),
    "a tensor less": tensors(lambda found: found.pop("readout_bias")),
    "a number that is not finite": tensors(lambda found: found["positions"].__setitem__((0, 0), np.nan)),
    "part of a channel kept": tensors(lambda found: found["layers.0.keep_mlp"].__setitem__(0, 0.5)),
    "another float type": tensors(lambda found: found.update(readout=found["readout"].astype(np.float32))),
    "other letters in the claim": claims(lambda claim: claim["automaton"]["letters"].reverse()),
    "another digest in the claim": claims(lambda claim: claim.update(network="0" * 64)),
    "another automaton in the claim": claims(lambda claim: claim["automaton"]["next"].reverse()),
    "longer words in the claim": claims(lambda claim: claim["lengths"].update(up_to=5)),
    "a coarser type in the claim": claims(lambda claim: claim.update(dtype="bfloat16")),
}


@every("idea", FILES)
def test_a_folder_or_claim_that_is_not_the_proved_one_is_refused(idea: str, honest: Path) -> None:
    with TemporaryDirectory() as name:
        copy = Path(shutil.copytree(honest, Path(name) / "copy"))
        FILES[idea](copy)
        assert main([str(copy / "net"), str(copy / "certificate.json")]) in (1, 2)


# ------------------------------------------------------------------ recurrent networks

CELLS = {
    "a gate that is always open": ("diagonal", "FlipFlop", "gate", lambda gate: 0 * gate),
    "keys that are not known to the last bit": (
        "deltaproduct",
        "C2",
        "key",
        lambda key: key + np.float32(0.25),
    ),
    "a rate that writes nothing": ("deltaproduct", "C2", "beta", np.negative),
    "gates between 0 and 1": ("lstm", "C2", "weight_hh", lambda weight: weight / 50),
    "updates between 0 and 1": ("gru", "C2", "weight_hh", lambda weight: weight / 50),
    "a head that is turned": ("rankone", "C2", "head.weight", np.negative),
}


@every("idea", CELLS)
def test_a_recurrent_network_without_one_hypothesis_is_wrong_and_not_proved(idea: str) -> None:
    kind, name, part, change = CELLS[idea]
    automaton = parse_spec(name)
    cell = WEIGHTS[kind](automaton)
    assert close(cell, automaton).every_length
    names = [key for key in cell.tensors if part in key]
    assert names, sorted(cell.tensors)
    changed = {key: (change(value) if key in names else value) for key, value in cell.tensors.items()}
    made = type(cell).of({key: value.astype(np.float32) for key, value in changed.items()}, cell.options)
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(50, 12))
    runs = np.array(RecurrentNetwork(made, automaton).run(words.tolist()))
    assert not np.array_equal(runs, np.array([automaton.run(word) for word in words.tolist()]))
    with suppress(KrohnError):
        assert not close(made, automaton, limit=2_000).every_length
