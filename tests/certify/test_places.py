"""Position encodings that repeat: proved as a clock, and refused where they lie."""

from dataclasses import replace

import numpy as np
import pytest

from krohn import compile, verify, zoo
from krohn.certify.stream import Rhythm, standing
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Channel


def changed_position(network: CompiledNetwork, name: str, place: int) -> CompiledNetwork:
    """One entry of a flag of places turned around, at one position."""
    channel = network.layout.moments[0].index(Channel(register=name))
    positions = network.transformer.positions.copy()
    positions[place, channel] = 1 - positions[place, channel]
    return replace(network, transformer=replace(network.transformer, positions=positions))


def test_a_clock_shows_early_letters_once_and_the_others_in_turn() -> None:
    where = standing(Rhythm(np.ones(1, dtype=bool), early=1, period=2).clock(2), 5)
    assert where[:2].tolist() == [[True, False, False, False, False]] * 2
    assert where[2].tolist() == [False, True, False, True, False]


@pytest.mark.parametrize("place", [1, 4, 9])
def test_a_flag_of_a_place_that_is_wrong_is_refused(place: int) -> None:
    network = compile(zoo("abab"), 12)
    assert network.program is not None
    assert verify(network, second_opinion=False).certified
    name = network.program.places[0].register
    assert not verify(changed_position(network, name, place)).certified


def test_a_weight_that_lets_other_places_count_is_refused() -> None:
    network = compile(zoo("D8"), 12)
    layer = network.transformer.layers[0]
    for number, head in enumerate(layer.heads):
        key = head.key.copy()
        key[:, 1:] = 0
        heads = (*layer.heads[:number], replace(head, key=key), *layer.heads[number + 1 :])
        broken = replace(network.transformer, layers=(replace(layer, heads=heads),))
        if (key != head.key).any():
            assert not verify(replace(network, transformer=broken)).certified
