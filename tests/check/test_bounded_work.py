"""Small witnesses that took all memory, or minutes: each is refused, and an honest neighbour is certified."""

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import krohn
from krohn.check.files.reader import Automaton, Network, network_of
from krohn.check.transformer import scan
from krohn.check.transformer.checker import check, readings_of
from krohn.check.transformer.gpt2 import token_automaton
from krohn.errors import LimitExceeded
from krohn.network.compiled import CompiledNetwork
from krohn.proving.attempts import attempt

ONE = Automaton(np.zeros((1, 1), dtype=np.int64), 0, np.zeros(1, dtype=np.int64))


def of(network: CompiledNetwork) -> Callable[[Callable[[dict[str, Any]], object]], Any]:
    """The verdict on the network's own witness, after a change."""
    shown = network.transformer, network.automaton, network.length
    honest = attempt(*shown, "float64")[0].witness

    def verdict(change: Callable[[dict[str, Any]], object]) -> Any:
        witness = json.loads(json.dumps(honest))
        change(witness)
        table = Automaton(
            network.automaton.table.astype(np.int64),
            network.automaton.start,
            np.arange(len(network.automaton.table)),
        )
        net = network.transformer
        own = network_of(net.tensors(), [[len(x.heads), len(x.mlp.weights)] for x in net.layers], "causal")
        return check(own, table, "float64", network.length, witness)

    return verdict


def head_of(witness: dict[str, Any]) -> dict[str, Any]:
    return next(step for step in witness["steps"] if step["kind"] == "attention")


def test_an_order_of_cells_costs_as_much_as_it_is_long() -> None:
    """Three million times the same cell took 90 seconds, with a larger machine hours."""
    verdict = of(krohn.compile("FlipFlop", 8, method="cascade"))

    def repeated(count: int) -> Callable[[dict[str, Any]], object]:
        def change(witness: dict[str, Any]) -> None:
            order = head_of(witness)["heads"][0]["order"]
            order[0] = order[0][:1] * count + order[0][1:]

        return change

    assert verdict(repeated(5)).certified
    assert "more work than it is given (cells" in verdict(repeated(2_000_000)).reason


def test_a_lead_of_each_cell_costs_as_much_as_its_scores() -> None:
    """Letters 0 to 39; at the first letter each has its own cell, later padding is copied."""
    letters, length, channels = 40, 300, 3
    matrices = {"W_Q": (channels, 1), "W_K": (channels, 1), "W_V": (channels, 1), "W_C": (1, channels)}
    tensors: dict[str, Any] = {f"layers.0.heads.0.{name}": np.zeros(s) for name, s in matrices.items()}
    tensors |= {f"layers.0.keep_{part}": np.ones(channels) for part in ("attention", "mlp")}
    tensors |= {"layers.0.mlp.0.W": np.zeros((channels, channels)), "layers.0.mlp.0.b": np.zeros(channels)}
    tensors |= {"embedding": np.zeros((letters, channels)), "padding": np.zeros((1, channels))}
    tensors |= {"positions": np.zeros((length + 1, channels)), "readout": np.ones((channels, 1))}
    tensors["positions"][1, 2], tensors["readout_bias"] = 1.0, np.zeros(1)
    network = network_of(tensors, [[1, 1]], "causal")
    classes, every = 2 * letters, list(range(letters))
    held = np.where(np.arange(letters + 1) == letters, classes, [[-1], [-2]])
    head = {
        "kind": "cells",
        "query_of": [0] * letters + [1] * letters,
        "key_of": every * 2,
        "value_of": [*range(classes), classes],
        "member": np.eye(letters + 1, dtype=int).tolist(),
        "order": [every, [letters]],
        "held": held.tolist(),
        "offset": {"shape": [2, letters + 1, 0]},
    }
    shown = [every, [letters + each for each in every]]
    step = {
        "kind": "attention",
        "follow": [[1] * letters] * 2,
        "base": [0, 1],
        "shown": shown,
        "heads": [head],
    }
    table = replace(ONE, table=np.zeros((1, letters), dtype=np.int64))
    for work, says in ((1e8, "more work than it is given (leads of cells"), (1e9, "does not select")):
        verdict = check(network, table, "float64", length, {"kind": "layered", "steps": [step]}, work)
        assert says in verdict.reason


def test_counters_are_numbers_of_a_machine() -> None:
    """400,000 counters of nothing, in 1,000 states: 6 gigabytes an array."""
    verdict = of(krohn.compile("C2", 8, method="cascade"))

    def more(counters: int, states: int) -> Callable[[dict[str, Any]], object]:
        def change(witness: dict[str, Any]) -> None:
            step = head_of(witness)
            head = step["heads"][0]
            head["steps"] = [row + [0] * counters for row in head["steps"]]
            head["wide"] = [row + [0.0] * counters for row in head["wide"]]
            merge = witness["steps"][witness["steps"].index(step) + 1]
            merge["turn"] = [row + [0] * counters for row in merge["turn"]]
            merge["states"] = [0] * states
            for name in ("follow", "base", "shown"):
                step[name] *= states

        return change

    assert verdict(more(3, 2)).certified
    with pytest.raises(LimitExceeded, match="counters"):
        verdict(more(100_000, 1_000))


