"""One cell of the depth map in the GPT-2 code of ``transformers``: float32, embeddings at .02, no clipping.

Run: python research/stock_gpt2.py Grid9 --layers 2 [--lr 3e-4] [--steps 24000] [--out FILE.json]

What the paper names (its Appendix B.3), by the library it names: GPT-2's blocks and first weights,
sinusoidal positions in place of the learned ones, AdamW. The words are those of replicate 0 of ``krohn
reproduce depth``, the test words those of every run; batch, steps and warm-up are those of its AdamW
sheet; the rate falls on a line. One network at a time, as the library has it.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from transformers import GPT2Config, GPT2Model

from krohn.automata.zoo import parse_spec
from krohn.lab import random_streams
from krohn.lab.models.architectures.gpt import sinusoidal
from krohn.lab.tasks.batches import Task
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.sections import TEST_SEED
from krohn.lab.training.state import DATA

VALIDATION_SEED = 2**40
SOLVED = 0.999


class Labeller(torch.nn.Module):
    """GPT-2 with an embedding of letters and a classifier of states."""

    def __init__(self, task: Task, layers: int, dim: int, heads: int, mlp: int) -> None:
        super().__init__()
        length = task.config.length
        config = GPT2Config(
            vocab_size=task.vocabulary, n_positions=length, n_embd=dim, n_layer=layers, n_head=heads,
            n_inner=mlp, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False,
            bos_token_id=None, eos_token_id=None,
        )  # fmt: skip
        self.body = GPT2Model(config)
        self.body.wpe.weight.data = sinusoidal(length, dim, torch.device("cpu")).float()
        self.body.wpe.weight.requires_grad_(False)
        self.head = torch.nn.Linear(dim, task.classes)
        self.head.weight.data.normal_(std=config.initializer_range)
        self.head.bias.data.zero_()

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.body(input_ids=tokens).last_hidden_state)


@torch.no_grad()
def shares(network: Labeller, task: Task, seed: int, count: int) -> tuple[float, float]:
    """The shares of right letters and of right words among held-out words."""
    _, batch = task.held_out(seed, count)
    parts = zip(batch.tokens[0].long().split(512), batch.targets[0].long().split(512), strict=True)
    right = torch.cat([network(tokens).argmax(-1) == wanted for tokens, wanted in parts])
    return float(right.float().mean()), float(right.all(1).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("spec")
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--mlp", type=int, default=512)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--steps", type=int, default=24_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--words", type=int, default=8192, help="of the test set")
    parser.add_argument("--seconds", type=float, default=550.0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device(options.device)
    config = TaskConfig(spec=options.spec, length=options.length)
    task = Task(config, parse_spec(options.spec), device)
    network = Labeller(task, options.layers, options.dim, options.heads, options.mlp).to(device)
    trained = [tensor for tensor in network.parameters() if tensor.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=options.lr, weight_decay=1e-4)
    warmup = min(300, options.steps // 10 + 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / warmup) * max(0.01, 1 - step / options.steps)
    )
    keys = random_streams.derive(random_streams.replicate_keys(0, 1, device=device), DATA)
    every = max(1, options.steps // 48)
    began, curve, steps = time.time(), [], 0
    best: tuple[float, dict[str, Tensor]] = (-1.0, {})
    while steps < options.steps and time.time() - began < options.seconds and best[0] < SOLVED:
        batch = task.batch(keys, steps, options.batch)
        scores = network(batch.tokens[0].long())
        loss = functional.cross_entropy(scores.flatten(0, 1), batch.targets[0].long().flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        steps += 1
        if steps % every == 0 or steps == options.steps:
            letters, words = shares(network, task, VALIDATION_SEED, min(2048, options.words))
            curve.append([steps * options.batch, round(letters, 5)])
            print(f"{steps * options.batch:,} words: {letters:.4f} letters, {words:.4f} words", flush=True)
            if letters > best[0]:
                best = letters, {name: value.clone() for name, value in network.state_dict().items()}
    if best[1]:
        network.load_state_dict(best[1])
    letters, words = shares(network, task, TEST_SEED, options.words)
    result = {
        "task": options.spec, "layers": options.layers, "length": options.length, "lr": options.lr,
        "batch": options.batch, "words_read": steps * options.batch, "accuracy": round(letters, 5),
        "word_accuracy": round(words, 5), "seconds": round(time.time() - began, 1), "curve": curve,
    }  # fmt: skip
    print(json.dumps(result))
    if options.out is not None:
        options.out.write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
