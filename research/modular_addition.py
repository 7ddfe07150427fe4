"""Trains a stock GPT-2 on addition modulo p with ``transformers`` alone: a network that krohn did not write.

    python research/modular_addition.py OUT [--modulus 113] [--length 2] [--steps 4000] [--seed 0]

Letters and sums share the tokens 0 … p − 1. After each letter the answer is the sum so far. All words of the
length are trained on: the question to ``krohn verify`` is whether the weights are
right on each of them in float32, not whether they generalise. The rate falls to 0 along a cosine.
"""

import argparse
import math
import time
from pathlib import Path

import torch
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel


def trained(modulus: int, length: int, steps: int, seed: int) -> GPT2LMHeadModel:
    """One block of width 64, four heads."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=modulus,
        n_positions=length,
        n_embd=64,
        n_layer=1,
        n_head=4,
        bos_token_id=None,
        eos_token_id=None,
        **dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0),
    )
    network = GPT2LMHeadModel(config)
    words = torch.cartesian_prod(*[torch.arange(modulus)] * length)
    sums = words.cumsum(1) % modulus
    rate, warm = 3e-3, 100
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.1)
    started = time.process_time()
    for step in range(steps):
        part = torch.randint(len(words), (min(1024, 4 * len(words)),))
        for group in optimizer.param_groups:
            fall = 0.5 * (1 + math.cos(math.pi * step / steps))
            group["lr"] = rate * min(1.0, (step + 1) / warm) * fall
        logits = network(words[part]).logits
        loss = functional.cross_entropy(logits.flatten(0, 1), sums[part].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 199:
            with torch.no_grad():
                wrong = int((network(words).logits.argmax(-1) != sums).any(1).sum())
            seconds = time.process_time() - started
            print(
                f"step {step + 1}: loss {loss.item():.2e}, {wrong} words wrong, {seconds:.0f} s", flush=True
            )
    return network


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--modulus", type=int, default=113)
    parser.add_argument("--length", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    trained(given.modulus, given.length, given.steps, given.seed).save_pretrained(given.out)


if __name__ == "__main__":
    main()
