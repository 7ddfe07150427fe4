"""Writes the Coq file that proves what a certificate claims: ``python proof_text.py NETWORK F.json``.

The text is fixed; from outside come whole numbers alone, so nothing in a certificate can be a command of Coq.
This file needs the standard library alone, and can be read and run without the rest of krohn.
"""

import json
import sys
from itertools import groupby
from operator import index
from pathlib import Path
from typing import Any

TEXT = """From Coq Require Import ZArith List.
From Krohn Require Import Claims Program.
Import ListNotations.
Open Scope Z_scope.
Set Guard Checking. Set Positivity Checking. Set Universe Checking. Set Printing Depth 1000000.
Definition names : list Z := {names}.
Definition certificate : list Z := {certificate}.
Definition words : list (list Z) := {words}.
Definition claim := Eval vm_compute in claim_of certificate.
Print claim.
Theorem network_is_right : exists tensors, is_right 0x{digest:064x} names claim tensors.
Proof.
  refine (by_coq _ _ certificate words _ _ _);
    [vm_cast_no_check (eq_refl claim)|vm_cast_no_check (eq_refl true)].
Qed.
Check network_is_right.
Print Assumptions network_is_right.
"""


def flat(value: Any) -> list[int]:
    """Arrays of arrays of whole numbers as one list: each with its length before it."""
    if not isinstance(value, list):
        return [int(index(value))]
    return [len(value), *(number for item in value for number in flat(item))]


def names_line(letters: list[str], states: list[str]) -> str:
    """The line of the hash that has the names."""
    return json.dumps([letters, states])


def words_of(network: bytes) -> list[list[int]]:
    """For each tensor of a safetensors file, in the order of its data: how many, and which word, in turn."""
    size = int.from_bytes(network[:8], "little")
    header = json.loads(network[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = []
    for entry in sorted(header.values(), key=lambda entry: entry["data_offsets"]):
        first, last = entry["data_offsets"]
        data, width = network[8 + size + first : 8 + size + last], 4 if entry["dtype"] == "F32" else 8
        words = [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]
        tensors.append([n for word, run in groupby(words) for n in (len(list(run)), word)])
    return tensors


def proof_text(certificate: dict[str, Any], network: bytes) -> str:
    """The Coq file; ``TypeError`` where something is no whole number."""
    numbers = [number for part in ("claim", "order", "hints") for number in flat(certificate[part])]
    names = list(names_line(certificate["letters"], certificate["states"]).encode())
    lists = {"names": names, "certificate": numbers, "words": words_of(network)}
    texts = {name: str(value).replace(",", ";\n") for name, value in lists.items()}
    return TEXT.format(**texts, digest=int(certificate["sha256"], 16))


if __name__ == "__main__":
    network, certificate = map(Path, sys.argv[1:])
    try:
        text = proof_text(json.loads(certificate.read_text()), network.read_bytes())
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        sys.exit(f"{certificate} must be a certificate of {network}: {error!r}")
    sys.stdout.write(text)
