"""A step with attention dropout beside a step without, one after the other in one process.

    python benchmarks/bench_attention_dropout.py [--out FILE.json]        # one GPU, half a minute

The limit first. A draw takes about 42 instructions of integers. At L = 16, R = 20, batch 16 and 100 letters
a step draws 12,800 weights of 2,560 heads in each layer, in whole words of 64 bits: 0.52 billion draws, 22
billion instructions. An H200 issues 29,600 billion a second, 132 × 128 in each clock of 1.75 GHz, so a step
should take 0.7 ms more: 1.04 times the step of 20 ms without.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from bench_training import build, paper_run, print_table, seconds_per_step

from krohn.lab.training.config import OptimizerConfig, model_config
from krohn.lab.training.device import choose_device

SIZES = ((16, 20, 16), (8, 6, 64), (8, 12, 16), (2, 6, 64))  # layers, replicates, batch
RATES = {"without": 0.0, "attention dropout": 0.1}


def beside_none(layers: int, replicates: int, batch: int) -> dict[str, Any]:
    row: dict[str, Any] = {"layers": layers, "replicates": replicates, "batch": batch}
    for name, rate in RATES.items():
        model = model_config("gpt", layers=layers, attention_dropout=rate)
        config = paper_run(layers, replicates, model=model, optimizer=OptimizerConfig(batch=batch))
        _, stepper = build(config, choose_device(None))
        row[f"{name}, ms"] = 1e3 * min(seconds_per_step(stepper, 64, average=False) for _ in range(2))
        del stepper
        torch.cuda.empty_cache()
    return {**row, "ratio": row["attention dropout, ms"] / row["without, ms"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, help="also write all numbers as JSON here")
    options = parser.parse_args()
    print(torch.cuda.get_device_name(), torch.__version__)
    rows = [beside_none(*size) for size in SIZES]
    print_table(rows)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
