"""A layout is proved for all words: what only one word in a million shows is found too."""

from dataclasses import replace

import pytest

from certify.built_networks import CEILING, compiled
from krohn.certify.arithmetic import arithmetic
from krohn.certify.certificate import Record, Refuted
from krohn.certify.hints import check_hints, prove_layout
from krohn.certify.program_proof import prove_program
from krohn.certify.verification import attempt, verify
from krohn.construct.lowering.assembly import lower
from krohn.network.attention_operations import PrefixSum
from krohn.network.compiled import CompiledNetwork
from krohn.network.position_maps import Clamp, Table
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source


def rare(threshold: int) -> Program:
    """Counts to 3, and notes in ``many`` whether there were more than ``threshold`` steps; no one minds."""
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


def built(threshold: int) -> CompiledNetwork:
    network, layout = lower(rare(threshold), 64)
    return CompiledNetwork(network, CEILING, "cascade", rare(threshold), layout)


def test_a_register_that_differs_on_rare_words_only_is_found() -> None:
    honest = built(50)
    assert verify(honest, second_opinion=False).certified
    forged = replace(honest, program=rare(55))
    refused = verify(forged, second_opinion=False)
    assert not refused.certified
    assert "does not hold many at moment 2 on some word" in refused.reason


def test_the_words_that_are_tried_do_not_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the proof the forgery of the test before would pass."""
    forged = replace(built(50), program=rare(55))
    record, failure, _ = attempt(forged.transformer, forged.automaton, 64, arithmetic("float64"))
    assert failure is None
    monkeypatch.setattr("krohn.certify.hints.prove_layout", lambda *_: None)
    check_hints(forged, 64, record)


@pytest.mark.parametrize("spec", ["Parity", "D6", "abab", "FlipFlop", "S4"])
def test_every_named_channel_of_these_is_proved(spec: str) -> None:
    checks = verify(compiled(spec, 16, "cascade"), second_opinion=False).checks
    text = next(check.text for check in checks if check.text.endswith("registers on every word"))
    proved, named = text.split(" named")[0].split(" of ")
    assert proved == named


@pytest.mark.parametrize("moment", [1, 2, 4])
def test_a_forged_scale_is_found_by_the_proof_alone(moment: int) -> None:
    network = compiled("D6", 16, "cascade")
    assert network.program is not None
    record = attempt(network.transformer, network.automaton, 16, arithmetic("float64"))[0]
    registers = prove_program(network.program, network.automaton, 16, Record())
    prove_layout(network.layout, network.program, record.streams, registers, 16, Record())
    channels = list(network.layout.moments[moment])
    number = next(n for n, c in enumerate(channels) if c.register and "sum" not in c.register)
    channels[number] = replace(channels[number], scale=2 * channels[number].scale)
    moments = list(network.layout.moments)
    moments[moment] = tuple(channels)
    forged = replace(network.layout, moments=tuple(moments))
    with pytest.raises(Refuted, match="on some word"):
        prove_layout(forged, network.program, record.streams, registers, 16, Record())


def test_a_scan_for_few_letters_is_certified_with_its_program() -> None:
    """Its program is right up to its length, and wrong beyond."""
    for length in (2, 5, 7):
        assert verify(compiled("C3", length, "scan"), second_opinion=False).certified
