"""Mechanisms of trained replicates: one JSON file of measurements per network, and the tables.

    python tools/replicates.py measure FOLDER … --out DIR [--device cuda] [--jobs N] [--small]
    python tools/replicates.py prefixes FOLDER …
    python tools/replicates.py shifts FOLDER …
    python tools/replicates.py gather DIR
    python tools/replicates.py write

A FOLDER is a run directory with the weights of one replicate (`krohn understand` opens it). ``measure``
patches prefixes, follows letters from four places, swaps subspaces (random, linear, learned) of 1, 8 and 32
positions, and runs words beyond the trained length. ``prefixes`` patches prefixes again, of networks measured
before; ``shifts`` asks such networks what they answer if all positions are later ones. ``gather`` merges DIR
into results/understand/replicates.jsonl, ``write`` puts the tables into results/findings-understand.md.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from beyond import LENGTHS, SEED, beyond, later_positions
from letter_paths import LetterPath, follow_letter, places_of, signature
from understand_tables import ROOT, STORE, markdown, rounded

from krohn.automata.sampling import sample
from krohn.lab.interpret.learned import state_moved
from krohn.lab.interpret.prefixes import SOME_CUT, patch_prefixes
from krohn.lab.interpret.subject import Subject, subject_of_run
from krohn.lab.training.directory import read_config

RECORDS, SHIFTED = STORE / "replicates.jsonl", STORE / "shifts.jsonl"
FEW_SHIFTS, FEW_WORDS = (1, 2, 4, 8), 12
POSITIONS = (1, 8, 32)
KEPT = (12, 25, 50, 75, 88, 92, 96, 98)


def measure(folder: Path, out: Path, device: str, small: bool) -> str:
    """Measures one network, unless its file exists."""
    target = out / f"{folder.name}.json"
    if target.exists():
        return f"{folder.name}: there already"
    began, length = perf_counter(), read_config(folder).task.length
    whole = subject_of_run(folder, round(LENGTHS[-1] * length))
    opened = perf_counter() - began
    subject = whole.until(length).to(device)
    report = patch_prefixes(subject, pairs=16 if small else 64)
    row = {
        "name": folder.name,
        "run": about(folder),
        **report.to_json(),
        "letter_paths": [
            follow_letter(subject, place, pairs=8 if small else 32).to_json() for place in places_of(length)
        ],
        "subspaces": [one.to_json() for one in moved(subject, small)],
        **beyond(whole.to(device), length).to_json(),
        "device": device,
        "seconds": [opened, perf_counter() - began],
    }
    out.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rounded(row), ensure_ascii=False))
    return f"{folder.name}: {report.verdict} ({row['seconds'][1]:.0f} s)"


def moved(subject: Subject, small: bool) -> list[Any]:
    blocks = len(subject.stages.blocks)
    layers = sorted({blocks // 2, blocks - 2, blocks - 1} - {0})
    effort: dict[str, int] = {"pairs": 32, "steps": 3} if small else {}
    cells = product(layers[-1:] if small else layers, POSITIONS)
    return [state_moved(subject, layer, positions=positions, **effort) for layer, positions in cells]


def about(folder: Path) -> dict[str, Any]:
    """Run, replicate and accuracy on the test set, from the folder's result file."""
    result = json.loads((folder / "result.json").read_text())
    own = max(result["replicates"], key=lambda one: one["accuracy"])
    return {
        "id": result["run"],
        "replicate": result["replicate"],
        "learning_rate": own["learning_rate"],
        **{key: own["test"][key] for key in ("accuracy", "sequence_accuracy")},
    }


def measure_all(folders: list[Path], out: Path, device: str, jobs: int, small: bool) -> None:
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        tasks = {pool.submit(measure, folder, out, device, small): folder.name for folder in folders}
        for task in as_completed(tasks):
            error = task.exception()
            print(f"{tasks[task]} failed: {error!r}" if error else task.result(), flush=True)


def gather(folder: Path) -> None:
    rows = {row["name"]: row for row in rows_of(RECORDS)} if RECORDS.exists() else {}
    for path in sorted(folder.glob("*.json")):
        row = json.loads(path.read_text())
        rows[row["name"]] = row
    RECORDS.write_text("".join(json.dumps(rows[name], ensure_ascii=False) + "\n" for name in sorted(rows)))


def shifts(folders: list[Path]) -> None:
    for folder in folders:
        rows = {row["name"]: row for row in rows_of(SHIFTED)} if SHIFTED.exists() else {}
        if folder.name in rows:
            continue
        length = read_config(folder).task.length
        subject = subject_of_run(folder, length + max(FEW_SHIFTS), compared=4)
        words = sample(subject.automaton, length=length, count=FEW_WORDS, seed=SEED).letters
        shares = later_positions(subject, words.astype(np.int64), FEW_SHIFTS)
        rows[folder.name] = {
            "name": folder.name,
            "run": about(folder),
            "automaton": subject.automaton.name,
            "length": length,
            "layers": len(subject.stages.blocks),
            "dim": subject.stages.dim,
            "words": FEW_WORDS,
            "shifts": rounded(shares),
        }
        SHIFTED.write_text("".join(json.dumps(rows[name]) + "\n" for name in sorted(rows)))
        print(rows[folder.name], flush=True)


def prefixes(folders: list[Path], device: str) -> None:
    for folder in folders:
        subject = subject_of_run(folder, read_config(folder).task.length).to(device)
        again = {**patch_prefixes(subject, pairs=64).to_json(), "prefixes_device": device}
        rows = {row["name"]: row for row in rows_of(RECORDS)}
        rows[folder.name] |= rounded(again)
        stored(rows)


