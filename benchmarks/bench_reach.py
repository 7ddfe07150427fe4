"""What ``krohn compile`` proves by default, and how far: everyday patterns and longer words.

    python benchmarks/bench_reach.py patterns [--length 64]
    python benchmarks/bench_reach.py growth [--lengths 100 1000 4000] [NAME …]
    python benchmarks/bench_reach.py longest [--dtype float32] [--most 4096] [NAME …]
    python benchmarks/bench_reach.py middle [--length 64]

``patterns``: 100 patterns of everyday use, for both targets: how many are proved in float32, CPU seconds and
blocks. ``growth``: for the paper's 19 automata and abab, depth, blocks, proof and CPU seconds at each length,
and the slope of the seconds in log–log. ``longest``: the largest length at which what is compiled is proved
in a format, ``--most`` first, then by doubling and bisection. ``middle``: random automata of 20 to 200
states, a planted word of 12 letters over 8, and a lock, a planted word of 11 letters and a parity. Aim:
everything proved in float32, at T = 64 within a minute, at 1,000 within 15 s and at 4,000 within 45 s for
the zoo. ``tools/size_table.py`` writes the sizes beside the paper's best.

Each network is compiled in a process of its own, ``--processes`` at a time, and is a line of ``--rows``;
lines that are there already are not measured again. Each command replaces its own section of
``results/tables/reach.md``.
"""

import argparse
import json
import math
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

import krohn
from krohn.automata.observed import with_target
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import KrohnError, counted
from krohn.lab.suite.locks import build_lock

