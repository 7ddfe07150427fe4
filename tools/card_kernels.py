"""Small cards of flash-linear-attention's own layers, with its own kernels, on a GPU: one process for each.

Run: python tools/card_kernels.py --out FILE.jsonl [--layers fla:CLASS,… …] [--minutes 4] [--device cuda]

Tuning its kernels takes minutes for each layer, so each kernel takes one of its configurations. A line
of FILE.jsonl is the card of one layer on one automaton (one seed, width 64, 400 steps), or the message of a
layer that did not run. What is published is results/cards/kernels.jsonl.
"""

import argparse
import json
import multiprocessing as mp
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LAYERS = (
    "fla:DeltaNet,num_heads=2,allow_neg_eigval=true",
    "fla:GatedDeltaProduct,num_heads=2,head_dim=32,expand_v=1,use_forget_gate=false",
    "fla:GatedDeltaNet,num_heads=2,head_dim=32,expand_v=1",
    "fla:GatedLinearAttention,num_heads=2,expand_k=1",
    "fla:HGRN2Attention,expand_ratio=32",
    "fla:KimiDeltaAttention,num_heads=2,head_dim=32",
    "fla:RWKV7Attention,head_dim=32,layer_idx=0,num_hidden_layers=2",
    "fla:RWKV7Attention,head_dim=64,layer_idx=0,num_hidden_layers=2",
    "fla:PaTHAttention,num_heads=1",
    "fla:PaTHAttention,num_heads=2",
    "fla:Mamba3,head_dim=32,state_size=32",
    "fla:LogLinearMamba2,num_heads=4,head_dim=32,state_size=64",
)
TASKS = ("C2", "FlipFlop")


def rows(task: tuple[str, argparse.Namespace]) -> list[dict[str, Any]]:
    """The cards of a layer; stops at the first exception, since the GPU may be in a bad state."""
    name, asked = task
    end, result = time.monotonic() + 60 * asked.minutes, list[dict[str, Any]]()
    if find_spec("triton"):
        sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
        from stock_protocol import one_configuration

        one_configuration()
    from krohn.lab.cards.card import card

    for automaton in TASKS:
        begin = time.monotonic()
        limits = {"steps": asked.steps, "minutes": (end - begin) / 60, "device": asked.device}
        try:
            row = card(name, [automaton], seeds=1, width=64, **limits).to_json()
        except Exception as error:
            return [*result, {"layer": name, "task": automaton, "error": str(error)[:600]}]
        result.append(row | {"wall": round(time.monotonic() - begin, 1)})
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--layers", nargs="*", default=LAYERS)
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--device", default="cuda")
    asked = parser.parse_args()
    with mp.get_context("spawn").Pool(len(asked.layers)) as pool, asked.out.open("a") as stream:
        for result in pool.imap_unordered(rows, [(name, asked) for name in asked.layers]):
            stream.writelines(json.dumps(row) + "\n" for row in result)
            stream.flush()


if __name__ == "__main__":
    main()
