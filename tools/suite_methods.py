"""Stock interpretability methods on the suite: which find the known circuit, and the known variables.

    python tools/suite_methods.py run SUITE --out results/understand/suite.jsonl [--only NAME,…] [--jobs N]
    python tools/suite_methods.py write results/understand/suite.jsonl docs/suite.md results/suite.md

``run`` scores every method on every network of a folder that ``krohn suite build`` made, one JSON line each,
the largest networks first; networks that are there already, as the suite has them now, are not measured
again. ``write`` puts the tables into the page. The limit: a method costs as many passes as it has
edges (exact patching), six (EAP-IG) or two (EAP); processor seconds are given.
"""

import argparse
import json
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from circuit_methods import CIRCUIT_METHODS, aligned, most_variance

from krohn.lab.suite.catalogue import entries
from krohn.lab.suite.causal import TEST, TRAIN
from krohn.lab.suite.disguise import DISGUISES
from krohn.lab.suite.scoring import Known, score_ranking
from krohn.lab.suite.swaps import interchange_accuracy

PAIRS = 48
VARIABLES = 3
TIE = 0.02
"""Networks on which all methods but the random one are within this AUROC are left out of the headline."""
NETWORKS = [entry for entry in entries() if entry.tier != "taught"]  # those are tools/taught_tier.py's
VERSIONS = {entry.name: entry.version for entry in NETWORKS}
SUBSPACE_METHODS = ("true", "DAS", "most variance")


Rows = list[dict[str, object]]
Part = tuple[str, str]
"""A measurement: ``("circuit", method)``, or ``VARIABLE`` and a variable's name."""
VARIABLE = "variable"


def parts_of(folder: Path) -> list[Part]:
    """The measurements of a network, the most expensive first."""
    known = Known(folder)
    asked = set.intersection(*({one.variable for one in known.counterfactuals(s)} for s in (TRAIN, TEST)))
    variables = spread([one for one in known.facts["variables"] if one["name"] in asked])
    return [
        *(("circuit", method) for method in reversed(CIRCUIT_METHODS)),
        *((VARIABLE, str(one["name"])) for one in variables),
    ]


def measure(folder: Path, part: Part) -> Rows:
    torch.set_num_threads(1)
    known, (kind, name) = Known(folder), part
    if kind == VARIABLE:
        (variable,) = (one for one in known.facts["variables"] if one["name"] == name)
        rows = subspaces(known, variable, *(known.counterfactuals(split) for split in (TRAIN, TEST)))
    else:
        rows = [ranking(known, name)]
    about = {
        key: known.facts[key] for key in ("name", "automaton", "algorithm", "disguise", "edges", "in_graph")
    } | {"suite": known.facts["krohn_suite"]}
    about |= {key: known.facts[key] for key in ("noise", "registers", "channels") if key in known.facts}
    return [{**about, **row} for row in rows]


def ranking(known: Known, method: str) -> dict[str, object]:
    trial, started = known.trial(PAIRS), time.process_time()
    circuit = CIRCUIT_METHODS[method](trial)
    seconds = time.process_time() - started
    score = score_ranking(known, circuit)
    return {
        "kind": "circuit",
        "method": method,
        "auroc": round(score.auroc, 4),
        "cmd": round(score.cmd, 4),
        "seconds": round(seconds, 2),
    }


def spread(variables: list[dict[str, object]]) -> list[dict[str, object]]:
    """At most ``VARIABLES`` of them, evenly spaced from the first to the last."""
    places = np.unique(np.linspace(0, len(variables) - 1, VARIABLES).round().astype(int)) if variables else []
    return [variables[place] for place in places]


def subspaces(known: Known, variable: dict[str, object], train: list, test: list) -> Rows:
    from safetensors.numpy import load_file

    name, place, size = str(variable["name"]), str(variable["place"]), int(str(variable["dimension"]))
    own, asked = ([one for one in side if one.variable == name] for side in (train, test))
    spaces = load_file(known.folder / "subspaces.safetensors")
    result = {}
    for method in SUBSPACE_METHODS:
        started = time.process_time()
        if method == "true":
            basis = torch.tensor(spaces[f"{name} @ {place}"], dtype=torch.float64)
        elif method == "DAS":
            basis = aligned(known.model, place, size, own)
        else:
            basis = most_variance(known.model, place, size, own)
        result[method] = (
            interchange_accuracy(known.model, place, basis, asked),
            time.process_time() - started,
        )
    quiet = float(np.mean([not one.telling for one in asked]))
    return [
        {
            "kind": "subspace",
            "method": method,
            "variable": name,
            "place": place,
            "interchange": round(share, 4),
            "guess": round(quiet, 4),
            "seconds": round(seconds, 2),
        }
        for method, (share, seconds) in result.items()
    ]


