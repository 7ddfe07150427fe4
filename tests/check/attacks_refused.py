"""Hand-built networks that are wrong when run and that no version of the checker certified.

Each docstring states the idea. Those that were certified once are in ``check.attacks``.
"""

from dataclasses import replace

import numpy as np

from check.attacks import (
    COPY,
    NOTHING,
    Attack,
    a_unit_of_a_scan_that_overflows,
    averages_that_underflow_step_by_step,
    coded,
    construction,
    head,
    longer,
    recent,
    with_readout,
)
from check.test_deceivers import Construction, of
from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.transformer import Layer, Mlp
from proving.built_networks import compiled
from proving.test_attacks import DIM, blank, chain, changed, layer


def a_clock_that_stops() -> Construction:
    """A code alternates 0, 1 for 31 letters and stays 1 from then on; the MLP undoes the alternation."""
    codes = [float(t % 2) for t in range(31)] + [1.0] * 9
    return construction(replace(with_readout(coded(blank(), 2, codes), (2, 1, 2.0)), layers=(clocked(),)))


def clocked() -> Layer:
    """Channel 1 = letter − 2·(alternating code): another MLP would need the code itself."""
    first, last = np.zeros((DIM, 2)), np.zeros((2, DIM))
    first[0, 0], first[2, 1], last[0, 1], last[1, 1] = 1.0, 1.0, 1.0, -1.0
    return layer(Mlp((first, last), (np.zeros(2), np.zeros(DIM))))


def the_last_position_only() -> Construction:
    """The code of the very last position is 1 and tips the read-out; all others are 0."""
    return construction(
        replace(with_readout(coded(blank(), 2, [0.0] * 39 + [1.0]), (2, 1, 5.0)), layers=(COPY,))
    )


def the_first_position_only() -> Construction:
    """The first letter's code tips the read-out: words of one letter are wrong, too."""
    return construction(
        replace(with_readout(coded(blank(), 2, [1.0] + [0.0] * 5), (2, 1, 5.0)), layers=(COPY,))
    )


def a_period_of_seven_with_one_exception() -> Construction:
    """A code of period 7, but letter 36 has another one."""
    codes = [float(t % 7 == 3) for t in range(40)]
    codes[36] = 1.0
    result = with_readout(coded(blank(), 2, codes), (2, 0, -1.0))
    undone = replace(clocked(), mlp=chain(1.0, 1.0))
    return construction(replace(result, layers=(undone,), readout_bias=np.array([0.5, 0.0])), ALWAYS)


ALWAYS = Semiautomaton.from_letters([(0, 0), (0, 0)])
"""Never leaves its first state."""


def late_positions_that_float32_cannot_tell_apart() -> Construction:
    """The last letter by recency; from letter 30 on codes are 2^24 + t, and every second of them is equal."""
    codes = [t + 0.5 for t in range(30)] + [2.0**24 + t for t in range(30, 40)]
    return construction(
        replace(
            coded(blank(), 2, codes),
            layers=(layer(NOTHING, head({4: 1.0}, {2: 9.0}, 0, 1)),),
            embedding=changed(blank().embedding, (0, 4, 1.0), (1, 4, 1.0)),
        )
    )


def positions_that_bfloat16_cannot_tell_apart() -> Construction:
    """Codes 256 + t/4: bfloat16 has every second whole number there."""
    codes = [256 + t / 4 for t in range(8)]
    return construction(
        replace(
            coded(blank(), 2, codes),
            layers=(layer(NOTHING, head({4: 1.0}, {2: 64.0}, 0, 1)),),
            embedding=changed(blank().embedding, (0, 4, 1.0), (1, 4, 1.0)),
        )
    )


def a_lead_that_is_just_too_small() -> Construction:
    """Each position leads the one before by 0.6: together the others weigh more than the last."""
    return recent(0.6, 12)


