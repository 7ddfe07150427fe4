"""Prefix patching: calibrated on networks whose algorithm is known, then run on trained ones.

    python tools/prefix_tables.py known
    python tools/prefix_tables.py trained [--pairs N] FOLDER …
    python tools/prefix_tables.py beyond FOLDER …
    python tools/prefix_tables.py letters FOLDER …
    python tools/prefix_tables.py learned FOLDER …
    python tools/prefix_tables.py write

``known`` compiles every automaton and algorithm of the suite, plain and rotated, and asks which mechanism
``krohn understand --prefixes`` names. ``trained`` asks the same of runs, and how many letters they have right
on words longer than those they were trained on; ``beyond`` measures the latter again, ``letters`` follows
letters from four places. ``learned`` swaps learned and linear subspaces of the last position and of the last
eight. They write to results/understand/, ``write`` puts the tables into results/calibration.md and
results/findings-understand.md.
"""

import json
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from beyond import LENGTHS, beyond
from letter_paths import (
    AT_ONCE,
    FROM_THE_LEFT,
    STEP_BY_STEP,
    UNDECIDED,
    LetterPath,
    follow_letter,
    places_of,
    signature,
)
from understand_tables import ROOT, STORE, markdown, rounded

import krohn
from krohn.lab.interpret.hybrids import ONE_STEP
from krohn.lab.interpret.learned import state_moved
from krohn.lab.interpret.prefixes import PAIRS, patch_prefixes
from krohn.lab.interpret.subject import subject_of, subject_of_decoder, subject_of_run
from krohn.lab.suite.catalogue import NETWORKS
from krohn.lab.suite.disguise import NONE, ROTATED, disguise
from krohn.lab.training.directory import read_config

KNOWN, TRAINED = STORE / "prefixes-known.jsonl", STORE / "prefixes-trained.jsonl"
LEARNED = STORE / "learned.jsonl"
MECHANISM = {"scan": "scan", "grid": "counts", "counter": "counts", "features": ONE_STEP}
"""The mechanism of each algorithm of the suite; all others are cascades. One block is always one step."""


LETTER_PAIRS = 12
GROUPS = ("C2", "C4", "D6", "D8", "Q8", "A4", "S4", "A5")


def known() -> None:
    with KNOWN.open("w") as file:
        for spec, (length, algorithms) in NETWORKS.items():
            for algorithm, options in algorithms.items():
                network = krohn.compile(spec, length=length, **options)
                blocks = len(network.transformer.layers)
                expected = ONE_STEP if blocks == 1 else MECHANISM.get(algorithm, "cascade")
                for kind in (NONE, ROTATED):
                    decoder = disguise(network, kind, seed=7).decoder
                    subject = subject_of_decoder(decoder, network.automaton, kind)
                    report = patch_prefixes(subject)
                    row = {"automaton": spec, "algorithm": algorithm, "disguise": kind, "blocks": blocks}
                    row |= {"expected": expected, "named": report.mechanism, "nearest": report.nearest}
                    row |= {"shares": report.shares, "verdict": report.verdict}
                    row |= {"first_within": [layer.first_within for layer in report.layers]}
                    paths = [follow_letter(subject, place) for place in places_of(length)]
                    row |= {"letters": signature(paths), "within": [path.within for path in paths]}
                    file.write(json.dumps(rounded(row)) + "\n")
                    file.flush()


def trained(folders: list[str]) -> None:
    lines = TRAINED.read_text().splitlines() if TRAINED.exists() else []
    done = {json.loads(line)["name"] for line in lines}
    pairs = PAIRS
    if folders[0] == "--pairs":
        pairs, folders = int(folders[1]), folders[2:]
    for folder in (Path(name) for name in folders):
        if folder.name in done:
            continue
        begun = process_time()
        report = patch_prefixes(folder, pairs=pairs)
        row = {"name": folder.name, **report.to_json(), **beyond_of(folder)}
        with TRAINED.open("a") as file:
            file.write(
                json.dumps(rounded({**row, "seconds": process_time() - begun}), ensure_ascii=False) + "\n"
            )
        print(folder.name, report.verdict, row["beyond"], flush=True)


