"""For each hypothesis of the rules, a network that lacks only it: wrong in torch, and not proved.

Each has a control with the hypothesis, which is right in torch and proved.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.check.recurrent.cells import Cell, Gated
from krohn.check.recurrent.stacks import DeltaStack, DiagonalStack
from krohn.proving.recurrent import close
from krohn.recurrent.recurrent_weights import WEIGHTS
from recurrent.horizons import certified_horizon
from recurrent.judge import gated_logits, right, stack_logits

Tensors = dict[str, np.ndarray]
HUGE = np.float32(2.0**127)
C3, FLIPFLOP = parse_spec("C3"), parse_spec("FlipFlop")
"""Letters: keep, and one that leads to each of two states."""


def answers_right(cell: Cell, automaton: Semiautomaton, dtype: str) -> bool:
    """Whether torch answers a few words of 60 letters rightly, in this format."""
    rng = np.random.default_rng(0)
    words = rng.integers(automaton.num_letters, size=(4, 60))
    words[:2, 1:] = automaton.letter_names.index(quiet_letter(automaton))  # one letter, then a long silence
    words[:2, 0] = np.array([1, 2]) % automaton.num_letters
    judged = []
    for word in words.tolist():
        tensors = dict(cell.tensors)
        logits = (
            gated_logits(cell.kind, tensors, word, dtype)
            if isinstance(cell, Gated)
            else stack_logits(cell, word, dtype)
        )
        judged.append(right(logits, automaton, word))
    return all(judged)


def quiet_letter(automaton: Semiautomaton) -> str:
    """A letter that changes nothing, if there is one; else the first."""
    for name, images in zip(automaton.letter_names, automaton.letters, strict=True):
        if list(images) == list(range(automaton.num_states)):
            return name
    return automaton.letter_names[0]


def changed(cell: Cell, change: Callable[[Tensors], None]) -> Cell:
    tensors = {name: value.copy() for name, value in cell.tensors.items()}
    change(tensors)
    return type(cell).of(tensors, _options(cell, tensors))


def _options(cell: Cell, tensors: Tensors) -> dict[str, object]:
    return {name: getattr(cell, name) for name in ("gate", "heads") if hasattr(cell, name)}


def memory_of_one_bit() -> DiagonalStack:
    """h ← h under the quiet letter, ±1 under the others; channels: the letters, h, three ones, one unread."""
    quiet = FLIPFLOP.letter_names.index(quiet_letter(FLIPFLOP))
    wte, gate, write = np.zeros((3, 8)), np.zeros((8, 2)), np.zeros((8, 2))
    wte[:, :3], wte[:, 4:7] = np.eye(3), 1.0
    gate[quiet, 0] = 200.0
    for letter, images in enumerate(FLIPFLOP.letters):
        if letter != quiet:
            write[letter, 0] = 1.0 if images[0] == 1 else -1.0
    out, head = np.zeros((2, 8)), np.zeros((8, 2))
    out[0, 3] = 1.0
    head[3] = (-1.0, 1.0)
    tensors = {
        "wte": wte,
        "h.0.mix.gate.weight": gate,
        "h.0.mix.gate.bias": np.zeros(2),
        "h.0.mix.write": write,
        "h.0.mix.out": out,
        "head.weight": head,
        "head.bias": np.array([0.5, 0.0]),
    }
    return DiagonalStack({name: value.astype(np.float32) for name, value in tensors.items()}, gate="signed")


def leaking_gate(w: Tensors) -> None:
    """The gate that keeps the bit is 0.96, not 1."""
    w["h.0.mix.gate.weight"][w["h.0.mix.gate.weight"] == 200] = 2.0


def unread_memory(w: Tensors) -> None:
    """An unread memory grows by 2^126 with each letter."""
    w["h.0.mix.gate.weight"][4, 1] = 200.0
    w["h.0.mix.write"][4, 1] = HUGE / 2


def unread_channel(w: Tensors) -> None:
    """An unread channel of the stream: 2^127, and as much again from the memory."""
    w["wte"][:, 7] = HUGE
    w["h.0.mix.out"][0, 7] = HUGE
    w["head.bias"][:] = (0.5, 0.0)


def cancelled_read_out(w: Tensors) -> None:
    """2^127 + 2^127 − 2^127 in both logits."""
    w["head.weight"][3] *= np.float32(2.0**110)
    w["head.bias"] *= np.float32(2.0**110)
    w["head.weight"][[4, 5, 6]] = np.float32([HUGE, HUGE, -HUGE])[:, None]


def cancelled_gate(w: Tensors) -> None:
    """The gate's inputs cancel to 0 in real numbers; a sum that overflows on the way is a gate of 1."""
    w["h.0.mix.gate.weight"][4:7, 0] = (HUGE, HUGE, -HUGE)
    w["h.0.mix.gate.bias"][0] = -HUGE
    w["h.0.mix.gate.weight"][:3, 0] *= np.float32(1e5)


