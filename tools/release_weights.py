"""Packs trained networks for a release: bfloat16 files of less than 16 MB, with notes and SHA-256.

Run: python tools/release_weights.py FOLDER DIST      (`make release WEIGHTS=FOLDER` does)

FOLDER holds run directories, as `krohn train --out` and `research/device_queue.py` write them. Of each the
replicate with the highest validation accuracy goes to DIST/weights/NAME, in a form that `krohn understand`,
`export`, `verify` and `krohn.load` open. DIST/NOTES.md gets a table with the accuracies of their runs.
"""

import argparse
import hashlib
import sys
from pathlib import Path

import torch

from krohn.base.files import read_json, write_json
from krohn.errors import InvalidFile, KrohnError
from krohn.lab.training.directory import CONFIG, RESULT, read_config, write_weights
from krohn.lab.training.trained_network import read_replicate

MOST_BYTES = 16_000_000


def pack(folder: Path, out: Path) -> list[str]:
    """Writes one network; returns its run, its replicate and what it has right of the test words."""
    config = read_config(folder)
    trained = read_replicate(folder, config)
    number = trained.replicate
    result = read_json(folder / RESULT)
    chosen = int(result.get("replicate", number))
    entry = result["replicates"][number]
    out.mkdir(parents=True)
    write_json(out / CONFIG, config.to_dict())
    write_json(
        out / RESULT,
        {"run": config.run_id, "replicate": chosen, "replicates": [entry], "finished": result["finished"]},
    )
    weights = {name: value.to(torch.bfloat16) for name, value in trained.weights.items()}
    for file in write_weights(out, weights):
        if file.stat().st_size >= MOST_BYTES:
            raise InvalidFile(f"{file} must have less than {MOST_BYTES:,} bytes; one tensor has more")
    test = entry.get("test")
    shares = [test["accuracy"], test["sequence_accuracy"]] if test else []
    return [
        f"{config.run_id}, {chosen}",
        *([f"{100 * share:.2f}%" for share in shares] or ["not tested", ""]),
    ]


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def notes(rows: dict[str, list[str]], dist: Path) -> str:
    """A table of the networks, and the digests of their files."""
    lines = ["| network | run, replicate | letters of the test words | whole words | bytes |"]
    lines.append("| --- | --- | --- | --- | --- |")
    sums = []
    for name, row in rows.items():
        files = sorted((dist / "weights" / name).iterdir())
        size = sum(file.stat().st_size for file in files)
        lines.append(f"| `{name}` | {' | '.join(row)} | {size:,} |")
        sums += [f"{digest(file)}  {file.relative_to(dist).as_posix()}" for file in files]
    said = (
        "In bfloat16, one folder each under `weights/`, which `krohn understand`, `export`, `verify` and "
        "`krohn.load` take. Accuracies, of each run's own test words, are those before the weights were "
        "rounded to bfloat16."
    )
    return "\n".join(["", "### Trained networks", "", said, "", *lines, "", "```", *sums, "```", ""])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("dist", type=Path)
    options = parser.parse_args()
    folders = sorted(path.parent for path in options.folder.glob(f"*/{CONFIG}"))
    try:
        if not folders:
            raise InvalidFile(f"{options.folder} must hold run directories; none of its folders has {CONFIG}")
        rows = {folder.name: pack(folder, options.dist / "weights" / folder.name) for folder in folders}
    except (KrohnError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    text = notes(rows, options.dist)
    with (options.dist / "NOTES.md").open("a") as file:
        file.write(text)
    print(f"{len(rows)} networks in {options.dist / 'weights'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
