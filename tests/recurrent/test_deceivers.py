"""Networks that an earlier version proved although they are wrong in torch: none may be proved."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.check.claim import LEFT
from krohn.check.recurrent.cells import GruCell, LstmCell
from krohn.check.recurrent.stacks import DiagonalStack
from krohn.lab.cards.recurrent_modules import states_in_training
from krohn.proving.claims import certificate_about
from krohn.proving.recurrent import close
from krohn.proving.verification import verify
from krohn.recurrent.recurrent_network import RecurrentNetwork, states_of
from krohn.recurrent.recurrent_weights import WEIGHTS, gru
from recurrent.judge import gated_logits, right, stack_logits
from recurrent.test_lacking import FLIPFLOP, memory_of_one_bit


def with_units_in_front(cell: GruCell, copies: int) -> dict[str, np.ndarray]:
    """The same network, preceded by unread units that are 1 after every letter."""
    old, n = cell.tensors, len(cell.tensors["weight_hh"])
    result = {name: value.copy() for name, value in old.items()}
    parts = {name: np.split(old[name], 3, axis=-1) for name in ("weight_ih", "bias_ih", "bias_hh")}
    held = np.float32([512.0, -512.0, 512.0])  # reset 1, update 0, candidate 1
    result["weight_ih"] = np.concatenate(
        [np.hstack([np.zeros((len(part), copies), np.float32), part]) for part in parts["weight_ih"]], axis=1
    )
    result["bias_ih"] = np.concatenate(
        [
            np.concatenate([np.full(copies, bias), part])
            for bias, part in zip(held, parts["bias_ih"], strict=True)
        ]
    )
    result["bias_hh"] = np.concatenate(
        [np.concatenate([np.zeros(copies, np.float32), part]) for part in parts["bias_hh"]]
    )
    recurrent = np.zeros((n + copies, 3, n + copies), np.float32)
    recurrent[copies:, :, copies:] = old["weight_hh"].reshape(n, 3, n)
    result["weight_hh"] = recurrent.reshape(n + copies, -1)
    head = old["head.weight"]
    result["head.weight"] = np.vstack([np.zeros((copies, head.shape[1]), np.float32), head])
    return result


def test_a_read_out_whose_partial_sums_overflow_is_not_proved() -> None:
    """2^127 + 2^127 − 2^127 has one significant bit, and a sum that begins with the first two is infinite."""
    automaton = parse_spec("C2")
    tensors = with_units_in_front(gru(automaton), 3)
    harmless = GruCell({name: value.copy() for name, value in tensors.items()})
    tensors["head.weight"][3:] *= np.float32(2.0**110)
    tensors["head.bias"] *= np.float32(2.0**110)
    tensors["head.weight"][:3] = np.float32([2.0**127, 2.0**127, -(2.0**127)])[:, None]
    word = [1, 0, 1, 1]
    assert right(gated_logits("gru", harmless.tensors, word), automaton, word)
    assert not right(gated_logits("gru", tensors, word), automaton, word)
    assert close(harmless, automaton).every_length
    assert not close(GruCell(tensors), automaton).every_length


def last_bit_of_tanh() -> tuple[np.float32, np.float32]:
    """A number, and torch's tanh of tanh of it, which is less than numpy's."""
    numbers = (np.arange(1, 4000) / 256).astype(np.float32)
    inner = torch.tanh(torch.tensor(numbers)).numpy()
    same = inner == np.tanh(numbers)
    ours, torchs = np.tanh(inner), torch.tanh(torch.tensor(inner)).numpy()
    result = np.flatnonzero(same & (torchs < ours))
    if not len(result):
        pytest.skip("numpy and torch agree on every tanh that was tried here")
    return numbers[result[0]], torchs[result[0]]


def line() -> Semiautomaton:
    """One letter, which leads to the second state for ever."""
    return Semiautomaton.from_letters([[1, 1]])


def held_lstm(candidate: np.float32, rival: np.float32) -> LstmCell:
    """h = tanh tanh candidate after every letter, and the other state's logit is a constant."""
    zeros = np.zeros
    return LstmCell(
        {
            "wte": zeros((1, 1), np.float32),
            "weight_ih": zeros((1, 4), np.float32),
            "weight_hh": zeros((1, 4), np.float32),
            "bias": np.float32([512.0, -512.0, candidate, 512.0]),
            "head.weight": np.float32([[0.0, 1.0]]),
            "head.bias": np.array([rival, 0.0], np.float32),
        }
    )