AUTOMATA = (
    *(f"C{n}" for n in range(2, 9)),
    *("C2xC2", "C2xC2xC2", "D6", "D8", "Q8", "A4", "S4", "A5", "S5", "Grid4", "Grid9", "Dyck4,2", "abab"),
)
TABLES = Path(__file__).parents[1] / "results" / "tables"
HEAD = """# Reach

What `krohn compile` proves by default, written by `python benchmarks/bench_reach.py` from the measurements in
`reach.jsonl`; the command in each section says what of it was run. Aims: float32 for all, at T = 64 within a
minute, within 15 s at T = 1,000, 45 s and 1 GB at 4,000.
"""
NUMBER, HEX, NAME = "[0-9]+", "[0-9a-f]+", "[a-z][a-z0-9_]*"
PATTERNS = (
    *(
        NUMBER,
        f"-?{NUMBER}",
        f"[-+]?{NUMBER}",
        f"{NUMBER}(\\.{NUMBER})?",
        r"0|[1-9][0-9]*",
        r"-?(0|[1-9][0-9]*)",
    ),
    *(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", r"[0-9]{3}", r"[0-9]{5}", r"[0-9]{5}(-[0-9]{4})?"),
    *(r"[0-9]{3}-[0-9]{4}", r"\([0-9]{3}\)_[0-9]{3}-[0-9]{4}", r"\+[0-9]{2}_[0-9]+", r"[0-9]{2}:[0-9]{2}"),
    *(
        r"[0-9]{2}:[0-9]{2}:[0-9]{2}",
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
        r"[0-9]{2}/[0-9]{2}/[0-9]{4}",
        r"[01]?[0-9]",
    ),
    *(r"[0-9]{1,3}(,[0-9]{3})*", r"\$[0-9]+\.[0-9]{2}", r"[0-9]+%", f"0x{HEX}", f"#{HEX}", r"#[0-9a-f]{6}"),
    *(r"#[0-9a-f]{3}([0-9a-f]{3})?", r"[01]+", r"[01]{8}", r"(0|1)*00", r"(0|1)*1(0|1)", r"0*10*", r"(01)*"),
    *(
        NAME,
        r"[A-Z][a-z]*",
        r"[a-z]+",
        r"[A-Z]+",
        r"[a-z]+(-[a-z]+)*",
        r"[a-z]+([A-Z][a-z]+)*",
        r"[a-z]+(_[a-z]+)*",
    ),
    *(
        f"{NAME}(\\.{NAME})*",
        f"{NAME}\\(\\)",
        f"{NAME}={NUMBER}",
        f"({NAME};)*",
        f"{NAME}(,{NAME})*",
        r"'[a-z_]*'",
    ),
    *(
        r"\"[a-z_]*\"",
        r"\"([a-z]|\\\\.)*\"",
        r"//[a-z_]*",
        r"/\*[a-z_]*\*/",
        r"#[a-z_]*",
        r"<[a-z]+>",
        r"</[a-z]+>",
    ),
    *(r"<[a-z]+/?>", r"\[[a-z]*\]", r"\{[a-z]*\}", r"[a-z]+@[a-z]+\.[a-z]+", r"[a-z.]+@[a-z]+(\.[a-z]+)+"),
    *(
        r"https?://[a-z.]+",
        r"https?://[a-z.]+(/[a-z]*)*",
        r"(www\.)?[a-z]+\.(com|org)",
        r"/([a-z]+/)*",
        r"\.\./[a-z]*",
    ),
    *(r"[a-z]+\.(txt|md)", r"[a-z]+\.[a-z]{2,4}", r"([a-z]+/)*[a-z]+\.py", r"-[a-z]", r"--[a-z]+(=[a-z]+)?"),
    *(
        r"[0-9]+\.[0-9]+\.[0-9]+",
        r"v[0-9]+(\.[0-9]+)*",
        r"[0-9]{1,3}(\.[0-9]{1,3}){3}",
        r"([0-9a-f]{2}:){5}[0-9a-f]{2}",
    ),
    *(
        r"(true|false)",
        r"(yes|no)?",
        r"(GET|POST|PUT)",
        r"(mon|tue|wed|thu|fri)",
        r"(red|green|blue)",
        r"if|else|while",
    ),
    *(
        r"(a|b)*abb",
        r"(ab)*",
        r"(ab|ba)*",
        r"a*b*",
        r"a*b*c*",
        r"(a|b)*aa(a|b)*",
        r"(b|ab)*a?",
        r"b*(ab*ab*)*",
    ),
    *(
        r"(a|b)*a(a|b)",
        r"(a|b)*a(a|b)(a|b)",
        r"(a|b)*(abc|cab)(a|b)*",
        r"(a|b|c)*abc",
        r"a(b|c)*d",
        r"(a|bc)*",
        r"a+b+",
    ),
    *(
        r"(aa)*",
        r"(aaa)*",
        r"(aa|aaa)*",
        r"ab?c?",
        r"[^a]*",
        r"[^ab]*ab",
        r"[a-z]{3,}",
        r"[a-z]?[0-9]",
        r"x[0-9]{2}y",
    ),
)


PLANTED = tuple(np.random.default_rng(0).integers(8, size=12).tolist())
MIDDLE = (
    *(f"random, {size}, seed {seed}" for size in ("20 × 3", "30 × 4") for seed in range(3)),
    *("random, 50 × 8, seed 0", "random, 80 × 4, seed 0", "random, 100 × 2, seed 0"),
    *("random, 120 × 4, seed 0", "random, 200 × 4, seed 0", "random, 200 × 8, seed 0"),
    *("planted word, 12 letters over 8", "lock, 11 letters over 8"),
)


@dataclass(frozen=True)
class Question:
    """What is compiled; ``verified``: proved once more by ``krohn.verify``, with its own seconds."""

    name: str
    length: int
    target: str = "state"
    dtype: str | None = None
    verified: bool = False


def automaton_of(name: str) -> str | Semiautomaton:
    """A name of the zoo or a pattern as it is, and the automata of ``MIDDLE``."""
    if name.startswith("random, "):
        states, _, letters, _, seed = name.removeprefix("random, ").replace(",", "").split()
        generator = np.random.default_rng(int(seed))
        return Semiautomaton(generator.integers(int(states), size=(int(states), int(letters))))
    if name.startswith("planted "):
        return Semiautomaton(build_lock(PLANTED, ()).table[0::2] // 2)  # without the parity
    if name.startswith("lock, "):
        return with_target(build_lock(PLANTED[:11], (0, 3, 5)), "state")
    return name


def answered(question: Question) -> dict[str, Any]:
    """The row of a question: the network, its proof, CPU seconds, and the most memory of this process."""
    row: dict[str, Any] = {**vars(question)}
    automaton, start = automaton_of(question.name), time.process_time()
    try:
        options = {"dtype": question.dtype} if question.dtype else {}
        network = krohn.compile(automaton, question.length, target=question.target, **options)  # type: ignore[call-overload]
        net = network.transformer
        row |= {"method": network.method, "layers": net.depth, "blocks": net.num_blocks}
        row |= {"proved": network.proved, "passed over": list(network.passed_over)}
    except KrohnError as error:
        row |= {"proved": None, "error": str(error)}
    row["seconds"] = round(time.process_time() - start, 2)
    if question.verified and row["proved"]:
        start = time.process_time()
        row["certified"] = krohn.verify(network, dtype=row["proved"]).certified
        row["seconds to verify"] = round(time.process_time() - start, 2)
    row["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    row["machine"] = f"{platform.machine()}, {os.cpu_count()} cores"
    return row


class Answers:
    """The rows of a file, and a pool of processes that adds those that are missing."""

    def __init__(self, file: Path, processes: int):
        self.file, self.writing, self.processes = file, Lock(), processes
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(processes, mp_context=context, max_tasks_per_child=1)
        lines = file.read_text().splitlines() if file.exists() else []
        self.rows = {self.key(row): row for row in map(json.loads, lines)}
        self.asked: dict[Question, dict[str, Any]] = {}

    @staticmethod
    def key(row: dict[str, Any]) -> Question:
        return Question(*(row[name] for name in Question.__dataclass_fields__))

    def __getitem__(self, question: Question) -> dict[str, Any]:
        if question not in self.rows:
            row = self.pool.submit(answered, question).result()
            with self.writing, self.file.open("a") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            self.rows[question] = row
        self.asked[question] = self.rows[question]
        return self.rows[question]

    def each(self, questions: Sequence[Question]) -> list[dict[str, Any]]:
        """The rows of all questions, in their order."""
        with ThreadPoolExecutor(self.processes) as threads:
            return list(threads.map(self.__getitem__, questions))


def patterns(answers: Answers, length: int) -> Iterator[str]:
    targets = ("state", "observation")
    questions = [Question(f"regex:{pattern}", length, target) for target in targets for pattern in PATTERNS]
    answers.each(questions)
    for target in targets:
        rows = [answers[question] for question in questions if question.target == target]
        spent, blocks = [row["seconds"] for row in rows], [row["blocks"] for row in rows if "blocks" in row]
        held = sum(row["proved"] == "float32" for row in rows)
        shown = f"CPU s median {statistics.median(spent):.1f}, most {max(spent):.1f}"
        yield (
            f"- {target}: {held} of {len(rows)} proved in float32 at T = {length}; {shown}; blocks median "
            f"{statistics.median(blocks):g}, most {max(blocks)}; most memory {max(r['MB'] for r in rows)} MB"
        )
        for row in rows:
            if row["proved"] != "float32":
                why = row.get("error") or row["proved"] or row["passed over"][-1]
                yield f"  - not in float32: `{row['name']}`: {why}"
            elif row["seconds"] > 60:
                yield f"  - more than a minute: `{row['name']}`: {row['seconds']:.0f} s"


def growth(answers: Answers, names: Sequence[str], lengths: Sequence[int]) -> Iterator[str]:
    yield "Layers, blocks, proof, CPU seconds of `compile` and of `verify`."
    yield ""
    yield f"| automaton | {' | '.join(f'T = {length:,}' for length in lengths)} | slope | most MB |"
    yield f"| --- |{' --- |' * (len(lengths) + 2)}"
    questions = {name: [Question(name, length, verified=True) for length in lengths] for name in names}
    answers.each([question for own in questions.values() for question in own][::-1])  # the longest first
    for name, own in questions.items():
        rows = [answers[question] for question in own]
        cells = [
            f"{row['layers']}, {row['blocks']}, {row['proved'] or 'not proved'}, {row['seconds']:.1f} + "
            f"{row.get('seconds to verify', 0):.1f} s"
            if "layers" in row
            else "refused"
            for row in rows
        ]
        whole = [row["seconds"] for row in rows]
        slope = math.log(whole[-1] / whole[0]) / math.log(lengths[-1] / lengths[0]) if len(rows) > 1 else 0.0
        yield f"| {name} | {' | '.join(cells)} | {slope:.2f} | {max(row['MB'] for row in rows)} |"


def longest(answers: Answers, names: Sequence[str], dtype: str, most: int) -> Iterator[str]:
    def holds(name: str, length: int) -> bool:
        return answers[Question(name, length, dtype=dtype)]["proved"] == dtype

    def largest(name: str) -> tuple[int, int]:
        """A length that is proved, and one a little longer that is not."""
        if holds(name, most):  # the network for these words is one for all shorter ones
            return most, most
        low, high = 0, 4
        while high < most and holds(name, high):
            low, high = high, 2 * high
        high = min(high, most)
        while high - low > max(1, low // 32):
            middle = (low + high) // 2
            low, high = (middle, high) if holds(name, middle) else (low, middle)
        return low, high

    with ThreadPoolExecutor(answers.processes) as threads:
        found = dict(zip(names, threads.map(largest, names), strict=True))
    far = [name for name in names if found[name][0] == most]
    yield f"- at least T = {most:,}: {', '.join(far) or 'none'}"
    for name, (low, high) in found.items():
        if low < most:
            yield f"- {name}: T = {low:,}, not at {high:,}"


def middle(answers: Answers, length: int) -> Iterator[str]:
    yield "| automaton | network | proved | CPU s | most MB |"
    yield "| --- | --- | --- | --- | --- |"
    for row in answers.each([Question(name, length) for name in MIDDLE]):
        network = (
            f"{row['method']}, {row['layers']} layers, {row['blocks']} blocks"
            if "layers" in row
            else f"none: {row['error']}"
        )
        cells = (network, row["proved"] or "no", f"{row['seconds']:.1f}", f"{row['MB']:,}")
        yield f"| {row['name']} | {' | '.join(cells)} |"


def kept(title: str, lines: Iterator[str], answers: Answers) -> None:
    """Prints the lines, then puts them in place of the section of this title."""
    text, page = "", TABLES / "reach.md"
    for line in lines:
        print(line, flush=True)
        text += line + "\n"
    counts = Counter(row["machine"] for row in answers.asked.values()).most_common()
    where = "; ".join(f"{counted(count, 'row')} on {machine}" for machine, count in counts)
    command = "python benchmarks/bench_reach.py " + " ".join(sys.argv[1:])
    text = f"## {title}\n\n`{command}` ({where})\n\n{text}"
    _, *sections = (page.read_text() if page.exists() else HEAD).split("\n## ")
    others = [section for section in sections if not section.startswith(title + "\n")]
    page.write_text("\n## ".join([HEAD, *[s.rstrip() + "\n" for s in others], text[3:]]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=("patterns", "growth", "longest", "middle"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--lengths", type=int, nargs="+", default=[100, 1000, 4000])
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--most", type=int, default=4096)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rows", type=Path, default=TABLES / "reach.jsonl")
    given = parser.parse_args()
    names, answers = given.names or AUTOMATA, Answers(given.rows, given.processes)
    if given.what == "patterns":
        kept("Patterns", patterns(answers, given.length), answers)
    elif given.what == "growth":
        kept("Growth with the length", growth(answers, names, given.lengths), answers)
    elif given.what == "middle":
        kept("Middle sizes", middle(answers, given.length), answers)
    else:
        kept(f"The longest words, {given.dtype}", longest(answers, names, given.dtype, given.most), answers)


if __name__ == "__main__":
    main()
