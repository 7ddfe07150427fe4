"""Speed of exact counts over all words of a length, on CPU and GPU, for the stored networks.

    python benchmarks/exact_words.py OUT DEVICE NAME:LENGTH …      # one line of JSON each
    python benchmarks/exact_words.py OUT --table                   # the table in the docs

NAME is a folder of results/networks. Equal counts from both devices are the check; `closest` says by how
little an answer led.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import torch

from krohn.lab.provable.exact import count
from krohn.lab.training.trained_network import read_run

PAGE = Path(__file__).parents[1] / "results" / "trained-proofs.md"
NETWORKS = Path(__file__).parents[1] / "results" / "networks"


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| network | device | all words of length | wrong | seconds | words a second |",
        "| --- " * 6 + "|",
    ]
    for row in sorted(rows, key=lambda row: (row["network"], row["length"], row["device"])):
        cells = [row["network"], row["device"], f"{row['length']} ({row['words']:,})", f"{row['wrong']:,}"]
        cells += [f"{row['seconds']:.1f}", f"{row['words_per_second']:,.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    out, device, *cases = sys.argv[1:]
    if device == "--table":
        report = table([json.loads(line) for line in Path(out).read_text().splitlines()])
        begin, end = "<!-- words: begin -->", "<!-- words: end -->"
        PAGE.write_text(re.sub(f"{begin}.*{end}", f"{begin}\n{report}\n{end}", PAGE.read_text(), flags=re.S))
        return
    torch.set_num_threads(1)
    for case in cases:
        name, length = case.split(":")
        trained = read_run(NETWORKS / name, device)
        if device != "cpu":
            count(trained, trained.automaton, 8)  # the first use of a GPU takes seconds
        counts = count(trained, trained.automaton, int(length))
        about = {"network": name, "device": device if device == "cpu" else torch.cuda.get_device_name()}
        shortest = None if counts.shortest is None else list(counts.shortest.word)
        line = {**about, **counts.to_json(), "seconds": counts.seconds}
        with Path(out).open("a") as file:
            file.write(json.dumps({**line, "shortest": shortest}) + "\n")


if __name__ == "__main__":
    main()
