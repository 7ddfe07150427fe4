"""The margin law of write-once cells: measured in trained networks, used to predict their first wrong letter.

    python research/margin_law.py run [--seeds 5] [--layers NAME …]
    python research/margin_law.py write

A write-once cell keeps the first value written and refuses the others until it is cleared. Small networks are
trained on words of T = 20 letters. Then two words that begin with 1 and with 2 and go on alike, with refused
writes only, in a pattern that repeats, are run side by side. From the memories after their first T letters
alone three laws say what the memories will be later; the network's own read-out turns these into answers, and
so into a first wrong letter:

- one rate: the distance of the two memories shrinks by r with every letter, and so does the way of each to
  its end (Aitken's extrapolation);
- the period's map: the change of a memory in one period is a linear function of the change in the period
  before, fitted by least squares;
- the letters' maps: the memory after a letter is an affine function of the memory before, for each letter
  another one, fitted by least squares.

In one layer of DeltaProduct the third is true, and can only fail where T letters do not show all directions.
In an LSTM no letter acts by an affine map; near a cycle the map of a period is nearly one. Letters T + 1 to
4,096 are then run.

``run`` appends to results/cards/margins.jsonl; a network that is there is not trained again. ``write`` puts
the table into results/margin-law.md.
"""

import argparse
import json
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from krohn.automata.zoo import parse_spec
from krohn.functions import simulate
from krohn.lab.cards.layers import Alone, find_layer

ROOT = Path(__file__).parents[1]
RECORDS, PAGE = ROOT / "results" / "cards" / "margins.jsonl", ROOT / "results" / "margin-law.md"
T, STEPS, WORDS, WIDTH, LONGEST = 20, 600, 64, 16, 4096
SHARES = np.array([9, 9, 1, 1]) / 20
"""Of the letters 1, 2, clear, idle in training."""
LAWS = ("one_rate", "period", "letters")
PATTERNS = {"1": (0,), "2": (1,), "12": (0, 1), "1122": (0, 0, 1, 1)}
"""Refused writes, over and over, after the first letter."""
STILL = 1 - 1e-5
"""A memory whose distance shrinks less with every letter is said to stay; 4,096 letters cost it 4%."""

