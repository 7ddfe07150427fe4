"""Patterns that people wrote: how many are read, and whether ``re`` agrees on strings near what they match.

    python benchmarks/bench_patterns.py LIST.re ... [--every N] [--jobs N] [--strings 200] --out F.jsonl

A list has a pattern on each line; one written ``/pattern/flags`` is searched for, any other is to match the
whole word. Python's ``re`` is the judge: for each pattern that is read, strings drawn from its own tree,
such strings with a place or two changed, walks of the automaton, and random ones. A string on which ``re``
takes longer than 0.3 s of a processor is left out, and counted. F.jsonl gets a row for each list: how many
lines ``re`` compiles, how many of these are without back-references and look-around (``plain``), how many
are read, and the line numbers of those that are not, by reason.
"""

import argparse
import json
import logging
import os
import random
import re
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import krohn
from krohn.automata.patterns.characters import characters_of
from krohn.automata.patterns.parsed import items_of, syntax
from krohn.automata.regular import from_regex, split_flags
from krohn.automata.semiautomaton import Semiautomaton

PATIENCE = 0.3
LOOKING = {"GROUPREF", "GROUPREF_IGNORE", "GROUPREF_EXISTS", "ASSERT", "ASSERT_NOT"}
ODD = "aZ09 _-.\n\té٣ſ\u2028😀"
"""Characters that classes of Unicode, anchors and flags treat differently."""
TWINS = {"s": "Sſ", "k": "K\u212a", "i": "Iİı"}
"""Characters that are one where case is ignored."""
LONGEST = 300


class TooLong(Exception):
    """``re`` takes too long."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Ends what runs inside with ``TooLong``; ``re`` itself looks for signals."""

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def drawn(tree: Any, flags: int, rng: random.Random) -> str:
    """A string that follows the tree of a pattern; what it asserts is left to chance."""
    parts: list[str] = []
    for operator, argument in tree:
        name = str(operator)
        if name == "LITERAL":
            parts.append(chr(argument))
        elif name in {"NOT_LITERAL", "ANY"}:
            parts.append(rng.choice(ODD))
        elif name == "IN":
            parts.append(member(argument, flags, rng))
        elif name == "BRANCH":
            parts.append(drawn(rng.choice(argument[1]), flags, rng))
        elif name == "SUBPATTERN":
            parts.append(drawn(argument[3], flags, rng))
        elif name == "ATOMIC_GROUP":
            parts.append(drawn(argument, flags, rng))
        elif name.endswith("REPEAT"):
            least, most, inside = argument
            count = min(most, least + rng.choice((0, 0, 1, 1, 2, 3)), least + LONGEST)
            for _ in range(count):
                parts.append(drawn(inside, flags, rng))
                if sum(map(len, parts)) > LONGEST:
                    break
    return "".join(parts)


def member(items: Any, flags: int, rng: random.Random) -> str:
    """A character of a set, or any if the set is negated."""
    operator, value = rng.choice(items)
    if str(items[0][0]) == "NEGATE":
        return rng.choice(ODD)
    if str(operator) == "RANGE":
        return chr(rng.choice((value[0], value[1], rng.randint(*value))))
    if str(operator) == "CATEGORY":
        kind = str(value).removeprefix("CATEGORY_")
        letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[kind.removeprefix("NOT_")]
        runs = characters_of("\\" + (letter.upper() if kind.startswith("NOT_") else letter), flags & re.A)
        return chr(rng.randint(*rng.choice(runs[: rng.choice((2, len(runs)))])))
    return chr(value)


def changed(word: str, signs: str, rng: random.Random) -> str:
    """The word with one or two places dropped, doubled, replaced, exchanged or of the other case."""
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(word) + 1)
        before, here, after = word[:at], word[at : at + 1], word[at + 1 :]
        word = rng.choice(
            (
                before + after,
                before + here + here + after,
                before + rng.choice(signs) + after,
                before + rng.choice(signs) + here + after,
                before + after[:1] + here + after[1:],
                before + rng.choice(TWINS.get(here.lower(), here.swapcase() or rng.choice(signs))) + after,
            )
        )
    return word


def walk(automaton: Semiautomaton, rng: random.Random) -> str:
    """A walk of the automaton over characters at the edges of its classes."""
    state, signs = automaton.start, []
    for _ in range(rng.randrange(1, 24)):
        letter = rng.randrange(automaton.num_letters)
        for _ in range(3):  # rather one that leads on
            if automaton.step(state, letter) != state:
                break
            letter = rng.randrange(automaton.num_letters)
        state = automaton.step(state, letter)
        codes = automaton.characters[letter] if automaton.characters else ()
        signs.append(chr(rng.choice(codes[:8] or (0,))) if codes else automaton.letter_names[letter])
    return "".join(signs)


