"""Right networks are certified, wrong claims are refused with a word that shows it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.compiled import CompiledNetwork
from krohn.proving import attempts as proof
from krohn.proving.attempts import arithmetic, attempt
from krohn.proving.verification import verify
from proving.built_networks import PROGRAMS, compiled, lowered


def refusal(
    network: CompiledNetwork, length: int, dtype: str = "float64", automaton: Semiautomaton | None = None
):  # type: ignore[no-untyped-def]
    return attempt(network.transformer, automaton or network.automaton, length, arithmetic(dtype))[1]


@every("length", [1, 2, 9])
@every("name", PROGRAMS)
@every("dtype", ["float64", "float32"])
def test_every_gadget_is_certified(name: str, length: int, dtype: str) -> None:
    assert refusal(lowered(name, length), length, dtype) is None


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_mean_their_automata(name: str) -> None:
    network = lowered(name, 6)
    letters = network.automaton.num_letters
    words = np.array(list(itertools.product(range(letters), repeat=6)))
    assert (network.run(words) == [network.automaton.run(word) for word in words]).all()


@every(
    ("spec", "dtype"),
    [
        *((spec, "float64") for spec in ("D6", "abab", "Dyck2,2")),
        *((spec, "float32") for spec in ("C3", "S4", "Grid4", "Dyck2,2", "T3", "FlipFlop", "Add")),
    ],
)
def test_cascades_are_certified_in_the_dtype_they_were_built_for(spec: str, dtype: str) -> None:
    assert refusal(compiled(spec, 33, "cascade", dtype), 33, dtype) is None


@every(("spec", "method"), [("D6", "scan"), ("Grid9", "scan"), ("A5", "auto")])
@every("dtype", ["float64", "float32"])
def test_scans_are_certified(spec: str, method: str, dtype: str) -> None:
    assert refusal(compiled(spec, 17, method, dtype), 17, dtype) is None


@pytest.mark.parametrize("spec", ["C2", "C6", "D8", "abab", "Grid4", "T3", "Add"])
def test_theorem_2_is_certified_without_any_hint(spec: str) -> None:
    network = compiled(spec, 12, "paper")
    assert network.program is None
    assert refusal(network, 12) is None


@pytest.mark.parametrize("spec", ["Grid4", "Grid9:noop", "Grid3x4"])
def test_theorem_3_is_certified(spec: str) -> None:
    assert refusal(compiled(spec, 24, "grid"), 24) is None


def changed_at_the_last_letter(automaton: Semiautomaton) -> tuple[Semiautomaton, int]:
    """Another automaton, which the last letter alone tells apart."""
    table, letter = automaton.table.copy(), automaton.num_letters - 1
    table[automaton.start, letter] = (table[automaton.start, letter] + 1) % len(table)
    return Semiautomaton(table=table, start=automaton.start), letter


@pytest.mark.parametrize(
    ("spec", "method"), [("C3", "cascade"), ("abab", "paper"), ("Grid4", "grid"), ("D6", "auto")]
)
def test_a_changed_transition_is_refused_with_a_shortest_word(spec: str, method: str) -> None:
    network = compiled(spec, 16, method)
    other, letter = changed_at_the_last_letter(network.automaton)
    message = refusal(network, 16, automaton=other)
    assert message is not None
    assert message.word == (letter,)


def test_a_changed_transition_of_a_scan_is_refused_and_the_run_finds_a_shortest_word() -> None:
    """The proof of a scan follows maps, not words; the independent run of short words has the word."""
    network = compiled("Grid4", 6, "scan")
    other, letter = changed_at_the_last_letter(network.automaton)
    message = refusal(network, 6, automaton=other)
    assert message is not None
    assert message.name == "read-out"
    certificate = verify(replace(network, automaton=other))
    assert not certificate.certified
    wrong = certificate.counterexample
    assert wrong is not None
    assert wrong.word == (letter,)
    assert network.run(np.array([wrong.word]))[0].tolist() != list(other.run(wrong.word))


def test_a_network_is_not_certified_beyond_what_its_dtype_holds() -> None:
    network = compiled("C3", 64, "cascade")
    assert refusal(network, 64) is None
    assert refusal(network, 64, "bfloat16") is not None


def test_a_scan_with_a_layer_missing_is_refused() -> None:
    network = compiled("Grid4", 16, "scan").transformer
    short = type(network)(
        network.embedding,
        network.padding,
        network.positions,
        network.layers[:-1],
        network.readout,
        network.readout_bias,
    )
    automaton = compiled("Grid4", 16, "scan").automaton
    assert attempt(short, automaton, 16, arithmetic("float64"))[1] is not None
    assert attempt(short, automaton, 8, arithmetic("float64"))[1] is None


def test_a_proof_uses_one_thread_and_leaves_the_limit_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    seen, check = list[set[int]](), proof.check

    def recorded(*given, **options):  # type: ignore[no-untyped-def]
        seen.append(threads())
        return check(*given, **options)

    monkeypatch.setattr(proof, "check", recorded)
    network = compiled("C2", 8)
    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        assert verify(network, "float32", second_opinion=False).certified
        assert threads() == before
    assert seen
    assert all(result == {1} for result in seen)