DIRECTIONS, HUGE = 1e-4, 1e6
"""Directions smaller than this share of the greatest are rounding; numbers that are cut off."""


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
        """A state like ``like`` for these rows, with other memories."""
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
    """r for one letter, the first wrong letter by each law, and the real one; ``None`` if there is none."""
    period = len(pattern)
    tail = np.tile(pattern, LONGEST // period + 1)[: LONGEST - 1]
    words = torch.from_numpy(np.stack([np.append(first, tail) for first in (0, 1)]))
    carry, answers, memories = None, [], []
    for letter in words[:, :T].split(1, 1):
        logits, carry = module.read(letter, carry)
        answers.append(logits.argmax(-1))
        memories.append(torch.cat([part.flatten(1) for part in module.memory(carry)], 1).double())
    seen = torch.stack(memories)  # [T, 2, numbers]
    last = (T - 1) // period * period  # where a period ends, counted from 0
    ends = seen[: last + 1 : period]
    half = (len(ends) - 1) // 2
    shrink = float(apart(ends[-1]) / apart(ends[-1 - half])) ** (1 / half)
    count = (LONGEST - T) // period
    by_period = {"one_rate": one_rate(ends, shrink, count), "period": period_map(ends, count)}
    laws = {name: along(path, seen, last, period) for name, path in by_period.items()}
    laws["letters"] = letter_maps(seen, tail)
    inside = torch.cat(answers, 1)
    return {
        "r": shrink ** (1 / period),
        **{name: first_wrong(answered(module, carry, path, words, inside)) for name, path in laws.items()},
        "real": first_wrong(read_all(module, words)),
    }


def apart(memory: Tensor) -> Tensor:
    """The distance between the memories of the two words."""
    return (memory[0] - memory[1]).norm()


def one_rate(ends: Tensor, shrink: float, count: int) -> Tensor:
    """Memories [periods, 2, numbers] after each of the next periods, by the first law."""
    now, near = ends[-1], ends[-2]
    if shrink >= STILL:
        return now.expand(count, *now.shape)
    end = now + (now - near) * shrink / (1 - shrink)
    return end + (now - end) * (shrink ** torch.arange(1, count + 1)).view(-1, 1, 1)


def period_map(ends: Tensor, count: int) -> Tensor:
    """The same by the second law."""
    changes = ends.diff(dim=0)
    step = fitted(changes[:-1].flatten(0, 1), changes[1:].flatten(0, 1))
    place, change, path = ends[-1], changes[-1], []
    for _ in range(count):
        change = change @ step
        place = place + change
        path.append(place)
    return torch.stack(path)


def along(path: Tensor, seen: Tensor, last: int, period: int) -> Tensor:
    """Memories after every letter beyond T: the letters of a period move by as much as its end."""
    inner = seen[last - period + 1 : last + 1]
    moved = (path - seen[last])[:, None] + inner
    return moved.flatten(0, 1)[T - 1 - last :]


def letter_maps(seen: Tensor, tail: npt.NDArray[np.int64]) -> Tensor:
    """Memories [letters, 2, numbers] after every letter beyond T, by the third law."""
    centre, size = seen.mean((0, 1)), float(seen.std())
    known = functional.pad((seen - centre) / size, (0, 1), value=1.0)
    maps = {}
    for letter in set(tail[:T].tolist()):
        at = torch.from_numpy(np.flatnonzero(tail[: T - 1] == letter))
        maps[letter] = fitted(known[at].flatten(0, 1), known[at + 1].flatten(0, 1))
    place, path = known[-1], []
    for letter in tail[T - 1 :].tolist():
        place = place @ maps[letter]
        path.append(place)
    return torch.stack(path)[..., :-1] * size + centre


def fitted(before: Tensor, after: Tensor) -> Tensor:
    """Minimum-norm least-squares solution M of before · M = after, without directions of rounding noise."""
    return torch.linalg.pinv(before, rtol=DIRECTIONS) @ after


def answered(module: Any, carry: Any, path: Tensor, words: Tensor, inside: Tensor) -> Tensor:
    """Answers [2, letters]: observed ones, then those that the next letter reads off predicted memories."""
    count = min(len(path), words.shape[1] - T - 1)
    rows = torch.arange(2).repeat_interleave(count)
    flat = path[:count].transpose(0, 1).flatten(0, 1).nan_to_num().clamp(-HUGE, HUGE)
    like = module.memory(carry)
    parts = flat.split([part[0].numel() for part in like], 1)
    memory = [part.reshape(-1, *of.shape[1:]).to(of.dtype) for part, of in zip(parts, like, strict=True)]
    following = words[:, T + 1 : T + 1 + count].flatten()[:, None]
    logits, _ = module.read(following, module.carry(carry, memory, rows))
    next_one = module.read(words[:, T : T + 1], carry)[0].argmax(-1)  # from the observed memory
    return torch.cat([inside, next_one, logits.argmax(-1).view(2, -1)], 1)


def read_all(module: Any, words: Tensor) -> Tensor:
    """Answers to the whole words."""
    answers, carry = [], None
    for part in words.split(256, 1):
        logits, carry = module.read(part, carry)
        answers.append(logits.argmax(-1))
    return torch.cat(answers, 1)


def first_wrong(answers: Tensor) -> int | None:
    """The first letter, from 1, after which the answer to one of the words differs from its first value."""
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
            result = {name: measure(module, pattern) for name, pattern in PATTERNS.items()}
            row = {"layer": layer, "seed": seed, "right": right, "patterns": result, "T": T, "steps": STEPS}
            row |= {"longest": LONGEST, "seconds": round(process_time() - begun, 1)}
            with RECORDS.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def table() -> str:
    """A row for each network and pattern with an answer that is wrong or predicted to be wrong."""
    head = [
        "network",
        "seed",
        "writes",
        "r",
        "one rate",
        "period's map",
        "letters' maps",
        "first wrong letter",
    ]
    lines = [head, ["---"] * len(head)]
    for row in sorted(records(), key=lambda row: (list(LAYERS).index(row["layer"]), row["seed"])):
        for name, one in row["patterns"].items():
            ends = [one[key] for key in (*LAWS, "real")]
            if any(ends):
                shown = [f"{end:,}" if end else "none" for end in ends]
                lines.append([row["layer"], str(row["seed"]), f"…{name}…", f"{one['r']:.4f}", *shown])
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
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--layers", nargs="*", default=list(LAYERS)[:2])
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.what == "run":
        run(range(given.first, given.first + given.seeds), given.layers)
    else:
        write()
