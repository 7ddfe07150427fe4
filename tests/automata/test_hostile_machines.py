"""Hostile files of every format: one line, exit status 2, in 20 seconds and a gigabyte."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.bounded_programs import survived

MEGA = 1_000_000


def chain(states: int) -> str:
    return "".join(f"{n}\t{n + 1}\ta\ta\n" for n in range(states)) + f"{states}\n"


def nested(depth: int) -> str:
    return "(" * depth + "0" + ")" * depth


HOA = "HOA: v1\nStart: 0\nAP: {bits} {names}\nAcceptance: 1 Inf(0)\n--BODY--\nState: 0 {{0}} {body}\n--END--"


def hoa(bits: int, body: str) -> str:
    return HOA.format(bits=bits, names=" ".join(f'"p{n}"' for n in range(bits)), body=body)


def guess(bits: int) -> str:
    """The letter so many places from the end: 2^bits sets of states."""
    arrows = "".join(f"{n} {n + 1} {x}\n" for n in range(1, bits) for x in "ab")
    return f"0 0 a\n0 0 b\n0 1 a\n{arrows}{bits}\n"


HOSTILE: dict[str, tuple[str, Callable[[], str | bytes]]] = {
    "a line of 10 MB": (".att", lambda: "0 1 " + "a" * 10 * MEGA + " b c d"),
    "a million states": (".att", lambda: chain(MEGA)),
    "2^40 sets": (".att", lambda: guess(40)),
    "zero bytes": (".fst", lambda: b"\xd6\xfd\xb2\x7e\0\0\0\0" * 1000),
    "17 MB": (".att", lambda: "0 0 a\n" * 3 * MEGA),
    "no UTF-8": (".csv", lambda: b"s,a\n\xff,p\n"),
    "10 MB of braces": (".dot", lambda: "digraph {" + "{" * 10 * MEGA),
    "10 MB of brackets": (".dot", lambda: "digraph { a -> b [label=<" + "<" * 10 * MEGA),
    "an open quote": (".dot", lambda: 'digraph { a -> b [label="' + "x" * 10 * MEGA),
    "an open list": (".dot", lambda: "digraph { a [" + "a=b," * 2 * MEGA),
    "a chain of a million": (".dot", lambda: "digraph { " + "a -> " * MEGA),
    "slashes": (".dot", lambda: "digraph { " + "/*" * 5 * MEGA),
    "17 bits": (".kiss2", lambda: f".i 17\n{'-' * 17} a b 1\n"),
    "10 MB of bits": (".kiss2", lambda: f".i {10 * MEGA}\n{'-' * 10 * MEGA} a b 1\n"),
    "65,536 cubes": (".kiss2", lambda: "".join(f"{n:016b} a b 1\n" for n in range(1 << 16))),
    "a million stars": (".kiss2", lambda: "".join(f"1 s{n} * 1\n- * s{n} 1\n" for n in range(100_000))),
    "deep parentheses": (".hoa", lambda: hoa(1, f"[{nested(3 * MEGA)}] 0")),
    "many negations": (".hoa", lambda: hoa(16, f"[{'!' * 10 * MEGA}0] 0")),
    "aliases of aliases": (
        ".hoa",
        lambda: "HOA: v1\nStart: 0\nAlias: @a @b\nAlias: @b @a\n--BODY--\nState: 0 [@a] 0",
    ),
    "60,000 labels": (".hoa", lambda: hoa(16, " ".join(f"[{n % 16}&{n}] 0" for n in range(60_000)))),
    "a field of 10 MB": (".csv", lambda: 's,"' + "a" * 10 * MEGA),
    "a quote in a table": (".csv", lambda: 's,a\n"' + "p,p\n" * MEGA),
    "a million columns": (".tsv", lambda: "s" + "\ta" * MEGA + "\nq"),
    "nothing": (".att", lambda: "\n" * 10 * MEGA),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_machine_is_one_line(name: str, tmp_path: Path) -> None:
    suffix, make = HOSTILE[name]
    data = make()
    path = tmp_path / f"hostile{suffix}"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    survived("krohn", "zoo", path.name, folder=tmp_path)