def strings(tree: Any, automaton: Semiautomaton, count: int, rng: random.Random) -> list[str]:
    """Strings near what the pattern matches, ``count`` of them, of characters that the automaton reads."""
    flags = tree.state.flags
    own = [drawn(tree, flags, rng) for _ in range(count * 2 // 5)]
    signs = "".join(sorted({*"".join(own)})) + ODD
    near = [changed(rng.choice(own), signs, rng) for _ in range(count * 2 // 5)]
    walks = [walk(automaton, rng) for _ in range(count // 8)]
    rest = count - len(own) - len(near) - len(walks)
    chance = ["".join(rng.choices(signs, k=rng.randrange(12))) for _ in range(rest)]
    return ["".join(sign for sign in word if reads(automaton, sign)) for word in own + near + walks + chance]


def reads(automaton: Semiautomaton, sign: str) -> bool:
    """A pattern of plain characters has letters for these alone."""
    if not automaton.characters:
        return sign in automaton.letter_names
    return any(a <= ord(sign) <= b for runs in automaton.characters for a, b in runs_of(runs))


def runs_of(codes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run."""
    return zip(codes[::2], codes[1::2], strict=True)


def judged(line: str, count: int) -> dict[str, Any]:
    """What becomes of one pattern."""
    try:
        text, flags, search = split_flags(line)
    except krohn.KrohnError:  # of a flag that is not known: refused below
        text, flags, search = line, 0, False
    row: dict[str, Any] = {"compiles": False, "plain": False, "read": False, "refusal": None}
    row |= {"strings": 0, "matches": 0, "wrong": 0, "left_out": 0, "seconds": 0.0, "states": None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            engine, tree = re.compile(text, flags), syntax.parse(text, flags)
    except (re.error, OverflowError, RecursionError):
        return row
    row |= {"compiles": True, "plain": not any(name in LOOKING for name, _ in items_of(tree))}
    begin = time.process_time()
    try:
        automaton = from_regex(line)
    except krohn.KrohnError as error:
        return row | {"refusal": re.split(r"['\"]: ", str(error))[-1].split(";")[0].partition(" such as")[0]}
    row |= {"read": True, "seconds": time.process_time() - begin, "states": automaton.num_states}
    ask: Callable[[str], Any] = engine.search if search else engine.fullmatch
    assert automaton.observe is not None
    for word in strings(tree, automaton, count, random.Random(line)):
        try:
            with patience(PATIENCE):
                right = bool(ask(word))
        except TooLong:
            row["left_out"] += 1
            continue
        states = automaton.run(list(word))
        answer = bool(automaton.observe[states[-1] if states else automaton.start])
        row["strings"] += 1
        row["matches"] += right
        row["wrong"] += answer != right
    return row


def summary(name: str, rows: list[tuple[int, dict[str, Any]]], count: int) -> dict[str, Any]:
    """The row of a list, from line numbers and what became of the lines."""
    compiled = [(number, row) for number, row in rows if row["compiles"]]
    plain = [row for _, row in compiled if row["plain"]]
    refused: dict[str, list[int]] = {}
    for number, row in compiled:
        if row["refusal"]:
            refused.setdefault(row["refusal"], []).append(number)
    read = [row for _, row in compiled if row["read"]]
    result: dict[str, Any] = {"list": name, "lines": len(rows), "strings_each": count}
    result |= {"compiles": len(compiled), "read": len(read)}
    result |= {"plain": len(plain), "plain_read": sum(row["read"] for row in plain)}
    result |= {key: sum(row[key] for row in read) for key in ("strings", "matches", "wrong", "left_out")}
    result["at_most_200_states"] = sum(row["states"] <= 200 for row in read)
    result["seconds"] = round(sum(row["seconds"] for row in read), 1)
    result["slowest"] = round(max((row["seconds"] for row in read), default=0.0), 1)
    return result | {"refused": refused}


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lists", type=Path, nargs="+")
    parser.add_argument("--every", type=int, default=1, help="every n-th pattern")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--strings", type=int, default=200)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(words)
    quiet = logging.getLogger("krohn").setLevel, (logging.ERROR,)  # of flags that are dropped
    with ProcessPoolExecutor(given.jobs, None, *quiet) as pool, open(given.out, "a") as stream:
        for path in given.lists:
            lines = path.read_text(errors="replace").split("\n")
            chosen = [number for number, line in enumerate(lines, 1) if line][:: given.every]
            judge = partial(judged, count=given.strings)
            answers = pool.map(judge, (lines[number - 1] for number in chosen), chunksize=8)
            row = summary(path.stem, list(zip(chosen, answers, strict=True)), given.strings)
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            print(json.dumps({key: value for key, value in row.items() if key != "refused"}))


if __name__ == "__main__":
    main()
