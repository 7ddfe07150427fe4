"""The description of the channels in a network's file must match: lowering the program gives its tensors."""

from dataclasses import replace

import pytest

import krohn
from every import every
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.assembly import lower, lowers_again
from krohn.network.operations import Clamp, PrefixSum, Table
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source
from krohn.proving.verification import verify
from proving.built_networks import CEILING, compiled

CASES = [
    (spec, dtype)
    for spec in ("S4", "Dyck4,2", "abab", "regex:(a|b)*abb", "A5")
    for dtype in ("float64", "float32")
]


@every(("spec", "dtype"), [*CASES, ("abab", "float16"), ("FlipFlop", "bfloat16")])
def test_the_program_of_a_compiled_network_gives_its_tensors_again(spec: str, dtype: str) -> None:
    network = krohn.compile(spec, length=12, dtype=dtype)
    assert network.program is not None
    assert lowers_again(network)
    assert not lowers_again(replace(network, program=None))
    turned = replace(network.transformer, readout=-network.transformer.readout)
    assert not lowers_again(replace(network, transformer=turned))


def test_so_does_a_cascade() -> None:
    assert lowers_again(krohn.compile("C5", length=8, method="cascade"))


def rare(threshold: int) -> Program:
    """Counts to 3; the unused register ``many`` records whether there were more than ``threshold`` steps."""
    rows = tuple(((many, count), (count,)) for many in range(2) for count in range(4))
    return Program(
        registers=(
            Register("step", 0, 1),
            Register("sum", 0, 1, "wide"),
            Register("many", 0, 1),
            Register("count", 0, 3),
            Register("state", 0, 3),
        ),
        sources=(Source("step", (0, 1), (0,)),),
        layers=(
            ProgramLayer(
                (PrefixSum(("step",), ("sum",)),),
                (
                    Clamp((("sum", 1),), -threshold, 0, 1, "many"),
                    Clamp((("sum", 1),), 0, 0, 3, "count"),
                ),
            ),
            ProgramLayer((), (Table(("many", "count"), ("state",), rows),)),
        ),
        readout=Readout(("state",), ((0,), (1,), (2,), (3,))),
    )


def test_a_register_that_differs_on_rare_words_only_is_found() -> None:
    network, layout = lower(rare(50), 64)
    honest = CompiledNetwork(network, CEILING, "cascade", rare(50), layout)
    assert verify(honest, second_opinion=False).certified
    refused = verify(replace(honest, program=rare(55)), second_opinion=False)
    assert not refused.certified
    assert "building the network again from its program gives other tensors" in refused.reason


@pytest.mark.parametrize("moment", [1, 2, 4])
def test_a_forged_scale_is_found(moment: int) -> None:
    network = compiled("D6", 16, "cascade")
    channels = list(network.layout.moments[moment])
    number = next(n for n, c in enumerate(channels) if c.register and "sum" not in c.register)
    channels[number] = replace(channels[number], scale=2 * channels[number].scale)
    moments = list(network.layout.moments)
    moments[moment] = tuple(channels)
    forged = replace(network, layout=replace(network.layout, moments=tuple(moments)))
    assert verify(network, second_opinion=False).certified
    assert not verify(forged, second_opinion=False).certified


def test_a_network_without_a_program_has_no_description_to_fit() -> None:
    network = compiled("D6", 16, "cascade")
    heads = tuple(tuple(replace(head, operations=()) for head in layer) for layer in network.layout.heads)
    bare = replace(network, program=None, layout=replace(network.layout, heads=heads))
    assert verify(bare, second_opinion=False).certified


def test_a_scan_for_few_letters_is_certified_with_its_program() -> None:
    """Its program is right up to its length, and wrong beyond."""
    for length in (2, 5, 7):
        assert verify(compiled("C3", length, "scan"), second_opinion=False).certified
