"""Which runs have codes, and their proof; the rest is as for networks that krohn compiles."""

from pathlib import Path

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.rules import read_net
from krohn.lab.models.architectures.looped import Looped
from krohn.lab.training.trained_network import TrainedNetwork
from krohn.proving.looped import CodeProof, prove_net


def has_codes(trained: TrainedNetwork) -> bool:
    """Whether a proof by codes can be attempted."""
    network, task = trained.network, trained.task.config
    reads_letters = not task.scratchpad and not task.bos
    return isinstance(network, Looped) and network.config.codes > 0 and reads_letters


def prove_codes(directory: Path, trained: TrainedNetwork, automaton: Semiautomaton) -> CodeProof:
    """The proof of a run, from its files."""
    assert isinstance(trained.network, Looped)
    return prove_net(read_net(directory, trained.replicate), trained.network.config.codes, automaton)
