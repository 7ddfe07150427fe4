"""The networks of the suite: automata × the algorithms that compute them × disguises."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from krohn.base.notebook import Rows
from krohn.errors import InvalidInput, UnknownName
from krohn.lab.suite.disguise import DISGUISES

COUNTER: dict[str, Any] = {"method": "cascade", "objective": "blocks"}
LEVELS: dict[str, Any] = {"method": "cascade", "objective": "width"}
CASCADE: dict[str, Any] = {"method": "cascade"}
SCAN: dict[str, Any] = {"method": "scan"}
FEATURES: dict[str, Any] = {"method": "auto"}  # the compiler's default
PAPER: dict[str, Any] = {"method": "paper"}
GRID: dict[str, Any] = {"method": "grid"}

# Automaton -> length of words, algorithm -> options of krohn.compile.
NETWORKS: dict[str, tuple[int, dict[str, dict[str, Any]]]] = {
    "C2": (10, {"cascade": CASCADE, "scan": SCAN}),
    "C4": (8, {"cascade": CASCADE, "scan": SCAN}),
    "FlipFlop": (8, {"cascade": CASCADE, "scan": SCAN}),
    "Grid4": (8, {"counter": COUNTER, "levels": LEVELS, "scan": SCAN, "grid": GRID}),
    "Grid5": (8, {"counter": COUNTER, "levels": LEVELS, "scan": SCAN, "grid": GRID}),
    "abab": (8, {"features": FEATURES, "cascade": CASCADE, "scan": SCAN}),
    "Dyck3,2": (8, {"cascade": CASCADE}),
    "D6": (8, {"cascade": CASCADE, "scan": SCAN, "paper": PAPER}),
    "D8": (8, {"cascade": CASCADE, "scan": SCAN}),
    "Q8": (8, {"cascade": CASCADE}),
    "A4": (8, {"cascade": CASCADE}),
    "S4": (8, {"cascade": CASCADE}),
    "A5": (8, {"scan": FEATURES}),
}

TAUGHT, TAUGHT_LENGTH = ("C3", "D6", "D8", "Q8", "A4", "S4", "S5", "Grid4"), 16
"""Networks that were trained, with their variables as lessons: two of each."""

VERSION = 3
REVISED = {
    **{("D6", "paper"): 4, ("A5", "scan"): 4, ("Grid5", "counter"): 4},
    **{(line, "levels"): 4 for line in ("Grid4", "Grid5")},
    **{(name, "scan"): 4 for name in ("FlipFlop", "Grid4", "Grid5", "abab", "D8")},
}
"""The version of the suite in which a network's files last changed, where it is a later one."""


@dataclass(frozen=True)
class Entry:
    """One network of the suite, determined by these values; of a taught one the disguise is a number."""

    automaton: str
    algorithm: str
    disguise: str
    length: int
    options: dict[str, Any]
    tier: str = "compiled"

    @property
    def name(self) -> str:
        """Its name, also of its folder."""
        spec = self.automaton.replace(",", "-").replace(":", "-").lower()
        return f"{spec}-{self.algorithm}-{self.disguise}"

    @property
    def version(self) -> int:
        """The version of its files: a folder of another version is built again."""
        revised = REVISED.get((self.automaton, self.algorithm), VERSION)
        return {"compiled": revised, "taught": 2}[self.tier]

    def to_json(self) -> dict[str, Any]:
        """Its entry in a list of the suite."""
        kept = ("name", "tier", "automaton", "algorithm", "disguise", "length")
        return {key: getattr(self, key) for key in kept}

    @property
    def seed(self) -> int:
        """A seed of its own, the same on every machine."""
        return sum((place + 1) * code for place, code in enumerate(self.name.encode()))


def entries(only: str | Sequence[str] = ()) -> list[Entry]:
    """All networks, or the named ones, in the order of the catalogue; names in one string have commas."""
    if isinstance(only, str):
        only = [name.strip() for name in only.split(",") if name.strip()]
        if not only:
            raise InvalidInput("--only must name a network of the suite; it is empty: leave it out for all")
    every = [
        Entry(automaton, algorithm, disguise, length, options)
        for automaton, (length, algorithms) in NETWORKS.items()
        for algorithm, options in algorithms.items()
        for disguise in DISGUISES
    ]
    every += [Entry(spec, "taught", seed, TAUGHT_LENGTH, {}, "taught") for spec in TAUGHT for seed in "01"]
    names = [entry.name for entry in every]
    for name in only:
        if name not in names:
            near = get_close_matches(name[:80], names, n=1)
            hint = f"did you mean {near[0]}?" if near else "krohn suite list shows all of them"
            raise UnknownName(f"the suite has no network named {name[:60]!r}; {hint}")
    return [entry for entry in every if not only or entry.name in only]


def list_networks() -> Rows[dict[str, Any]]:
    """All networks by name and tier; locks are made by a command of their own, as many as are asked for."""
    lock = {
        "name": "locks",
        "tier": "lock",
        "automaton": "parity, planted word",
        "algorithm": "cascade",
        "disguise": "all three",
        "length": 32,
    }
    return Rows([*(entry.to_json() for entry in entries()), lock])