def test_each_step_of_a_witness_costs_something() -> None:
    """9,900 merges that change nothing took 16 seconds, of longer machines a minute."""
    verdict = of(krohn.compile("C2", 8, method="cascade"))

    def repeated(count: int) -> Callable[[dict[str, Any]], object]:
        return lambda witness: witness["steps"].__setitem__(slice(0, 1), witness["steps"][:1] * count)

    assert verdict(repeated(3)).certified
    assert "(steps of the witness" in verdict(repeated(9_900)).reason


def test_a_sum_holds_no_array_of_all_letters_classes_and_channels() -> None:
    """64 readings of the clock: 128 classes of 150 channels at 1,000 letters, 150 MB an array."""
    width, length = 150, 1_000
    tensors: dict[str, Any] = {
        "layers.0.heads.0.W_Q": np.zeros((width, 1)),
        "layers.0.heads.0.W_K": np.zeros((width, 1)),
        "layers.0.heads.0.W_V": np.eye(width)[:, :1],
        "layers.0.heads.0.W_C": np.eye(width)[:1] * 0.5,
        "layers.0.keep_attention": np.ones(width),
        "layers.0.keep_mlp": np.ones(width),
        "layers.0.mlp.0.W": np.zeros((width, width)),
        "layers.0.mlp.0.b": np.zeros(width),
        "embedding": np.eye(2, width),
        "padding": np.zeros((1, width)),
        "positions": np.zeros((length + 1, width)),
        "readout": np.ones((width, 1)),
        "readout_bias": np.zeros(1),
    }
    tensors["positions"][1:, 5] = np.arange(length) % 64
    network, classes = network_of(tensors, [[1, 1]], "causal"), 128
    head = {
        "kind": "sum",
        "query_of": [0] * classes,
        "key_of": [0] * classes,
        "steps": {"shape": [classes, 0]},
        "wide": {"shape": [width, 0]},
    }
    shown = np.arange(classes).reshape(64, 2)
    follow = np.repeat((np.arange(64)[:, None] + 1) % 64, 2, axis=1)
    step = {"kind": "attention", "follow": follow.tolist(), "base": [*range(64)], "shown": shown.tolist()}
    table = replace(ONE, table=np.zeros((1, 2), dtype=np.int64))
    witness = {"kind": "layered", "steps": [{**step, "heads": [head]}]}
    tracemalloc.start()
    verdict = check(network, table, "float64", length, witness)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert verdict.reason == "witness: blocks are missing"
    assert peak < 100e6


def rhythm(column: np.ndarray) -> tuple[int, int]:
    """By definition: the first period with the least sum of period and beginning."""
    count, made = len(column), []
    for period in range(1, min(64, count) + 1):
        early = max((i + 1 for i in range(count - period) if column[i] != column[i + period]), default=0)
        made.append((early + period, period))
    least, period = min(made)
    return least - period, period


def test_clocks_are_read_of_all_channels_at_once() -> None:
    """20,000 channels took 20 seconds."""
    dice = np.random.default_rng(0)
    for count in (1, 2, 5, 30, 70, 90):
        for _ in range(30):
            period = int(dice.integers(1, 9))
            column = np.resize(dice.integers(0, 3, period), count).astype(float)
            column[: int(dice.integers(0, 3))] = 7.0
            repeats, reading, following = readings_of(column[:, None])
            early, period = rhythm(column)
            varies = (column != column[0]).any()
            assert repeats.tolist() == [varies and early + period <= 64]
            places = [t if t < early + period else early + (t - early) % period for t in range(count)]
            if repeats[0]:
                assert reading.tolist() == places
                assert following[reading[:-1]].tolist() == places[1:]
    repeats, _, _ = readings_of(dice.integers(0, 60, (64, 20_000)).astype(float))
    assert repeats.any()


def wide_network(channels: int, length: int) -> Network:
    """Without layers; in each channel a number that positions change, none of them by a clock."""
    codes = np.random.default_rng(0).random((length + 1, channels))
    outer = {"embedding": np.zeros((1, channels)), "padding": np.zeros((1, channels)), "positions": codes}
    return network_of({**outer, "readout": np.ones((channels, 1)), "readout_bias": np.zeros(1)}, [], "causal")


def test_the_read_out_of_many_unknown_channels_is_run_in_parts() -> None:
    """A form has a symbol for each of them: of 20,000 channels one row takes gigabytes."""
    verdict = check(wide_network(5_000, 2), ONE, "float64", 2, {"kind": "layered", "steps": []})
    assert "too many inputs are not known" in verdict.reason
    tracemalloc.start()
    assert check(wide_network(400, 2), ONE, "float64", 2, {"kind": "layered", "steps": []}).certified
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_pairs_of_maps_and_states_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes a row of all channels: of a million states, gigabytes."""
    verdict = of(krohn.compile("C2", 8, method="scan"))
    assert verdict(lambda witness: None).certified
    monkeypatch.setattr(scan, "MAX_HELD", 20)
    assert "pairs of maps and states" in verdict(lambda witness: None).reason


def test_the_automaton_of_tokens_has_a_row_for_all_others() -> None:
    """It had one for each: 20,000 tokens of letters took 3 gigabytes."""
    letters = replace(ONE, table=np.zeros((1, 1_000), dtype=np.int64))
    made = token_automaton(letters, [5], 1_000_000)
    assert made.table.shape == (2, 1_000)
    assert made.shows.tolist() == [5, 999_999]