def two_positions_with_one_score() -> Construction:
    """Codes 1, 1, 2, 2, 3, 3 …: the head returns the mean of two letters."""
    base = recent(9.0, 8)[0]
    return construction(coded(base, 2, [t // 2 + 0.5 for t in range(8)]))


def many_weak_rivals() -> Construction:
    """A lead of 3 over each of 39 others is none over all of them."""
    base = coded(blank(), 2, [0.0] * 40)
    embedding = changed(base.embedding, (0, 4, 1.0), (1, 4, 1.0), (1, 2, 3.0))
    flag = head({4: 1.0}, {2: 1.0}, 0, 1)
    return construction(replace(base, embedding=embedding, layers=(layer(NOTHING, flag),)), EVER)


EVER = Semiautomaton.from_letters([(0, 1), (1, 1)])
"""Whether the second letter has come."""


def a_mean_in_place_of_a_sum() -> Construction:
    """The share of second letters, not their number: one among forty is overlooked."""
    base = longer(blank(), 40)
    return construction(replace(base, layers=(layer(NOTHING, head({}, {}, 0, 1, 20.0)),)), EVER)


def scores_that_become_infinite_late() -> Construction:
    """float32: the score of letter 30 and later is 2^120 · 2^10: inf − inf is no number."""
    network = recent(9.0, 40)[0]
    codes = [t + 0.5 for t in range(30)] + [2.0**125] * 10
    return construction(coded(network, 2, codes))


def padding_that_is_infinite() -> Construction:
    """float32: padding and its position code add up to infinity; letters give it the weight 0."""
    network = recent(200.0, 6)[0]
    positions = changed(network.positions, (0, 3, 3e38))
    heads = (head({4: 1.0}, {2: 200.0}, 0, 1), head({4: 1.0}, {2: 200.0}, 3, 3))
    padding = changed(network.padding, (0, 3, 3e38))
    return construction(
        replace(network, positions=positions, padding=padding, layers=(layer(NOTHING, *heads),))
    )


def padding_that_says_the_wrong_thing() -> Construction:
    """FlipFlop whose padding holds the other state: wrong until the first letter that writes."""
    network, automaton, length = of(compiled("FlipFlop", 12, "cascade"))
    other = Semiautomaton(table=automaton.table, start=1 - automaton.start)
    return network, other, length


def heads_that_cancel() -> Construction:
    """float32: two heads add 3·2^24 and −3·2^24 beside the letter, which is lost between them."""
    base = recent(200.0, 6)[0]
    embedding = changed(base.embedding, (0, 3, 3.0), (1, 3, 3.0), (1, 1, 1.0), (1, 0, 0.0))
    heads = tuple(head({4: 1.0}, {2: 200.0}, 3, 1, share) for share in (2.0**24, -(2.0**24)))
    return construction(replace(base, embedding=embedding, layers=(layer(NOTHING, *heads),)))


def swapped_heads() -> Construction:
    """Heads change places: each looks where the other should."""
    network, automaton, length = of(compiled("Dyck2,2", 12, "cascade"))
    block = next(b for b in network.layers if len(b.heads) > 1)
    changed_heads = tuple(
        replace(a, query=b.query, key=b.key) for a, b in zip(block.heads, block.heads[::-1], strict=True)
    )
    layers = tuple(replace(b, heads=changed_heads) if b is block else b for b in network.layers)
    return replace(network, layers=layers), automaton, length


def a_counter_without_its_last_ramp() -> Construction:
    """Parity whose MLP is right for up to 20 second letters and wrong for more: only long words tell."""
    network, automaton, length = of(compiled("Parity", 24, "cascade"))
    block = network.layers[0]
    wide = [np.c_[block.mlp.weights[0], [[1.0], [0.0], [0.0]]], *block.mlp.weights[1:]]
    biases = [np.append(block.mlp.biases[0], -20.5), *block.mlp.biases[1:]]
    for index in range(1, len(wide)):
        height, width = wide[index].shape
        end = index + 1 == len(wide)
        grown = np.zeros((height + 1, width + (not end)))
        grown[:height, :width] = wide[index]
        grown[height, 0 if end else width] = -8.0 if end else 1.0
        wide[index] = grown
        biases[index] = biases[index] if end else np.append(biases[index], 0.0)
    return replace(network, layers=(replace(block, mlp=Mlp(tuple(wide), tuple(biases))),)), automaton, length


def a_ceiling_that_is_one_too_low() -> Construction:
    """Counts up to 4 where the automaton counts up to 5: wrong only after five second letters."""
    network, _, length = of(compiled("Counter5", 12, "cascade"))
    table = compiled("Counter5", 12, "cascade").automaton.table.copy()
    count = len(table)
    other = table.copy()
    other[count - 1] = other[0]
    return network, Semiautomaton(table=other), length


def a_unit_that_tips_at_a_half() -> Construction:
    """float32: 2^24·x + 1 − 2^24·x is 1 on paper; the unit is 0 or 2 in some orders."""
    first, last = np.zeros((DIM, 1)), np.zeros((1, DIM))
    first[0, 0], first[3, 0], last[0, 1] = 2.0**25, -(2.0**25), 1.0
    base = replace(blank(), embedding=changed(blank().embedding, (1, 3, 1.0)))
    mlp = Mlp((first, last), (np.array([1.0]), np.zeros(DIM)))
    first[4, 0] = 0.5
    embedding = changed(base.embedding, (0, 4, -2.0), (1, 4, 0.0))
    return construction(replace(base, embedding=embedding, layers=(layer(mlp),)))


def a_sine_of_large_numbers() -> Construction:
    """float32: the sine of 2^24 + letter · π/2: neighbouring numbers are 2 apart there."""
    first, last = np.zeros((DIM, 1)), np.zeros((1, DIM))
    large = 2.0**24 * np.pi
    first[0, 0], last[0, 1] = np.pi / 2, 1.0
    mlp = Mlp((first, last), (np.array([large]), np.zeros(DIM)), (np.array([1]),))
    return construction(replace(blank(), layers=(layer(mlp),)))


def a_subnormal_factor() -> Construction:
    """float32: a letter of 2^-80 times 2^-80 times 2^160 in two steps is 0."""
    base = replace(blank(), embedding=blank().embedding * 2.0**-80)
    return construction(replace(base, layers=(layer(chain(2.0**-80, 2.0**80, 2.0**80)),)))


def a_float16_sum_that_is_stored() -> Construction:
    """float16: 2048 + letter is stored as 2048."""
    embedding = changed(blank().embedding, (0, 1, 2048.0), (1, 1, 2048.0))
    base = replace(blank(), embedding=embedding, readout_bias=np.array([2048.5, 0.0]))
    return construction(replace(base, layers=(COPY,)))


def a_tie_in_the_read_out() -> Construction:
    """Both logits of the second letter are equal: arg max returns the first."""
    return construction(replace(blank(), layers=(COPY,), readout_bias=np.array([1.0, 0.0])))


def a_letter_with_two_meanings() -> Construction:
    """A third letter looks like the first and acts like the second."""
    base = replace(blank(), layers=(COPY,))
    embedding = np.concatenate([base.embedding, base.embedding[:1]])
    return construction(
        replace(base, embedding=embedding), Semiautomaton.from_letters([(0, 0), (1, 1), (1, 1)])
    )


def a_state_that_is_never_reached_and_always_shown() -> Construction:
    """A third state has the largest logit."""
    base = replace(blank(), layers=(COPY,))
    readout = np.concatenate([base.readout, np.zeros((DIM, 1))], axis=1)
    network = replace(base, readout=readout, readout_bias=np.array([0.5, 0.0, 2.0]))
    return construction(network, Semiautomaton.from_letters([(0, 0, 0), (1, 1, 1)]))


def another_start() -> Construction:
    """Parity from the other state."""
    network, automaton, length = of(compiled("Parity", 8, "cascade"))
    return network, Semiautomaton(table=automaton.table, start=1), length


def one_rare_word() -> Construction:
    """Wrong only after three second letters in a row and then a first one: one word in sixteen."""
    network, automaton, length = of(compiled("D6", 8, "cascade"))
    table = automaton.table.copy()
    state = automaton.start
    for letter in (1, 1, 0, 1):
        state = int(table[state, letter])
    table[state, 0] = (table[state, 0] + 1) % len(table)
    return network, Semiautomaton(table=table, start=automaton.start), length


NEVER: list[tuple[Attack, str]] = [
    (averages_that_underflow_step_by_step, "float32"),
    (a_unit_of_a_scan_that_overflows, "float32"),
    (a_clock_that_stops, "float64"),
    (the_last_position_only, "float64"),
    (the_first_position_only, "float32"),
    (a_period_of_seven_with_one_exception, "float64"),
    (late_positions_that_float32_cannot_tell_apart, "float32"),
    (positions_that_bfloat16_cannot_tell_apart, "bfloat16"),
    (a_lead_that_is_just_too_small, "float64"),
    (two_positions_with_one_score, "float64"),
    (many_weak_rivals, "float64"),
    (a_mean_in_place_of_a_sum, "float64"),
    (scores_that_become_infinite_late, "float32"),
    (padding_that_is_infinite, "float32"),
    (padding_that_says_the_wrong_thing, "float64"),
    (heads_that_cancel, "float32"),
    (swapped_heads, "float64"),
    (a_counter_without_its_last_ramp, "float64"),
    (a_ceiling_that_is_one_too_low, "float64"),
    (a_unit_that_tips_at_a_half, "float32"),
    (a_sine_of_large_numbers, "float32"),
    (a_subnormal_factor, "float32"),
    (a_float16_sum_that_is_stored, "float16"),
    (a_tie_in_the_read_out, "float64"),
    (a_letter_with_two_meanings, "float64"),
    (a_state_that_is_never_reached_and_always_shown, "float64"),
    (another_start, "float64"),
    (one_rare_word, "float64"),
]
