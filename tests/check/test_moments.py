"""The machines of the checker against runs of all short words: accepted steps hold on each of them."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from every import every
from krohn.check.files.witness import Fold, Lift, Merge, Tabulate
from krohn.check.ground import Refused, Work, point
from krohn.check.transformer.stream import (
    Lifted,
    Machine,
    Moment,
    Setting,
    follow_folds,
    lift_machine,
    live_states,
    merge,
    recount,
)

LENGTH, LETTERS, CHANNELS = 5, 2, 2
WORDS = list(product(range(LETTERS), repeat=LENGTH))
NO_ARITHMETIC: Any = None


def setting() -> Setting:
    return Setting(NO_ARITHMETIC, Work(1e8))


def random_moment(seed: int, states: int = 4, counters: int = 1) -> Moment:
    dice = np.random.default_rng(seed)
    shape, classes = (states, LETTERS), 4
    machine = Machine(
        dice.integers(states, size=shape),
        dice.integers(classes, size=shape),
        dice.integers(-1, 2, size=(*shape, counters)),
        np.arange(LETTERS),
    )
    box, wide = (
        dice.integers(-3, 4, size=(classes, CHANNELS)),
        dice.integers(-2, 3, size=(CHANNELS, counters)),
    )
    ends = np.zeros(counters, dtype=np.int64)
    places, pads = np.zeros((LENGTH, CHANNELS)), point(np.zeros((1, CHANNELS)))
    moment = Moment(machine, point(box.astype(float)), wide.astype(float), places, pads, ends, ends)
    return recount(moment, Work(1e8))


def run(machine: Machine, word: tuple[int, ...]) -> list[tuple[int, int, Any]]:
    """The state that reads each letter, the class shown and the counters then."""
    state, total, seen = 0, np.zeros(machine.steps.shape[2], dtype=np.int64), []
    for letter in word:
        total = total + machine.steps[state, letter]
        seen.append((state, int(machine.shown[state, letter]), total))
        state = int(machine.follow[state, letter])
    return seen


@every("seed", range(8))
def test_counters_reach_exactly_the_ends_that_are_stated(seed: int) -> None:
    moment = random_moment(seed, counters=1 + seed % 3)
    nothing = np.zeros(len(moment.low), dtype=np.int64)
    sums = [nothing, *(total for word in WORDS for _, _, total in run(moment.machine, word))]
    assert (np.min(sums, axis=0) == moment.low).all()
    assert (np.max(sums, axis=0) == moment.high).all()


@every("seed", range(8))
@every("length", [1, 2, LENGTH])
def test_live_states_read_a_letter_of_some_word_and_classes_stand_where_they_are_shown(
    seed: int, length: int
) -> None:
    machine = random_moment(seed, states=6).machine
    runs = [run(machine, word[:length]) for word in WORDS]
    read = {state for seen in runs for state, _, _ in seen}
    assert set(np.flatnonzero(live_states(machine.follow, length))) == read
    assert set(np.flatnonzero(live_states(machine.follow, length))) == read
    stands = machine.standing(4, length)
    for number, place in np.ndindex(stands.shape):
        assert stands[number, place] == any(seen[place][1] == number for seen in runs)


def holds(new: Moment, old: Moment) -> bool:
    """Whether on every word what the old claim says lies in what the new one says."""
    for word in WORDS:
        for (_, shown, total), (_, wider, count) in zip(
            run(old.machine, word), run(new.machine, word), strict=True
        ):
            true = old.box.lo[shown] + old.wide @ total
            rest = true - new.wide @ count
            if (rest < new.box.lo[wider]).any() or (rest > new.box.hi[wider]).any():
                return False
    return True


@every("seed", range(25))
def test_a_merge_that_is_accepted_holds_on_every_word(seed: int) -> None:
    dice, moment = np.random.default_rng(seed), random_moment(seed, counters=2)
    folds = int(dice.integers(0, 3))
    turn = dice.integers(-1, 2, size=(folds, 2))
    wide = dice.integers(-2, 3, size=(CHANNELS, folds)).astype(float)
    classes, states = np.unique(dice.integers(4, size=4), return_inverse=True)[1], np.arange(4)
    new = merge(moment, Merge(states, classes, turn, wide))
    low, high = new.machine.ranges(LENGTH, Work(1e8))
    assert holds(new, moment)
    assert len(low) == len(high) == folds


def test_states_are_merged_only_where_no_word_tells_them_apart() -> None:
    accepted = refused = 0
    for seed in range(150):
        dice, moment = np.random.default_rng(seed), random_moment(seed, states=3)
        states = np.array([0, *dice.integers(2, size=2)])
        step = Merge(states, np.zeros(4, dtype=np.int64), np.zeros((0, 1), dtype=np.int64), np.zeros((2, 0)))
        try:
            new = merge(moment, step)
        except Refused:
            refused += 1
            continue
        accepted += 1
        assert holds(new, moment)
        for word in WORDS:
            before, after = run(moment.machine, word), run(new.machine, word)
            assert [states[state] for state, _, _ in before] == [state for state, _, _ in after]
    assert accepted > 10
    assert refused > 10


@pytest.mark.parametrize(
    "change",
    [
        {"states": np.array([1, 0, 2, 3])},
        {"states": np.arange(3)},
        {"classes": np.arange(3)},
        {"turn": np.zeros((1, 2), dtype=np.int64)},
        {"turn": np.array([[1 << 39]]), "steps": 1 << 20},
        {"wide": np.zeros((3, 1))},
        {"wide": np.zeros((2, 2))},
    ],
)
def test_merges_of_other_shapes_or_of_another_start_are_refused(change: dict[str, Any]) -> None:
    moment = random_moment(0)
    steps = np.full_like(moment.machine.steps, change.get("steps", 1))
    given = {"states": np.arange(4), "classes": np.arange(4), "turn": np.eye(1, dtype=np.int64)}
    whole = {**given, "wide": moment.wide, **{name: x for name, x in change.items() if name != "steps"}}
    with pytest.raises(Refused, match="witness"):
        merge(replace(moment, machine=replace(moment.machine, steps=steps)), Merge(**whole))


def with_a_bit(moment: Moment, seed: int) -> Lift:
    """Every state twice, and a random rule for which of both comes next."""
    dice, states = np.random.default_rng(seed), len(moment.machine.follow)
    base = np.repeat(np.arange(states), 2)
    follow = 2 * moment.machine.follow[base] + dice.integers(2, size=(2 * states, LETTERS))
    return Lift(follow, base, dice.integers(3, size=follow.shape))


def test_a_machine_over_another_moves_as_that_one_does_or_is_refused() -> None:
    accepted = refused = 0
    for seed in range(60):
        moment, dice = random_moment(seed), np.random.default_rng(1000 + seed)
        step = with_a_bit(moment, seed)
        if seed % 3:
            array = step.follow if seed % 3 == 1 else step.base
            array[tuple(dice.integers(size) for size in array.shape)] = dice.integers(4)
        try:
            new = lift_machine(moment, step)
        except Refused:
            refused += 1
            continue
        accepted += 1
        over = Machine(step.follow, new.own, new.steps, new.letter)
        for word in WORDS:
            below, above = run(moment.machine, word), run(over, word)
            assert [step.base[state] for state, _, _ in above] == [state for state, _, _ in below]
            for (_, shown, total), (_, own, count) in zip(below, above, strict=True):
                assert shown == own
                assert (total == count).all()
    assert accepted > 20
    assert refused > 10


def keeping(moment: Moment, fold: Fold) -> tuple[Tabulate, Lifted]:
    """States with what a fold holds of the counter; exact where the fold is a residue or wide enough."""
    machine = moment.machine
    start = (0, int(fold(np.array([0]))[0]))
    number, queue, rows = {start: 0}, [start], []
    for state, held in queue:
        row = []
        for letter in range(LETTERS):
            now = int(fold(np.array([held + machine.steps[state, letter, 0]]))[0])
            pair = (int(machine.follow[state, letter]), now)
            if pair not in number:
                number[pair] = len(queue)
                queue.append(pair)
            row.append(number[pair])
        rows.append(row)
    base, folds = (np.array(column) for column in zip(*queue, strict=True))
    lift = Lift(np.array(rows), base, np.zeros((len(rows), LETTERS), dtype=np.int64))
    step = Tabulate(lift, (fold,), folds[:, None].copy(), moment.wide)
    return step, lift_machine(moment, lift)


def is_kept(moment: Moment, step: Tabulate) -> bool:
    """Whether on every word each state that reads a letter keeps the fold of the counter before it."""
    fold = step.folds[0]
    for word in WORDS:
        state, total, below = 0, 0, 0
        for letter in word:
            if int(fold(np.array([total]))[0]) != step.kept[state, 0]:
                return False
            total += int(moment.machine.steps[below, letter, 0])
            below = int(moment.machine.follow[below, letter])
            state = int(step.lift.follow[state, letter])
    return True


@pytest.mark.parametrize("fold", [Fold(2, 0, 0), Fold(3, 0, 0), Fold(0, -LENGTH, LENGTH), Fold(0, -1, 1)])
def test_a_fold_that_is_accepted_is_kept_on_every_word(fold: Fold) -> None:
    accepted = refused = 0
    for seed in range(40):
        moment, dice = random_moment(seed, states=3), np.random.default_rng(seed)
        step, new = keeping(moment, fold)
        if seed % 2:
            step.kept[dice.integers(len(step.kept)), 0] += 1
        try:
            follow_folds(setting(), moment, step, new)
        except Refused:
            refused += 1
        else:
            accepted += 1
            assert is_kept(moment, step), seed
    exact = fold != Fold(0, -1, 1)  # a sum beyond an end of this one is not told from one at it
    assert accepted >= (20 if exact else 1)
    assert refused > 5
