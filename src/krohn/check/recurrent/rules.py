"""The three rule sets for recurrent networks: from a claim about a folder to the proof that decides it."""

from krohn.check.arithmetic.format import FORMATS
from krohn.check.claim import ANY, CHUNKS, Claim
from krohn.check.files.folders import RECURRENT, Net
from krohn.check.ground import Refused, Verdict, Work, require
from krohn.check.recurrent.balls import horizon
from krohn.check.recurrent.boxes import BoxCell, boxes_from, build_gated, check
from krohn.check.recurrent.cells import Cell, Gated, GruCell, LstmCell
from krohn.check.recurrent.chunks import same_in_chunks
from krohn.check.recurrent.closure import Closure, budget_for, close
from krohn.check.recurrent.stacks import DeltaStack, DiagonalStack, RankOneStack

CELLS: dict[str, type[Cell]] = {
    cell.kind: cell for cell in (DeltaStack, DiagonalStack, RankOneStack, LstmCell, GruCell)
}


DTYPES = ("float32", "bfloat16")
"""Formats for closures and balls; boxes are proved in the first one only."""


def cell_of(net: Net, claim: Claim) -> Cell:
    """The network as the rules read it; an unknown field of its configuration is refused."""
    letters, outputs = claim.automaton.table.shape[1], int(claim.automaton.shows.max()) + 1
    if net.kind == RECURRENT:
        kind, options = net.configuration["architecture"], net.configuration["options"]
        require(kind in CELLS, f"the architecture must be one of {', '.join(CELLS)}; got {str(kind)[:40]}")
        cell = CELLS[kind].of(net.tensors, options)
        require(cell.options == options, "the options must be those of the tensors")
        return cell
    model = net.configuration["model"]
    known = isinstance(model, dict) and set(model) == {"kind", "embedding", "hidden"}
    require(known, "a run is proved if its model has kind, embedding and hidden, and nothing else")
    own = build_gated(model["kind"], net.tensors, letters, outputs)
    require(
        own.options == {name: model[name] for name in own.options}, "the sizes must be those of the tensors"
    )
    for name in ("scratchpad", "bos"):
        require(
            net.configuration[name] is False, f"a run is proved if it reads letters alone, without {name}"
        )
    return own


def assumed(net: Net, claim: Claim) -> tuple[str, ...]:
    """The assumptions that a claim must name: of rounding, of sums, and of the functions that are called."""
    cell, coarse = cell_of(net, claim), FORMATS[claim.dtype].coarse if claim.dtype in FORMATS else False
    bent = any(name in ("sigmoid", "tanh") for name in cell.assumptions)
    own = (*(("saturation",) if bent else ()), *cell.assumptions)
    half = ("half",) if isinstance(cell, Gated) else ("half", "memory")
    if CHUNKS in cell.orders:  # there is another schedule: the claim says which one is proved
        own = (*own, "chunks" if claim.order == CHUNKS else "letters")
    return (
        "rounding",
        "sum" if claim.order in (ANY, CHUNKS) else "left",
        *(half if coarse else ()),
        *own,
    )


def closure_rules(net: Net, claim: Claim, witness: object, work: float | None) -> Verdict:
    """The set that words reach is finite, and every answer in it is right; or right up to a length."""
    require(claim.dtype in DTYPES, f"a closure is proved in {' or '.join(DTYPES)}")
    require(witness is None, "a closure needs no witness")
    cell, order = cell_of(net, claim), ANY if claim.order == CHUNKS else claim.order
    budget = budget_for(cell, work)
    found = close(cell, claim.automaton, claim.dtype, order, budget=budget)
    return closure_verdict(cell, claim, found, budget)


def closure_verdict(cell: Cell, claim: Claim, found: Closure, budget: Work) -> Verdict:
    """What a search in the claim's format and order says about the claim."""
    if claim.up_to is not None and not found.proved and found.horizon >= claim.up_to:
        require(claim.order != CHUNKS, "up to a length words are read one letter after the other")
        return Verdict(True, 0.0, "")
    if found.doubt is not None:
        word = " ".join(claim.letters[letter] for letter in found.doubt)
        word = word if len(word) <= 80 else f"of {len(found.doubt):,} letters that begins {word[:60]} …"
        return Verdict(False, 0.0, f"the right logit does not lead after the word {word}")
    require(found.proved, f"more than {sum(found.layers) - 1:,} vectors are reached")
    chunked = claim.order != CHUNKS or same_in_chunks(cell, found.notes, budget)
    require(chunked, "in chunks the sums may be rounded otherwise")
    return Verdict(True, found.margin, "")


def balls_rules(net: Net, claim: Claim, witness: object, work: float | None) -> Verdict:
    """Up to a length: rounding keeps a diagonal stack close enough to its references."""
    require(claim.up_to is not None, "a horizon is about words up to a length")
    require(claim.order == ANY, "a horizon is about any order of sums")
    require(claim.dtype in DTYPES, f"a horizon is proved in {' or '.join(DTYPES)}")
    cell = cell_of(net, claim)
    if not isinstance(cell, DiagonalStack):
        raise Refused("a horizon is for diagonal networks")
    longest = horizon(cell, claim.automaton, claim.dtype, witness, budget_for(cell, work))
    require(longest >= (claim.up_to or 0), f"every word is right up to {longest:,} letters only")
    return Verdict(True, 0.0, "")


def boxes_rules(net: Net, claim: Claim, witness: object, work: float | None) -> Verdict:
    """Every length: boxes of the hidden state that letters map into each other."""
    require(claim.up_to is None, "boxes are about words of every length")
    require(claim.order == ANY, "boxes hold for any order of sums; the claim must say so")
    require(claim.dtype == DTYPES[0], f"boxes are proved in {DTYPES[0]}")
    cell = cell_of(net, claim)
    if not isinstance(cell, Gated):
        raise Refused("boxes are for lstm and gru networks")
    boxes = boxes_from(witness)
    return check(BoxCell(cell, claim.dtype, budget_for(cell, work)), boxes, claim.automaton)


PROOFS = {"closure": closure_rules, "balls": balls_rules, "boxes": boxes_rules}
