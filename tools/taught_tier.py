"""What the taught networks of the suite hold, and what methods find there: the table of results/suite.md.

    python tools/taught_tier.py run --out results/understand/taught.jsonl [--steps 60]
    python tools/taught_tier.py write results/understand/taught.jsonl results/suite.md

``run`` builds each network in a temporary folder and appends one line for each block: how often swaps behave
as the variable says, and DAS (``--steps 0`` leaves it out) and the directions of most variance in the same
place and dimension.
"""

import argparse
import json
import tempfile
from pathlib import Path

import torch

from krohn.lab.suite.building import build
from krohn.lab.suite.causal import TEST, TRAIN
from krohn.lab.suite.methods import aligned, most_variance
from krohn.lab.suite.scoring import Known
from krohn.lab.suite.swaps import interchange_accuracy
from krohn.lab.suite.taught import names

BEGIN, END = "<!-- suite-taught -->", "<!-- end -->"


def measured(out: Path, steps: int) -> None:
    done = {json.loads(line)["network"] for line in out.read_text().splitlines()} if out.exists() else set()
    for name in names():
        if name in done:
            continue
        with tempfile.TemporaryDirectory() as place:
            build(place, [name])
            known = Known(Path(place) / name)
            rows = json.loads((known.folder / "truth.json").read_text())["interventions"]
            train, test = (known.counterfactuals(split) for split in (TRAIN, TEST))
            lines = []
            for block, row in enumerate(rows, 1):
                own, asked = ([one for one in side if one.variable == row["name"]] for side in (train, test))
                where = known.model, row["place"], row["dimension"], own
                found = {"most variance": most_variance(*where)}
                found |= {"DAS": aligned(*where, steps=steps)} if steps else {}
                scores = {
                    method: round(interchange_accuracy(known.model, row["place"], basis, asked), 4)
                    for method, basis in found.items()
                }
                lines.append(json.dumps({"network": name, "block": block, **row, **scores}))
        with out.open("a") as file:
            file.write("\n".join(lines) + "\n")


def table(rows: list[dict]) -> str:
    lines = [
        "| network, block | dimension | whole position swapped [95%] | classes swapped | DAS | most variance "
        "| random |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        whole = row["whole position"]
        cells = [
            f"{row['network']}, {row['block']}",
            str(row["dimension"]),
            f"{whole['value']:.0%} [{whole['low']:.0%}–{whole['high']:.0%}]",
            f"{row['classes']['value']:.0%}",
            f"{row['DAS']:.0%}" if "DAS" in row else "not run",
            f"{row['most variance']:.0%}",
            f"{row['random']['value']:.0%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shape)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--steps", type=int, default=60)
    write = commands.add_parser("write")
    write.add_argument("rows", type=Path)
    write.add_argument("page", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.command == "run":
        measured(given.out, given.steps)
        return
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()]
    before, _, rest = given.page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    given.page.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{after}")


if __name__ == "__main__":
    main()
