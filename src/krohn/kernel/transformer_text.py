"""The certificate of a Transformer as a Coq file: tensors bit by bit, automaton, hints, theorem."""

from collections.abc import Iterable

from krohn.kernel.certificate_text import MARK, THEOREM, comment, tensor_text
from krohn.kernel.counting_hints import Counting, HeadHint, LayerHint
from krohn.kernel.stored import StoredTransformer

HEAD = """From Coq Require Import ZArith List String.
From Krohn Require Import Counting Counted TransformerCertificate TransformerFile.
Import ListNotations.
Open Scope Z_scope.
Open Scope string_scope."""


def transformer_text(network: StoredTransformer, hints: Counting) -> str:
    """The whole file; ``coqc`` accepts it if and only if the checker of the development says yes."""
    automaton = network.automaton
    return f"""(* {comment(automaton.name)}, Transformer: {MARK}
   coqc -Q DEVELOPMENT Krohn FILE.v
   The hash is what sha256sum says of the network's model.safetensors. Hints are not trusted.
   Letters: {comment(" ".join(automaton.letter_names))}
   States: {comment(" ".join(automaton.state_names))} *)
{HEAD}
{transformer_definitions(network, hints)}
Theorem {THEOREM} :
  transformer_is_right {network.length} 0x{network.digest}
    network_sizes tensors machine.
Proof. apply (by_counting _ _ _ _ _ hints). vm_cast_no_check (eq_refl true). Qed.
Print Assumptions {THEOREM}.
"""


def transformer_definitions(network: StoredTransformer, hints: Counting, tag: str = "") -> str:
    """Sizes, tensors, automaton and hints; each name ends in ``tag``."""
    automaton, weights = network.automaton, network.weights
    tensors = ";\n".join(map(tensor_text, network.tensors))
    sizes = _listed(
        f"({_listed(f'({h.query.shape[1]}, {h.value.shape[1]})' for h in layer.heads)}, "
        f"{_listed(layer.mlp.hidden_widths)})"
        for layer in weights.layers
    )
    known = _listed(f"({_listed(map(_listed, rows))}, {state}%nat)" for rows, state in hints.known)
    return f"""Definition network_sizes{tag} : tsizes := {{| TWidth := {weights.embedding.shape[1]};
  TLetters := {len(weights.embedding)}; TPadding := {len(weights.padding)};
  TPositions := {len(weights.positions)}; TClasses := {weights.readout.shape[1]};
  TLayerSizes := {sizes}%nat |}}.
Definition tensors{tag} : list tensor := [
{tensors}].
Definition machine{tag} : automaton := {{| First := {automaton.start}; Letters := {automaton.num_letters};
Table := {_listed(map(_listed, automaton.table.tolist()))}%nat |}}.
Definition hints{tag} : transformer_hints := {{| Period := {hints.period};
LayerHints := {_listed(map(_layer, hints.layers))};
Finals := {_listed(hints.states)}%nat;
Known := {known} |}}.
"""


def _listed(items: Iterable[object]) -> str:
    return "[" + ";".join(map(str, items)) + "]"


def _layer(layer: LayerHint) -> str:
    groups = _listed(
        f"{{| Weights := {_listed(g.weights)}; Modulus := {g.modulus}; "
        f"Stops := {str(g.stops).lower()}; Coarse := {_listed(g.coarse)}%nat; "
        f"Coarses := {max(g.coarse) + 1} |}}"
        for g in layer.groups
    )
    return f"""{{| HeadHints := {_listed(map(_head, layer.heads))};
Steps := {_listed(map(_listed, layer.steps))}; PlaceOf := {_listed(layer.places)}%nat;
Groups := {groups};
Cut := {layer.cut}; Owner := {_listed(layer.owner)}%nat; OwnerY := {_listed(layer.channels)}%nat;
NextClass := {_listed(map(_listed, layer.following))}%nat;
NextClasses := {layer.classes} |}}
"""


def _head(head: HeadHint) -> str:
    channels = _listed(
        f"{{| Number := {c.counter}; UnitOf := {c.unit}; UnitSlack := {c.slack} |}}" for c in head.channels
    )
    picks = _listed(str(pick).lower() for pick in head.picks)
    return (
        f"{{| Share := {head.share}; ShareSlack := {head.slack}; Rest := {head.rest}; Picks := {picks}; "
        f"Channels := {channels} |}}"
    )
