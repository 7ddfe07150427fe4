"""Answers of Coq to questions beside certificates, and of the program made of its checker to certificates."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from krohn.coq.certificate import KernelCertificate
from krohn.coq.coqc import development
from krohn.coq.program import build_program, check
from krohn.coq.proof_text import flat, words_of
from krohn.coq.stored import whole_of

IMPORTS = """From Coq Require Import ZArith List String.
From Krohn Require Import Reading Claims Numbers Program {}.
Import ListNotations.
Open Scope Z_scope.
Open Scope string_scope.
Definition given {{A}} (certificate : list Z) (words : list (list Z))
  (use : claim -> list tensor -> option A) : option A :=
  match read_certificate certificate with
  | Some ((c, o), _) => use c (tensors_of c o words) | None => None end."""
HEAD = IMPORTS.format("Recurrent Delta Diagonal")
TRANSFORMER_HEAD = IMPORTS.format("Counting Counted Scan TransformerCertificate TransformerFile")


def output_of(text: str) -> str:
    """The output of Coq for a file that it must accept."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "question.v").write_text(text)
        command = ["coqc", "-q", "-Q", str(development()), "Krohn", "question.v"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout


def definitions(certificate: KernelCertificate, tag: str) -> str:
    """Claim and tensors for Coq, for use with ``given``."""
    written = certificate.to_json()
    numbers = [number for part in ("claim", "order", "hints") for number in flat(written[part])]
    words = words_of(whole_of(certificate.network))
    lists = str(numbers).replace(",", ";"), str(words).replace(",", ";")
    return "Definition certificate{0} : list Z := {1}.\nDefinition words{0} : list (list Z) := {2}.".format(
        tag, *lists
    )


def answers_of(certificates: Iterable[KernelCertificate]) -> list[bool]:
    """Verdicts of the program."""
    program = build_program()
    return [check(program, each.to_json(), whole_of(each.network)).accepted for each in certificates]
