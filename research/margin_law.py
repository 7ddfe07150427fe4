"""The margin law of write-once cells: measured in trained networks, used to predict their first wrong letter.

    python research/margin_law.py run [--seeds 4] [--layers NAME …]
    python research/margin_law.py write

A write-once cell keeps the first value written and refuses the others until it is cleared. Small networks are
trained on words of T = 20 letters. Then two words that begin with 1 and with 2 and go on alike, with refused
writes only, in a pattern that repeats, are run side by side. From their first T letters alone two things are
measured: r, by which the distance of the two memories shrinks with every letter, and where each memory would
end if all of its way shrank like that (Aitken's extrapolation). The law says that a memory is then

    end + (memory at T − end) · r^(t − T)        after t letters,

which the network's own read-out turns into answers, and so into a first wrong letter. In one layer of
DeltaProduct the memory is an affine function of the memory before, so the law can only fail by having one r
for all directions; for an LSTM nothing says that it should hold. Letters T + 1 to 4,096 are then run.

``run`` appends to results/cards/margins.jsonl; a network that is there is not trained again. ``write`` puts
the table into docs/proofs.md.
"""

import argparse
import json
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from krohn.automata.simulation import simulate
from krohn.automata.zoo import parse_spec
from krohn.study.layers import Alone, find_layer

ROOT = Path(__file__).parents[1]
RECORDS, PAGE = ROOT / "results" / "cards" / "margins.jsonl", ROOT / "docs" / "proofs.md"
T, STEPS, WORDS, WIDTH, LONGEST = 20, 600, 64, 16, 4096
SHARES = np.array([9, 9, 1, 1]) / 20
"""Of the letters 1, 2, clear, idle in training."""
PATTERNS = {"1": (0,), "2": (1,), "12": (0, 1), "1122": (0, 0, 1, 1)}
"""Refused writes, over and over, after the first letter."""
STILL = 1 - 1e-5
"""A memory whose distance shrinks less with every letter is said to stay; 4,096 letters cost it 4%."""


class Delta(nn.Module):
    """DeltaProduct with one mixer after the other; the memory is what the last letters do not say."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        name = f"deltaproduct,householders=2,layers={layers}"
        self.alone: Alone = find_layer(name, WIDTH).factory(4, 3)

    def forward(self, words: Tensor) -> Tensor:
        return self.alone(words)

    def read(self, words: Tensor, carry: Any) -> tuple[Tensor, Any]:
        weights = {name: self.alone.get_parameter(own)[None] for name, own in self.alone.names.items()}
        network = self.alone.network
        logits, after = network.read(weights, words[None], carry or network.carried(weights, len(words)))
        return logits[0], after

    def memory(self, carry: Any) -> list[Tensor]:
        return [block.memory[0] for block in carry]

    def carry(self, like: Any, memory: list[Tensor], rows: Tensor) -> Any:
        """``like``'s last letters, for these rows, with other memories."""
        parts = zip(like, memory, strict=True)
        return [type(c)(m[None], c.before_mixer[:, rows], c.before_mlp[:, rows]) for c, m in parts]


