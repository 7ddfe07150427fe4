"""One network in, one report out."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.understanding.findings import Amount, Finding
from krohn.understanding.heads import classified
from krohn.understanding.report import Report
from krohn.understanding.study import Study
from krohn.understanding.subject import Subject, subject_of, subject_of_compiled

LONGEST = 40
"""Letters of the words that are drawn, unless asked for more."""

HEAD_WORDS = 64


def understand(
    network: CompiledNetwork | Subject | str | Path,
    *,
    length: int | None = None,
    seed: int = 0,
    effort: float = 1.0,
) -> Report:
    """Which variables of the automaton's algebra a network holds in which layer, and its heads' patterns.

    Args:
        network: a compiled network, or a directory of ``krohn train``, ``compile`` or ``export --to hf``.
        length: letters of the words that are drawn; by default as long as the network takes, up to 40.
        seed: of the words, the pairs and the controls.
        effort: how many words and pairs; 4 takes four times as many.
    """
    subject = subject_from(network)
    letters = min(subject.length, LONGEST) if length is None else length
    if subject.length < 4:
        raise InvalidInput(
            f"words must have at least 4 letters, and this network takes {subject.length}; "
            "make one for longer words"
        )
    if not 4 <= letters <= subject.length:
        raise InvalidInput(
            f"words must have between 4 and {subject.length} letters for this network; got {letters}"
        )
    study = Study(subject, seed=seed, amount=Amount.of(effort), length=letters)
    passed = subject.stages.run(study.judge.letters[:HEAD_WORDS], attention=True)
    heads = classified(subject.stages, passed, study.heard(HEAD_WORDS))
    result = all_findings(study)
    return Report(
        network=subject.title,
        kind=subject.kind,
        automaton=subject.automaton.name,
        length=letters,
        layers=len(subject.stages.blocks),
        dim=subject.stages.dim,
        seed=seed,
        effort=effort,
        accuracy=study.accuracy,
        found=tuple(zip(study.variables, map(tuple, result), strict=True)),
        whole=tuple(study.whole()),
        heads=tuple(heads),
        notes=tuple(study.notes),
    )


def all_findings(study: Study) -> list[list[Finding]]:
    """Every variable of the study, several at a time; each is run on one core, so that no bit depends on how
    many there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(study.findings, study.variables))
    finally:
        torch.set_num_threads(before)


def subject_from(network: CompiledNetwork | Subject | str | Path) -> Subject:
    """A network, wherever it is."""
    if isinstance(network, Subject):
        return network
    return subject_of_compiled(network) if isinstance(network, CompiledNetwork) else subject_of(Path(network))
