"""A certificate as a Coq file: tensors bit by bit, the automaton, hints, and the theorem.

One form for the three kinds of networks: recurrent weights, a Transformer, a trained LSTM. The names of
records and fields are those of the development (``theories``). ``coqc`` accepts a file if and only if the
checker of the development says yes; hints are not trusted.
"""

from collections.abc import Iterable

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.arithmetic.real import Array
from krohn.check.recurrent.boxes import Boxes
from krohn.check.recurrent.stacks import DeltaStack, DiagonalStack, RankOneStack, StackCell
from krohn.coq.coqc import AXIOMS
from krohn.coq.counting_hints import ChannelHint, CountHint, Counting, LayerHint, MatchHint
from krohn.coq.exploring import Exploration
from krohn.coq.heads import GRID
from krohn.coq.scanning import ScanHint, Scanning
from krohn.coq.stored import StoredNetwork, StoredRun, StoredTensor, StoredTransformer

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


def _file(
    network: StoredNetwork | StoredTransformer | StoredRun, begin: str, theorem: str, proof: str
) -> str:
    automaton = network.automaton
    return f"""(* {comment(automaton.name)}, {network.architecture}: {MARK}
   coqc -Q DEVELOPMENT Krohn FILE.v
   The hash is that of a line and the network's file after it:
   (echo '{network.line}'; cat {network.file}) | sha256sum
   Hints are not trusted.
   Letters: {comment(" ".join(automaton.letter_names))}
   States: {comment(" ".join(automaton.state_names))} *)
{begin}
Theorem {THEOREM} :
  {theorem}.
Proof. {proof}. vm_cast_no_check (eq_refl true). Qed.
Print Assumptions {THEOREM}.
"""


def certificate_text(network: StoredNetwork, exploration: Exploration) -> str:
    """The file of a recurrent network."""
    order = "any" if exploration.any_order else "one"
    theorem = f"""right_on_every_word letter_by_letter {order}_order 0x{network.digest}
    ({_mixer(network.cell)}) network_sizes tensors machine"""
    begin = f"{HEAD}\n{definitions(network, exploration.hints)}"
    return _file(network, begin, theorem, f"refine (in_{order}_order _ network_kind _ _ _ hints _)")


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
    cell, states = network.cell, network.automaton.num_states
    name, _, sizes = _mixer(cell).partition(" ")
    file = "Delta" if name == "delta" else "Diagonal"
    return f"""Krohn.Recurrent.right_on_every_word Krohn.Recurrent.letter_by_letter
  Krohn.Recurrent.{order}_order 0x{network.digest}%Z
  (Krohn.{file}.{name} {sizes})
  (Krohn.Recurrent.Build_sizes {network.automaton.num_letters} {cell.dim} {str(cell.conv == 2).lower()}
    {cell.layers} {cell.mlp} {states})"""


def definitions(network: StoredNetwork, hints: Iterable[Iterable[int]], tag: str = "") -> str:
    """Sizes, tensors, automaton and hints; each name ends in ``tag``."""
    automaton, cell = network.automaton, network.cell
    return f"""Definition network_kind{tag} : kind := {_kind(network.cell)}.
Definition network_sizes{tag} : sizes := {{|
  LettersRead := {automaton.num_letters}; Width := {cell.dim}; Layers := {cell.layers};
  LooksBack := {str(cell.conv == 2).lower()}; Hidden := {cell.mlp};
  Classes := {automaton.num_states} |}}.
{_tensors(network.tensors, tag)}
{_machine(automaton, tag)}
Definition hints{tag} : list (list nat) :=
{_rows(hints)}.
"""


def _mixer(cell: StackCell) -> str:
    """The mixer, as ``Delta.v`` or ``Diagonal.v`` names it."""
    if isinstance(cell, DiagonalStack):
        signed = "" if cell.gate == "complex" else f"{str(cell.gate == 'signed').lower()} "
        name = "complex_diagonal" if cell.gate == "complex" else "diagonal"
        return f"{name} {signed}{cell.options['channels']}"
    assert isinstance(cell, DeltaStack)
    sizes = " ".join(map(str, cell.sizes_of_heads))
    return f"delta {sizes} {str(isinstance(cell, RankOneStack)).lower()}"


def _kind(cell: StackCell) -> str:
    """The same, as ``Reading.v`` names it."""
    name, _, sizes = _mixer(cell).partition(" ")
    if isinstance(cell, DiagonalStack) and name == "diagonal":
        return f"RealNumbers Network.{cell.gate.capitalize()} {cell.memory}"
    return f"{'Heads' if name == 'delta' else 'ComplexNumbers'} {sizes}"


def comment(text: str) -> str:
    """Text for a Coq comment, without anything that could end it or begin another."""
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain.replace("(*", "( *").replace("*)", "* )").replace('"', "''")