class Lstm(nn.Module):
    """torch's own; the memory is h and c."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.cell = nn.Embedding(4, WIDTH), nn.LSTM(WIDTH, 2 * WIDTH, batch_first=True)
        self.head = nn.Linear(2 * WIDTH, 3)

    def forward(self, words: Tensor) -> Tensor:
        return self.read(words, None)[0]

    def read(self, words: Tensor, carry: Any) -> tuple[Tensor, Any]:
        hidden, after = self.cell(self.embedding(words), carry)
        return self.head(hidden), after

    def memory(self, carry: Any) -> list[Tensor]:
        return [part[0] for part in carry]

    def carry(self, like: Any, memory: list[Tensor], rows: Tensor) -> Any:
        return tuple(part[None].contiguous() for part in memory)


LAYERS = {
    "DeltaProduct, 2 steps, 1 layer": lambda: Delta(1),
    "LSTM": Lstm,
    "DeltaProduct, 2 steps, 2 layers": lambda: Delta(2),
}


def batch(count: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    letters = rng.choice(4, size=(count, T), p=SHARES)
    states = np.array(simulate(parse_spec("WriteOnce2"), letters), dtype=np.int64)
    return torch.from_numpy(letters), torch.from_numpy(states)


def train(layer: str, seed: int) -> tuple[Any, float]:
    """The network, and the share of letters right on 1,024 new words of T letters."""
    torch.manual_seed(seed)
    module, rng = LAYERS[layer](), np.random.default_rng([seed, 7])
    optimizer = torch.optim.AdamW(module.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS)
    for _ in range(STEPS):
        words, states = batch(WORDS, rng)
        loss = functional.cross_entropy(module(words).flatten(0, 1), states.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.inference_mode():
        words, states = batch(1024, np.random.default_rng([seed, 8]))
        return module, float((module(words).argmax(-1) == states).double().mean())


@torch.inference_mode()
def measure(module: Any, pattern: tuple[int, ...]) -> dict[str, Any]:
    """r for one letter, and the predicted and the real first wrong letter; ``None`` if there is none."""
    period = len(pattern)
    tail = np.tile(pattern, LONGEST // period + 1)[: LONGEST - 1]
    words = torch.from_numpy(np.stack([np.append(first, tail) for first in (0, 1)]))
    periods = (T - 1) // period
    last = 1 + periods * period  # letters read, at most T
    half = periods // 2
    seen = {}
    for count in (last, last - period, last - half * period):
        seen[count] = module.read(words[:, :count], None)[1]
    before, near, now = (module.memory(seen[n]) for n in (last - half * period, last - period, last))
    shrink = (apart(now) / apart(before)) ** (1 / half)
    letters = torch.arange((LONGEST - last) // period)  # periods read after ``last``
    rows = torch.arange(2).repeat_interleave(len(letters))
    ahead = [law(m[rows], n[rows], shrink, letters.repeat(2)) for m, n in zip(now, near, strict=True)]
    logits, _ = module.read(
        torch.tensor(pattern).expand(len(rows), period), module.carry(seen[last], ahead, rows)
    )
    inside = module.read(words[:, :last], None)[0].argmax(-1)
    told = torch.cat([inside, logits.argmax(-1).view(2, -1)], 1)
    real, carry = [], None
    for part in words.split(256, 1):
        said, carry = module.read(part, carry)
        real.append(said.argmax(-1))
    return {
        "r": shrink ** (1 / period),
        "predicted": first_wrong(told),
        "real": first_wrong(torch.cat(real, 1)),
    }


def apart(memory: list[Tensor]) -> float:
    """How far the two words' memories are apart."""
    return float(sum(((part[0] - part[1]) ** 2).sum() for part in memory)) ** 0.5


def law(now: Tensor, near: Tensor, shrink: float, periods: Tensor) -> Tensor:
    """The memory so many periods later."""
    if shrink >= STILL:
        return now
    end = now + (now - near) * shrink / (1 - shrink)
    return end + (now - end) * (shrink**periods).view(-1, *[1] * (now.ndim - 1)).to(now.dtype)


def first_wrong(answers: Tensor) -> int | None:
    """The first letter, from 1, after which one of the two words has another answer than its first value."""
    wrong = (answers != torch.tensor([[1], [2]])).any(0).nonzero()
    return int(wrong[0]) + 1 if len(wrong) else None


def run(seeds: range, layers: list[str]) -> None:
    done = {(row["layer"], row["seed"]) for row in records()}
    for seed in seeds:
        for layer in layers:
            if (layer, seed) in done:
                continue
            begun = process_time()
            module, right = train(layer, seed)
            found = {name: measure(module, pattern) for name, pattern in PATTERNS.items()}
            row = {"layer": layer, "seed": seed, "right": right, "patterns": found, "T": T, "steps": STEPS}
            row |= {"longest": LONGEST, "seconds": round(process_time() - begun, 1)}
            with RECORDS.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def table() -> str:
    """A row for each network and pattern."""
    head = ["network", "seed", "letters right at T", *(f"…{name}…: r; predicted, real" for name in PATTERNS)]
    lines = [head, ["---"] * len(head)]
    for row in sorted(records(), key=lambda row: (list(LAYERS).index(row["layer"]), row["seed"])):
        cells = [row["layer"], str(row["seed"]), f"{row['right']:.2%}"]
        for one in row["patterns"].values():
            ends = [f"{one[key]:,}" if one[key] else "none" for key in ("predicted", "real")]
            if one["real"] and one["real"] <= T:
                ends[0] = "seen"
            cells.append(f"{one['r']:.4f}; {', '.join(ends)}")
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write() -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, mark, rest = text.partition("<!-- margins -->\n")
    assert mark
    PAGE.write_text(head + mark + table() + "\n" + rest[rest.index("<!-- end -->") :], encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "write"])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--layers", nargs="*", default=list(LAYERS)[:2])
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.what == "run":
        run(range(given.first, given.first + given.seeds), given.layers)
    else:
        write()
