"""What ``compile``, ``verify`` and ``run`` do with recurrent architectures."""

from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cli.output import emit, note
from krohn.errors import InvalidInput
from krohn.recurrent.closure import BITS, Closure, close
from krohn.recurrent.files import Witness, check_target, load, save
from krohn.recurrent.horizon import certified_horizon
from krohn.recurrent.witnesses import WITNESSES


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


def verify_witness(
    directory: Path, automaton: Semiautomaton | None, out: Path | None, dtype: str, *, as_json: bool
) -> bool:
    """Proves or refutes the witness in a directory for words of every length; whether it is proved."""
    witness = load(directory)
    if automaton is not None and automaton.digest != witness.automaton.digest:
        raise InvalidInput(
            f"the file claims an automaton with digest {witness.automaton.digest[:12]}; "
            f"--automaton has {automaton.digest[:12]}: states, letters, start and table must agree"
        )
    if out is not None:
        raise InvalidInput(
            "a proof by closure has no certificate file: it is run again in seconds; omit --out"
        )
    if dtype not in BITS:
        raise InvalidInput(f"recurrent networks are proved in {' or '.join(BITS)}; got {dtype}")
    closure = close(witness.cell, witness.automaton, dtype=dtype)
    drift = None if closure.every_length else certified_horizon(witness.cell, witness.automaton, dtype)
    payload = {
        "architecture": witness.cell.kind,
        "automaton": witness.automaton.name,
        "digest": witness.automaton.digest,
        "dtype": dtype,
        "length": drift,
        "checks": ["closure"] if drift is None else ["closure", "drift"],
        **closure.to_json(witness.automaton),
    }
    emit(payload, as_json=as_json, text=lambda: _verified(witness, closure, payload))
    return closure.every_length


def _compiled(payload: dict[str, Any]) -> str:
    name = payload["automaton"] or "the automaton"
    return (
        f"{name}, words of every length: layers of {payload['architecture']}: {payload['layers']}, "
        f"steps per letter: {payload['steps']}, numbers of state: {payload['size']}, "
        f"parameters: {payload['num_parameters']:,}"
    )


def _verified(witness: Witness, closure: Closure, payload: dict[str, Any]) -> str:
    automaton = witness.automaton
    name = automaton.name or f"an automaton of {automaton.num_states} states"
    claim = f"the file claims {name}: {automaton.num_states} states, {automaton.num_letters} letters"
    if closure.every_length:
        order = "any order of adding" if closure.any_order else "sums rounded once, as this check adds them"
        return (
            f"certified: {name}, words of every length, {payload['dtype']}, {order}\n"
            f"{closure.vectors} vectors are reached by all words; logit margin {closure.margin:.4g}\n{claim}"
        )
    if payload["counterexample"] is not None:
        wrong = payload["counterexample"]
        shown = f"{' '.join(wrong['letters'])} → {wrong['got']}, must be {wrong['expected']}"
        return f"not certified: a shortest wrong word was found\ncounterexample: {shown}\n{claim}"
    if payload["length"] is not None:
        return (
            f"not certified for every length: {closure.vectors:,} vectors and no end; certified up to "
            f"{payload['length']:,} letters in {payload['dtype']}, one letter after the other: "
            f"rounding adds up\n{claim}"
        )
    if closure.horizon is None:
        return f"not certified: a number needs more than the 8 bits of {payload['dtype']}\n{claim}"
    return (
        f"not certified: more than {closure.vectors - 1:,} vectors are reached; "
        f"every word of at most {closure.horizon} letters is right\n{claim}"
    )
