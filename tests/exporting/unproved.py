"""Exports without the proof, for tests about something else; test_export_proof.py tests the proof."""

import pytest

from krohn.exporting import driver
from krohn.exporting.decoder import Decoder
from krohn.exporting.export_proof import Proof, unproved
from krohn.network.compiled import CompiledNetwork


def without_proof(patch: pytest.MonkeyPatch) -> None:
    """Skips the proof where it would really run."""

    def prove(decoder: Decoder, network: CompiledNetwork) -> Proof:
        return unproved("left out in this test")

    patch.setattr(driver, "prove", prove)
