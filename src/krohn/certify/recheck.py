"""A certificate file against a directory: same weights, same automaton, and the proof goes through again."""

import re
from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import VERSION, Certificate
from krohn.certify.verification import verify
from krohn.errors import InvalidFile
from krohn.strict_json import read_json

EXACT = (
    *("network", "automaton", "certified", "length", "dtype"),
    *("counterexample", "exhaustive", "tightest_layer"),
)
KEYS = {"krohn", "margin", "checks", *EXACT}


NUMBER = re.compile(r"-?[0-9][0-9.,e+-]*")


def recheck(
    path: str | Path,
    directory: str | Path,
    *,
    automaton: Semiautomaton | None = None,
    renamed: bool = False,
) -> tuple[Certificate, list[str]]:
    """Proves again what the file claims; returns the new certificate and every difference found."""
    claimed = read_certificate(path)
    made = verify(
        directory, claimed["dtype"], claimed["length"], automaton=automaton, renamed=renamed, largest=False
    )
    fresh = made.to_json()
    differences = [
        f"{key}: the file says {claimed[key]!r:.70}, the weights say {fresh[key]!r:.70}"
        for key in EXACT
        if claimed[key] != fresh[key]
    ]
    if not _close(claimed["margin"], fresh["margin"]):
        differences.append(
            f"margin: the file says {claimed['margin']!r:.20}, the weights say {made.margin:.6g}"
        )
    if len(claimed["checks"]) != len(fresh["checks"]):
        differences.append(
            f"checks: the file lists {len(claimed['checks'])}, there are {len(fresh['checks'])}"
        )
    else:
        differences += [
            f"check {number}: the file says {old.get('name')!r}, the proof says {new['name']!r}"
            for number, (old, new) in enumerate(zip(claimed["checks"], fresh["checks"], strict=True))
            if not _same(old, new)
        ]
    return made, differences[:20]


def _same(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Names and verdicts equal, numbers up to what other hardware may round differently."""
    if any(old.get(key) != new[key] for key in ("name", "layer", "passed")):
        return False
    said = (str(old.get("text")), str(new["text"]))
    if NUMBER.sub("", said[0]) != NUMBER.sub("", said[1]):
        return False
    return all(_close(old.get(key), new[key]) for key in ("bound", "limit"))


def _close(left: object, right: float | None) -> bool:
    """Equal up to rounding; ``None`` stands for infinity and equals only itself."""
    if left is None or right is None:
        return left is right
    if not isinstance(left, (int, float)) or isinstance(left, bool):
        return False
    return abs(left - right) <= 1e-3 * max(abs(left), abs(right)) + 1e-12


def read_certificate(path: str | Path) -> dict[str, Any]:
    """The file's content, refused unless it has the form of a certificate."""
    try:
        payload = read_json(path)
    except InvalidFile as error:
        raise InvalidFile(
            f"--recheck must name a certificate written by krohn verify --out; {error}"
        ) from error
    if not isinstance(payload, dict) or not set(payload) >= KEYS or payload["krohn"] != VERSION:
        raise InvalidFile(f"{path} must be a certificate with keys {', '.join(sorted(KEYS))}")
    checks = payload["checks"]
    if not isinstance(checks, list) or not all(isinstance(check, dict) for check in checks):
        raise InvalidFile(f"{path}: checks must be a list of objects")
    if type(payload["length"]) is not int or not isinstance(payload["dtype"], str):
        raise InvalidFile(f"{path}: length must be an integer and dtype a name")
    return payload
