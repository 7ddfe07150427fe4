"""The clock of repeating position codes: every letter's class is one that the machine shows there."""

import numpy as np

from every import every
from krohn.check.arithmetic.format import FORMATS
from krohn.check.files.reader import Network
from krohn.check.transformer.checker import embed, readings_of


@every("seed", range(20))
def test_boxes_hold_every_position_of_every_word(seed: int) -> None:
    dice = np.random.default_rng(seed)
    length, d = int(dice.integers(1, 14)), 4
    cycle = dice.integers(-2, 3, size=(int(dice.integers(1, 4)), d)).astype(float)
    positions = np.resize(cycle, (1 + length, d))
    positions[: int(dice.integers(0, 3))] = 1
    positions[:, 3] = np.arange(1 + length) / 16
    network = Network(
        dice.normal(size=(2, d)), np.zeros((1, d)), positions, (), np.zeros((d, 1)), np.zeros(1), False
    )
    claim = embed(network, length, FORMATS["float64"])
    word, state = dice.integers(2, size=length), 0
    for t, letter in enumerate(word.tolist()):
        shown = claim.machine.shown[state, letter]
        vector = network.embedding[letter] + positions[1 + t] - claim.places[t]
        assert (claim.box.lo[shown] <= vector).all()
        assert (vector <= claim.box.hi[shown]).all()
        state = int(claim.machine.follow[state, letter])


def test_codes_that_repeat_need_few_readings() -> None:
    along = np.stack([np.arange(30) % 2, np.arange(30) / 64, np.full(30, 7)], axis=1)
    repeats, reading, following = readings_of(along)
    assert repeats.tolist() == [True, False, False]
    assert following.tolist() == [1, 0]
    assert reading[:4].tolist() == [0, 1, 0, 1]
