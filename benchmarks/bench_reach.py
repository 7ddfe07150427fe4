"""What ``krohn compile`` proves by default, and how far: everyday patterns and longer words.

    python benchmarks/bench_reach.py patterns [--length 64] [--every N]
    python benchmarks/bench_reach.py growth [--lengths 100 1000 4000] [NAME …]
    python benchmarks/bench_reach.py longest [--dtype float32] [--most 4096] [NAME …]
    python benchmarks/bench_reach.py middle [--length 64]

``patterns``: 100 patterns of everyday use, for both targets: how many are proved in float32, CPU seconds and
blocks. ``growth``: for the paper's 19 automata and abab, depth, blocks, proof and CPU seconds at each length,
and the slope of the seconds in log–log. ``longest``: by doubling and bisection the largest length at which
what is compiled is proved in a format. ``middle``: random automata of 20 to 200 states, a planted word of 12
letters over 8, and a lock, a planted word of 11 letters and a parity. Aim: everything proved in float32, at
T = 64 within a minute, at 1,000 within 15 s and at 4,000 within 45 s for the zoo. ``tools/size_table.py``
writes the sizes beside the paper's best. Each command replaces its own section of
``results/tables/reach.md``; CPU seconds are those of the machine it ran on.
"""

import argparse
import math
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import krohn
from krohn.automata.semiautomaton import Semiautomaton, with_target
from krohn.errors import KrohnError
from krohn.lab.suite.locks import locked
from krohn.network.compiled import CompiledNetwork

AUTOMATA = (
    *(f"C{n}" for n in range(2, 9)),
    *("C2xC2", "C2xC2xC2", "D6", "D8", "Q8", "A4", "S4", "A5", "S5", "Grid4", "Grid9", "Dyck4,2", "abab"),
)
PAGE = Path(__file__).parents[1] / "results" / "tables" / "reach.md"
HEAD = """# Reach

What `krohn compile` proves by default, written by `python benchmarks/bench_reach.py`; the command in each
section says what of it was run. Aims: float32 for all, within 15 s at T = 1,000, 45 s and 1 GB at 4,000.
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


def timed(spec: str, length: int, **options: str) -> tuple[float, CompiledNetwork | None]:
    start = time.process_time()
    try:
        network = krohn.compile(spec, length, **options)  # type: ignore[call-overload]
    except KrohnError:
        network = None
    return time.process_time() - start, network


def patterns(length: int, every: int) -> Iterator[str]:
    for target in ("state", "observation"):
        spent, blocks, proved, listed = [], [], 0, PATTERNS[::every]
        for pattern in listed:
            seconds, network = timed(f"regex:{pattern}", length, target=target)
            held = network is not None and network.proved == "float32"
            proved += held
            spent.append(seconds)
            if network is not None:
                blocks.append(network.transformer.num_blocks)
            if not held:
                yield f"- not proved in float32, {target}: `{pattern}`"
        shown = f"CPU s median {statistics.median(spent):.1f}, most {max(spent):.1f}"
        yield (
            f"- {target}: {proved} of {len(listed)} proved in float32 at T = {length}; {shown}; "
            f"blocks median {statistics.median(blocks):g}, most {max(blocks)}"
        )


def growth(names: Sequence[str], lengths: Sequence[int]) -> Iterator[str]:
    yield f"| automaton | {' | '.join(f'T = {length:,}' for length in lengths)} | slope | most MB so far |"
    yield f"| --- |{' --- |' * (len(lengths) + 2)}"
    for name in names:
        cells, spent = [], []
        for length in lengths:
            seconds, network = timed(name, length)
            spent.append(seconds)
            if network is None:
                cells.append("refused")
                continue
            net = network.transformer
            proof = network.proved or "not proved"
            cells.append(f"{net.depth} layers, {net.num_blocks} blocks, {proof}, {seconds:.1f} s")
        slope = math.log(spent[-1] / spent[0]) / math.log(lengths[-1] / lengths[0]) if len(spent) > 1 else 0.0
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        yield f"| {name} | {' | '.join(cells)} | {slope:.2f} | {memory:,} |"


def longest(names: Sequence[str], dtype: str, most: int) -> Iterator[str]:
    def holds(name: str, length: int) -> bool:
        network = timed(name, length, dtype=dtype)[1]
        return network is not None and network.proved == dtype

    for name in names:
        low, high = 0, 64
        while high <= most and holds(name, high):
            low, high = high, 2 * high
        while high - low > max(1, low // 32) and low < most:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(name, middle) else (low, middle)
        yield f"- {name}: proved in {dtype} up to {'at least ' * (low >= most)}T = {low:,}"


def middle_sizes() -> Iterator[tuple[str, Semiautomaton]]:
    for states, letters, seeds in ((20, 3, 3), (30, 4, 3), (200, 4, 1)):
        for seed in range(seeds):
            table = np.random.default_rng(seed).integers(states, size=(states, letters))
            yield f"random, {states} × {letters}, seed {seed}", Semiautomaton(table)
    word = tuple(np.random.default_rng(0).integers(8, size=12).tolist())
    matched = locked(word, ()).table[0::2] // 2  # without the parity
    yield "planted word, 12 letters over 8", Semiautomaton(matched)
    yield "lock, 11 letters over 8", with_target(locked(word[:11], (0, 3, 5)), "state")


def middle(length: int) -> Iterator[str]:
    yield "| automaton | network | proved | CPU s | most MB so far |"
    yield "| --- | --- | --- | --- | --- |"
    for name, automaton in middle_sizes():
        start = time.process_time()
        try:
            network = krohn.compile(automaton, length)
            net = network.transformer
            cells = (
                f"{network.method}, {net.depth} layers, {net.num_blocks} blocks | {network.proved or 'no'}"
            )
        except KrohnError as error:
            cells = f"none: {error} | no"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        yield f"| {name} | {cells} | {time.process_time() - start:.1f} | {memory:,} |"


def kept(title: str, lines: Iterator[str]) -> None:
    """Prints the lines, then puts them in place of the section of this title."""
    command = "python benchmarks/bench_reach.py " + " ".join(sys.argv[1:])
    text = f"## {title}\n\n`{command}`\n\n"
    for line in lines:
        print(line, flush=True)
        text += line + "\n"
    head, *sections = (PAGE.read_text() if PAGE.exists() else HEAD).split("\n## ")
    others = [section for section in sections if not section.startswith(title + "\n")]
    PAGE.write_text("\n## ".join([head.rstrip() + "\n", *[s.rstrip() + "\n" for s in others], text[3:]]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=("patterns", "growth", "longest", "middle"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--lengths", type=int, nargs="+", default=[100, 1000, 4000])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th pattern")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--most", type=int, default=4096)
    given = parser.parse_args()
    names = given.names or AUTOMATA
    if given.what == "patterns":
        kept("Patterns", patterns(given.length, given.every))
    elif given.what == "growth":
        kept("Growth with the length", growth(names, given.lengths))
    elif given.what == "middle":
        kept("Middle sizes", middle(given.length))
    else:
        kept(f"The longest words, {given.dtype}", longest(names, given.dtype, given.most))


if __name__ == "__main__":
    main()
