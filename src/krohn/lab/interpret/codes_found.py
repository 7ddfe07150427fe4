"""Whether codes are found in the replicates of a looped network, and prove it for words of every length."""

from dataclasses import asdict, dataclass
from typing import Any

import torch

from krohn.check.files.folders import trained_net
from krohn.lab.models.architectures.looped import Looped
from krohn.lab.provable.coded_run import coded_networks
from krohn.lab.training.trained_network import TrainedNetwork
from krohn.proving.looped import prove_net

LEAST = 0.8
"""Share of the letters that must be right for codes to be looked for: else a search only fills memory."""


@dataclass(frozen=True, kw_only=True)
class CodesFound:
    """For each replicate how many codes, and whether the checker accepts them."""

    name: str = "codes"
    seed: int = 2**41

    def measure(self, trained: TrainedNetwork) -> list[dict[str, Any]]:
        """The first codes that are proved, or the last found; none where there is nothing to look for."""
        return [self._of(trained, row) for row in range(trained.replicates)]

    def _of(self, trained: TrainedNetwork, row: int) -> dict[str, Any]:
        network = trained.network
        nothing: dict[str, Any] = {"codes": 0, "proved": False, "letter_by_letter": False}
        single = {name: value[row : row + 1].float() for name, value in trained.weights.items()}
        assert isinstance(network, Looped)
        if network.config.blocks > 1 or not network.config.norm:
            return nothing
        one = TrainedNetwork(network, single, trained.task)
        words, batch = trained.task.held_out(self.seed, 64)
        with torch.no_grad():
            right = network.logits(single, words).argmax(-1) == batch.targets
        if float(right.double().mean()) < LEAST:
            return nothing
        result = nothing
        for near, coded in coded_networks(one, words):
            own = coded.network
            assert isinstance(own, Looped)
            tensors = {name: value[0].cpu().numpy() for name, value in coded.weights.items()}
            model, task = {"kind": own.config.kind, **asdict(own.config)}, asdict(trained.task.config)
            proof = prove_net(trained_net(tensors, model, task, 0), own.config.codes, coded.automaton)
            result = {
                "codes": proof.codes,
                "proved": proof.verdict.certified,
                "letter_by_letter": proof.letter_by_letter,
                "near": near,
            }
            if proof.verdict.certified:
                break
        return result
