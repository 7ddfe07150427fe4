"""From a finished looped run to a proved one: codes that its own streams fall into, with no training.

The codes are found without the automaton, for each of a few distances; the checker then says which of them
are a proof. The result is a run directory with the same weights and the codes, and its certificate.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from krohn.base.files import write_json
from krohn.base.portable import portable_bound
from krohn.check.ground import Verdict
from krohn.lab.models.architectures.looped import Looped
from krohn.lab.provable.coded import prove_codes
from krohn.lab.provable.codes import find_codes, with_codes
from krohn.lab.training.config import RunConfig
from krohn.lab.training.directory import CONFIG, RESULT, write_weights
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.sections import TEST_SEED
from krohn.lab.training.trained_network import TrainedNetwork
from krohn.proving.looped import CodeProof

CERTIFICATE = "certificate.json"
TRIED = ((0.7, True), (0.9, True), (0.7, False), (0.9, False), (0.5, True), (0.5, False))
"""Distances within which streams are one code, and whether letter by letter too; tried in turn."""
WORDS = 64
"""Words whose streams give the distances their unit."""
TEST_WORDS = 64


@dataclass(frozen=True, eq=False)
class CodedRun:
    """The directory of the network with codes and the outcome.

    Attributes:
        folder: where it was written.
        proof: the checker's answer; ``None`` if no codes closed.
        near: the distance that was taken.
        accuracy: on the letters of test words.
        seconds: of search and proof.
    """

    folder: Path
    proof: CodeProof | None
    near: float
    accuracy: float
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Of the checker."""
        return Verdict(False, 0.0, "no codes closed") if self.proof is None else self.proof.verdict

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "proved": self.verdict.certified,
            "folder": str(self.folder),
            "codes": 0 if self.proof is None else self.proof.codes,
            "letter_by_letter": self.proof is not None and self.proof.letter_by_letter,
            "near": self.near,
            "margin": portable_bound(self.verdict.margin),
            "failure": self.verdict.reason or None,
            "accuracy": self.accuracy,
            "seconds": self.seconds,
        }

    def text(self) -> str:
        """One line."""
        if self.proof is None or not self.verdict.certified:
            return f"not proved ({self.verdict.reason}): train for more steps, or try another --seed"
        return (
            f"proved for words of every length: {self.proof.summary}, logit margin "
            f"{self.verdict.margin:.3g}, in {self.seconds:.0f} s: {self.folder}"
        )


def make_coded(folder: Path, trained: TrainedNetwork, config: RunConfig) -> CodedRun:
    """Finds codes for one replicate; writes it with the first that are proved, else with the last found."""
    began, made = perf_counter(), CodedRun(folder, None, 0.0, 0.0, 0.0)
    words, _ = trained.task.held_out(config.evaluation.seed, WORDS)
    for near, coded in coded_networks(trained, words):
        own = replace(config, model=coded.network.config)  # type: ignore[attr-defined]
        write_coded(folder, coded, own, trained.replicate, {})
        proof = prove_codes(folder, replace(coded, replicate=0), coded.automaton)
        made = CodedRun(folder, proof, near, 0.0, perf_counter() - began)
        if proof.verdict.certified:
            break
    if made.proof is None:
        return made
    made = replace(made, accuracy=_accuracy(coded))
    write_coded(folder, coded, own, trained.replicate, made.to_json())
    if made.proof is not None and made.verdict.certified:
        write_json(folder / CERTIFICATE, made.proof.certificate.to_json())
    return made


def coded_networks(trained: TrainedNetwork, words: torch.Tensor) -> Iterator[tuple[float, TrainedNetwork]]:
    """One replicate with codes, for each distance at which some close; ``words`` give its unit."""
    network, letters = trained.network, trained.automaton.num_letters
    assert isinstance(network, Looped)
    for near, windows in TRIED:
        codes = find_codes(network, trained.weights, letters, words, near, windows=windows)
        if codes is not None:
            model = replace(network.config, codes=len(codes))
            coded = model.build(trained.task.vocabulary, trained.task.classes)
            single = {name: value[0] for name, value in with_codes(trained.weights, codes).items()}
            yield near, replace(trained, network=coded, weights=coded.layout.pad(single))


def _accuracy(trained: TrainedNetwork) -> float:
    words = HeldOut(trained.task, seed=TEST_SEED, count=TEST_WORDS)
    return float(words.judge(trained.network, trained.weights).token[0])


def write_coded(
    folder: Path, trained: TrainedNetwork, config: RunConfig, replicate: int, about: dict[str, Any]
) -> None:
    """The directory of a run with one replicate."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CERTIFICATE).unlink(missing_ok=True)
    write_json(folder / CONFIG, config.to_dict())
    write_weights(
        folder, {name: value.to(torch.float32).contiguous() for name, value in trained.weights.items()}
    )
    about = {name: value for name, value in about.items() if name != "folder"}
    entry = {
        "status": "proved" if about.get("proved") else "not proved",
        "accuracy": about.get("accuracy", 0.0),
    }
    result = {"run": config.run_id, "replicate": replicate, "replicates": [entry], "finished": True}
    write_json(folder / RESULT, {**result, "provable": about})
