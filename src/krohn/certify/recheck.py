"""A certificate file against a directory: the small checker alone, on the file's witness and the weights.

Nothing is searched and nothing of the certificate is believed. Where there is no witness (a refusal, or
Theorem 3 as printed) everything is proved again, and every difference is listed.
"""

from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import VERSION, Certificate, Check, network_hash
from krohn.certify.identity import identify
from krohn.certify.proof import SMALL, checkable_table
from krohn.certify.verification import verify
from krohn.check.checker import Verdict, check
from krohn.check.reader import read_network
from krohn.errors import InvalidFile
from krohn.network.storage import load
from krohn.strict_json import read_json

MAX_BYTES = 1 << 28
EXACT = ("network", "automaton", "certified", "length", "dtype", "proof")
KEYS = {"krohn", "margin", "checks", *EXACT}


def recheck(
    path: str | Path,
    directory: str | Path,
    *,
    automaton: Semiautomaton | None = None,
    renamed: bool = False,
) -> tuple[Certificate, list[str]]:
    """Checks again what the file claims; returns the new certificate and every difference found."""
    claimed = read_certificate(path)
    dtype, length = claimed["dtype"], claimed["length"]
    if claimed["certified"] is True and claimed["proof"] == SMALL:
        made = _checked(claimed, directory, automaton, renamed=renamed)
    else:
        made = verify(directory, dtype, length, automaton=automaton, renamed=renamed, largest=False)
    fresh = made.to_json()
    differences = [
        f"{key}: the file says {claimed[key]!r:.70}, the weights say {fresh[key]!r:.70}"
        for key in EXACT
        if claimed[key] != fresh[key]
    ]
    if not _close(claimed["margin"], fresh["margin"]):
        said = f"margin: the file says {claimed['margin']!r:.20}, the weights say {made.margin:.6g}"
        differences.append(said)
    if claimed["certified"] and claimed.get("counterexample") is not None:
        differences.append("counterexample: the file has one, and says that the network is certified")
    return made, differences


def _checked(
    claimed: dict[str, Any], directory: str | Path, automaton: Semiautomaton | None, *, renamed: bool
) -> Certificate:
    """The verdict of the small checker on the file's witness, as a certificate."""
    compiled, dtype, length = load(directory), claimed["dtype"], claimed["length"]
    network, _ = read_network(
        Path(directory)
    )  # the checker's own reader: it sees the files, not what others made
    identity = identify(compiled.automaton, automaton, renamed=renamed)
    if identity.mismatch:
        return verify(directory, dtype, length, automaton=automaton, renamed=renamed)
    witness = claimed.get("witness")
    verdict = check(network, checkable_table(identity.automaton), dtype, length, witness)
    return Certificate(
        certified=verdict.certified,
        length=length,
        dtype=dtype,
        margin=verdict.margin,
        checks=(_line(verdict, compiled.transformer.depth),),
        counterexample=None,
        largest=length if verdict.certified else 0,
        reason=verdict.reason,
        second_opinion=None,
        network=network_hash(compiled.transformer),
        depth=compiled.transformer.depth,
        identity=identity,
        proof=SMALL if verdict.certified else "",
        witness=witness if verdict.certified else None,
    )


def _line(verdict: Verdict, depth: int) -> Check:
    text = verdict.reason or f"the witness holds, with a logit margin of {verdict.margin:.6g}"
    limit = 1.0 if verdict.certified else 0.0
    return Check("witness", min(verdict.layer, depth + 1), 1.0 - limit, limit, verdict.certified, text)


def _close(left: object, right: float | None) -> bool:
    """Equal up to what other hardware may round differently; ``None`` stands for infinity."""
    if left is None or right is None:
        return left is right
    if not isinstance(left, (int, float)) or isinstance(left, bool):
        return False
    return abs(left - right) <= 1e-3 * max(abs(left), abs(right)) + 1e-12


def read_certificate(path: str | Path) -> dict[str, Any]:
    """The file's content, refused unless it has the form of a certificate."""
    payload = read_json(path, max_bytes=MAX_BYTES)
    if not isinstance(payload, dict) or not set(payload) >= KEYS or payload["krohn"] != VERSION:
        raise InvalidFile(f"{path} must be a certificate with keys {', '.join(sorted(KEYS))}")
    if type(payload["length"]) is not int or not isinstance(payload["dtype"], str):
        raise InvalidFile(f"{path}: length must be an integer and dtype a name")
    if not isinstance(payload["checks"], list) or not isinstance(payload["certified"], bool):
        raise InvalidFile(f"{path}: checks must be a list, certified must be true or false")
    return payload
