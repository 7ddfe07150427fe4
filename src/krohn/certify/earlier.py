"""The proofs from before the small checker: they still reach further, and are named where they are used.

Their rounding is written out in each module, and networks with extreme numbers have deceived them. So they
are asked only about networks whose numbers are all of ordinary size.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic
from krohn.certify.findings import Record, Refuted
from krohn.certify.network_proof import prove
from krohn.certify.scan_proof import looks_like_scan, prove_scan
from krohn.errors import LimitExceeded
from krohn.network.storage import tensors_of
from krohn.network.transformer import Transformer

LARGE = 5_000_000
ORDINARY = {"float64": (-340, 340), "float32": (-60, 60), "bfloat16": (-24, 24), "float16": (-14, 14)}
"""Exponents of two between which all weights must lie."""
Proof = Callable[[Transformer, Semiautomaton, int, Arithmetic, Record], float]


def ordinary(network: Transformer, arith: Arithmetic) -> bool:
    """Whether no weight is so small or so large that products of a few could leave the format."""
    low, high = ORDINARY[arith.name]
    for tensor in tensors_of(network).values():
        sizes = np.abs(tensor[tensor != 0])
        if sizes.size and not (sizes.min() >= 2.0**low and sizes.max() <= 2.0**high):
            return False
    return True


def earlier_attempt(
    network: Transformer, automaton: Semiautomaton, length: int, arith: Arithmetic
) -> tuple[Record, Refuted | None, float]:
    """The proof that fits the network's form: Theorem 1's induction, or machines layer by layer."""
    if network.num_padding == 0:
        record = Record()
        return (
            record,
            record.refuse("padding", "the proof starts from a padding position; there is none"),
            0.0,
        )
    proofs: list[Proof] = [prove]
    if looks_like_scan(network):
        # Machines that hold the maps of a large scan do not fit anywhere; its own proof is the only one.
        proofs = [prove_scan, *(proofs if network.num_parameters < LARGE else [])]
    outcome: tuple[Record, Refuted | None, float] | None = None
    for proof in proofs:
        record = Record()
        try:
            with np.errstate(all="ignore"):
                return record, None, proof(network, automaton, length, arith, record)
        except Refuted as error:
            refusal = error
        except LimitExceeded as error:
            refusal = record.refuse("size", str(error))
        if record.guesses:
            proofs.append(partial(prove, choices=1))  # slower, but it finds no difference that is none
        # Of two proofs that stop, the one that came further says more; of equals the later, which knows more.
        if outcome is None or record.layer >= outcome[0].layer:
            outcome = (record, refusal, 0.0)
    if outcome is None:
        record = Record()
        return record, record.refuse("proof", "no form of proof fits the network"), 0.0
    return outcome
