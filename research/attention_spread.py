"""How widely the heads of trained networks attend, layer by layer, for several networks.

Run: python research/attention_spread.py FOLDER …

A FOLDER is a run directory with weights, such as `device_queue.py` keeps. Networks of one automaton get the
same words, as long as those of training. For each layer, over words and over letters from the second on:

    letters    effective number of letters attended, the exponential of the entropy; median over heads
    uniform    how near the attention is to the plain average (1: equal); mean over heads
    last four  share of the attention on a letter and the three before it; mean over heads
    named      heads whose attention has a known pattern (`krohn understand`), of those that write something
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from krohn.automata.sampling import sample
from krohn.lab.interpret.attention import classify_heads, nearness
from krohn.lab.interpret.readings import Readings
from krohn.lab.interpret.subject import subject_of_run
from krohn.lab.training.directory import read_config

WORDS, SEED, NEAR = 16, 1 << 20, 4


@dataclass(frozen=True)
class Spread:
    """What the heads of one layer do, see above."""

    letters: float
    uniform: float
    last_four: float
    named: tuple[str, ...]
    heads: int


def effective_letters(attention: Tensor) -> float:
    """Mean over words and letters, from the second on, of the exponential of the entropy [word, t, s]."""
    entropy = -torch.special.xlogy(attention, attention).sum(dim=-1)
    return float(entropy[:, 1:].exp().mean())


def share_near(attention: Tensor, near: int = NEAR) -> float:
    """Mean share of the attention on a letter and the ``near`` − 1 before it, where there is more to see."""
    length = attention.shape[-1]
    band = torch.ones(length, length, dtype=attention.dtype).tril().triu(1 - near)
    return float((attention * band).sum(dim=-1)[:, near:].mean())


def spreads(folder: Path) -> list[Spread]:
    """One entry for each layer."""
    length = read_config(folder).task.length
    subject = subject_of_run(folder, length)
    letters = sample(subject.automaton, length=length, count=WORDS, seed=SEED).letters.astype(np.int64)
    passed = subject.stages.run(letters, attention=True)
    reports = classify_heads(subject.stages, passed, Readings(subject.automaton, letters))
    prompt, result = len(subject.stages.prompt), []
    for layer, weights in enumerate(passed.attention, start=1):
        own = weights[:, :, prompt:, prompt:].to(torch.float64)
        own = own / own.sum(dim=-1, keepdim=True).clamp_min(1e-12)
        heads = [own[:, head] for head in range(own.shape[1])]
        here = [report for report in reports if report.layer == layer]
        result.append(
            Spread(
                letters=float(np.median([effective_letters(head) for head in heads])),
                uniform=float(np.mean([nearness(head, None) for head in heads])),
                last_four=float(np.mean([share_near(head) for head in heads])),
                named=tuple(report.nearest for report in here if report.kind != "none"),
                heads=len(here),
            )
        )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    print(
        "| network | layer | letters | uniform | last four | named |\n| --- | --- | --- | --- | --- | --- |"
    )
    for folder in parser.parse_args().folders:
        for layer, result in enumerate(spreads(folder), start=1):
            kinds = ", ".join(f"{result.named.count(name)} {name}" for name in sorted(set(result.named)))
            named = f"{len(result.named)} of {result.heads}" + (f": {kinds}" if kinds else "")
            shares = f"{result.uniform:.2f} | {100 * result.last_four:.0f}%"
            print(f"| {folder.name} | {layer} | {result.letters:.1f} | {shares} | {named} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