def cost(folder: Path) -> tuple[int, str]:
    """Sort key, largest networks first: exact patching costs edges times layers."""
    facts = json.loads((folder / "suite.json").read_text())
    return -facts["edges"] * facts["layers"], folder.name


def run(suite: Path, out: Path, only: set[str], jobs: int) -> None:
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {str(row["name"]) for row in rows if not older(row)}
    folders = [path.parent for path in suite.glob("*/suite.json")]
    wanted = [
        folder
        for folder in sorted(folders, key=cost)
        if folder.name not in done and (not only or folder.name in only)
    ]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        parts = [(folder, part) for folder in wanted for part in parts_of(folder)]
        tasks = {pool.submit(measure, folder, part): folder.name for folder, part in parts}
        open_parts, results = Counter(tasks.values()), dict[str, Rows]()
        for task in as_completed(tasks):
            name = tasks[task]
            if error := task.exception():  # continue with the other networks
                print(f"{name} failed: {error!r}", flush=True)
                continue
            results.setdefault(name, []).extend(task.result())
            open_parts[name] -= 1
            if not open_parts[name]:
                rows = [row for row in rows if row["name"] != name] + results[name]
                out.write_text("".join(json.dumps(row) + "\n" for row in in_order(rows)))
                print(
                    name,
                    *(f"{row['method']} {row['auroc']}" for row in results[name] if "auroc" in row),
                    flush=True,
                )


def in_order(rows: Rows) -> Rows:
    """Sorts rows by the order in which networks and methods are listed."""
    names = [entry.name for entry in NETWORKS]
    methods = [*CIRCUIT_METHODS, *SUBSPACE_METHODS]
    return sorted(
        rows,
        key=lambda row: (
            names.index(str(row["name"])),
            row["kind"] != "circuit",
            str(row.get("place", "")),
            str(row.get("variable", "")),
            methods.index(str(row["method"])),
        ),
    )


def tables(every: Rows) -> dict[str, str]:
    rows = [row for row in every if row["disguise"] in DISGUISES]
    networks = {row["name"]: row for row in rows}
    edges, true = (sum(int(str(row[key])) for row in networks.values()) for key in ("edges", "in_graph"))
    asked = {(row["name"], row["variable"]) for row in rows if row["kind"] == "subspace"}
    count = (
        f"{len(networks)} networks, {edges:,} edges, {true:,} of them in a circuit; {len(asked):,} variables."
    )
    before = len({row["name"] for row in rows if older(row)})
    if before:
        count += f" {before} of them, marked ¹, were measured on an earlier version of the suite."
    whole = complete(rows)
    number, seconds = len({row["name"] for row in whole}), sum(float(str(row["seconds"])) for row in rows)
    count += f" {seconds / 60:.0f} minutes of one core in all."
    if number < len(networks):
        count += f" The next two tables are of the {number} measured in all three disguises."
    apart = contested(whole)
    places = {name: max(scores.values()) for name, scores in apart.items()}
    best = Counter(
        method for name, scores in apart.items() for method, auroc in scores.items() if auroc == places[name]
    )
    count += (
        f" On {number - len(apart)} of them the methods tie (AUROC within {TIE}); the table of circuits is "
        f"of the other {len(apart)}. Best there, ties shared: "
        + ", ".join(f"{method} on {best[method]}" for method in CIRCUIT_METHODS if method != "random")
        + "."
    )
    circuits = [row for row in whole if row["name"] in apart]
    return {
        "suite-count": count,
        "suite-circuits": by_disguise(circuits, tuple(CIRCUIT_METHODS), "auroc", "AUROC", "{:.2f}"),
        "suite-variables": by_disguise(
            whole, SUBSPACE_METHODS, "interchange", "interchange accuracy", "{:.0%}"
        ),
        "suite-networks": by_network(rows),
        "suite-missing": missing(every),
    }


