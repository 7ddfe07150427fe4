"""Counts all words of a length on kept networks: words a second, on a processor and on a GPU.

    python benchmarks/exact_words.py OUT DEVICE NAME:LENGTH …      # a line of JSON each, as it comes

NAME is a folder of results/networks. Equal counts from both devices are the check; `closest` says by how
little an answer led.
"""

import json
import sys
from pathlib import Path

import torch

from krohn.evaluate.trained_states import trained_states
from krohn.trained.exact import count

NETWORKS = Path(__file__).parents[1] / "results" / "networks"


def main() -> None:
    out, device, *cases = sys.argv[1:]
    torch.set_num_threads(1)
    for case in cases:
        name, length = case.split(":")
        trained = trained_states(NETWORKS / name, device)
        if device != "cpu":
            count(trained, trained.automaton, 8)  # the first use of a GPU takes seconds
        found = count(trained, trained.automaton, int(length))
        about = {"network": name, "device": device if device == "cpu" else torch.cuda.get_device_name()}
        shortest = None if found.shortest is None else list(found.shortest.word)
        line = {**about, **found.to_json(), "prefixes": found.prefixes, "seconds": found.seconds}
        with Path(out).open("a") as file:
            file.write(json.dumps({**line, "shortest": shortest}) + "\n")


if __name__ == "__main__":
    main()
