"""A certificate: a claim, the rule set that proves such claims, and the witness that these rules need.

Nothing in it is trusted.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krohn.check.claim import LONGEST, Claim, claim_from
from krohn.check.files.folders import read_json, short
from krohn.errors import InvalidFile, need

VERSION = 2
RENEW = "renew it: krohn verify NETWORK --out CERTIFICATE"
KEYS = {"krohn", "claim", "rules", "version", "witness"}


@dataclass(frozen=True, eq=False)
class Certificate:
    """A claim, the rule set that should prove it, and the witness; ``rules`` decides whether it does."""

    claim: Claim
    rules: str
    version: int
    witness: Any

    def to_json(self) -> dict[str, Any]:
        """The content of a certificate file."""
        claim = self.claim.to_json()
        return {
            "krohn": VERSION,
            "claim": claim,
            "rules": self.rules,
            "version": self.version,
            "witness": self.witness,
        }


def certificate_from(payload: Any, name: str = "the certificate") -> Certificate:
    """The certificate in a file; anything malformed is an error that names the field."""
    need(isinstance(payload, dict), f"{name} must be a certificate, an object")
    need("krohn" in payload, f"{name} must be a certificate with {', '.join(sorted(KEYS))}")
    current = payload["krohn"] == VERSION and type(payload["krohn"]) is int
    need(current, f"{name} must be of version {VERSION}; {RENEW}")
    need(set(payload) == KEYS, f"{name} must be a certificate with {', '.join(sorted(KEYS))}")
    rules, version = payload["rules"], payload["version"]
    fits = isinstance(rules, str) and len(rules) <= LONGEST and type(version) is int
    need(fits, f"{name}: rules must be a name, version a number")
    need(_without_texts(payload["witness"]), f"{name}: lists in a witness must hold numbers, not texts")
    return Certificate(claim_from(payload["claim"]), rules, version, payload["witness"])


def _without_texts(witness: Any) -> bool:
    """Whether no list holds a text: an array would give each entry the room of the longest, which of 300 kB
    may be gigabytes.
    """
    parts = [witness]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts += part.values()
        elif isinstance(part, list):
            if any(isinstance(one, str) for one in part):
                return False
            parts += (one for one in part if isinstance(one, list | dict))
    return True


def read_certificate(path: str | Path) -> Certificate:
    """The certificate in a file, of bounded size."""
    try:
        return certificate_from(read_json(path), short(path))
    except InvalidFile as error:
        text = str(error)
        raise InvalidFile(text if text.startswith(short(path)) else f"{short(path)}: {text}") from error
