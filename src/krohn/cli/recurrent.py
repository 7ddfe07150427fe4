"""What ``compile`` and ``verify`` print about recurrent networks."""

from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Verification
from krohn.cli.output import emit, note
from krohn.folder import RECURRENT, Folder
from krohn.network.storage import MODEL
from krohn.recurrent.recurrent_files import MEANING, RecurrentNetwork, save
from krohn.recurrent.recurrent_weights import WEIGHTS


def compile_recurrent(
    automaton: Semiautomaton, architecture: str, out: Path | None, *, as_json: bool
) -> None:
    """Builds the weights, proves them, prints sizes and writes them."""
    if out is not None:
        Folder(out).check_target(RECURRENT, (MODEL, MEANING))
    network = RecurrentNetwork(WEIGHTS[architecture](automaton), automaton)
    if out is not None:
        save(network, out)
        note(f"written: {out / 'model.safetensors'}, {out / 'recurrent.json'}")
    payload = {
        "automaton": automaton.name,
        "architecture": architecture,
        "layers": getattr(network.cell, "layers", 1),
        "steps": getattr(network.cell, "steps", 1),
        "size": network.cell.size,
        "num_parameters": network.cell.num_parameters,
        "out": None if out is None else str(out),
    }
    emit(payload, as_json=as_json, text=lambda: _compiled(payload))


def _compiled(payload: dict[str, Any]) -> str:
    name = payload["automaton"] or "the automaton"
    return (
        f"{name}: layers of {payload['architecture']}: {payload['layers']}, "
        f"steps per letter: {payload['steps']}, numbers of state: {payload['size']}, "
        f"parameters: {payload['num_parameters']:,}\n"
        "it reads words of any length; krohn verify says up to which length it is right"
    )


_CHUNKS = {
    True: "\nin chunks the floats are the same: proved for both forms",
    False: "\nproved one letter after the other; chunks multiply gates first and round elsewhere",
    None: "",
}


def recurrent_text(verdict: Verification, name: str) -> str:
    """The verdict in a line or two."""
    known = verdict.more
    if verdict.certified and verdict.length is None:
        order = "any order of adding" if known["any_order"] else "sums added from left to right, not fused"
        return (
            f"certified: {name}, words of every length, {verdict.dtype}, {order}\n"
            f"{known['vectors']} vectors are reached by all words; logit margin {verdict.margin:.4g}"
            f"{_CHUNKS[known['chunked']]}"
        )
    if verdict.certified:
        return f"certified: {name}, {verdict.words}, {verdict.dtype}"
    if verdict.counterexample is not None:
        return "not certified: a wrong word was found"
    if verdict.largest:
        return (
            f"not certified: {verdict.reason}; every word of at most {verdict.largest:,} letters is right in "
            f"{verdict.dtype}, one letter after the other: --length {verdict.largest}"
        )
    return f"not certified: {verdict.reason}"
