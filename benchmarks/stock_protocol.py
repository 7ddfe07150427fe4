"""The protocol that papers use, on a GPU with flash-linear-attention: trained on 128 letters, tested on 512.

Two million words, the unmodified layers with their own kernels, three seeds; before that the control, exact
weights in the same kernels. A line of JSON for each network as soon as it is done, so that a run can be cut
off; what cannot be run is a line with its message.

Run: python benchmarks/stock_protocol.py --out FILE.jsonl [--minutes 30] [--seeds 3]

Not run yet: this needs a GPU and fla-core. The parts that run without are krohn's own (``krohn.lab.cards``).
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from krohn.automata.zoo import parse_spec
from krohn.lab.cards.control import AUTOMATA, DTYPES, control
from krohn.lab.cards.harness import Effort, TrainingOutOfTime, first_wrong, trained
from krohn.lab.cards.layers import find_layer

_HEADS = "allow_neg_eigval=true,num_heads=4,head_dim=32"
LAYERS = {
    "Gated DeltaNet, β ≤ 2": f"fla:GatedDeltaNet,{_HEADS}",
    "Gated DeltaProduct, 2 steps": f"fla:GatedDeltaProduct,num_householder=2,{_HEADS}",
    "Gated DeltaProduct, 4 steps": f"fla:GatedDeltaProduct,num_householder=4,{_HEADS}",
    "RWKV-7": "fla:RWKV7Attention,head_dim=32",
}
WORDS, BATCH = 2_000_000, 512
EFFORT = Effort(length=128, steps=WORDS // BATCH, batch=BATCH, lr=1e-3, width=128, seeds=3)


def network(layer: str, task: str, seed: int, tick: Callable[[], None]) -> dict[str, Any]:
    """One network: accuracy on 128 and 512 letters, and how far beyond it is right."""
    automaton, found = parse_spec(task), find_layer(layer, EFFORT.width)
    one = trained(found.factory, automaton, EFFORT, seed, "cuda", tick)
    far = first_wrong(one.module, automaton, found.longest, "cuda", tick) if one.right >= 0.99 else None
    return {
        "accuracy": {"128": one.right, "512": one.right_at_4},
        "first_wrong": None if far is None else far.letter,
        "curve": one.curve,
        "seconds": round(one.seconds, 1),
        "parameters": one.parameters,
    }


def main() -> None:
    """Controls first, which take seconds; then a network for each seed, layer and automaton."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seeds", type=int, default=EFFORT.seeds)
    asked = parser.parse_args()
    end, settings = time.monotonic() + 60 * asked.minutes, {**vars(EFFORT), "torch": torch.__version__}

    def tick() -> None:
        if time.monotonic() > end:
            raise TrainingOutOfTime

    with asked.out.open("a", encoding="utf-8") as stream:

        def note(about: dict[str, Any], work: Callable[[], dict[str, Any]]) -> None:
            try:
                result = work()
            except TrainingOutOfTime:
                result = {"error": "out of time"}
            except Exception as error:  # a kernel that does not run here is a row with its message
                result = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
            stream.write(json.dumps({**about, **result}, ensure_ascii=False) + "\n")
            stream.flush()

        for task in AUTOMATA:
            for dtype in DTYPES:
                note(
                    {"control": task, "dtype": dtype},
                    lambda task=task, dtype=dtype: control(  # type: ignore[misc]
                        automata=(task,), dtypes=(dtype,), device="cuda"
                    )[0].to_json(),
                )
        for seed in range(asked.seeds):
            for name, layer in LAYERS.items():
                for task in AUTOMATA:
                    note(
                        {"layer": name, "task": task, "seed": seed, "settings": settings},
                        lambda layer=layer, task=task, seed=seed: network(layer, task, seed, tick),  # type: ignore[misc]
                    )


if __name__ == "__main__":
    main()
