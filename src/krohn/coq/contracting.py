"""The certificate of a trained LSTM for Coq: boxes of its state that every letter maps into each other.

The boxes are those of the run's own certificate, grown a little; Coq computes every image again.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.check.arithmetic.real import Array
from krohn.check.certificate import read_certificate
from krohn.check.recurrent.boxes import BoxCell, Boxes, boxes_from, gated
from krohn.check.recurrent.cells import Gated
from krohn.coq.certificate_text import MARK, THEOREM, comment, tensor_text
from krohn.coq.stored import StoredTensor, digest_of, tensors_of_bytes
from krohn.errors import InvalidFile, Unsupported

GRID = 2.0**40
ROOM = 2e-6
"""How far images must stay inside of boxes, since Coq rounds them outwards."""
MOST_ROUNDS = 200
METADATA = '"__metadata__":{"krohn":"1"}'
CERTIFICATE = "certificate.json"


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A trained LSTM as stored, and the boxes of its certificate."""

    automaton: Semiautomaton
    tensors: tuple[StoredTensor, ...]
    digest: str
    cell: Gated
    boxes: Boxes

    line: ClassVar[str] = "LSTM"
    file: ClassVar[str] = "weights.safetensors"
    architecture: ClassVar[str] = "lstm"
    length: ClassVar[None] = None
    layers: ClassVar[int] = 1


def stored_run(folder: Path) -> StoredRun:
    """The run in a directory; it must be a proved LSTM of one replicate."""
    path = folder / CERTIFICATE
    try:
        config = json.loads((folder / "config.json").read_text())
        kind, spec = str(config["model"]["kind"]), str(config["task"]["spec"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidFile(
            "config.json of a run must name its model and its automaton; it does not"
        ) from error
    if kind != "lstm" or not path.exists():
        raise Unsupported(
            "the kernel's proofs cover trained LSTMs with a certificate of their own; write it first: "
            f"krohn verify {folder} --out {path}"
        )
    whole = (folder / StoredRun.file).read_bytes()
    tensors = tensors_of_bytes(whole, METADATA)
    automaton, claim = parse_spec(spec), read_certificate(path)
    if any(len(tensor.shape) < 2 or tensor.shape[0] != 1 for tensor in tensors):
        raise Unsupported("the kernel's proofs cover runs of one replicate; this one has more")
    arrays = {tensor.name: tensor.floats()[0] for tensor in tensors}
    cell = gated("lstm", arrays, automaton.num_letters, automaton.num_states)
    boxes = boxes_from(claim.witness)
    if (boxes.follower <= 0).any() or not np.array_equal(claim.claim.automaton.table, automaton.table):
        raise InvalidFile("the certificate must be about all words of the automaton; it is not")
    return StoredRun(automaton, tensors, digest_of(StoredRun.line, whole), cell, boxes)


def grown(run: StoredRun) -> tuple[Boxes, bool]:
    """Boxes with some room around each image, and whether they have it."""
    boxes, cell = run.boxes, BoxCell(run.cell, "float32")
    low, high = boxes.low.copy(), boxes.high.copy()
    for _ in range(MOST_ROUNDS):
        least, most = low.copy(), high.copy()
        for letter in range(run.automaton.num_letters):
            image = cell.image(low, high, letter)
            np.minimum.at(least, boxes.follower[:, letter], image[0] - ROOM)
            np.maximum.at(most, boxes.follower[:, letter], image[1] + ROOM)
        if (least == low).all() and (most == high).all():
            return Boxes(boxes.state, boxes.follower, low, high), True
        low, high = least - ROOM * (least < low), most + ROOM * (most > high)
    return Boxes(boxes.state, boxes.follower, low, high), False


HEAD = """From Coq Require Import ZArith List String.
From Krohn Require Import Contracting Tensors Lstm.
Import ListNotations.
Open Scope Z_scope.
Open Scope string_scope."""


def run_text(run: StoredRun, boxes: Boxes) -> str:
    """The whole file; ``coqc`` accepts it if and only if the checker of the development says yes."""
    return f"""(* {comment(run.automaton.name)}, trained LSTM: {MARK}
   coqc -Q DEVELOPMENT Krohn FILE.v
   The hash is that of a line and the network's file after it:
   (echo '{run.line}'; cat {run.file}) | sha256sum
   Hints are not trusted. *)
{HEAD}
{run_definitions(run, boxes)}
Theorem {THEOREM} : lstm_is_right 0x{run.digest} network_sizes tensors machine.
Proof. apply (by_boxes _ _ _ _ hints). vm_cast_no_check (eq_refl true). Qed.
Print Assumptions {THEOREM}.
"""


def run_definitions(run: StoredRun, boxes: Boxes, tag: str = "") -> str:
    """Sizes, tensors, automaton and boxes; each name ends in ``tag``."""
    tensors, machine = ";\n".join(map(tensor_text, run.tensors)), run.automaton
    inputs, units, rows, columns, classes = _sizes(run)
    regions = ";\n".join(
        f"{{| Stands := {state}; Shown := {_sides(low[:units], high[:units])}; "
        f"Held := {_sides(low[units:], high[units:])}; Follows := {_listed(following)}%nat |}}"
        for state, following, low, high in zip(
            boxes.state.tolist(), boxes.follower.tolist(), boxes.low, boxes.high, strict=True
        )
    )
    return f"""Definition network_sizes{tag} : lsizes := {{| LInputs := {inputs}; LUnits := {units};
  LRows := {rows}; LColumns := {columns}; LClasses := {classes} |}}.
Definition tensors{tag} : list tensor := [
{tensors}].
Definition machine{tag} : Float32.automaton := {{| Float32.First := {machine.start};
  Float32.Letters := {machine.num_letters};
  Float32.Table := {_listed(_listed(row) for row in machine.table.tolist())}%nat |}}.
Definition hints{tag} : list region := [
{regions}].
"""


def run_statement(run: StoredRun) -> str:
    """The theorem without tensors and automaton, by full names."""
    sizes = " ".join(map(str, _sizes(run)))
    return f"Krohn.Lstm.lstm_is_right 0x{run.digest}%Z\n  (Krohn.Lstm.Build_lsizes {sizes})"


def _sizes(run: StoredRun) -> tuple[int, int, int, int, int]:
    shape = {tensor.name: tensor.shape for tensor in run.tensors}
    (_, rows, inputs), (_, units, columns) = shape["wte"], shape["head.weight"]
    return inputs, units, rows, columns, run.automaton.num_states


def _sides(low: Array, high: Array) -> str:
    ends = zip(np.floor(low * GRID).tolist(), np.ceil(high * GRID).tolist(), strict=True)
    return _listed(f"({int(a)},{int(b)})" for a, b in ends)


def _listed(items: Iterable[object]) -> str:
    return "[" + ";".join(map(str, items)) + "]"
