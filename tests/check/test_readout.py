"""A refused read-out names the outputs that cannot be distinguished, and whether rounding is to blame."""

from dataclasses import replace

import krohn
from krohn.proving.attempts import arithmetic, attempt


def refusal(network: krohn.CompiledNetwork, dtype: str, **changed: object) -> str:
    transformer = replace(network.transformer, **changed)  # type: ignore[arg-type]
    return str(attempt(transformer, network.automaton, network.length, arithmetic(dtype))[1])


def test_equal_columns_are_a_fault_of_the_weights() -> None:
    network = krohn.compile("C3", 8)
    readout, bias = network.transformer.readout.copy(), network.transformer.readout_bias.copy()
    readout[:, 2], bias[2] = readout[:, 1], bias[1]
    message = refusal(network, "float32", readout=readout, readout_bias=bias)
    assert message.startswith("read-out: outputs ")
    assert "1 and 2" in message or "2 and 1" in message
    assert "the weights are at fault, no rounding" in message


def test_a_counter_that_rounding_swallows_is_a_fault_of_the_dtype() -> None:
    message = refusal(krohn.compile("C3", 16, method="cascade"), "bfloat16")
    assert message.startswith("read-out: outputs ")
    assert "the errors are too large: use a wider dtype or a shorter length" in message
