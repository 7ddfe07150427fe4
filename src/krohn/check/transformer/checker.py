"""The checker: weights, automaton, dtype, length and witness go in; certified or refused comes out.

It reads like the proof. The embedding is in its boxes by construction. Each step of the witness turns the
claim about one moment of the forward pass into a claim about a later one. At the end every class decodes to
one state, and the machine shows the automaton's states on all words. Whatever goes wrong, an exception
included, is a refusal. Attention is in this module too: the residual stream, and every head by its rule.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from krohn.check.arithmetic.format import FORMATS, Box, Format, whole
from krohn.check.files.reader import Automaton, Layer, Network, fits, stored
from krohn.check.files.witness import (
    Attention,
    Back,
    EachWord,
    Layered,
    Merge,
    Parts,
    Scan,
    Silent,
    Step,
    Sum,
    Tabulate,
    Witness,
    assert_moderate,
    witness_from,
)
from krohn.check.ground import (
    Array,
    Flags,
    Integers,
    Real,
    Verdict,
    Work,
    afford,
    distinct,
    hull,
    inside,
    point,
    refusal_of,
    require,
)
from krohn.check.transformer.head_rules import (
    Average,
    Letters,
    Look,
    Part,
    add_up,
    look_back,
    remember,
    scores_of,
)
from krohn.check.transformer.mlp import Block, decode, simulate, tabulate
from krohn.check.transformer.stream import (
    Lifted,
    Machine,
    Moment,
    Note,
    Setting,
    after_heads,
    bound_padding,
    lift_machine,
    merge,
    recount,
    unheard,
)
from krohn.errors import LimitExceeded

SUMMED = 20
"""Arrays of a number per position and channel that the embedding holds at once: 14 were measured, 19 in half
types.
"""
SCAN_WORK, LAYERED_WORK, EMBEDDED, STEP = 4e10, 1.6e9, 25, 5e5
"""Budgets of a proof, in array entries. The cost of a scan depends on the network; that of a layer-by-layer
proof on the witness, which is not trusted: at most about twenty seconds of CPU time.
"""


def check(
    network: Network,
    automaton: Automaton,
    dtype: str,
    length: int,
    witness: object,
    work: float = SCAN_WORK,
    note: Note = unheard,
) -> Verdict:
    """Whether the witness proves the network right; it is JSON data, as a certificate file holds it."""
    try:
        # Overflow and NaN are refused where they enter a comparison; a warning would only be noise.
        with np.errstate(all="ignore"):
            proof = witness_from(witness)
            return Verdict(True, margin_of(network, automaton, dtype, length, proof, work, note), "")
    except LimitExceeded:  # no verdict: the witness exceeds the size limit
        raise
    except Exception as error:  # whatever a witness provokes is a refusal
        return refusal_of(error)


def margin_of(
    network: Network,
    automaton: Automaton,
    dtype: str,
    length: int,
    witness: Witness,
    work: float = SCAN_WORK,
    note: Note = unheard,
) -> float:
    """The certified logit margin; raises ``Refused``."""
    require(dtype in FORMATS, "the dtype must be float64, float32, bfloat16 or float16")
    fmt, longest = FORMATS[dtype], len(network.positions) - len(network.padding)
    require(type(length) is int and 1 <= length <= longest, f"the length must lie in 1..{longest}")
    require(len(network.padding) > 0, "the proof starts from a padding position; there is none")
    require(network.plain, "biases and activations of a GPT-2 are proved word by word only")
    require(fits(network, automaton), "the automaton has other states or letters than the network")
    if isinstance(witness, EachWord):
        from krohn.check.transformer.each_word import prove_each_word  # lazy import: few need it

        setting = Setting(fmt, Work(min(work, LAYERED_WORK)), network.root, network.epsilon, note)
        return prove_each_word(setting, stored(network, fmt), automaton, length)
    if not isinstance(witness, Scan):
        for proof in [part.proof for part in witness.parts] if isinstance(witness, Parts) else [witness]:
            assert_moderate(proof.steps, network.embedding.shape[1])
        work = min(work, LAYERED_WORK)
    setting = Setting(fmt, Work(work), network.root, network.epsilon, note)
    held = stored(network, fmt)
    if isinstance(witness, Layered):
        return prove_layered(setting, held, automaton, length, witness)
    moment = embedded(setting, held, length, clock=False)
    if isinstance(witness, Parts):
        from krohn.check.transformer.parts import prove_parts  # lazy import: only needed for parts

        return prove_parts(setting, held, automaton, moment, witness, prove_layered)
    from krohn.check.transformer.scan import check_scan  # lazy import: only needed for scans

    return check_scan(setting, held, automaton, moment, witness)


def embedded(setting: Setting, network: Network, length: int, *, clock: bool) -> Moment:
    """The claim about embedded letters, paid for."""
    with inside("embedding"):
        setting.budget.spend(EMBEDDED * network.embedding.size * float(length), "letters at positions")
        return embed(network, length, setting.fmt, clock=clock)


def prove_layered(
    setting: Setting, network: Network, automaton: Automaton, length: int, witness: Layered
) -> float:
    """The margin of a proof layer by layer, for a network whose numbers are as stored."""
    if witness.alike:
        from krohn.check.transformer.parts import joined, leaders_of  # lazy import: few need it

        network, automaton = joined(network, automaton, leaders_of(network, automaton))
    moment = embedded(setting, network, length, clock=witness.clock)
    setting.note("embedding", moment)
    moment = follow_steps(setting, network, moment, witness.steps)
    with inside("read-out", len(network.layers) + 1):
        states, margin = decode(setting, moment, network)
        simulate(setting, moment.machine, states, automaton, length)
    return margin


# Rule: the embedding.
# Hypotheses: none. Conclusion: at letter t the stream is in the box of (clock reading at t, letter), plus its
# code where the clock does not tell it. Why: each sum token + position is in the hull of its class.
def embed(network: Network, length: int, fmt: Format, *, clock: bool = True) -> Moment:
    """Token plus position, rounded once. Position codes that are constant or periodic become part of the
    classes (clock reading, letter): the box of a class is the hull over all positions with its reading.
    """
    tau, (letters, d) = len(network.padding), network.embedding.shape
    afford(float(length) * d, "codes of positions", 8 * SUMMED)
    codes = network.positions[: tau + length]
    along = codes[tau:]
    steady = (along == along[:1]).all(axis=0)
    pads = fmt.add(whole(point(network.padding)), whole(point(codes[:tau]))).part
    repeats, reading, following = readings_of(along if clock else np.zeros_like(along))
    places, count = np.where(steady | repeats, 0.0, along), len(following)
    nothing = np.zeros(0, dtype=np.int64)
    machine = Machine(
        follow=following[:, None].repeat(letters, axis=1),
        shown=np.arange(count * letters).reshape(count, letters),
        steps=np.zeros((count, letters, 0), dtype=np.int64),
        letter=np.arange(letters),
    )
    boxes = []
    for row in network.embedding:  # one letter at a time: all of them at all positions may fill the memory
        summed = fmt.add(whole(point(row[None]).spread(length, d)), whole(point(along))).part
        boxes.append(hull(summed - point(places), reading))
    sides = (np.stack([getattr(each, side) for each in boxes], axis=1) for side in ("lo", "hi"))
    box = Real(*(side.reshape(count * letters, d) for side in sides))
    return Moment(machine, box, np.zeros((d, 0)), places, pads, nothing, nothing)


def follow_steps(setting: Setting, network: Network, moment: Moment, steps: tuple[Step, ...]) -> Moment:
    """All blocks in order, with merging steps in between."""
    # The witness says where classes are merged, and ``done`` which block comes next: none is left out.
    done = 0
    for step in steps:
        moment, done = follow_step(setting, network, moment, step, done)
        setting.note(block_name(done), moment)
    require(done == 2 * len(network.layers), "witness: blocks are missing")
    return moment


def block_name(done: int) -> str:
    """The tensor that so many blocks leave in the stream."""
    return f"layer.{(done - 1) // 2}.{'mixed' if done % 2 else 'stream'}" if done else "embedding"


def follow_step(
    setting: Setting, network: Network, moment: Moment, step: Step, done: int
) -> tuple[Moment, int]:
    """One step; ``done`` counts the blocks (attention or MLP) that have been checked."""
    # However little a step does: its machine is followed letter by letter, by operations on small arrays.
    followed = min(moment.length, len(moment.machine.follow))
    setting.budget.spend(STEP * (1 + followed / 256), "steps of the witness")
    if isinstance(step, Merge):
        return recount(merge(moment, step), setting.budget), done
    at = done // 2
    require(done < 2 * len(network.layers), "witness: too many blocks")
    require(isinstance(step, Tabulate) == (done % 2 == 1), "witness: a block is missing")
    with inside(f"block {at + 1}", at + 1):
        if isinstance(step, Tabulate):
            return tabulate(Block(setting, moment, step), network.layers[at]), done + 1
        return attend(setting, moment, network.layers[at], step), done + 1


LARGEST_CODE, READINGS = 64, 64
"""The largest integer of a code that a clock can tell, and the most readings of the clock: a class for each
letter at each reading has a box of its own, so more of them cost more and prove nothing else.
"""


def readings_of(along: Array) -> tuple[Flags, Integers, Integers]:
    """Channels whose codes are small periodic integers; the clock reading at each letter; the next reading.

    The proof is sound for any readings: the box of a class is the hull over all positions with its reading.
    Readings that fit the codes make the boxes narrow.
    """
    repeats = np.zeros(along.shape[1], dtype=bool)
    early, period = 0, 1
    varies, whole = (along != along[:1]).any(axis=0), (along == np.rint(along)).all(axis=0)
    channels = np.flatnonzero(varies & whole & (np.abs(along).max(axis=0) <= LARGEST_CODE))
    for channel, *own in zip(channels.tolist(), *_rhythms(along[:, channels]), strict=True):
        if max(early, own[0]) + int(np.lcm(period, own[1])) <= READINGS:
            repeats[channel] = True
            early, period = max(early, own[0]), int(np.lcm(period, own[1]))
    count = min(early + period, len(along))
    letters = np.arange(len(along))
    reading = np.where(letters < early + period, letters, early + (letters - early) % period)
    following = np.where(np.arange(count) + 1 < count, np.arange(count) + 1, min(early, count - 1))
    return repeats, reading, following


def _rhythms(columns: Array) -> tuple[list[int], list[int]]:
    """For each column, from where on it repeats, and its period: the first of the least sum."""
    count = len(columns)
    best = np.stack([np.zeros(columns.shape[1], np.int64), np.full(columns.shape[1], count)])
    for period in range(min(READINGS, count), 0, -1):
        differ = columns[period:] != columns[: count - period]
        last = len(differ) - differ[::-1].argmax(axis=0) if len(differ) else np.zeros(columns.shape[1])
        early = np.where(differ.any(axis=0), last, 0).astype(np.int64)
        best = np.where(early + period <= best.sum(axis=0), np.stack([early, 0 * early + period]), best)
    return best[0].tolist(), best[1].tolist()


class ByRules(Letters):
    """Heads for which the witness names rules."""

    def __init__(self, setting: Setting, moment: Moment, step: Attention) -> None:
        super().__init__(setting, moment)
        self.new, self.rules, self.pairs = lift_machine(moment, step.lift), iter(step.heads), step.pairs

    def written(self, read: Average, output: Array) -> Any:
        """What the head adds to letters: nothing, per class, or per state and letter."""
        rule = next(self.rules)
        if isinstance(rule, Silent):
            # A matrix of zeros writes zeros, as every average is finite: ``bound_padding`` refuses others.
            require(not output.any(), "witness: a head that adds something is called silent")
            return None
        look = Look(self, read, rule.query_of, rule.key_of)
        if isinstance(rule, Sum):
            return rule, add_up(look, rule, output)
        copy: Any = look_back if isinstance(rule, Back) else remember
        return copy(look, rule, self.new, output)

    def total(self, parts: list[Any]) -> Moment:
        """The claim after ``x ← keep x + Σ heads``, but for padding."""
        moment, new, (keep, *written) = self.moment, self.new, parts
        remembered = {head: part for head, part in enumerate(written) if isinstance(part, Part)}
        sums = [part for part in written if part is not None and not isinstance(part, Part)]
        if self.pairs:
            from krohn.check.transformer.order import bound_pairs  # lazy import: only to compare positions

            remembered = bound_pairs(self.setting, new, remembered, self.pairs)
        copies = list(remembered.values())
        (rows, labels), boxes = _distinct(new, copies), [box for _, box in sums]
        total, wide = _assemble(self.setting, moment, keep, rows, copies, boxes)
        return replace(
            moment,
            machine=new.machine(*(rule.steps[new.own] for rule, _ in sums)),
            box=hull(total, labels),
            wide=np.concatenate([wide, *(rule.wide for rule, _ in sums)], axis=1),
            places=moment.places * keep,
        )


def attend(setting: Setting, moment: Moment, layer: Layer, step: Attention) -> Moment:
    """The claim after a block of heads."""
    require(len(step.heads) == len(layer.heads), "witness: one rule per head")
    rules = zip(layer.heads, step.heads, strict=True)
    work = (scores_of(moment, rule, head) for head, rule in rules if not isinstance(rule, Silent))
    setting.budget.foresee(sum(work), "scores of all heads")
    # ``Any``: after_heads passes on values of one type; here the stream, what is read of it and what is
    # written are of three.
    letters: Any = ByRules(setting, moment, step)
    pads = bound_padding(setting, moment, layer)
    return recount(replace(after_heads(letters, layer, moment), pads=pads), setting.budget)


def _distinct(new: Lifted, parts: list[Part]) -> tuple[Integers, Integers]:
    """The different combinations of class and copied values that occur, and the label of each."""
    rows, columns = new.rows, [new.own[new.rows][:, None]]
    for part in parts:
        columns += [part.number[rows][:, None], part.offset[rows]]
    table = np.concatenate([*columns, new.step.shown[rows][:, None]], axis=1)
    found = distinct(table)[0]
    return found[:, :-1], found[:, -1]


def _assemble(
    setting: Setting, moment: Moment, keep: Array, rows: Integers, parts: list[Part], sums: list[Box]
) -> tuple[Real, Array]:
    """keep x + Σ heads without their counters, for every row; and the new worth of the old counters."""
    own, wide = rows[:, 0], moment.wide * keep[:, None]
    boxes = [moment.computed(moment.box)[own].kept(keep), *(box[own] for box in sums)]
    at, exact, counters = 1, point(wide), len(moment.low)
    setting.budget.spend(len(rows) * len(keep) * (1 + len(parts)), "sums of heads")
    for part in parts:
        number, offset = rows[:, at], rows[:, at + 1 : at + 1 + counters]
        at += 1 + counters
        # The copy counts as if its counters were those of now; they were ``offset`` less.
        shift = point(offset) @ -part.carried.T
        size = np.broadcast_to(part.values.beyond, part.values.part.lo.shape)[number]
        boxes.append(Box(part.values.part[number] + part.remainder + shift, size))
        exact = exact + point(part.carried)
    total = setting.fmt.gathered(boxes)
    return total.part + moment.remainder(exact, exact.lo), exact.lo
