"""Exports without the proof, for tests about something else; test_export_proof.py tests the proof."""

import pytest

from krohn.check.ground import Verdict
from krohn.exporting import network_files
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.decoder import Decoder
from krohn.proving.export import unproved


def without_proof(patch: pytest.MonkeyPatch) -> None:
    """Skips the proof where it would really run."""

    def prove(decoder: Decoder, network: CompiledNetwork) -> Verdict:
        return unproved("left out in this test")

    patch.setattr(network_files, "prove", prove)
