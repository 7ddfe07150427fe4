"""A certificate as a Coq file: tensors bit by bit, the automaton, hints, and the theorem.

One form for the three kinds of networks: recurrent weights, a Transformer, a trained LSTM. The names of
records and fields are those of the development (``theories``). ``coqc`` accepts a file if and only if the
checker of the development says yes; hints are not trusted.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from krohn.check.ground import Array
from krohn.check.recurrent.boxes import Boxes
from krohn.check.recurrent.stacks import DeltaStack, DiagonalStack, RankOneStack, StackCell
from krohn.coq.coqc import AXIOMS
from krohn.coq.counting_hints import ChannelHint, CountHint, Counting, LayerHint, MatchHint
from krohn.coq.exploring import Exploration
from krohn.coq.heads import GRID
from krohn.coq.scanning import ScanHint, Scanning
from krohn.coq.stored import Stored, StoredNetwork, StoredRun, StoredTensor, StoredTransformer

THEOREM = "network_is_right"
MARK = "a certificate, to be checked by"
_LINE = 140


def _imports(modules: str) -> str:
    return f"""From Coq Require Import ZArith List String.
From Krohn Require Import {modules}.
Import ListNotations.
Open Scope Z_scope.
Open Scope string_scope."""


HEAD = _imports("Reading Certificate Recurrent Delta Diagonal")
TRANSFORMER_HEAD = _imports("Counting Counted Scan TransformerCertificate TransformerFile")
RUN_HEAD = _imports("Contracting Tensors Lstm")


@dataclass(frozen=True)
class CoqCertificate:
    """What Coq is to check.

    Attributes:
        head: the modules that the file imports.
        claim: the theorem without sizes, tensors and automaton, by full names.
        given: by name, what the file defines besides tensors and automaton; ``network_sizes`` by full name.
        proof: the tactic that leaves the computation.
    """

    network: Stored
    head: str
    claim: str
    given: dict[str, str]
    proof: str

    def definitions(self, tag: str = "") -> str:
        """Sizes, tensors, automaton and hints; each name ends in ``tag``."""
        given = "\n".join(f"Definition {name}{tag} := {term}." for name, term in self.given.items())
        tensors = ";\n".join(map(tensor_text, self.network.tensors))
        return f"""Definition tensors{tag} : list tensor := [\n{tensors}].
Definition machine{tag} :=
  {self._automaton}.
{given}
"""

    @property
    def _automaton(self) -> str:
        automaton = self.network.automaton
        table = _rows(automaton.table.tolist())
        return f"Krohn.Float32.Build_automaton {automaton.start} {automaton.num_letters}\n{table}"

    @property
    def _names(self) -> str:
        automaton = self.network.automaton
        return f"""Letters: {comment(" ".join(automaton.letter_names))}
   States: {comment(" ".join(automaton.state_names))}"""

    @property
    def text(self) -> str:
        """The file."""
        network = self.network
        return f"""(* {comment(network.automaton.name)}, {network.architecture}: {MARK}
   coqc -Q DEVELOPMENT Krohn FILE.v
   The hash is that of a line and the network's file after it:
   (echo '{network.line}'; cat {network.file}) | sha256sum
   Hints are not trusted.
   {self._names} *)
{self.head}
{self.definitions()}
Theorem {THEOREM} :
  {self.claim}
  network_sizes tensors machine.
Proof. {self.proof}. vm_cast_no_check (eq_refl true). Qed.
Print Assumptions {THEOREM}.
"""

    def reader(self, module: str) -> str:
        """A file of the reader's own: what ``module`` proves, by full names.

        Names that the certificate defines cannot stand for others here: nothing of it is imported.
        """
        network = self.network
        return f"""(* {comment(network.automaton.name)}: what {module}.v must prove; {MARK}
   coqc -Q DEVELOPMENT Krohn {module}.v && coqtop -batch -Q DEVELOPMENT Krohn -l {module}.reader.v
   Read this file instead of {module}.v: a certificate may define a name of the development anew, and its
   last lines would look the same. Here all names are full, and only the tensors are taken from it; which
   they are, says the hash: (echo '{network.line}'; cat {network.file}) | sha256sum
   {self._names}
   Print Assumptions must list these four axioms and nothing else:
     {" ".join(AXIOMS)} *)