def nine_bits(w: Tensors) -> None:
    """257 against 256, which bfloat16 cannot distinguish."""
    w["head.weight"][3] = (0.0, 257.0)
    w["head.bias"][:] = (256.0, 0.0)


def no_short_number(w: Tensors) -> None:
    """A number that float32 holds and bfloat16 does not, in a channel that nobody reads."""
    w["wte"][:, 7] = np.float32(3.4e38)


def rounded_memory(w: Tensors) -> None:
    """2^24, then −h − 1: one more than float32 holds; the read-out asks for the last unit."""
    quiet = int(np.argmax(w["h.0.mix.gate.weight"][:3, 0]))
    w["h.0.mix.gate.weight"][quiet, 0] = -200.0
    w["h.0.mix.write"][:3, 0] = np.float32([-1.0 if letter == quiet else 2.0**24 for letter in range(3)])
    w["head.weight"] = np.zeros((8, 3), np.float32)
    w["head.weight"][3] = (0.0, 2.0**-10, -1.0)
    w["head.bias"] = np.float32([0.25, 0.0, -(2.0**24) - 0.5])


def flipping() -> Semiautomaton:
    """What ``rounded_memory`` would do in real numbers: the quiet letter swaps 2^24 and −2^24 − 1."""
    quiet = FLIPFLOP.letter_names.index(quiet_letter(FLIPFLOP))
    maps = [(0, 2, 1) if letter == quiet else (1, 1, 1) for letter in range(3)]
    return Semiautomaton.from_letters(maps, letter_names=FLIPFLOP.letter_names)


def slack_beta(w: Tensors) -> None:
    """Reflections with 2σ(4) instead of 2."""
    for name in ("h.0.mix.beta.weight", "h.0.mix.rate.weight"):
        if name in w:
            w[name] = np.clip(w[name], -4, 4)


def unread_value(w: Tensors) -> None:
    """One more column of values, which nobody reads, and which every letter overflows."""
    heads = len(w["h.0.mix.gate.bias"])
    steps = len(w["h.0.mix.beta.bias"]) // heads
    value, out = w["h.0.mix.value"], w["h.0.mix.out"]
    more = np.full((len(value), heads, steps, 1), np.float32(1.5) * HUGE)
    wider = np.concatenate([value.reshape(len(value), heads, steps, -1), more], axis=3)
    w["h.0.mix.value"] = np.ascontiguousarray(wider.reshape(len(value), -1))
    rows = out.reshape(heads, -1, out.shape[1])
    w["h.0.mix.out"] = np.concatenate([rows, np.zeros_like(rows[:, :1])], axis=1).reshape(-1, out.shape[1])


def open_forget_gate(w: Tensors) -> None:
    """The forget gate is σ(0): what a unit held fades over letters instead of at once."""
    n = len(w["weight_hh"])
    w["bias"][n : 2 * n] = 0.0


def open_update_gate(w: Tensors) -> None:
    """The update gate is σ(1): a unit stays where it was."""
    n = len(w["weight_hh"])
    w["bias_ih"][n : 2 * n] = 1.0


def unread_unit(w: Tensors) -> None:
    """Sums of the first unit's gates overflow to both sides; then it is no number, and so is every other."""
    gates = w["weight_hh"].shape[1] // len(w["weight_hh"])
    columns = np.arange(gates) * len(w["weight_hh"])
    w["weight_ih"][:, columns] = HUGE
    w["bias" if "bias" in w else "bias_ih"][columns] = HUGE
    w["weight_hh"][:, columns] = -HUGE
    w["weight_hh"][0] = 0.0
    w["head.weight"][0] = 0.0


def small_lead(w: Tensors) -> None:
    """The right logit leads by 1 of 1,024."""
    w["head.bias"] += np.float32(1024.0)


@dataclass(frozen=True)
class Case:
    """A network, what it then lacks, and the format in which it does."""

    make: Callable[[], Cell]
    spoil: Callable[[Tensors], None]
    dtype: str = "float32"
    automaton: Semiautomaton = FLIPFLOP
    intact: bool = True


