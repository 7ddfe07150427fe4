"""A step by Muon beside a step by AdamW, one after the other in one process, and what its products take.

    python benchmarks/bench_muon.py [--out FILE.json]        # one GPU, about a minute

The limit first. A matrix of 512 × 512 takes 5·3 products of 2·512³ operations a step. With L = 16 layers of
six matrices and R = 20 replicates these are 7.7 TFLOP. Two of three products are symmetric, and 10 of their
16 tiles are computed: 5.8 TFLOP, 7.3 ms at 790 TFLOP/s, beside a step of AdamW at batch 16 of 20 ms. So a
step should cost 1.36 times AdamW's at batch 16, and 1.1 times at batch 64.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from bench_training import build, paper_run, print_table, seconds_per_step
from step_parts import milliseconds

from krohn.lab.training import optimizers as muon
from krohn.lab.training.config import OptimizerConfig
from krohn.lab.training.device import choose_device

SIZES = ((16, 20, 16), (8, 6, 64), (8, 12, 16), (2, 6, 64))  # layers, replicates, batch


def beside_adamw(layers: int, replicates: int, batch: int) -> dict[str, Any]:
    result: dict[str, float] = {}
    for method in ("adamw", "muon"):
        config = paper_run(layers, replicates, optimizer=OptimizerConfig(method=method, batch=batch))
        _, stepper = build(config, choose_device(None))
        result[method] = 1e3 * min(seconds_per_step(stepper, 64, average=False) for _ in range(2))
        del stepper
        torch.cuda.empty_cache()
    return {
        "layers": layers,
        "replicates": replicates,
        "batch": batch,
        "adamw_ms": result["adamw"],
        "muon_ms": result["muon"],
        "ratio": result["muon"] / result["adamw"],
        "words_s": batch * replicates / result["muon"] * 1e3,
    }


def products() -> list[dict[str, Any]]:
    """The products of 1,920 matrices, by how many are taken together."""
    rows = []
    batch = torch.randn(1920, 512, 512, device="cuda", dtype=torch.bfloat16) / 512
    for together in (1920, 480, 192, 96, 48, 32):

        def action(together: int = together) -> None:
            for part in batch.split(together):
                muon.orthogonalize(part)

        ms = milliseconds(action, repeats=5)
        rows.append({"together": together, "ms": ms, "TFLOP/s": 1920 * 15 * 2 * 512**3 / ms / 1e9})
        batch.normal_().div_(512)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, help="also write all numbers as JSON here")
    options = parser.parse_args()
    report = {"products": products(), "step": [beside_adamw(*size) for size in SIZES]}
    for rows in report.values():
        print_table(rows)
    if options.out:
        options.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
