"""The sizes of an export that ``krohn compile`` prints are those of the export."""

from pathlib import Path

import pytest
from safetensors.numpy import load_file

import krohn
from krohn.exporting.sizes import exported_sizes


@pytest.mark.parametrize("name", ["C2", "S4", "Grid4", "abab"])
def test_exported_sizes_are_those_of_the_folder(name: str, tmp_path: Path) -> None:
    network = krohn.compile(name, 6, unproved=True)
    sizes = exported_sizes(network)
    assert sizes is not None
    krohn.export(network, "hf", tmp_path / "hf", proof=False)
    tensors = load_file(tmp_path / "hf" / "model.safetensors")
    assert sizes["num_parameters"] == sum(tensor.size for tensor in tensors.values())
    assert sizes["dim"] == tensors["transformer.wpe.weight"].shape[1]
    assert sizes["blocks"] == sum(key.endswith("mlp.c_fc.weight") for key in tensors)
    assert krohn.report(network).to_json()["exported"] == sizes


def test_what_cannot_be_exported_has_no_such_sizes() -> None:
    network = krohn.compile("C3", 6, method="paper", activation="sin", unproved=True)
    assert exported_sizes(network) is None
    assert krohn.report(network).to_json()["exported"] is None