def beyond_of(folder: Path) -> dict[str, Any]:
    length = read_config(folder).task.length
    return beyond(subject_of_run(folder, round(LENGTHS[-1] * length)), length).to_json()


def beyond_again(folders: list[str]) -> None:
    for folder in (Path(name) for name in folders):
        rows = rows_of(TRAINED)
        (row,) = (row for row in rows if row["name"] == folder.name)
        row |= rounded(beyond_of(folder))
        TRAINED.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        print(folder.name, row["beyond"], row["first_wrong"], flush=True)


def letters(folders: list[str]) -> None:
    for folder in (Path(name) for name in folders):
        subject = subject_of_run(folder, compared=4)
        paths = [follow_letter(subject, place, pairs=LETTER_PAIRS) for place in places_of(subject.length)]
        rows = rows_of(TRAINED)
        (row,) = (row for row in rows if row["name"] == folder.name)
        row["letter_paths"] = [rounded(path.to_json()) for path in paths]
        TRAINED.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        print(folder.name, signature(paths), [path.within for path in paths], flush=True)


def learned(folders: list[str]) -> None:
    lines = LEARNED.read_text().splitlines() if LEARNED.exists() else []
    done = {json.loads(line)["name"] for line in lines}
    for folder in (Path(name) for name in folders):
        if folder.name in done:
            continue
        subject = subject_of(folder)
        blocks, rows = len(subject.stages.blocks), []
        for layer, positions in product((blocks // 2, blocks - 1), (1, 8)):
            shares = state_moved(subject, layer, positions=positions)
            about = {"name": folder.name, "automaton": subject.automaton.name, "blocks": blocks}
            rows.append({**about, "length": subject.length, **shares.to_json()})
            print(rows[-1], flush=True)
        with LEARNED.open("a") as file:
            file.writelines(json.dumps(rounded(row)) + "\n" for row in rows)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def confusion() -> str:
    rows = rows_of(KNOWN)
    counted = Counter((row["expected"], row["named"]) for row in rows)
    expected = list(dict.fromkeys(row["expected"] for row in rows))
    named = [*expected, *sorted({row["named"] for row in rows} - set(expected))]
    body = [
        [
            one,
            str(sum(counted[one, other] for other in named)),
            *(str(counted[one, other] or "") for other in named),
        ]
        for one in expected
    ]
    return markdown(["algorithm", "networks", *(f"named {name}" for name in named)], body)


def abstained() -> str:
    rows = [row for row in rows_of(KNOWN) if row["named"] != row["expected"] and row["disguise"] == NONE]
    body = [
        [f"{row['automaton']} {row['algorithm']}", row["expected"], row["named"], row["nearest"], share(row)]
        for row in rows
    ]
    return markdown(["network", "algorithm", "named", "nearest", "its share in the worst layer, %"], body)


def reaches() -> str:
    """How far the first letter has travelled after each layer; networks with equal lists share a row."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows_of(KNOWN):
        if row["disguise"] == NONE:
            key = row["expected"], numbers(row["first_within"])
            groups.setdefault(key, []).append(f"{row['automaton']} {row['algorithm']}")
    body = [[kind, ", ".join(names), reach] for (kind, reach), names in groups.items()]
    return markdown(["algorithm", "networks", "first letter within, by block"], body)


def going() -> str:
    """Counts of transport mechanisms by algorithm, separately for groups and other automata."""
    rows = rows_of(KNOWN)
    kinds = [AT_ONCE, FROM_THE_LEFT, STEP_BY_STEP, UNDECIDED]
    body = []
    for group in (True, False):
        own = [row for row in rows if (row["automaton"] in GROUPS) == group]
        for expected in dict.fromkeys(row["expected"] for row in own):
            counted = Counter(row["letters"] for row in own if row["expected"] == expected)
            body.append(
                ["groups" if group else "others", expected, *(str(counted[kind] or "") for kind in kinds)]
            )
    return markdown(["automata", "algorithm", *kinds], body)


def share(row: dict[str, Any]) -> str:
    return f"{100 * row['shares'][row['nearest']]:.0f}"


def numbers(values: list[Any]) -> str:
    return " ".join("·" if value is None else str(value) for value in values)


def mechanisms() -> str:
    """A row for each trained network: the mechanism, how far letters go, accuracy on longer words."""
    body = []
    for row in rows_of(TRAINED):
        layers = row["layers"]
        fit = [max(layer["fits"].values(), key=lambda one: one["share"]) for layer in layers[1:-1]]
        body.append(
            [
                label(row),
                str(row["pairs"]),
                row["mechanism"],
                " ".join(f"{100 * one['share']:.0f}" for one in fit),
                " ".join(f"{100 * one['chance']:.0f}" for one in fit),
                numbers([layer["known_from"] for layer in layers]),
                numbers([layer["class_known_from"] for layer in layers]) if row["classes"] else "none",
                numbers([half(row["patched"], layer["first_letter"]) for layer in layers]),
                " ".join(f"{100 * part['right']:.1f}" for part in row["beyond"]),
                ends(row["first_wrong"], row["length"]),
            ]
        )
    head = ["network", "pairs", "named", "best share by layer, %", "its chance", "state from", "class from"]
    return markdown([*head, "first letter", "letters right, %", "first wrong letter"], body)


def ends(first: list[int], length: int) -> str:
    """Least, median and greatest first wrong letter of the words that are right up to the trained length."""
    later = [letter for letter in first if letter > length]
    return f"{min(later)}–{np.median(later):.0f}–{max(later)}" if later else "none right so far"


def half(prefixes: list[int], shares: list[float]) -> int | None:
    """The least number of patched positions from which on half of the answers follow the first letter."""
    least = None
    for count, share in zip(reversed(prefixes), reversed(shares), strict=True):
        if share < 0.5:
            break
        least = count
    return least


def label(row: dict[str, Any]) -> str:
    kind = "Muon, width 512" if "muon" in row["name"] else "width 128"
    return f"{row['automaton']}, {row['length']} letters, {len(row['layers']) - 1} layers, {kind}"


def subspaces() -> str:
    """Learned and linear subspaces, by network, layer and positions."""
    body = []
    for row in rows_of(LEARNED):
        shares = (f"{100 * row[key]:.0f}" for key in ("das", "linear", "random", "everything", "chance"))
        body.append([row["automaton"], f"{row['layer']} of {row['blocks']}", str(row["positions"]), *shares])
    head = ["network", "after layer", "positions", "DAS", "linear", "random", "all directions", "chance"]
    return markdown(head, body)


def letter_paths() -> str:
    """How far letters travel in the trained networks, by layer."""
    body = []
    for row in rows_of(TRAINED):
        if "letter_paths" in row:
            paths = [LetterPath(**path) for path in row["letter_paths"]]
            places = ", ".join(str(path.place) for path in paths)
            body.append([label(row), places, *(numbers(path.within) for path in paths), signature(paths)])
    head = ["network", "letters", "the first", "the second", "the third", "the fourth", "letters go"]
    return markdown(head, body)


def prefix_verdicts() -> str:
    return "\n".join(f"- **{label(row)}**: {row['verdict']}." for row in rows_of(TRAINED))


def write() -> None:
    tables = {
        "prefix-known": confusion,
        "prefix-abstained": abstained,
        "prefix-first": reaches,
        "prefix-letters": going,
        "prefix-trained": mechanisms,
        "prefix-trained-letters": letter_paths,
        "prefix-verdicts": prefix_verdicts,
        "learned": subspaces,
    }
    for page in (ROOT / "results" / "calibration.md", ROOT / "results" / "findings-understand.md"):
        text = page.read_text()
        for name, make in tables.items():
            head, mark, rest = text.partition(f"<!-- {name} -->\n")
            if mark:
                text = head + mark + make() + "\n" + rest[rest.index("<!-- end -->") :]
        page.write_text(text)


if __name__ == "__main__":
    torch.set_num_threads(1)
    what, *names = sys.argv[1:]
    if what in ("trained", "beyond", "letters", "learned"):
        {"trained": trained, "beyond": beyond_again, "letters": letters, "learned": learned}[what](names)
    else:
        {"known": known, "write": write}[what]()
