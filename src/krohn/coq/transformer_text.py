"""The certificate of a Transformer as a Coq file: tensors bit by bit, automaton, hints, theorem."""

from collections.abc import Iterable

from krohn.coq.certificate_text import MARK, THEOREM, comment, tensor_text
from krohn.coq.counting_hints import ChannelHint, CopyHint, Counting, HeadHint, LayerHint, MatchHint
from krohn.coq.scanning import ScanHint, Scanning
from krohn.coq.stored import StoredTransformer

HEAD = """From Coq Require Import ZArith List String.
From Krohn Require Import Counting Counted Scan TransformerCertificate TransformerFile.
Import ListNotations.
Open Scope Z_scope.
Open Scope string_scope."""


def transformer_text(network: StoredTransformer, hints: Counting | Scanning) -> str:
    """The whole file; ``coqc`` accepts it if and only if the checker of the development says yes."""
    automaton, how = network.automaton, "scanning" if isinstance(hints, Scanning) else "counting"
    return f"""(* {comment(automaton.name)}, Transformer: {MARK}
   coqc -Q DEVELOPMENT Krohn FILE.v
   The hash is that of a line and the network's file after it:
   (echo '{network.line}'; cat model.safetensors) | sha256sum
   Hints are not trusted.
   Letters: {comment(" ".join(automaton.letter_names))}
   States: {comment(" ".join(automaton.state_names))} *)
{HEAD}
{transformer_definitions(network, hints)}
Theorem {THEOREM} :
  transformer_is_right {network.length} 0x{network.digest}
    network_sizes tensors machine.
Proof. apply (by_{how} _ _ _ _ _ hints). vm_cast_no_check (eq_refl true). Qed.
Print Assumptions {THEOREM}.
"""


def transformer_definitions(network: StoredTransformer, hints: Counting | Scanning, tag: str = "") -> str:
    """Sizes, tensors, automaton and hints; each name ends in ``tag``."""
    automaton, weights = network.automaton, network.weights
    tensors = ";\n".join(map(tensor_text, network.tensors))
    return f"""Definition network_sizes{tag} : tsizes := {{| TWidth := {weights.embedding.shape[1]};
  TLetters := {len(weights.embedding)}; TPadding := {len(weights.padding)};
  TPositions := {len(weights.positions)}; TClasses := {weights.readout.shape[1]};
  TLayerSizes := {_sizes(network)}%nat |}}.
Definition tensors{tag} : list tensor := [
{tensors}].
Definition machine{tag} : automaton := {{| First := {automaton.start}; Letters := {automaton.num_letters};
Table := {_listed(map(_listed, automaton.table.tolist()))}%nat |}}.
Definition hints{tag} := {_scanning(hints) if isinstance(hints, Scanning) else _counting(hints)}.
"""


def _scanning(hints: Scanning) -> str:
    layers = _listed(map(_scan, hints.layers))
    return f"""{{| Registers := {hints.registers};
LetterRows := {_listed(map(_listed, hints.letters))}%nat;
StateRows := {_listed(map(_listed, hints.states))}%nat;
LayerScans := {layers} |}}"""


def _scan(layer: ScanHint) -> str:
    return f"""{{| Gap := {layer.gap}; Cur := {_listed(layer.current)}%nat;
Value := {_listed(layer.value)}%nat; Back := {_listed(layer.back)}%nat;
Next := {_listed(layer.following)}%nat |}}"""


def _counting(hints: Counting) -> str:
    known = _listed(f"({_listed(map(_listed, rows))}, {state}%nat)" for rows, state in hints.known)
    return f"""{{| Period := {hints.period};
LayerHints := {_listed(map(_layer, hints.layers))};
Finals := {_listed(hints.states)}%nat;
Known := {known} |}}"""


def _sizes(network: StoredTransformer) -> str:
    return _listed(
        f"({_listed(f'({h.query.shape[1]}, {h.value.shape[1]})' for h in layer.heads)}, "
        f"{_listed(layer.mlp.hidden_widths)})"
        for layer in network.weights.layers
    )


def transformer_statement(network: StoredTransformer) -> str:
    """The theorem without tensors and automaton, by full names."""
    weights = network.weights
    return f"""Krohn.TransformerFile.transformer_is_right {network.length}
  0x{network.digest}%Z
  (Krohn.TransformerFile.Build_tsizes {weights.embedding.shape[1]} {len(weights.embedding)}
    {len(weights.padding)} {len(weights.positions)} {weights.readout.shape[1]}
    {_sizes(network)})"""


def _listed(items: Iterable[object]) -> str:
    return "[" + ";".join(map(str, items)) + "]"


def _layer(layer: LayerHint) -> str:
    groups = _listed(
        f"{{| Weights := {_listed(g.weights)}; Modulus := {g.modulus}; "
        f"Stops := {str(g.stops).lower()}; Coarse := {_listed(g.coarse)}%nat; "
        f"Coarses := {max(g.coarse, default=-1) + 1} |}}"
        for g in layer.groups
    )
    return f"""{{| HeadHints := {_listed(map(_head, layer.heads))};
Steps := {_listed(map(_listed, layer.steps))}; Sets := {_listed(map(_sets, layer.sets))};
PlaceOf := {_listed(layer.places)}%nat;
Groups := {groups};
Cut := {layer.cut}; Owner := {_listed(layer.owner)}%nat; OwnerY := {_listed(layer.channels)}%nat;
NextClass := {_listed(map(_following, layer.following))};
NextClasses := {layer.classes};
Keys := {_listed(layer.keys)}%nat; KeyClasses := {max(layer.keys, default=-1) + 1};
Asks := {_listed(layer.asks)}%nat; AskClasses := {max(layer.asks, default=-1) + 1} |}}
"""


def _following(classes: dict[tuple[int, ...], int]) -> str:
    return _listed(f"({_listed(residues)},{following}%nat)" for residues, following in classes.items())


def _sets(values: tuple[int | None, ...]) -> str:
    if set(values) == {None}:
        return "[]"
    return _listed("None" if value is None else f"Some ({value})" for value in values)


def _head(head: HeadHint | CopyHint | MatchHint) -> str:
    if isinstance(head, MatchHint):
        return f"Matches {_listed(map(_copy, head.asks))}"
    if isinstance(head, CopyHint):
        return f"Copies {_copy(head)}"
    channels = _listed(map(_channel, head.channels))
    return (
        f"Counts {{| Share := {head.share}; ShareSlack := {head.slack}; Rest := {head.rest}; "
        f"Picks := {_truths(head.picks)}; Channels := {channels} |}}"
    )


def _copy(head: CopyHint) -> str:
    channels = _listed(map(_channel, head.channels))
    return f"{{| Writers := {_truths(head.writers)}; Copied := {channels} |}}"


def _channel(channel: ChannelHint) -> str:
    return f"{{| Number := {channel.counter}; UnitOf := {channel.unit}; UnitSlack := {channel.slack} |}}"


def _truths(values: Iterable[bool]) -> str:
    return _listed(str(value).lower() for value in values)
