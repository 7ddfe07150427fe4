"""Do heads of taught networks look 2^(l−1) letters back, and is each window's product used?

Run: python research/look_back.py RUN … [--pairs 100] [--out FILE.jsonl]        # a CPU, minutes for width 512

RUN is a folder with a network taught by doubling. Two measurements for each block l:
- the mean attention, over heads and positions from 2^(l−1) on, that the best head puts 2^(l−1) letters back;
- interchange: of two words that differ in the 2^l letters up to position p alone, the stream at p after
  block l is put from the one into the other. If the later blocks use the product of these letters, the answer
  2^l letters later is that for the first word; one letter after that, read by other windows, it stays.
"""

import argparse
import json
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

import krohn
from krohn.lab.training.trained_network import TrainedNetwork


class Naive:
    """The forward pass of one replicate in plain torch, block by block."""

    def __init__(self, trained: TrainedNetwork) -> None:
        self.trained, self.config = trained, trained.network.config  # type: ignore[attr-defined]
        self.w = {name: value[0] for name, value in trained.weights.items()}

    def begin(self, words: Tensor) -> Tensor:
        """The stream before the first block."""
        table = {name: value[None] for name, value in self.w.items()}
        stream: Tensor = self.trained.network.embed(table, words[None])  # type: ignore[attr-defined]
        return stream.view(*words.shape, -1)

    def block(self, number: int, x: Tensor) -> tuple[Tensor, Tensor]:
        """The stream after block ``number``, from 1, and the attention [words, heads, T, T] in it."""
        w = {
            name.removeprefix(p): v for name, v in self.w.items() if name.startswith(p := f"h.{number - 1}.")
        }
        size, heads = (x.shape[-1],), self.config.heads
        h = functional.layer_norm(x, size, w["ln_1.weight"], w["ln_1.bias"])
        qkv = h @ w["attn.c_attn.weight"] + w["attn.c_attn.bias"]
        q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, -1))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        attention = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        mixed = (attention @ v).transpose(1, 2).flatten(-2)
        x = x + mixed @ w["attn.c_proj.weight"] + w["attn.c_proj.bias"]
        h = functional.layer_norm(x, size, w["ln_2.weight"], w["ln_2.bias"])
        inner = functional.gelu(h @ w["mlp.c_fc.weight"] + w["mlp.c_fc.bias"], approximate="tanh")
        return x + inner @ w["mlp.c_proj.weight"] + w["mlp.c_proj.bias"], attention

    def answers(self, x: Tensor) -> Tensor:
        """The states named by the last stream."""
        h = functional.layer_norm(x, x.shape[-1:], self.w["ln_f.weight"], self.w["ln_f.bias"])
        scores = h @ self.w["head.weight"] + self.w["head.bias"]
        return scores[..., : self.trained.network.classes].argmax(-1)

    def run(self, x: Tensor, first: int = 1) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Answers, the streams after blocks ``first`` …, and their attention."""
        streams, attentions = [], []
        for number in range(first, self.config.layers + 1):
            x, attention = self.block(number, x)
            streams.append(x)
            attentions.append(attention)
        return self.answers(x), streams, attentions


def heads_back(attentions: list[Tensor]) -> list[dict[str, float]]:
    """For each block its best head, and the mean attention that it puts 2^(l−1) letters back."""
    rows = []
    for number, attention in enumerate(attentions, 1):
        back = 2 ** (number - 1)
        own = attention.diagonal(-back, -2, -1).mean((0, 2))  # by head, over words and positions
        rows.append({"block": number, "back": back, "head": int(own.argmax()), "attention": float(own.max())})
    return rows


@torch.no_grad()
def measure(trained: TrainedNetwork, pairs: int) -> list[dict[str, float]]:
    naive, automaton, length = Naive(trained), trained.automaton, trained.length
    generator = torch.Generator().manual_seed(7)
    words = torch.randint(automaton.num_letters, (pairs, length), generator=generator)
    assert (naive.run(naive.begin(words[:4]))[0].numpy() == trained.forward(words[:4].numpy())).mean() > 0.99
    _, streams, attentions = naive.run(naive.begin(words))
    rows = heads_back(attentions)
    for row in rows:
        block, size = int(row["block"]), 2 ** int(row["block"])
        if 2 * size >= length:  # no answer 2^l letters later inside the word
            continue
        end = torch.randint(size - 1, length - size - 1, (pairs,), generator=generator)
        other, every = words.clone(), torch.arange(pairs)
        for index, last in enumerate(end.tolist()):
            other[index, last - size + 1 : last + 1] = torch.randint(
                automaton.num_letters, (size,), generator=generator
            )
        state, wanted = (
            torch.tensor([automaton.run(word) for word in batch.tolist()]) for batch in (words, other)
        )
        x = naive.begin(other)
        for number in range(1, block + 1):
            x, _ = naive.block(number, x)
        mixed = streams[block - 1].clone()
        mixed[every, end] = x[every, end]
        answers, _, _ = naive.run(mixed, block + 1)
        later = end + size
        differ = state[every, later] != wanted[every, later]
        row["pairs"] = int(differ.sum())
        row["moved"] = float((answers[every, later] == wanted[every, later])[differ].float().mean())
        row["stayed"] = float((answers[every, later + 1] == state[every, later + 1])[differ].float().mean())
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for folder in options.runs:
        trained = krohn.load(folder)
        for row in measure(trained, options.pairs):
            label = {"network": folder.name, "task": trained.automaton.name, "length": trained.length}
            lines.append(json.dumps(label | {key: round(value, 4) for key, value in row.items()}))
            print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