def test_a_proof_must_not_need_the_last_bit_of_tanh() -> None:
    candidate, rival = last_bit_of_tanh()
    cell, automaton = held_lstm(candidate, rival), line()
    assert not right(gated_logits("lstm", cell.tensors, [0]), automaton, [0])
    assert not close(cell, automaton).every_length
    further = replace(cell, tensors={**cell.tensors, "head.bias": np.array([rival * 0.99, 0], np.float32)})
    assert right(gated_logits("lstm", further.tensors, [0]), automaton, [0])
    assert close(further, automaton).every_length


def two_blocks() -> DiagonalStack:
    """The memory of one bit twice, one block after the other; the last channel is read by nobody."""
    one = memory_of_one_bit().tensors
    both = {name.replace("h.0.", f"h.{i}."): value.copy() for i in (0, 1) for name, value in one.items()}
    return DiagonalStack(both, gate="signed")


def test_an_unread_channel_must_not_overflow_in_a_later_block() -> None:
    """Each block adds 2^127 to it: finite after the first, infinite after the second, and ∞·0 is none."""
    word, cell = [1, 2, 0, 1], two_blocks()
    assert right(stack_logits(cell, word), FLIPFLOP, word)
    assert close(cell, FLIPFLOP).every_length
    for i in (0, 1):
        cell.tensors[f"h.{i}.mix.out"][0, 7] = np.float32(2.0**127)
    assert not right(stack_logits(cell, word), FLIPFLOP, word)
    result = close(cell, FLIPFLOP)
    assert not result.every_length
    assert result.counterexample is not None  # the plain run shows it, too
    letters = np.array([word])
    assert (states_of(cell, letters) == -1).any()  # a NaN is no state
    assert (states_in_training(cell, "cpu")(letters) == states_of(cell, letters)).all()


@pytest.mark.parametrize("chunks", [False, True])
def test_a_gate_on_an_axis_turns_exactly_in_torch(chunks: bool) -> None:
    """41 · (1 / 41) is less than 1 in float32, and torch divides complex numbers by such products.

    The read-out is so steep that a memory of 0.9999999 is a wrong state after four letters.
    """
    automaton, word, steep = parse_spec("C4:01"), [0, 1, 0, 1, 1, *[0] * 20, 1, 1, 1], 2.0**22
    cell = WEIGHTS["diagonal"](automaton)
    assert close(cell, automaton).chunked
    assert right(stack_logits(cell, word, chunks=chunks), automaton, word)
    cell.tensors["h.0.mix.gate.weight"][:] *= np.float32(41 / 2)
    cell.tensors["h.0.mlp.in"][2:4] *= np.float32(steep / 2)
    cell.tensors["h.0.mlp.in_bias"][:] = -(steep + 1)
    assert close(cell, automaton).chunked
    assert right(stack_logits(cell, word, chunks=chunks), automaton, word)


@pytest.mark.parametrize("steep", [2.0**20, 2.0**22.3])
def test_a_wrong_word_refutes_a_proof_for_one_order_of_sums(steep: float) -> None:
    """Turns by fifths are rounded, and a steep read-out is right only if its sums are rounded as proved.

    The steeper one is wrong in numpy and in torch where products and sums are fused, as on x86.
    """
    automaton, words = parse_spec("C5:01"), np.array(list(product(range(2), repeat=4)))
    cell = WEIGHTS["diagonal"](automaton)
    centre = -cell.tensors["h.0.mlp.in_bias"][0] - 1
    cell.tensors["h.0.mlp.in"][2:4] *= np.float32(steep)
    cell.tensors["h.0.mlp.in_bias"][:] = np.float32(-steep * centre - 1)
    wrong = bool((states_of(cell, words) != automaton.simulate(words)).any())
    if steep == 2.0**20:
        assert not wrong
        assert all(right(stack_logits(cell, word), automaton, word) for word in words.tolist())
    assert close(cell, automaton).every_length  # from left to right
    network = RecurrentNetwork(cell, automaton)
    verdict = verify(network)
    assert verdict.claim.order == LEFT
    assert verdict.certified != wrong
    assert (verdict.counterexample is not None) == wrong
    assert ("but a word is run wrong" in verdict.reason) == wrong
    # Who rechecks runs no words: what is true of one order must not answer who asks for all of them.
    made = certificate_about(verdict.claim, "closure", None)
    assert not verify(network, certificate=made)
    assert verify(network, certificate=made, order="left")