def compiled(kind: str) -> Callable[[], Cell]:
    return lambda: WEIGHTS[kind](FLIPFLOP)


CASES = {
    "a gate of 1": Case(memory_of_one_bit, leaking_gate),
    "a gate of 1, bfloat16": Case(memory_of_one_bit, leaking_gate, "bfloat16"),
    "finite: a memory that is not read": Case(memory_of_one_bit, unread_memory),
    "finite: a memory that is not read, bfloat16": Case(memory_of_one_bit, unread_memory, "bfloat16"),
    "finite: a channel that is not read": Case(memory_of_one_bit, unread_channel),
    "finite: partial sums of logits": Case(memory_of_one_bit, cancelled_read_out),
    "finite: partial sums of logits, bfloat16": Case(memory_of_one_bit, cancelled_read_out, "bfloat16"),
    "finite: a number of the format": Case(memory_of_one_bit, no_short_number, "bfloat16"),
    "eight bits": Case(memory_of_one_bit, nine_bits, "bfloat16"),
    "a memory that is not rounded": Case(
        memory_of_one_bit, rounded_memory, automaton=flipping(), intact=False
    ),
    "finite: partial sums of a gate": Case(memory_of_one_bit, cancelled_gate),
    "finite: a value that is not read": Case(
        lambda: WEIGHTS["deltaproduct"](parse_spec("C2")), unread_value, automaton=parse_spec("C2")
    ),
    "beta of 2": Case(lambda: WEIGHTS["deltaproduct"](C3), slack_beta, automaton=C3),
    "beta of 2, one step": Case(
        lambda: WEIGHTS["deltanet"](parse_spec("D6")), slack_beta, automaton=parse_spec("D6")
    ),
    "rates of 2": Case(lambda: WEIGHTS["rankone"](C3), slack_beta, automaton=C3),
    "a forget gate of 0": Case(compiled("lstm"), open_forget_gate),
    "a forget gate of 0, bfloat16": Case(compiled("lstm"), open_forget_gate, "bfloat16"),
    "an update gate of 0": Case(compiled("gru"), open_update_gate),
    "finite: a unit that is not read, lstm": Case(compiled("lstm"), unread_unit, intact=False),
    "finite: a unit that is not read, gru": Case(compiled("gru"), unread_unit, intact=False),
    "a lead that the format holds": Case(compiled("gru"), small_lead, "bfloat16"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_network_that_lacks_one_hypothesis_is_not_proved(case: Case) -> None:
    cell = case.make()
    if case.intact:
        assert answers_right(cell, case.automaton, case.dtype)
        assert close(cell, case.automaton, dtype=case.dtype).every_length
    spoiled = changed(cell, case.spoil)
    assert not answers_right(spoiled, case.automaton, case.dtype)
    proof = close(spoiled, case.automaton, limit=500, dtype=case.dtype)
    assert not proof.every_length
    assert proof.reason


@pytest.mark.parametrize("spoil", [nine_bits, no_short_number, small_lead])
def test_what_a_half_type_lacks_float32_has(spoil: Callable[[Tensors], None]) -> None:
    cell = compiled("gru")() if spoil is small_lead else memory_of_one_bit()
    spoiled = changed(cell, spoil)
    assert answers_right(spoiled, FLIPFLOP, "float32")
    assert close(spoiled, FLIPFLOP).every_length


def test_a_horizon_needs_finite_numbers_in_unread_memories() -> None:
    automaton = parse_spec("C5")
    cell = WEIGHTS["diagonal"](automaton)
    assert isinstance(cell, DiagonalStack)
    assert (certified_horizon(cell, automaton) or 0) > 1_000
    half = cell.memory // 2

    def more(w: Tensors) -> None:
        for name, value in (("gate.weight", 0.0), ("gate.bias", 1.0), ("write", HUGE / 8)):
            old = w[f"h.0.mix.{name}"]
            added = np.full((*old.shape[:-1], 1), value, np.float32)
            zeros = np.zeros_like(added)
            parts = [old[..., :half], added, old[..., half:], zeros]
            w[f"h.0.mix.{name}"] = np.ascontiguousarray(np.concatenate(parts, axis=-1))
        out = w["h.0.mix.out"]
        nothing = np.zeros_like(out[:1])
        w["h.0.mix.out"] = np.concatenate([out[:half], nothing, out[half:], nothing])

    spoiled = changed(cell, more)
    assert not right(stack_logits(spoiled, [0] * 40), automaton, [0] * 40)
    assert not certified_horizon(spoiled, automaton)


def with_more(cell: Cell) -> Tensors:
    return {name: value.copy() for name, value in cell.tensors.items()}


KINDS_OF_MUTANTS: dict[str, Callable[[Tensors, np.random.Generator], None]] = {}


def kind(
    change: Callable[[Tensors, np.random.Generator], None],
) -> Callable[[Tensors, np.random.Generator], None]:
    KINDS_OF_MUTANTS[change.__name__] = change
    return change


def _matrix(w: Tensors, rng: np.random.Generator) -> str:
    return str(rng.choice([name for name, value in w.items() if value.ndim == 2]))


@kind
def silent_entry(w: Tensors, rng: np.random.Generator) -> None:
    """A weight that is 0 becomes large."""
    value = w[_matrix(w, rng)]
    places = np.argwhere(value == 0)
    if len(places):
        value[tuple(rng.choice(places))] = rng.choice([1e-3, 1.0, 1e6, 1e30, 3e38])


@kind
def cancelled_pair(w: Tensors, rng: np.random.Generator) -> None:
    """Two rows of a matrix get the same large number with opposite signs."""
    value = w[_matrix(w, rng)]
    rows = rng.choice(len(value), size=2, replace=len(value) < 2)
    size = np.float32(rng.choice([2.0**20, 2.0**40, 2.0**127]))
    value[rows[0]] += size
    value[rows[1]] -= size


@kind
def unread_column(w: Tensors, rng: np.random.Generator) -> None:
    """A column of the embedding that the read-out does not see is scaled up."""
    value = w["wte"]
    value[:, rng.integers(value.shape[1])] *= np.float32(rng.choice([3.0, 2.0**64, 2.0**127]))


@kind
def bias_moved(w: Tensors, rng: np.random.Generator) -> None:
    """A bias that saturates a gate is moved to where it does not."""
    names = [name for name, value in w.items() if value.ndim == 1 and name != "head.bias"]
    if names:
        value = w[str(rng.choice(names))]
        value[rng.integers(len(value))] = rng.choice([0.0, 1.0, -1.0, 17.0, 109.0])


@kind
def exponent_bit(w: Tensors, rng: np.random.Generator) -> None:
    """One bit of an exponent is flipped, where the number stays finite."""
    value = w[_matrix(w, rng)].reshape(-1)
    bits = value.view(np.uint32)
    place = rng.integers(len(bits))
    flipped = bits[place] ^ np.uint32(1 << int(rng.integers(23, 31)))
    if np.isfinite(np.array([flipped], np.uint32).view(np.float32)).all():
        bits[place] = flipped


@kind
def read_out_scaled(w: Tensors, rng: np.random.Generator) -> None:
    """Both parts of the read-out are scaled so far that sums may overflow, or vanish."""
    size = np.float32(rng.choice([2.0**-140, 2.0**-60, 2.0**100, 2.0**126]))
    w["head.weight"] *= size
    w["head.bias"] *= size


@pytest.mark.parametrize("architecture", ["deltaproduct", "deltanet", "diagonal", "rankone", "lstm", "gru"])
def test_no_mutant_of_unread_silent_or_cancelled_parts_is_proved_and_wrong(architecture: str) -> None:
    rng, outcomes = np.random.default_rng(11), set()
    cell = WEIGHTS[architecture](FLIPFLOP)
    for change in KINDS_OF_MUTANTS.values():
        for _ in range(1 if architecture in ("lstm", "gru") else 2):  # these two take longest
            tensors = with_more(cell)
            with np.errstate(all="ignore"):
                change(tensors, rng)
            if not all(np.isfinite(value).all() for value in tensors.values()):
                continue
            mutant = type(cell).of(tensors, cell.options)
            for dtype in ("float32", "bfloat16"):
                proved = close(mutant, FLIPFLOP, limit=200, dtype=dtype).every_length
                good = answers_right(mutant, FLIPFLOP, dtype)
                assert good or not proved, change.__name__
                outcomes.add((proved, good))
    assert {(True, True), (False, False)} <= outcomes


def test_a_configuration_is_part_of_the_network() -> None:
    """Signed gates read as unit ones, and two heads as one, are other networks: refused, or other answers."""
    cell = memory_of_one_bit()
    other = DiagonalStack(cell.tensors, gate="unit")
    assert not answers_right(other, FLIPFLOP, "float32")
    assert not close(other, FLIPFLOP, limit=200).every_length
    assert isinstance(WEIGHTS["deltanet"](FLIPFLOP), DeltaStack)
