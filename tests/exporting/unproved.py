"""Exports whose proof is not what a test is about: test_export_proof.py tests it, and it takes longest."""

import pytest

from krohn.exporting import driver
from krohn.exporting.decoder import Decoder
from krohn.exporting.export_proof import Proof, unproved
from krohn.network.compiled import CompiledNetwork


def without_proof(patch: pytest.MonkeyPatch) -> None:
    """Leaves the proof out where it would be tried in earnest."""

    def prove(decoder: Decoder, network: CompiledNetwork) -> Proof:
        return unproved("left out in this test")

    patch.setattr(driver, "prove", prove)