From Coq Require Import ZArith List.
Import List.ListNotations.
From Krohn Require Certificate TransformerCertificate Contracting.
Require {module}.
Check ({module}.{THEOREM} :
  {self.claim}
  ({self.given["network_sizes"]})
  {module}.tensors
  ({self._automaton})).
Print Assumptions {module}.{THEOREM}.
"""


def recurrent_certificate(network: StoredNetwork, exploration: Exploration) -> CoqCertificate:
    """That a recurrent network is right on every word."""
    cell, automaton = network.cell, network.automaton
    order = "in_any_order" if exploration.any_order else "in_one_order"
    mixer, kind = _mixer(cell)
    sizes = f"{cell.dim} {str(cell.conv == 2).lower()} {cell.layers} {cell.mlp} {automaton.num_states}"
    return CoqCertificate(
        network,
        HEAD,
        f"""Krohn.Recurrent.right_on_every_word Krohn.Recurrent.letter_by_letter
  Krohn.Recurrent.{order[3:]} 0x{network.digest}%Z ({mixer})""",
        {
            "network_kind": kind,
            "network_sizes": f"Krohn.Recurrent.Build_sizes {automaton.num_letters} {sizes}",
            "hints": f"({_rows(exploration.hints)} : list (list nat))",
        },
        f"refine ({order} _ network_kind _ _ _ hints _)",
    )


def _mixer(cell: StackCell) -> tuple[str, str]:
    """The mixer, as ``Delta.v`` or ``Diagonal.v`` names it, and as ``Reading.v`` does."""
    if isinstance(cell, DiagonalStack) and cell.gate == "complex":
        channels = cell.options["channels"]
        return f"Krohn.Diagonal.complex_diagonal {channels}", f"ComplexNumbers {channels}"
    if isinstance(cell, DiagonalStack):
        sizes = f"{str(cell.gate == 'signed').lower()} {cell.options['channels']}"
        kind = f"RealNumbers Network.{cell.gate.capitalize()} {cell.memory}"
        return f"Krohn.Diagonal.diagonal {sizes}", kind
    assert isinstance(cell, DeltaStack)
    sizes = f"{' '.join(map(str, cell.sizes_of_heads))} {str(isinstance(cell, RankOneStack)).lower()}"
    return f"Krohn.Delta.delta {sizes}", f"Heads {sizes}"


def transformer_certificate(network: StoredTransformer, hints: Counting | Scanning) -> CoqCertificate:
    """That a compiled Transformer is right on every word up to its length."""
    weights, scans = network.weights, isinstance(hints, Scanning)
    sizes = " ".join(
        map(str, (*weights.embedding.shape[::-1], *map(len, (weights.padding, weights.positions))))
    )
    return CoqCertificate(
        network,
        TRANSFORMER_HEAD,
        f"Krohn.TransformerFile.transformer_is_right {network.length} 0x{network.digest}%Z",
        {
            "network_sizes": f"""Krohn.TransformerFile.Build_tsizes {sizes}
    {weights.readout.shape[1]} {_layer_sizes(network)}%nat""",
            "hints": _scanning(hints) if isinstance(hints, Scanning) else _counting(hints),
        },
        f"apply (by_{'scanning' if scans else 'counting'} _ _ _ _ _ hints)",
    )


def _layer_sizes(network: StoredTransformer) -> str:
    return _list(
        f"({_list(f'({h.query.shape[1]}, {h.value.shape[1]})' for h in layer.heads)}, "
        f"{_list(layer.mlp.hidden_widths)})"
        for layer in network.weights.layers
    )


def _scanning(hints: Scanning) -> str:
    layers = _list(map(_scan, hints.layers))
    return f"""{{| Registers := {hints.registers};
LetterRows := {_list(map(_list, hints.letters))}%nat;
StateRows := {_list(map(_list, hints.states))}%nat;
LayerScans := {layers} |}}"""


def _scan(layer: ScanHint) -> str:
    return f"""{{| Cur := {_list(layer.current)}%nat;
Value := {_list(layer.value)}%nat; Back := {_list(layer.back)}%nat;
Next := {_list(layer.following)}%nat |}}"""


def _counting(hints: Counting) -> str:
    known = _list(f"({_list(map(_list, rows))}, {state}%nat)" for rows, state in hints.known)
    return f"""{{| Period := {hints.period};
LayerHints := {_list(map(_layer, hints.layers))};
Finals := {_list(hints.states)}%nat;
Known := {known} |}}"""


def _list(items: Iterable[object]) -> str:
    return "[" + ";".join(map(str, items)) + "]"


def _layer(layer: LayerHint) -> str:
    groups = _list(
        f"{{| Weights := {_list(g.weights)}; Modulus := {g.modulus}; "
        f"Stops := {str(g.stops).lower()}; Coarse := {_list(g.coarse)}%nat; "
        f"Coarses := {max(g.coarse, default=-1) + 1} |}}"
        for g in layer.groups
    )
    return f"""{{| HeadHints := {_list(map(_head, layer.heads))};
Steps := {_list(map(_list, layer.steps))}; Sets := {_list(map(_sets, layer.sets))};
PlaceOf := {_list(layer.places)}%nat;
Groups := {groups};
Cut := {layer.cut}; Owner := {_list(layer.owner)}%nat; OwnerY := {_list(layer.channels)}%nat;
NextClass := {_list(map(_following, layer.following))};
NextClasses := {layer.classes};
Keys := {_list(layer.keys)}%nat; KeyClasses := {max(layer.keys, default=-1) + 1};
Asks := {_list(layer.asks)}%nat; AskClasses := {max(layer.asks, default=-1) + 1} |}}
"""


def _following(classes: dict[tuple[int, ...], int]) -> str:
    return _list(f"({_list(residues)},{following}%nat)" for residues, following in classes.items())


def _sets(values: tuple[int | None, ...]) -> str:
    if set(values) == {None}:
        return "[]"
    return _list("None" if value is None else f"Some ({value})" for value in values)


def _head(head: CountHint | MatchHint) -> str:
    if isinstance(head, MatchHint):
        copies = (f"Writers := {_truths(c.writers)}; Copied := {_channels(c.channels)}" for c in head.asks)
        return f"Matches {_list(f'{{| {copy} |}}' for copy in copies)}"
    return f"Counts {{| Picks := {_truths(head.picks)}; Channels := {_channels(head.channels)} |}}"


def _channels(channels: Iterable[ChannelHint]) -> str:
    return _list(f"{{| Number := {channel.counter}; UnitOf := {channel.unit} |}}" for channel in channels)


def _truths(values: Iterable[bool]) -> str:
    return _list(str(value).lower() for value in values)


def run_certificate(run: StoredRun, boxes: Boxes) -> CoqCertificate:
    """That a trained LSTM is right on every word, by boxes of its state that letters map into each other."""
    shape = {tensor.name: tensor.shape for tensor in run.tensors}
    (_, rows, inputs), (_, units, columns) = shape["wte"], shape["head.weight"]
    regions = ";\n".join(
        f"{{| Stands := {state}; Shown := {_sides(low[:units], high[:units])}; "
        f"Held := {_sides(low[units:], high[units:])}; Follows := {_list(following)}%nat |}}"
        for state, following, low, high in zip(
            boxes.state.tolist(), boxes.follower.tolist(), boxes.low, boxes.high, strict=True
        )
    )
    sizes = f"{inputs} {units} {rows} {columns} {run.automaton.num_states}"
    return CoqCertificate(
        run,
        RUN_HEAD,
        f"Krohn.Lstm.lstm_is_right 0x{run.digest}%Z",
        {"network_sizes": f"Krohn.Lstm.Build_lsizes {sizes}", "hints": f"[\n{regions}]"},
        "apply (by_boxes _ _ _ _ hints)",
    )


def _sides(low: Array, high: Array) -> str:
    ends = zip(np.floor(low * GRID).tolist(), np.ceil(high * GRID).tolist(), strict=True)
    return _list(f"({int(a)},{int(b)})" for a, b in ends)


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
    return f"{{| Label := {label}; Runs := [\n{_wrap(runs)}] |}}"


def _wrap(items: Iterable[str]) -> str:
    lines, line = [], ""
    for item in items:
        if len(line) + len(item) > _LINE:
            lines.append(line)
            line = ""
        line += item + ";"
    return "\n".join([*lines, line]).removesuffix(";")
