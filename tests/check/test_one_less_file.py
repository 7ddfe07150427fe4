"""One hypothesis on a folder or its claim is taken away: it is another network, and never certified."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import krohn
from every import every
from krohn.check.__main__ import main
from krohn.check.rules import read_net
from krohn.errors import KrohnError


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
