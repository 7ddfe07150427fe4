"""Modules of others: what runs is proved, a mistake is found, what cannot be read is refused by name."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from research.graph_damage import cases
from torch import Tensor, nn

import krohn
from krohn.base.progress import shown_by
from krohn.check.graph.columns import cases_of
from krohn.check.graph.evaluate import Plan, in_parts, positions_of
from krohn.check.graph.graph import graph_net, graphs_of, written
from krohn.check.ground import Refused
from krohn.check.rules import check_certificate
from krohn.errors import InvalidInput, KrohnError
from krohn.lab.provable.tracing import read_graph
from lab.provable.own_modules import Normed, Seen

SEEN = krohn.Semiautomaton(np.array([[0, 1], [1, 1]]), 0, ("no", "yes"), ("a", "b"))


@pytest.mark.parametrize("length", [3, 16])
def test_a_module_is_proved_on_all_words(length: int) -> None:
    verdict = krohn.verify(Seen(), automaton=SEEN, length=length)
    assert verdict.certified
    assert verdict.margin > 0
    assert verdict.to_json()["inputs"] == str(2 ** (length + 1) - 2)
    assert verdict.to_json()["covered"] == 1.0


def test_how_far_a_proof_is_is_told() -> None:
    told: list[tuple[int, int]] = []
    with shown_by(lambda done, total: told.append((done, total))):
        krohn.verify(Seen(), automaton=SEEN, length=3)
    assert told == [(0, 3), (1, 3), (2, 3)]


def test_a_mistake_is_found_and_is_one() -> None:
    module = Seen(threshold=0.09)
    verdict = krohn.verify(module, automaton=SEEN, length=16)
    assert not verdict.certified
    assert verdict.counterexample is not None
    word = torch.tensor([verdict.counterexample.word])
    assert int(module(word)[0, -1].argmax()) == verdict.counterexample.got != verdict.counterexample.expected


def test_inputs_may_be_some_words_alone() -> None:
    module = Seen(threshold=0.09)
    few = krohn.Semiautomaton(
        np.array([[0, 1], [1, 2], [2, 2]]), 0, letter_names=("a", "b"), observe=(1, 1, 1)
    )
    short = krohn.verify(module, automaton=SEEN, length=8, input=few)
    assert short.certified
    none = krohn.Semiautomaton(np.array([[0, 0]]), 0, letter_names=("a", "b"), observe=(0,))
    with pytest.raises(InvalidInput, match="there is no input"):
        krohn.verify(module, automaton=SEEN, length=8, input=none)


def test_the_command_and_the_checker_alone(tmp_path: Path) -> None:
    source = Path(__file__).with_name("own_modules.py").read_text()
    (tmp_path / "mine.py").write_text(source + "\nmine = Seen()\nbroken = Seen(0.2)\n")
    (tmp_path / "seen.json").write_text(
        json.dumps(
            {
                "krohn": 1,
                "letters": ["a", "b"],
                "states": ["no", "yes"],
                "start": "no",
                "next": {"no": {"a": "no", "b": "yes"}, "yes": {"a": "yes", "b": "yes"}},
            }
        )
    )
    command = [sys.executable, "-m", "krohn", "verify", "--spec", "seen.json", "--length", "8", "--json"]
    done = subprocess.run(
        [*command, "mine.py:mine", "--out", "proof.json"], cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["inputs"] == "510"
    check = [sys.executable, "-m", "krohn.check", "proof.graph", "proof.json"]
    again = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0
    assert "yes: proved" in again.stdout
    graph = bytearray((tmp_path / "proof.graph" / "model.safetensors").read_bytes())
    graph[-1] ^= 1
    (tmp_path / "proof.graph" / "model.safetensors").write_bytes(bytes(graph))
    assert subprocess.run(check, cwd=tmp_path, capture_output=True).returncode == 1
    wrong = subprocess.run([*command, "mine.py:broken"], cwd=tmp_path, capture_output=True)
    assert wrong.returncode == 1
    assert json.loads(wrong.stdout)["counterexample"]["word"]


class Changed(Seen):
    """A module with one line more in its pass."""

    def __init__(self, what: Callable[[Any, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.what = what
        self.calls = 0
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.what(self, tokens, super().forward(tokens))


def counted(module: Any, tokens: Tensor, out: Tensor) -> Tensor:
    module.calls += 1
    return out if module.calls < 19 else -out


def in_turn(module: Any, tokens: Tensor, out: Tensor) -> Tensor:
    module.calls += 1
    return out if module.calls % 2 else -out


def written_down(module: Any, tokens: Tensor, out: Tensor) -> Tensor:
    module.seen += 1
    return out


REFUSED = {
    "a check that differs": (lambda m, t, out: out if (t < 1).all() else -out, "all tokens of the claim"),
    "an average over words": (lambda m, t, out: out - out.mean(0), "two words at once"),
    "how many words": (lambda m, t, out: out * len(t), "two words at once"),
    "the second word": (lambda m, t, out: torch.cat([out[:1], -out[1:]]), "two words at once"),
    "a branch on a token": (lambda m, t, out: out if t[0, 0] == 1 else -out, "value"),
    "tolist": (lambda m, t, out: out if t.tolist()[0][0] else -out, "value of a token"),
    "numpy": (lambda m, t, out: out * float(t.numpy().sum()), "value of a token"),
    "dropout": (lambda m, t, out: nn.functional.dropout(out, 0.5), "dropout|bernoulli"),
    "noise": (lambda m, t, out: out + torch.randn(2), "random"),
    "double": (lambda m, t, out: out.double().float(), "float64"),
    "a buffer": (written_down, "parameter or a buffer"),
    "in turn": (in_turn, "another graph"),
    "sort": (lambda m, t, out: out.sort(-1).values, "sort"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_by_name(name: str) -> None:
    what, said = REFUSED[name]
    with pytest.raises(InvalidInput, match=said):
        krohn.verify(Changed(what), automaton=SEEN, length=6)


CHECKS: dict[str, Callable[[Any, Tensor, Tensor], Tensor]] = {
    "any": lambda m, t, out: out if not ((t < 0) | (t >= 2)).any() else -out,
    "the largest": lambda m, t, out: out if t.max() < 2 and t.min() >= 0 else -out,
    "all": lambda m, t, out: out if (t < 2).all() else -out,
    "the largest logit": lambda m, t, out: out - out.amax(-1, keepdim=True),
    "the smallest, with its place": lambda m, t, out: out - out.min(-1, keepdim=True).values,
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_that_all_tokens_pass_is_read(name: str) -> None:
    assert krohn.verify(Changed(CHECKS[name]), automaton=SEEN, length=5).certified


@pytest.mark.parametrize("spec", ["C2", "FlipFlop"])
def test_our_own_modules_are_modules(spec: str) -> None:
    module = krohn.compile(spec, length=4).to_torch("float32")
    assert krohn.verify(module, automaton=spec, length=4).certified
    with torch.no_grad():
        module.get_parameter("readout").neg_()
    wrong = krohn.verify(module, automaton=spec, length=4)
    assert wrong.counterexample is not None


def test_state_between_runs_is_seen_when_the_object_is_run() -> None:
    with pytest.raises(InvalidInput, match="run again"):
        krohn.verify(Changed(counted), automaton=SEEN, length=6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_module_in_half_is_asked_about_in_its_type(dtype: torch.dtype) -> None:
    name = str(dtype).removeprefix("torch.")
    verdict = krohn.verify(Seen().to(dtype), automaton=SEEN, length=4)
    assert verdict.certified
    assert verdict.claim.dtype == name
    same = krohn.verify(Seen(), automaton=SEEN, length=4, dtype=name)
    assert same.certified
    assert same.claim.network == verdict.claim.network
    assert krohn.verify(Seen().to(dtype), automaton=SEEN, length=4, dtype="float32").claim.dtype == "float32"
    assert same.certificate is not None
    other = replace(same.certificate, claim=replace(same.claim, dtype="float32"))
    assert same.graph is not None
    assert "computes in" in check_certificate(same.graph, other).reason
    # 0.2 rounds to another number: what float32 gets right, bfloat16 gets wrong.
    near = krohn.verify(Seen(threshold=0.1249, sharp=1.0), automaton=SEEN, length=8, dtype=name)
    assert not near.certified


def test_doubles_are_asked_about_in_float32_by_name() -> None:
    with pytest.raises(InvalidInput, match="--dtype float32"):
        krohn.verify(Seen().double(), automaton=SEEN, length=4)
    assert krohn.verify(Seen().double(), automaton=SEEN, length=4, dtype="float32").certified


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_what_torch_stores(seed: int, dtype: torch.dtype) -> None:
    module, length = Normed(seed).to(dtype), 6
    graph = read_graph(module, length)
    words = np.random.default_rng(seed).integers(0, 5, (40, length))
    with torch.no_grad():
        run = module(torch.from_numpy(words)).double().numpy().reshape(40, -1)
    norms = frozenset(node.first for node in graph.nodes if node.op == "norm")
    for fresh in (frozenset[int](), norms):
        out = Plan(graph, graph.answer.reshape(-1)).run(words, fresh=fresh)
        assert (np.abs(out.c - run) <= out.rad).all()
        assert np.median(out.rad) < 5


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_what_torch_computes(seed: int) -> None:
    module, length = Normed(seed), 6
    graph = read_graph(module, length)
    again = graphs_of(graph_net(*written([graph]), None))[length]
    words = np.random.default_rng(seed).integers(0, 5, (40, length))
    with torch.no_grad():
        single = module(torch.from_numpy(words)).double().numpy().reshape(40, -1)
    norms = frozenset(node.first for node in again.nodes if node.op == "norm")
    for fresh in (frozenset[int](), norms):
        out = Plan(again, again.answer.reshape(-1)).run(words, fresh=fresh)
        assert (np.abs(out.c - single) <= out.rad).all()
        assert out.rad.max() < 0.1


def again_and_again(length: int, sizes: list[int], nodes: int) -> bytes:
    """Nodes that list the same scalars."""
    node = {"op": "exp" if len(sizes) == 1 else "sum", "sizes": sizes, "args": [0]}
    graph = {"length": length, "nodes": [node] * nodes, "answer": [0, length, 1]}
    return json.dumps({"krohn": 1, "graphs": [graph]}).encode()


@pytest.mark.parametrize(
    ("length", "sizes", "nodes", "said"),
    [
        (4, [1 << 12], 70_000, "at most 65,536 nodes"),
        (4, [1 << 20], 20, "at most 16,777,216 scalars"),
        (4, [1, 1 << 20], 200, "list at most"),
        (1 << 15, [1 << 16], 100, "what scalars depend on"),
    ],
)
def test_small_graphs_cannot_ask_for_much(length: int, sizes: list[int], nodes: int, said: str) -> None:
    tensors: dict[str, Any] = {
        "0.constants": np.zeros(1, "f4"),
        "0.numbers": np.zeros(0),
        "0.lists": np.zeros(1 << 20, "i8"),
    }
    with pytest.raises((KrohnError, Refused), match=said):
        positions_of(graphs_of(graph_net(again_and_again(length, sizes, nodes), tensors, None))[length])


def test_a_claim_cannot_ask_for_long_words_or_symbols() -> None:
    verdict = krohn.verify(Seen(), automaton=SEEN, length=2)
    assert verdict.certificate is not None
    longer = replace(verdict.certificate.claim, up_to=10**6)
    with pytest.raises(KrohnError, match="at most 256 letters"):
        cases_of(longer)
    graph = read_graph(Normed(0, width=8), 4)
    plan = Plan(graph, graph.answer.reshape(-1))
    with pytest.raises(KrohnError, match="a word and its symbols"):
        in_parts(plan, np.zeros((1, 4), dtype=np.int64), symbols=10**6)


def test_damaged_graphs_end_in_one_line(tmp_path: Path) -> None:
    found = Counter(how for how, _ in cases(25, 1, tmp_path))
    assert found["refused"] > 10
    assert found["not accepted"] > 10
