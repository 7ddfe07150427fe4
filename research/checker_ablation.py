"""Ablation of the checker: which networks are no longer proved once one part is disabled.

    python research/checker_ablation.py [--longer] [--jobs 1] [--only TEXT] [--parts PART …] [--log FILE] …

``--out research/ablation.md`` writes the page, and with ``--longer`` adds its second table. With
``--log`` a run continues where it was stopped.
A part is disabled by replacing its function: a bound by a weaker one, a rule by a refusal. Nothing wrong can
be proved that way; the count is of proofs lost. A part whose removal loses no proof should be deleted.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import krohn
from krohn.check.arithmetic import format as formats
from krohn.check.ground import Refused
from krohn.check.recurrent import chunks
from krohn.check.transformer import checker, head_rules, mlp, scan
from krohn.errors import KrohnError
from krohn.exporting.from_compiled import decoder_of_compiled
from krohn.proving.compiled import arithmetic, attempt
from krohn.proving.export import prove
from krohn.proving.witness import machines
from krohn.proving.witness import search as witness_search

PAPER = (
    *("C2", "C3", "C4", "C5", "C6", "C7", "C8", "C2xC2", "C2xC2xC2"),
    *("D6", "D8", "Q8", "A4", "S4", "A5", "S5", "Grid4", "Grid9", "Dyck4,2"),
)
FORMS = ("C6", "D8", "S4", "abab", "Grid4", "FlipFlop")
HALVES = ("C2", "C3", "C6", "S4", "FlipFlop", "Memory3", "abab", "Grid4", "Add")
LONGEST = (("C3", 1000), ("C6", 700), ("C6", 786), ("abab", 900))
"""Cascades nearly as long as the compiler builds them for float32."""
FEATURES = ("Dyck2,2", "Add", "abab", "regex:d*(es?d*)?", "regex:b*a[ab]*", "T3", "C2xC2", "WriteOnce2")
RECURRENT = {
    "deltaproduct": "C2 C5 S3 abab Grid4",
    "diagonal": "FlipFlop Grid4 C3 C2 C5",
    "rankone": "C2 S3 abab",
    "lstm": "C2 S3 abab",
    "gru": "C2 S3 abab",
}
LARGE = {
    "deltaproduct": "D8 Q8 A4 S4 A5 S5 Dyck4,2 Grid9",
    "diagonal": "D8 Q8 S4 Dyck4,2",
    "rankone": "D8 S4 A5 Dyck4,2",
    "lstm": "D8 A4",
    "gru": "D8 A4",
}
LONGER = "Longer words and larger automata"
Case = tuple[str, str, int, str, tuple[tuple[str, Any], ...]]
"""Group, automaton, length, dtype (or architecture, or format of an export), options."""


def cases() -> Iterator[Case]:
    """Networks of every kind that the checker knows, slow ones first."""
    yield from (("export", spec, 32, to, ()) for spec in PAPER[::-1] for to in ("hf", "plain"))
    for method in ("scan", "paper", "grid", "cascade"):
        yield from ((method, spec, 32, "float32", (("method", method),)) for spec in FORMS)
    yield from (("default", spec, 128, "float32", ()) for spec in PAPER)
    yield from (("half", spec, 16, dtype, ()) for spec in HALVES for dtype in ("float16", "bfloat16"))
    yield from (("features", spec, 8, "float64", (("method", "features"),)) for spec in FEATURES)
    yield from (
        ("sine", spec, 16, "float64", (("method", "paper"), ("activation", "sin")))
        for spec in ("C5", "Q8", "S4")
    )
    yield from (("one layer", spec, 8, "float32", (("method", "wide"),)) for spec in ("D6", "abab", "S3"))
    for kind, names in RECURRENT.items():
        yield from (("recurrent", spec, 0, kind, ()) for spec in names.split())


def longer() -> Iterator[Case]:
    """Longer words and larger automata, for parts that small networks do without."""
    yield from (("export", spec, 64, to, ()) for spec in PAPER[::-1] for to in ("hf", "plain"))
    for method in ("scan", "cascade"):
        yield from ((method, spec, 100, "float32", (("method", method),)) for spec in FORMS)
    yield from (("default", spec, 512, "float32", ()) for spec in PAPER if spec not in ("Grid9", "Dyck4,2"))
    yield from (("default", spec, 1024, "float64", ()) for spec in FORMS)
    yield from (("cascade", spec, length, "float32", (("method", "cascade"),)) for spec, length in LONGEST)
    yield from (("half", spec, 32, dtype, ()) for spec in HALVES for dtype in ("float16", "bfloat16"))
    for kind, names in LARGE.items():
        yield from (("recurrent", spec, 0, kind, ()) for spec in names.split())


def refuse(*given: Any, **options: Any) -> Any:
    raise Refused("taken out")


def plain(self: mlp.Affine) -> mlp.Affine:
    """Bounds each unit by its box alone, without shared symbols."""
    result = mlp.entering(self.box)
    own = result.tied.sum(axis=0)
    return mlp.Affine(self.box, result.centre, np.zeros((0, *own.shape)), own, self.grain)


def no_clock(along: Any) -> Any:
    return READINGS(np.zeros_like(along))


def deep_sums(self: Any, count: Any, reach: Any, additions: Any) -> Any:
    return WEIGHT_ERROR(self, count, reach, np.broadcast_to(count, np.shape(additions)))


def any_tree(self: Any, size: Any, largest: Any, count: Any, terms: float) -> Any:
    return self.inner.error(size, terms + 1.0, terms)


def any_moments(fmt: Any, most: Any) -> Any:
    return fmt.inner.error(most.sum(), float(len(most)), 0.0)


def every_letter(look: Any) -> head_rules.Counted:
    sizes = (look.moment.classes,), (look.length,), (len(look.keys), look.length)
    return head_rules.Counted(*(np.ones(size, dtype=bool) for size in sizes))


def no_choices(moment: Any, fold: Any, k: int, *, choices: bool) -> Any:
    return EXACT_ENDS(moment, fold, k, choices=False)


def any_order(self: Any, parts: Any) -> formats.Box:
    made, beyond, size = parts[0].part, parts[0].beyond, parts[0].size
    for part in parts[1:]:
        made, beyond, size = made + part.part, beyond + part.beyond, size + part.size
    off = self.inner.error(size, len(parts) - 1.0, 0.0) + self.off_stores(size, len(parts))
    return self.stored(formats.Box(made.widen(off), beyond))


def the_latest(look: Any, rule: Any, new: Any, output: Any) -> Any:
    return refuse() if rule.earliest else REMEMBER(look, rule, new, output)


EXACT_ENDS, REMEMBER = machines._exact_ends, checker.remember
READINGS, WEIGHT_ERROR = checker.readings_of, formats.Format.weight_error
Part = tuple[tuple[Any, str, Callable[..., Any]], ...]
PARTS: dict[str, Part] = {
    "affine forms": ((mlp.Affine, "shared", plain),),
    "pairs of opposite units": ((mlp, "mirrors", lambda into, out: np.zeros((0, 2), dtype=np.int64)),),
    "grain of forms": ((mlp, "dividing", lambda unit, weight: np.zeros(weight.shape[1])),),
    "strands run as one": ((mlp.Block, "gathered", lambda self, blocks, found: found),),
    "clocks": ((checker, "readings_of", no_clock), (witness_search, "readings_of", no_clock)),
    "choices of folds": ((machines, "_exact_ends", no_choices),),
    "two summands have one sum": ((formats.Format, "gathered", any_order),),
    "earliest members of cells": ((checker, "remember", the_latest),),
    "sums over some letters": ((head_rules, "choose_counted", every_letter),),
    "depth of the terms of softmax": ((formats.Format, "weight_error", deep_sums),),
    "averages by partial sums": ((formats.Format, "averaged", any_tree),),
    "weights that are exactly 0 and 1": ((formats.Format, "certain", lambda self, gap: False),),
    "rounds of a scan": ((scan, "_require_cut", refuse),),
    "LayerNorm: few large squares": ((formats, "positive_sum", any_moments),),
    "chunks": ((chunks, "_fits", lambda size, unit: False),),
}


@contextmanager
def without(part: Part) -> Iterator[None]:
    with ExitStack() as stack:
        for place, name, instead in part:
            stack.enter_context(patch.object(place, name, instead))
        yield


def prover(case: Case) -> Callable[[], str] | None:
    """A function that proves the network of a case and returns the claim; ``None`` if it is not built."""
    group, spec, length, kind, options = case
    try:
        if group == "recurrent":
            recurrent = krohn.compile(spec, architecture=kind)
            return lambda: _recurrent(recurrent)
        dtype = "float32" if group == "export" else kind
        network = krohn.compile(spec, length, dtype=dtype, **dict(options))
    except KrohnError:
        return None
    if group == "export":
        decoder = decoder_of_compiled(network, normalized=kind == "hf", dtype="float32")
        return lambda: "yes" if prove(decoder, network).certified else ""
    ask = network.transformer, network.automaton, length, arithmetic(kind)
    return lambda: "yes" if attempt(*ask)[1] is None else ""


def _recurrent(network: Any) -> str:
    result = krohn.verify(network)
    if result.certified:
        return f"every length, {result.claim.order}"
    return f"{result.largest} letters" if result.largest else ""


def measured(case: Case, parts: tuple[str, ...]) -> tuple[Case, dict[str, tuple[str, float]]]:
    """The proof and its seconds, with all parts and without each of them."""
    ask, result = prover(case), dict[str, tuple[str, float]]()
    if ask is None:
        return case, result
    for name in ("", *parts):
        start = time.process_time()
        with without(PARTS.get(name, ())):
            proved = ask()
        result[name] = proved, time.process_time() - start
        if not proved and not name:
            break  # nothing to lose
    return case, result


def report(rows: list[tuple[Case, dict[str, tuple[str, float]]]], parts: tuple[str, ...], title: str) -> str:
    proved = [(case, row) for case, row in rows if row and row[""][0]]
    lines = [
        title,
        "",
        f"Written by `research/checker_ablation.py`: {len(proved)} networks that are proved, each proved "
        "again without one part at a\ntime, which is replaced by a weaker bound or by a refusal. *Slower*: "
        "processor time of what is still proved, in proportion.",
        "",
        "| without | lost | slower | which |",
        "|---|---:|---:|---|",
    ]
    for part in parts:
        lost = [_named(case) for case, row in proved if row[part][0] != row[""][0]]
        same = [row for _, row in proved if row[part][0] == row[""][0]]
        ratio = sum(row[part][1] for row in same) / max(1e-9, sum(row[""][1] for row in same))
        shown = "; ".join(lost[:8]) + (f"; and {len(lost) - 8} more" if len(lost) > 8 else "")
        lines.append(f"| {part} | {len(lost)} | {ratio:.2f} | {shown} |")
    return "\n".join(lines) + "\n"


def _named(case: Case) -> str:
    group, spec, length, kind, _ = case
    return f"{spec} ({group}, {kind}{f', T = {length}' if length else ''})".replace("|", "\\|")


def read_log(path: Path | None) -> dict[Case, dict[str, tuple[str, float]]]:
    """The rows of an earlier run."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {
        (*case, tuple(tuple(option) for option in options)): {
            name: tuple(cell) for name, cell in result.items()
        }
        for (*case, options), result in lines
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--longer", action="store_true", help="longer words and larger automata instead")
    parser.add_argument("--only", default="", help="cases whose group and automaton contain this")
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument(
        "--log", type=Path, help="append a line per network; networks already in it are skipped"
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    parts, known = tuple(options.parts), read_log(options.log)
    chosen = [
        case for case in (longer() if options.longer else cases()) if options.only in f"{case[0]} {case[1]}"
    ]
    missing = [case for case in chosen if case not in known]
    with ProcessPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(measured, case, parts) for case in missing]):
            case, result = done.result()
            known[case] = result
            if options.log:
                with options.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps([case, result]) + "\n")
    rows = [(case, known[case]) for case in chosen]
    text = report(rows, parts, f"## {LONGER}" if options.longer else "# What each part of the checker is for")
    print(text)
    refused = [_named(case) for case, result in rows if not result or not result[""][0]]
    print("not built or not proved:", "; ".join(refused))
    if options.out and options.longer:
        first = options.out.read_text(encoding="utf-8").partition(f"\n## {LONGER}")[0]
        text = f"{first}\n{text}"
    if options.out:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
