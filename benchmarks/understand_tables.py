"""What krohn understand says: known algorithms told apart, the kept networks; writes the tables of the docs.

Run: python benchmarks/understand_tables.py apart|trained|write [NAME …]
``apart`` studies disguised compiled networks, ``trained`` the kept ones; both write results/understand/.
``write`` puts the tables into docs/understand.md and docs/findings-understand.md.
"""

import json
import sys
from pathlib import Path
from time import process_time
from typing import Any

import torch

import krohn
from krohn.understand.disguise import disguised
from krohn.understand.page import write_page
from krohn.understand.report import Report
from krohn.understand.subject import subject_of_decoder
from krohn.understand.understanding import understand

ROOT = Path(__file__).parents[1]
STORE = ROOT / "results" / "understand"
KEPT = ("c2-gpt", "c4-gpt", "grid9-gpt", "dyck4-2-gpt", "d8-gpt", "q8-gpt", "a5-gpt")
APART: dict[str, tuple[str, int, dict[str, Any]]] = {
    "grid4-scan": ("Grid4", 8, {"method": "scan"}),
    "grid4-paper": ("Grid4", 8, {"method": "paper"}),
    "grid4-grid": ("Grid4", 8, {"method": "grid"}),
    "grid4-cascade": ("Grid4", 8, {"method": "cascade"}),
    "d6-scan": ("D6", 8, {"method": "scan"}),
    "d6-paper": ("D6", 8, {"method": "paper"}),
    "d6-cascade": ("D6", 8, {"method": "cascade"}),
}


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, 3) if isinstance(value, float) and abs(value) > 1e-6 else value


def keep(name: str, report: Report, seconds: float) -> None:
    STORE.mkdir(parents=True, exist_ok=True)
    payload = {**rounded(report.to_json()), "processor_seconds": round(seconds, 1)}
    (STORE / f"{name}.json").write_text(json.dumps(payload, ensure_ascii=False) + "\n")
    print(name, f"{seconds:.0f} s", report.to_json()["verdict"], flush=True)


def apart(names: list[str]) -> None:
    for name in names or list(APART):
        spec, length, options = APART[name]
        network = krohn.compile(spec, length=length, **options)
        begun = process_time()
        subject = subject_of_decoder(disguised(network, seed=0), network.automaton, "disguised")
        keep(name, understand(subject), process_time() - begun)


def trained(names: list[str]) -> None:
    for name in names or KEPT:
        begun = process_time()
        report = understand(ROOT / "results" / "networks" / name)
        keep(name, report, process_time() - begun)
        write_page(report, STORE / f"{name}.svg")


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"apart": apart, "trained": trained}[sys.argv[1]](sys.argv[2:])
