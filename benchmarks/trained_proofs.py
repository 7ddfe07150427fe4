"""Trains recurrent networks, fine-tunes them until a proof for every length closes, and makes a table.

    python benchmarks/trained_proofs.py FOLDER [KIND:SPEC:HIDDEN[:SEED] …]   # runs, a line of JSON each
    python benchmarks/trained_proofs.py FOLDER --table                       # the table in the docs

Runs already in FOLDER/runs.jsonl are not made again. Seconds are processor time. Ordinary training is a few
steps only: boxes begin with codes, and the fine-tune does the work.
"""

import json
import re
import sys
import time
from pathlib import Path

import torch

from krohn.automata.spec import parse_spec
from krohn.trained.box_certificate import NAME
from krohn.trained.provable_run import make_provable
from krohn.training.loop import train

PAGE = Path(__file__).parents[1] / "docs" / "trained-proof.md"
BEGIN, END = "<!-- proofs: begin -->", "<!-- proofs: end -->"
FLOOR = ("C2:16", "C3:16", "Grid4:16", "D6:16", "Grid9:24", "S3:40", "Dyck4,2:72")
SETTINGS = {
    "length": 24,
    "lr": 1e-2,
    "batch": 64,
    "steps": 20,
    "evaluation": {"every": 20, "sequences": 128, "stop_at": 1.0},
    "warmup": 20,
}


def one(folder: Path, name: str) -> dict[str, object]:
    kind, spec, hidden, *seed = name.split(":")
    number = int(seed[0]) if seed else 0
    place = folder / name.replace(":", "-").replace(",", "-")
    began = time.process_time()
    size = {"model": kind, "hidden": int(hidden), "embedding": max(8, parse_spec(spec).num_letters)}
    result = train(spec, directory=place, device="cpu", seed=number, **size, **SETTINGS)
    trained = time.process_time() - began
    made = make_provable(place).to_json()
    del made["folder"]
    made["seconds"] = time.process_time() - began - trained
    kept = (place / "provable" / NAME).stat().st_size if made["proved"] else 0
    about = {"name": name, "kind": kind, "spec": spec, "hidden": int(hidden), "seed": number}
    before = result.replicates[0]["accuracy"]
    return {**about, "training_seconds": trained, "before": before, "bytes": kept, **made}


def table(rows: list[dict[str, object]]) -> str:
    lines = [
        "| automaton | cell | width | seed | train + tune | steps | boxes | margin | widest | proved |",
        "| --- " * 10 + "|",
    ]
    for row in rows:
        taken = f"{row['training_seconds']:.0f} + {row['seconds']:.0f} s"
        cells = [row["spec"], row["kind"], row["hidden"], row["seed"], taken, row["steps"], row["boxes"]]
        cells += (
            [f"{row['margin']:.1f}", f"{row['widest']:.2f}", "yes"] if row["proved"] else ["–", "–", "no"]
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    folder, *names = sys.argv[1:]
    log = Path(folder) / "runs.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if names == ["--table"]:
        text = PAGE.read_text()
        PAGE.write_text(re.sub(f"{BEGIN}.*{END}", f"{BEGIN}\n{table(rows)}\n{END}", text, flags=re.S))
        return
    torch.set_num_threads(1)
    for name in names or [f"lstm:{entry}" for entry in FLOOR]:
        if name not in {row["name"] for row in rows}:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with log.open("a") as file:
                file.write(json.dumps(one(Path(folder), name)) + "\n")


if __name__ == "__main__":
    main()
