"""Proofs of recurrent networks for words of every length: runs, and the tables in the docs.

    python tools/trained_proofs.py FOLDER [code:KIND:SPEC[:SEED[:HIDDEN]] …]   # a line of JSON each
    python tools/trained_proofs.py FOLDER --table                              # the table in the docs

First weights learn a code; HIDDEN is what the code needs. Runs already in FOLDER/runs.jsonl are not made
again. Seconds are processor time on one thread; training that takes more than LIMIT of them is given up, and
its line says after how many steps.
"""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import torch
from certify_all import PAPER

from krohn.automata.zoo import parse_spec
from krohn.lab.provable.box_search import contexts
from krohn.lab.provable.code_training import code_of
from krohn.lab.provable.provable_run import FOLDER, make_provable
from krohn.lab.provable.trained import NAME
from krohn.lab.training.loop import train
from krohn.proving.witness.search import checkable_table

PAGE = Path(__file__).parents[1] / "results" / "trained-proofs.md"
AUTOMATA = (*PAPER, "S3")
CELLS = ("lstm", "gru")
LIMIT = 330.0
SHORT = {"length": 24, "steps": 1, "warmup": 1, "evaluation": {"every": 1, "sequences": 16}}


def one(folder: Path, name: str) -> dict[str, Any]:
    """Trains and fine-tunes one network; returns its line."""
    _, kind, spec, *rest = name.split(":")
    seed = int(rest[0]) if rest else 0
    automaton = parse_spec(spec)
    reachable = contexts(checkable_table(automaton))
    assert reachable is not None
    units = code_of(automaton, reachable).shape[1]
    hidden = int(rest[1]) if len(rest) > 1 else units
    place = folder / name.replace(":", "-").replace(",", "-")
    began = time.process_time()
    size = {"model": kind, "hidden": hidden, "embedding": max(8, automaton.num_letters)}
    result = train(spec, directory=place, device="cpu", seed=seed, lr=1e-2, batch=64, **size, **SHORT)
    trained = time.process_time() - began
    print(f"trained: {result.replicates[0]['accuracy']:.4f} in {trained:.0f} s", file=sys.stderr, flush=True)
    outcome = fine_tuned(place, len(reachable.state))
    outcome["seconds"] = time.process_time() - began - trained
    sizes = {file.name: file.stat().st_size for file in (place / FOLDER).glob("*.safetensors")}
    about = {"name": name, "kind": kind, "spec": spec, "hidden": hidden, "seed": seed}
    about |= {"training_seconds": trained, "before": result.replicates[0]["accuracy"]}
    about |= {"weights_bytes": sizes.get("weights.safetensors", 0), "boxes_bytes": sizes.get(NAME, 0)}
    return {**about, **outcome}


class TimeUp(Exception):
    """The fine-tune exceeded its time limit."""


def fine_tuned(place: Path, boxes: int) -> dict[str, Any]:
    """The outcome of one fine-tune; ``violation`` is the final distance of images from their boxes."""
    began, seen = time.process_time(), {"steps": 0, "violation": 0.0}

    def tell(step: int, violation: float) -> None:
        seen.update(steps=step, violation=violation)
        print(step, f"{violation:.4f}", file=sys.stderr, flush=True)
        if time.process_time() - began > LIMIT:
            raise TimeUp

    try:
        outcome = make_provable(place, tell=tell).to_json()
        del outcome["folder"]
        return {**outcome, "violation": seen["violation"]}
    except TimeUp:
        given_up = f"given up after {LIMIT:.0f} s and {seen['steps']} steps"
        return {"proved": False, "boxes": boxes, "failure": given_up, **seen}


def table(rows: list[dict[str, Any]]) -> str:
    """A line for each automaton and cell, over all seeds."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["name"].startswith("code:"):
            groups.setdefault((row["spec"], row["kind"]), []).append(row)
    order = sorted(groups, key=lambda key: (AUTOMATA.index(key[0]), key[1] != "lstm"))
    header = (
        "| automaton | cell | width | boxes | proved | steps | seconds | margin | widest | weights, boxes |"
    )
    lines = [header, "| --- " * 10 + "|"]
    for spec, kind in order:
        group = groups[spec, kind]
        good = [row for row in group if row["proved"]]
        sizes = f"{group[0]['weights_bytes'] / 1000:.0f}"
        cells = [spec, kind, _span(group, "hidden"), group[0]["boxes"], f"{len(good)} of {len(group)}"]
        cells += [_span(good, "steps"), _span(good or group, "seconds", 1)]
        cells += [_span(good, "margin", 1), _span(good, "widest", 2)]
        cells += [f"{sizes}, {good[0]['boxes_bytes'] / 1000:.0f} kB" if good else f"{sizes} kB"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def _span(rows: list[dict[str, Any]], key: str, digits: int = 0) -> str:
    """The least and the largest value."""
    if not rows:
        return "–"
    low, high = (f"{pick(row[key] for row in rows):.{digits}f}" for pick in (min, max))
    return low if low == high else f"{low}–{high}"


def main() -> None:
    folder, *names = sys.argv[1:]
    log = Path(folder) / "runs.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if names == ["--table"]:
        text = PAGE.read_text()
        begin, end = "<!-- proofs-code: begin -->", "<!-- proofs-code: end -->"
        text = re.sub(f"{begin}.*{end}", f"{begin}\n{table(rows)}\n{end}", text, flags=re.S)
        PAGE.write_text(text)
        return
    torch.set_num_threads(1)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names or [f"code:{kind}:{spec}" for spec in AUTOMATA for kind in CELLS]:
        if name not in {row["name"] for row in rows}:
            line = json.dumps(one(Path(folder), name)) + "\n"
            with log.open("a") as file:
                file.write(line)


if __name__ == "__main__":
    main()