def _tensors(tensors: Iterable[StoredTensor], tag: str) -> str:
    texts = ";\n".join(map(tensor_text, tensors))
    return f"Definition tensors{tag} : list tensor := [\n{texts}]."


def _machine(automaton: Semiautomaton, tag: str) -> str:
    return f"""Definition machine{tag} : Float32.automaton := {{| Float32.First := {automaton.start};
  Float32.Letters := {automaton.num_letters}; Float32.Table := {_rows(automaton.table.tolist())} |}}."""


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


# A Transformer.


def transformer_text(network: StoredTransformer, hints: Counting | Scanning) -> str:
    """The file of a compiled Transformer."""
    how = "scanning" if isinstance(hints, Scanning) else "counting"
    theorem = f"""transformer_is_right {network.length} 0x{network.digest}
    network_sizes tensors machine"""
    begin = f"{TRANSFORMER_HEAD}\n{transformer_definitions(network, hints)}"
    return _file(network, begin, theorem, f"apply (by_{how} _ _ _ _ _ hints)")


def transformer_definitions(network: StoredTransformer, hints: Counting | Scanning, tag: str = "") -> str:
    """Sizes, tensors, automaton and hints; each name ends in ``tag``."""
    weights = network.weights
    return f"""Definition network_sizes{tag} : tsizes := {{| TWidth := {weights.embedding.shape[1]};
  TLetters := {len(weights.embedding)}; TPadding := {len(weights.padding)};
  TPositions := {len(weights.positions)}; TClasses := {weights.readout.shape[1]};
  TLayerSizes := {_layer_sizes(network)}%nat |}}.
{_tensors(network.tensors, tag)}
{_machine(network.automaton, tag)}
Definition hints{tag} := {_scanning(hints) if isinstance(hints, Scanning) else _counting(hints)}.
"""


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


def _layer_sizes(network: StoredTransformer) -> str:
    return _list(
        f"({_list(f'({h.query.shape[1]}, {h.value.shape[1]})' for h in layer.heads)}, "
        f"{_list(layer.mlp.hidden_widths)})"
        for layer in network.weights.layers
    )


def transformer_statement(network: StoredTransformer) -> str:
    """The theorem without tensors and automaton, by full names."""
    weights = network.weights
    return f"""Krohn.TransformerFile.transformer_is_right {network.length}
  0x{network.digest}%Z
  (Krohn.TransformerFile.Build_tsizes {weights.embedding.shape[1]} {len(weights.embedding)}
    {len(weights.padding)} {len(weights.positions)} {weights.readout.shape[1]}
    {_layer_sizes(network)})"""


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


# A trained LSTM.


def run_text(run: StoredRun, boxes: Boxes) -> str:
    """The file of a trained LSTM: boxes of its state that every letter maps into each other."""
    theorem = f"lstm_is_right 0x{run.digest} network_sizes tensors machine"
    return _file(run, f"{RUN_HEAD}\n{run_definitions(run, boxes)}", theorem, "apply (by_boxes _ _ _ _ hints)")


def run_definitions(run: StoredRun, boxes: Boxes, tag: str = "") -> str:
    """Sizes, tensors, automaton and boxes; each name ends in ``tag``."""
    inputs, units, rows, columns, classes = _run_sizes(run)
    regions = ";\n".join(
        f"{{| Stands := {state}; Shown := {_sides(low[:units], high[:units])}; "
        f"Held := {_sides(low[units:], high[units:])}; Follows := {_list(following)}%nat |}}"
        for state, following, low, high in zip(
            boxes.state.tolist(), boxes.follower.tolist(), boxes.low, boxes.high, strict=True
        )
    )
    return f"""Definition network_sizes{tag} : lsizes := {{| LInputs := {inputs}; LUnits := {units};
  LRows := {rows}; LColumns := {columns}; LClasses := {classes} |}}.
{_tensors(run.tensors, tag)}
{_machine(run.automaton, tag)}
Definition hints{tag} : list region := [
{regions}].
"""


def run_statement(run: StoredRun) -> str:
    """The theorem without tensors and automaton, by full names."""
    sizes = " ".join(map(str, _run_sizes(run)))
    return f"Krohn.Lstm.lstm_is_right 0x{run.digest}%Z\n  (Krohn.Lstm.Build_lsizes {sizes})"


def _run_sizes(run: StoredRun) -> tuple[int, int, int, int, int]:
    shape = {tensor.name: tensor.shape for tensor in run.tensors}
    (_, rows, inputs), (_, units, columns) = shape["wte"], shape["head.weight"]
    return inputs, units, rows, columns, run.automaton.num_states


def _sides(low: Array, high: Array) -> str:
    ends = zip(np.floor(low * GRID).tolist(), np.ceil(high * GRID).tolist(), strict=True)
    return _list(f"({int(a)},{int(b)})" for a, b in ends)