def contested(rows: Rows) -> dict[str, dict[str, float]]:
    """The AUROC by method of networks on which methods differ."""
    scores = dict[str, dict[str, float]]()
    for row in rows:
        if row["kind"] == "circuit" and row["method"] != "random":
            scores.setdefault(str(row["name"]), {})[str(row["method"])] = float(str(row["auroc"]))
    return {name: own for name, own in scores.items() if max(own.values()) - min(own.values()) >= TIE}


def older(row: dict[str, object]) -> bool:
    """Whether an earlier version of the network was measured; rows without a version are of version 1."""
    return int(str(row.get("suite", 1))) < VERSIONS[str(row["name"])]


def missing(rows: list[dict[str, object]]) -> str:
    """The networks of the suite that have no row."""
    names = [entry.name for entry in NETWORKS if entry.name not in {row["name"] for row in rows}]
    if not names:
        return "All networks of the suite were measured."
    return f"Not measured ({len(names)} of {len(NETWORKS)}): {', '.join(names)}."


def by_network(rows: list[dict[str, object]]) -> str:
    """A row for each network: its size, and the AUROC and seconds of each method."""
    methods = tuple(CIRCUIT_METHODS)
    sizes = [key for key in ("registers", "channels", "noise") if key in rows[0]]
    head = ["network", *sizes, "edges", "in the circuit"]
    head += [f"{name}: AUROC (s)" for name in methods]
    head += [f"{name}: interchange" for name in SUBSPACE_METHODS[1:]]
    lines = [head, ["---"] * len(head)]
    for name in dict.fromkeys(row["name"] for row in rows):
        own = [row for row in rows if row["name"] == name]
        mark = " ¹" if older(own[0]) else ""
        cells = [f"{name}{mark}", *(f"{own[0][key]:g}" for key in sizes)]
        cells += [str(own[0]["edges"]), str(own[0]["in_graph"])]
        for method in methods:
            row = next(row for row in own if row["method"] == method)
            cells.append(f"{float(str(row['auroc'])):.3f} ({float(str(row['seconds'])):.1f})")
        for method in SUBSPACE_METHODS[1:]:
            scores = [float(str(row["interchange"])) for row in own if row["method"] == method]
            cells.append(f"{np.mean(scores):.0%}" if scores else "none asked")
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def complete(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """The rows of automata and algorithms that were measured in every disguise."""
    seen: dict[tuple[object, object], set[object]] = {}
    for row in rows:
        seen.setdefault((row["automaton"], row["algorithm"]), set()).add(row["disguise"])
    return [row for row in rows if len(seen[row["automaton"], row["algorithm"]]) == len(DISGUISES)]


def by_disguise(rows: Rows, methods: tuple[str, ...], key: str, title: str, form: str) -> str:
    """A row for each method: mean and least score in each disguise, and mean seconds."""
    head = ["method", *(f"{kind}: {title}, mean (least)" for kind in DISGUISES), "seconds, mean"]
    lines = [head, ["---"] * len(head)]
    for method in methods:
        own = [row for row in rows if row["method"] == method and key in row]
        cells = []
        for kind in DISGUISES:
            scores = [float(str(row[key])) for row in own if row["disguise"] == kind]
            cells.append(f"{form.format(np.mean(scores))} ({form.format(min(scores))})" if scores else "")
        seconds = [float(str(row["seconds"])) for row in own]
        lines.append([method, *cells, f"{np.mean(seconds):.1f}" if seconds else ""])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(records: Path, pages: list[Path]) -> None:
    texts = {page: page.read_text() for page in pages}
    for name, table in tables([json.loads(line) for line in records.read_text().splitlines()]).items():
        (page,) = (page for page, text in texts.items() if f"<!-- {name} -->\n" in text)
        head, mark, rest = texts[page].partition(f"<!-- {name} -->\n")
        texts[page] = head + mark + table + "\n" + rest[rest.index("<!-- end -->") :]
    for page, text in texts.items():
        page.write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "write"])
    parser.add_argument("source", type=Path)
    parser.add_argument("pages", type=Path, nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each on one core")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.what == "run":
        run(given.source, given.out, {name for name in given.only.split(",") if name}, given.jobs)
    else:
        write(given.source, given.pages)