def stored(rows: dict[str, Any]) -> None:
    RECORDS.write_text("".join(json.dumps(rows[name], ensure_ascii=False) + "\n" for name in sorted(rows)))


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def label(row: dict[str, Any]) -> str:
    return f"{row['automaton']}, {row['run']['replicate']}"


def numbers(values: list[Any]) -> str:
    return " ".join("·" if value is None else str(value) for value in values)


def percents(values: list[float]) -> str:
    return " ".join(f"{100 * value:.0f}" for value in values)


def mechanisms() -> str:
    """The results of prefix patching for each replicate."""
    body = []
    for row in rows_of(RECORDS):
        inner = row["layers"][1:-1]
        named = [{name: fit for name, fit in layer["fits"].items() if name != SOME_CUT} for layer in inner]
        best = [max(fits.values(), key=lambda one: one["share"]) for fits in named]
        body.append(
            [
                label(row),
                f"{100 * row['run']['accuracy']:.2f}",
                row["mechanism"],
                percents([one["share"] for one in best]),
                percents([one["chance"] for one in best]),
                percents([layer["fits"][SOME_CUT]["share"] for layer in inner]),
                numbers([layer["known_from"] for layer in row["layers"]]),
                numbers([layer["class_known_from"] for layer in row["layers"]]) if row["classes"] else "none",
            ]
        )
    head = ["network, replicate", "letters right, %", "named", "best stage by layer, %", "its chance"]
    return markdown([*head, "some cut, %", "state from", "class from"], body)


def prefix_shares(automaton: str) -> str:
    """For each number of unpatched positions, the shares of answers with the base's own state and class."""
    (row,) = (row for row in rows_of(RECORDS) if row["automaton"] == automaton)
    places = [place for place, count in enumerate(row["kept"]) if count in KEPT]
    body = [
        [str(layer["layer"])]
        + [f"{100 * layer['whole'][p]:.0f} / {100 * layer['whole_class'][p]:.0f}" for p in places]
        for layer in row["layers"][1:]
    ]
    return markdown(["after layer", *(f"{row['kept'][p]} kept" for p in places)], body)


def letters() -> str:
    """How far the four letters are carried, by layer."""
    body = []
    for row in rows_of(RECORDS):
        paths = [LetterPath(**path) for path in row["letter_paths"]]
        body.append([label(row), *(numbers(path.within) for path in paths), signature(paths)])
    places = [f"letter {path['place']}" for path in rows_of(RECORDS)[0]["letter_paths"]]
    return markdown(["network, replicate", *places, "letters go"], body)


def subspaces() -> str:
    """The least and the greatest share over the replicates of an automaton."""
    cells: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for row in rows_of(RECORDS):
        for one in row["subspaces"]:
            cells.setdefault((row["automaton"], one["layer"], one["positions"]), []).append(one)
    kinds = ("das", "refined", "linear", "random", "everything", "chance")
    body = [
        [automaton, str(layer), str(positions), str(len(swaps))]
        + [f"{100 * min(v):.0f}–{100 * max(v):.0f}" for k in kinds for v in [[one[k] for one in swaps]]]
        for (automaton, layer, positions), swaps in sorted(cells.items())
    ]
    head = ["network", "after layer", "positions", "replicates", "DAS", "DAS from linear", "linear", "random"]
    return markdown([*head, "all directions", "chance"], body)


def reach() -> str:
    """Accuracy beyond the trained length."""
    body = []
    for row in rows_of(RECORDS):
        later = [letter for letter in row["first_wrong"] if letter > row["length"]]
        body.append(
            [
                label(row),
                " ".join(f"{100 * part['right']:.1f}" for part in row["beyond"]),
                f"{min(later)}–{np.median(later):.0f}–{max(later)}",
                f"{len(later)} of {len(row['first_wrong'])}",
                " ".join(f"{100 * part['right']:.1f}" for part in row["shifts"]),
            ]
        )
    head = ["network, replicate", "letters right, %", "first wrong letter", "words", "positions later, %"]
    return markdown(head, body)


def later() -> str:
    """The answers under shifted positions."""
    body = []
    for row in rows_of(SHIFTED):
        cells = [
            " ".join(f"{100 * part[key]:.0f}" for part in row["shifts"])
            for key in ("right", "twice", "without", "follow")
        ]
        size = f"{row['layers']} layers, width {row['dim']}, {row['length']} letters"
        body.append([label(row), size, *cells])
    head = ["network, replicate", "size", "right, %", "first letter twice", "without it", "follow"]
    return markdown(head, body)


def write() -> None:
    page = ROOT / "results" / "findings-understand.md"
    text = page.read_text()
    for name, make in {
        "replicates": mechanisms,
        "replicate-kept": partial(prefix_shares, "S5"),
        "replicate-letters": letters,
        "replicate-subspaces": subspaces,
        "replicate-beyond": reach,
        "later-positions": later,
    }.items():
        head, mark, rest = text.partition(f"<!-- {name} -->\n")
        assert mark, name
        text = head + mark + make() + "\n" + rest[rest.index("<!-- end -->") :]
    page.write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["measure", "prefixes", "shifts", "gather", "write"])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="few words and steps, to try it out")
    given = parser.parse_args()
    if given.what == "measure":
        measure_all(given.folders, given.out, given.device, given.jobs, given.small)
    elif given.what == "prefixes":
        prefixes(given.folders, given.device)
    elif given.what == "shifts":
        shifts(given.folders)
    elif given.what == "write":
        write()
    else:
        gather(given.folders[0])
