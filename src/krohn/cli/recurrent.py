"""What ``compile``, ``verify`` and ``run`` do with recurrent architectures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.identity import Identity, identify
from krohn.cli.output import emit, note
from krohn.errors import InvalidInput
from krohn.recurrent.closure import DTYPES, Closure, close
from krohn.recurrent.horizon import certified_horizon
from krohn.recurrent.witness_files import Witness, check_target, load, run_all, save
from krohn.recurrent.witnesses import WITNESSES


@dataclass(frozen=True)
class WitnessRequest:
    """What ``krohn verify`` was asked about a witness."""

    meant: Semiautomaton | None
    renamed: bool
    dtype: str
    length: int | None
    out: Path | None
    claim: Path | None


def compile_witness(automaton: Semiautomaton, architecture: str, out: Path | None, *, as_json: bool) -> None:
    """Builds the weights, proves them, prints sizes and writes them."""
    if out is not None:
        check_target(out)
    witness = Witness(WITNESSES[architecture](automaton), automaton)
    if out is not None:
        save(witness, out)
        note(f"written: {out / 'model.safetensors'}, {out / 'recurrent.json'}")
    payload = {
        "automaton": automaton.name,
        "architecture": architecture,
        "layers": getattr(witness.cell, "layers", 1),
        "steps": getattr(witness.cell, "steps", 1),
        "size": witness.cell.size,
        "num_parameters": witness.cell.num_parameters,
        "out": None if out is None else str(out),
    }
    emit(payload, as_json=as_json, text=lambda: _compiled(payload))


def verify_witness(directory: Path, asked: WitnessRequest, *, as_json: bool) -> bool:
    """Proves or refutes the witness in a directory for words of every length; whether it is proved."""
    if asked.out is not None or asked.claim is not None:
        raise InvalidInput(
            "a proof by closure has no certificate file: it is run again in seconds; omit --out and --recheck"
        )
    if asked.length is not None and asked.length < 1:
        raise InvalidInput(f"--length must be at least 1; got {asked.length}")
    if asked.dtype not in DTYPES:
        raise InvalidInput(f"recurrent networks are proved in {' or '.join(DTYPES)}; got {asked.dtype}")
    witness = load(directory)
    identity = identify(witness.automaton, asked.meant, renamed=asked.renamed)
    if identity.mismatch:
        emit(mismatch_payload(identity), as_json=as_json, text=lambda: f"not certified: {identity.mismatch}")
        return False
    automaton = identity.automaton
    closure = close(witness.cell, automaton, dtype=asked.dtype)
    drift = None if closure.every_length else certified_horizon(witness.cell, automaton, asked.dtype)
    payload = {
        "architecture": witness.cell.kind,
        "automaton": identity.to_json(),
        "dtype": asked.dtype,
        "length": drift,
        "checks": ["closure"] if drift is None else ["closure", "drift"],
        **closure.to_json(automaton),
        "exact": run_all(witness, automaton).to_json(),
    }
    if asked.length is not None and max(drift or 0, closure.horizon or 0) >= asked.length:
        payload.update(certified=True, length=asked.length, counterexample=None)
    emit(payload, as_json=as_json, text=lambda: _verified(identity, closure, payload))
    return bool(payload["certified"])


def mismatch_payload(identity: Identity) -> dict[str, Any]:
    """The answer when the network simulates another automaton than the one the user means."""
    return {
        "certified": False,
        "every_length": False,
        "exact": None,
        "automaton": identity.to_json(),
        "reason": f"identity: {identity.mismatch}",
        "counterexample": None,
    }


def _compiled(payload: dict[str, Any]) -> str:
    name = payload["automaton"] or "the automaton"
    return (
        f"{name}: layers of {payload['architecture']}: {payload['layers']}, "
        f"steps per letter: {payload['steps']}, numbers of state: {payload['size']}, "
        f"parameters: {payload['num_parameters']:,}\n"
        "it reads words of any length; krohn verify says up to which length it is right"
    )


def _verified(identity: Identity, closure: Closure, payload: dict[str, Any]) -> str:
    automaton, exact = identity.automaton, payload["exact"]
    name = automaton.name or f"an automaton of {automaton.num_states} states"
    ran = f"run: all {exact['words']:,} words of length {exact['length']}, {exact['wrong']:,} wrong"
    return f"{_decided(name, closure, payload)}\n{identity.sentence()}\n{ran}"


_CHUNKS = {
    True: "\nin chunks the floats are the same: proved for both forms",
    False: "\nproved one letter after the other; chunks multiply gates first and round elsewhere",
    None: "",
}


def _decided(name: str, closure: Closure, payload: dict[str, Any]) -> str:
    if closure.every_length:
        order = "any order of adding" if closure.any_order else "sums added from left to right, not fused"
        return (
            f"certified: {name}, words of every length, {payload['dtype']}, {order}\n"
            f"{closure.vectors} vectors are reached by all words; logit margin {closure.margin:.4g}"
            f"{_CHUNKS[closure.chunked]}"
        )
    if payload["certified"]:
        return f"certified: {name}, every word of length ≤ {payload['length']:,}, {payload['dtype']}"
    if payload["counterexample"] is not None:
        wrong = payload["counterexample"]
        shown = f"{' '.join(wrong['letters'])} → {wrong['got']}, must be {wrong['expected']}"
        return f"not certified: a wrong word was found\ncounterexample: {shown}"
    if payload["length"] is not None:
        return (
            f"not certified for every length: {closure.vectors:,} vectors and no end; certified up to "
            f"{payload['length']:,} letters in {payload['dtype']}, one letter after the other: "
            "rounding adds up"
        )
    if closure.horizon is None:
        return f"not certified: {closure.reason}"
    return f"not certified: {closure.reason}; every word of at most {closure.horizon} letters is right"
