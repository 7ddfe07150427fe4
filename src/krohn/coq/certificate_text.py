"""A certificate as a Coq file: tensors bit by bit, the automaton, hints, and the theorem."""

from collections.abc import Iterable

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.coq.coqc import AXIOMS
from krohn.coq.exploring import Exploration
from krohn.coq.stored import StoredNetwork, StoredTensor

THEOREM = "network_is_right"
MARK = "a certificate, to be checked by"
HEAD = """From Coq Require Import ZArith List String.
From Krohn Require Import Reading Certificate Recurrent Delta Diagonal.
Import ListNotations.
Open Scope Z_scope.
Open Scope string_scope."""
_LINE = 140


def certificate_text(network: StoredNetwork, exploration: Exploration) -> str:
    """The whole file; ``coqc`` accepts it if and only if the checker of the development says yes."""
    order = "any" if exploration.any_order else "one"
    automaton = network.automaton
    return f"""(* {comment(automaton.name)}, {network.architecture}: {MARK}
   coqc -Q DEVELOPMENT Krohn FILE.v
   The hash is that of a line and the network's file after it:
   (echo '{network.line}'; cat model.safetensors) | sha256sum
   Hints are not trusted.
   Letters: {comment(" ".join(automaton.letter_names))}
   States: {comment(" ".join(automaton.state_names))} *)
{HEAD}
{definitions(network, exploration.hints)}
Theorem {THEOREM} :
  right_on_every_word letter_by_letter {order}_order 0x{network.digest}
    ({_mixer(network)}) network_sizes tensors machine.
Proof. refine (in_{order}_order _ network_kind _ _ _ hints _). vm_cast_no_check (eq_refl true). Qed.
Print Assumptions {THEOREM}.
"""


def reader_text(
    module: str, statement: str, automaton: Semiautomaton, line: str, file: str = "model.safetensors"
) -> str:
    """A file of the reader's own: what ``module`` proves, by full names.

    Names that the certificate defines cannot stand for others here: nothing of it is imported.
    """
    table = _rows(automaton.table.tolist())
    return f"""(* {comment(automaton.name)}: what {module}.v must prove; {MARK}
   coqc -Q DEVELOPMENT Krohn {module}.v && coqtop -batch -Q DEVELOPMENT Krohn -l {module}.reader.v
   Read this file instead of {module}.v: a certificate may define a name of the development anew, and its
   last lines would look the same. Here all names are full, and only the tensors are taken from it; which
   they are, says the hash: (echo '{line}'; cat {file}) | sha256sum
   Letters: {comment(" ".join(automaton.letter_names))}
   States: {comment(" ".join(automaton.state_names))}
   Print Assumptions must list these four axioms and nothing else:
     {" ".join(AXIOMS)} *)
From Coq Require Import ZArith List.
Import List.ListNotations.
From Krohn Require Certificate TransformerCertificate Contracting.
Require {module}.
Check ({module}.{THEOREM} :
  {statement}
  {module}.tensors
  (Krohn.Float32.Build_automaton {automaton.start} {automaton.num_letters}
{table})).
Print Assumptions {module}.{THEOREM}.
"""


def statement(network: StoredNetwork, exploration: Exploration) -> str:
    """The theorem without tensors and automaton, by full names."""
    order = "any" if exploration.any_order else "one"
    name, _, sizes = _mixer(network).partition(" ")
    file = "Delta" if name == "delta" else "Diagonal"
    return f"""Krohn.Recurrent.right_on_every_word Krohn.Recurrent.letter_by_letter
  Krohn.Recurrent.{order}_order 0x{network.digest}%Z
  (Krohn.{file}.{name} {sizes})
  (Krohn.Recurrent.Build_sizes {network.automaton.num_letters} {network.dim} {str(network.looks_back).lower()}
    {network.layers} {network.hidden} {network.automaton.num_states})"""


def definitions(network: StoredNetwork, hints: Iterable[Iterable[int]], tag: str = "") -> str:
    """Sizes, tensors, automaton and hints; each name ends in ``tag``."""
    automaton = network.automaton
    tensors = ";\n".join(map(tensor_text, network.tensors))
    return f"""Definition network_kind{tag} : kind := {_kind(network)}.
Definition network_sizes{tag} : sizes := {{|
  LettersRead := {automaton.num_letters}; Width := {network.dim}; Layers := {network.layers};
  LooksBack := {str(network.looks_back).lower()}; Hidden := {network.hidden};
  Classes := {automaton.num_states} |}}.
Definition tensors{tag} : list tensor := [
{tensors}].
Definition machine{tag} : automaton := {{| First := {automaton.start}; Letters := {automaton.num_letters};
Table := {_rows(automaton.table.tolist())} |}}.
Definition hints{tag} : list (list nat) :=
{_rows(hints)}.
"""


def _mixer(network: StoredNetwork) -> str:
    """The mixer, as ``Delta.v`` or ``Diagonal.v`` names it."""
    match network.kind:
        case "Real", bend, channels:
            return f"diagonal {str(bend == 'Signed').lower()} {channels}"
        case "ComplexNumbers", channels:
            return f"complex_diagonal {channels}"
        case name, *sizes:
            return f"delta {' '.join(map(str, sizes))} {str(name == 'RankOneSteps').lower()}"
    raise AssertionError(network.kind)


def _kind(network: StoredNetwork) -> str:
    """The same, as ``Reading.v`` names it."""
    others = {"delta": "Heads", "complex_diagonal": "ComplexNumbers"}
    name, _, sizes = _mixer(network).partition(" ")
    return (
        f"{others[name]} {sizes}"
        if name in others
        else f"RealNumbers Network.{network.kind[1]} {network.kind[2]}"
    )


def comment(text: str) -> str:
    """Text for a Coq comment, without anything that could end it or begin another."""
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain.replace("(*", "( *").replace("*)", "* )").replace('"', "''")


def _rows(rows: Iterable[Iterable[int]]) -> str:
    return "[" + ";\n".join("[" + ";".join(map(str, row)) + "]" for row in rows) + "]%nat"


def tensor_text(tensor: StoredTensor) -> str:
    """A tensor as Coq text, run-length encoded."""
    starts = np.flatnonzero(np.diff(tensor.words, prepend=~tensor.words[:1]))
    counts = np.diff(starts, append=tensor.words.size)
    runs = (
        f"Run {n} {word:#x}" for n, word in zip(counts.tolist(), tensor.words[starts].tolist(), strict=True)
    )
    shape = ";".join(map(str, tensor.shape))
    label = f'{{| Name := "{tensor.name}"; Type_ := "{tensor.dtype}"; Shape := [{shape}]%nat |}}'
    return f"{{| Label := {label}; Runs := [\n{_wrapped(runs)}] |}}"


def _wrapped(items: Iterable[str]) -> str:
    lines, line = [], ""
    for item in items:
        if len(line) + len(item) > _LINE:
            lines.append(line)
            line = ""
        line += item + ";"
    return "\n".join([*lines, line]).removesuffix(";")
