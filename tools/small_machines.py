"""All automata with up to three states and two letters, compiled and proved, for pages without a server.

``python tools/small_machines.py`` writes them into ``src/krohn/explorer/assets/small.txt``, compressed, and
the machines of the page's story into ``story.txt`` (``python tools/small_machines.py story`` only those); a
page without a server looks up drawn automata there. The key of an automaton is its table, with states
numbered in the order in which words reach them; of two that differ only by the names of letters one is kept.
"""

import base64
import json
import sys
import zlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import Table, small_automata
from krohn.automata.zoo import zoo
from krohn.construct.compiling import compile
from krohn.explorer.page_data import build_machine, describe
from krohn.proving.verification import verify

MOST_STATES, LETTERS, LENGTH = 3, 2, 12
LETTER_SIGNS, STATE_SIGNS = "\ue000\ue001", "\ue010\ue011\ue012"
"""Stand for the letters and states of a drawing, whose names the page puts in; no text has them by chance."""

ASSET = "small.txt"


def tables() -> list[Table]:
    """Every table whose states are numbered as words reach them, up to an exchange of the letters."""
    every = (each for states in range(1, MOST_STATES + 1) for each in small_automata(states, LETTERS))
    return [tuple(map(tuple, each.table.tolist())) for each in every]


def key_of(table: Table) -> str:
    """``01.10`` is parity."""
    return ".".join("".join(map(str, row)) for row in table)


def machine(table: Table) -> dict[str, Any]:
    """The page's data for one of them; the picture is drawn by the page."""
    automaton = Semiautomaton(
        np.array(table), letter_names=tuple(LETTER_SIGNS), state_names=tuple(STATE_SIGNS[: len(table)])
    )
    network = compile(automaton, LENGTH, unproved=True)
    proved = verify(network)
    assert proved.certified, f"the network of {key_of(table)} is not proved"
    return {**describe(network, proved), "diagram": None, "name": key_of(table)}


def packed(machines: dict[str, dict[str, Any]]) -> str:
    """As text for a page: JSON, deflated, in base64."""
    text = json.dumps(machines, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpacked(text: str) -> dict[str, dict[str, Any]]:
    """The inverse of ``packed``."""
    result: dict[str, dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(text)))
    return result


STORY = {
    "lamp": ("Parity", 24),
    "clock": ("C12:01", 24),
    "chairs": ("S4", 16),
    "five8": ("A5", 8),
    "five16": ("A5", 16),
}
"""The machines of the story by their names in ``story.js``, each with its longest word."""


def story() -> dict[str, dict[str, Any]]:
    """The page's data for each of them; all are proved."""
    machines = {name: build_machine(zoo(spec), length) for name, (spec, length) in STORY.items()}
    assert all(each["certificate"]["certified"] for each in machines.values())
    return machines


if __name__ == "__main__":
    assets = Path(str(files("krohn.explorer") / "assets"))
    (assets / "story.txt").write_text(packed(story()))
    machines = {}
    for each in tables() if sys.argv[1:] != ["story"] else ():
        machines[key_of(each)] = machine(each)
        sys.stderr.write(f"{len(machines)} {key_of(each)}\n")
    if machines:
        (assets / ASSET).write_text(packed(machines))
