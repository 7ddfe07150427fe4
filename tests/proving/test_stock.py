"""Networks that krohn did not write: proved on all short words, or refuted by one; mutants; callables."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers")
import torch
from safetensors.torch import load_file, save_file
from tests.proving.stock_networks import every_word, mutants, trained_sum
from transformers import GPT2Config, GPT2LMHeadModel

import krohn
from krohn.check.__main__ import main
from krohn.check.certificate import read_certificate
from krohn.check.files.folders import Net
from krohn.check.rules import check_certificate, read_net
from krohn.check.transformer.near import MOST_TERMS
from krohn.check.transformer.running_error import Running
from krohn.check.transformer.words import stock_net
from krohn.cli.app import run
from krohn.errors import InvalidFile, InvalidInput, KrohnError
from krohn.exporting.hugging_face import hugging_face_files
from krohn.lab.suite.disguise import disguise
from krohn.network.gpt2.decoder import write_files
from krohn.network.gpt2.stock import net_of_module, tokens_for
from krohn.proving.stock import certificate_for
from unproved import compile

MODULUS, LENGTH = 5, 2


@pytest.fixture(scope="module")
def network() -> GPT2LMHeadModel:
    return trained_sum(MODULUS, LENGTH, 150)


@pytest.fixture(scope="module")
def folder(network: GPT2LMHeadModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stock")
    network.save_pretrained(out)
    return out


def wrong_words(network: GPT2LMHeadModel) -> int:
    words = torch.from_numpy(every_word(MODULUS, LENGTH))
    with torch.no_grad():
        return int((network(words).logits.argmax(-1) != words.cumsum(1) % MODULUS).any(1).sum())


def test_a_saved_folder_is_certified_and_rechecked(folder: Path, tmp_path: Path) -> None:
    assert {file.name for file in folder.iterdir()} >= {"config.json", "model.safetensors"}
    result = krohn.verify(folder, automaton="C5")
    assert result.certified, result.reason
    assert result.to_json()["claim"]["lengths"] == {"up_to": LENGTH}
    assert result.second_opinion is not None
    assert (result.second_opinion.words, result.second_opinion.wrong) == (MODULUS**LENGTH, 0)
    file = tmp_path / "certificate.json"
    result.save(file)
    assert krohn.verify(folder, certificate=file).certified
    assert read_certificate(file).claim.order == "any"
    assert not krohn.verify(folder, certificate=file, automaton="C5:01").certified


def test_another_network_is_not_covered_by_the_certificate(
    network: GPT2LMHeadModel, folder: Path, tmp_path: Path
) -> None:
    krohn.verify(folder, automaton="C5", length=1).save(tmp_path / "certificate.json")
    certificate = read_certificate(tmp_path / "certificate.json")
    marks = certificate.claim.configuration["tokens"]
    assert check_certificate(net_of_module(network, marks), certificate).certified
    moved = {**marks, "states": [1, 2, 3, 4, 0]}
    assert not check_certificate(net_of_module(network, moved), certificate).certified


def test_the_wrong_automaton_has_a_counterexample(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(folder), "--automaton", "C4", "--json"]) == 1
    payload = json.loads(capsys.readouterr().out)
    word, expected = payload["counterexample"]["word"], payload["counterexample"]["expected"]
    assert int(expected) == sum(word) % 4 != sum(word) % 5


def test_the_commands_read_tokens(
    network: GPT2LMHeadModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tokens in another order are another network, unless the file says so."""
    order = [3, 1, 4, 0, 2]
    moved = GPT2LMHeadModel(network.config)
    moved.load_state_dict(network.state_dict())
    with torch.no_grad():
        moved.transformer.wte.weight[order] = network.transformer.wte.weight.detach().clone()
    moved.save_pretrained(tmp_path / "moved")
    (tmp_path / "tokens.json").write_text(
        json.dumps({"letters": order, "states": {str(n): order[n] for n in range(5)}})
    )
    arguments = [str(tmp_path / "moved"), "--automaton", "C5", "--json"]
    known = ["--tokens", str(tmp_path / "tokens.json")]
    assert run(["verify", *arguments, "--length", "2"]) == 1
    assert run(["verify", *arguments, "--length", "2", *known]) == 0
    capsys.readouterr()
    assert run(["extract", *arguments, "--length", "2", *known]) == 0
    assert json.loads(capsys.readouterr().out)["task"]["equivalent"]
    assert run(["understand", *arguments, *known, "--effort", "0.2"]) == 0
    last = [entry for entry in json.loads(capsys.readouterr().out)["variables"] if entry["layer"] == 1]
    assert max(last, key=lambda entry: entry["causal"] or 0)["name"] == "state"


def test_tokens_may_stand_for_observations(folder: Path, tmp_path: Path) -> None:
    """State q shows q + 2 modulo 5, and the network says q by token q."""
    shifted = replace(krohn.zoo("C5"), observe=tuple((q + 2) % MODULUS for q in range(MODULUS)))
    letters = list(range(MODULUS))
    right = {"letters": letters, "observations": [(k - 2) % MODULUS for k in range(MODULUS)]}
    result = krohn.verify(folder, automaton=shifted, length=1, tokens=right)
    assert (result.certified, result.claim.target) == (True, "observation")
    result.save(tmp_path / "certificate.json")
    assert krohn.verify(folder, certificate=tmp_path / "certificate.json", length=1).certified
    assert krohn.extract(folder, 2, automaton=shifted, tokens=right).mistake is None
    wrong = krohn.verify(folder, automaton=shifted, length=1, tokens={**right, "observations": letters})
    assert not wrong.certified
    assert wrong.counterexample is not None


def test_a_module_and_a_callable(network: GPT2LMHeadModel) -> None:
    assert krohn.verify(network, automaton="C5", length=2).certified
    ran = krohn.verify(lambda tokens: network(torch.from_numpy(tokens)), automaton="C5", length=2)
    assert not ran.certified
    assert "not proved" in ran.reason
    assert ran.counterexample is None
    found = krohn.verify(lambda tokens: np.zeros((*tokens.shape, 5)), automaton="C5", length=2)
    assert found.counterexample is not None
    nothing = krohn.verify(lambda tokens: np.full((*tokens.shape, 5), np.nan), automaton="C5", length=2)
    assert nothing.counterexample is not None
    assert (tuple(nothing.counterexample.word), nothing.counterexample.got) == ((0,), -1)
    learned = krohn.extract(lambda tokens: network(torch.from_numpy(tokens)).logits, 2, automaton="C5")
    assert learned.automaton.num_states == 5
    assert learned.mistake is None


def test_states_are_read_from_the_stream(network: GPT2LMHeadModel, folder: Path, tmp_path: Path) -> None:
    """The sum, whose answers are its states; and a network that shows less than it must remember."""
    assert krohn.extract(network, 2, automaton="C5", by="states").mistake is None
    assert run(["extract", str(folder), "--automaton", "C5", "--length", "2", "--by", "states"]) == 0
    shown = compile("regex:(a|b)*abb", length=8, method="cascade", target="observation")
    decoder = disguise(shown, "rotated", 0).decoder
    write_files(tmp_path / "net", hugging_face_files(decoder, {}))
    tokens = {part: list(getattr(decoder.vocabulary, part)) for part in ("prompt", "letters", "states")}
    read = krohn.extract(tmp_path / "net", 6, automaton=shown.automaton, tokens=tokens, by="states")
    assert (read.automaton.num_states, read.mistake) == (4, None)
    for given, options, says in (
        (network, {"by": "states", "max_states": 3}, "at least 5, one for each answer; got 3"),
        (lambda tokens: tokens, {"by": "states"}, "stream of a GPT-2"),
        (network, {"by": "luck"}, "by words or by states; got 'luck'"),
    ):
        with pytest.raises(InvalidInput, match=says):
            krohn.extract(given, 2, automaton="C5", **options)


def test_what_is_missing_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    few = {"letters": [0, 1], "states": [0, 1, 2, 3, 4]}
    for error, says, change, options in (
        (InvalidInput, "--automaton", {}, {}),
        (InvalidFile, "5 numbers below 5", {}, {"automaton": "C5", "tokens": few}),
        (InvalidInput, r"1\.\.2", {}, {"automaton": "C5", "length": 3}),
        (InvalidInput, "prompt must be a list", {}, {"automaton": "C5", "tokens": {"prompt": 0, **few}}),
        (InvalidInput, "letters must be a list", {}, {"automaton": "C5", "tokens": {**few, "letters": 5}}),
        (InvalidInput, "states must be a list", {}, {"automaton": "C5", "tokens": {**few, "states": None}}),
        (InvalidInput, "tokens must be", {}, {"automaton": "C5", "tokens": 5}),
        (InvalidFile, "scale_attn_by", {"scale_attn_by_inverse_layer_idx": True}, {"automaton": "C5"}),
        (InvalidFile, "activation_function", {"activation_function": "silu"}, {"automaton": "C5"}),
    ):
        (tmp_path / "config.json").write_text(json.dumps({**config, **change}))
        with pytest.raises(error, match=says):
            krohn.verify(tmp_path, **options)


def test_no_mutant_is_certified_that_is_wrong(network: GPT2LMHeadModel) -> None:
    automaton = krohn.zoo("C5")
    seen = {True: 0, False: 0}
    for mutant in mutants(network, 40):
        net = net_of_module(mutant, tokens_for(automaton, None))
        verdict = check_certificate(net, certificate_for(net, automaton, LENGTH, "float32"))
        seen[verdict.certified] += 1
        assert not (verdict.certified and wrong_words(mutant))
    assert min(seen.values()) >= 5, "both answers must occur"


Lacking = Callable[[dict[str, np.ndarray]], object]
BLOCK = "transformer.h.0"
ONE_LESS: dict[str, tuple[Lacking, str]] = {
    "LayerNorm reads a vector that is constant": (
        lambda held: [held[f"transformer.{name}.weight"].fill(0.5) for name in ("wte", "wpe")],
        "constant up to its error",
    ),
    "scores are not known up to 1/2": (
        lambda held: held[f"{BLOCK}.attn.c_attn.weight"].__imul__(2.0**9),
        "block 1",
    ),
    "a unit overflows": (lambda held: held[f"{BLOCK}.mlp.c_fc.weight"].__imul__(1e12), "GELU can overflow"),
    "a number that is not finite": (lambda held: held[f"{BLOCK}.ln_1.weight"].fill(np.inf), "must be finite"),
    "biases of another size": (
        lambda held: held.update({f"{BLOCK}.attn.c_proj.bias": np.zeros(3, np.float32)}),
        "must be",
    ),
    "whole numbers": (
        lambda held: held.update({f"{BLOCK}.ln_1.bias": held[f"{BLOCK}.ln_1.bias"].astype(np.int64)}),
        "must be of floats",
    ),
    "a tensor that nothing reads": (lambda held: held.update(more=np.zeros(1, np.float32)), "unknown tensor"),
    "a tensor less": (lambda held: held.pop(f"{BLOCK}.mlp.c_fc.bias"), "must be there"),
    "a head of its own": (
        lambda held: held.update({"lm_head.weight": -held["transformer.wte.weight"]}),
        "as tie_word_embeddings says",
    ),
    "a sum of too many terms": (
        lambda held: held.update(
            {
                f"{BLOCK}.mlp.c_fc.weight": np.zeros(
                    (len(held[f"{BLOCK}.ln_1.bias"]), 1 + MOST_TERMS), "<f4"
                ),
                f"{BLOCK}.mlp.c_fc.bias": np.zeros(1 + MOST_TERMS, "<f4"),
                f"{BLOCK}.mlp.c_proj.weight": np.zeros(
                    (1 + MOST_TERMS, len(held[f"{BLOCK}.ln_1.bias"])), "<f4"
                ),
            }
        ),
        "a sum may have",
    ),
}


@pytest.mark.parametrize("idea", ONE_LESS)
def test_a_gpt2_that_lacks_one_hypothesis_is_refused(network: GPT2LMHeadModel, idea: str) -> None:
    automaton, (change, reason) = krohn.zoo("C5"), ONE_LESS[idea]
    net = net_of_module(network, tokens_for(automaton, None))
    held = {name: tensor.copy() for name, tensor in net.tensors.items()}
    change(held)
    units = len(held.get(f"{BLOCK}.mlp.c_fc.bias", ()))
    other = Net(net.kind, {**net.configuration, "n_inner": units or None}, held)
    try:
        verdict = check_certificate(other, certificate_for(other, automaton, LENGTH, "float32"))
        said = verdict.reason
        assert not verdict.certified
    except KrohnError as error:
        said = str(error)
    assert reason in said


def test_a_lead_that_is_no_number_proves_nothing(
    network: GPT2LMHeadModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    automaton = krohn.zoo("C5")
    net = net_of_module(network, tokens_for(automaton, None))
    monkeypatch.setattr(Running, "lead", lambda run, logits, right: np.full(logits.value.shape, np.nan))
    verdict = check_certificate(net, certificate_for(net, automaton, LENGTH, "float32"))
    assert not verdict.certified
    assert "does not lead" in verdict.reason


def said_by_first(size: float, epsilon: float) -> GPT2LMHeadModel:
    """One letter of ``Memory2``, told by the sign of the first channel; no block adds anything."""
    config = GPT2Config(
        vocab_size=3,
        n_positions=2,
        n_embd=4,
        n_layer=1,
        n_head=1,
        tie_word_embeddings=False,
        layer_norm_epsilon=epsilon,
        bos_token_id=None,
        eos_token_id=None,
    )
    network = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, value in network.named_parameters():
            value.fill_(float("ln_" in name and name.endswith("weight")))
        network.transformer.wte.weight[:, 0] = size * torch.tensor([1.0, 1, -1])
        network.transformer.wte.weight[:, 1] = -network.transformer.wte.weight[:, 0]
        network.lm_head.weight[:2, 0] = torch.tensor([1.0, -1])
    return network


@pytest.mark.parametrize(
    ("size", "epsilon", "right"),
    [(1.0, 1e-5, True), (1e-15, 1e-30, True), (1e-25, 1e-60, False), (1e15, 1e-5, True), (1e20, 1e-5, False)],
)
def test_squares_that_vanish_or_overflow_are_seen(size: float, epsilon: float, right: bool) -> None:
    """Every channel is an ordinary float32; its square is 0, or infinite."""
    automaton, network = krohn.zoo("Memory2"), said_by_first(size, epsilon)
    with torch.no_grad():
        said = network(torch.tensor([[0], [1], [2]])).logits[:, 0]
    assert (said.argmax(-1).tolist() == [0, 0, 1] and bool(said.isfinite().all())) is right
    net = net_of_module(network, tokens_for(automaton, None))
    assert check_certificate(net, certificate_for(net, automaton, 1, "float32")).certified is right


NORM, VALUES = "transformer.h.0.ln_1", "transformer.h.0.attn.c_attn.bias"
UNREAD: dict[str, tuple[dict[str, float], bool]] = {
    "gain and bias of LayerNorm": ({f"{NORM}.weight": 5e37, f"{NORM}.bias": 3.3e38}, False),
    "the same without the gain": ({f"{NORM}.weight": 1.0, f"{NORM}.bias": 3.3e38}, True),
    "the same without the bias": ({f"{NORM}.weight": 5e37}, True),
    "values that a kernel adds up before it divides": ({VALUES: 2e38}, False),
    "values of which two can be added": ({VALUES: 1.2e38}, True),
}


@pytest.mark.parametrize("idea", UNREAD)
def test_what_nothing_reads_is_finite_too(idea: str) -> None:
    """0 times infinity is not 0. A value that overflows does so in torch's kernel, not in its eager form."""
    (change, finite), automaton, network = UNREAD[idea], krohn.zoo("Memory2"), said_by_first(1.0, 1e-5)
    with torch.no_grad():
        for name, size in change.items():
            tensor = network.get_parameter(name)
            tensor[-4:].fill_(size)  # the values, and all of a LayerNorm
        said = network(torch.tensor([[0, 0], [0, 1], [0, 2]])).logits[:, -1]
    assert bool(said.isfinite().all()) is finite
    net = net_of_module(network, {"prompt": [0], "letters": [0, 1, 2], "states": [0, 1]})
    assert check_certificate(net, certificate_for(net, automaton, 1, "float32")).certified is finite


@pytest.mark.parametrize(
    ("size", "epsilon", "gain", "right"),
    [
        (1e18, 1e-5, 1e-28, False),
        (1e18, 1e-5, 1e-18, True),
        (1e-15, 1e-30, 1e25, False),
        (1e-15, 1e-30, 1e15, True),
    ],
)
def test_a_gain_may_be_divided_by_the_deviation_first(
    size: float, epsilon: float, gain: float, right: bool
) -> None:
    """As oneDNN does: (x − mean) · (gain / deviation). It is 0, or infinite; torch's kernels are right."""
    automaton, network, one = krohn.zoo("Memory2"), said_by_first(size, epsilon), np.float32
    with torch.no_grad():
        network.transformer.ln_f.weight.fill_(gain)
        network.lm_head.weight[:2, 0] /= gain
        assert network(torch.tensor([[0], [1], [2]])).logits[:, 0].argmax(-1).tolist() == [0, 0, 1]
    x, norm, read = (
        network.get_parameter(f"{name}.weight").detach().numpy()
        for name in ("transformer.wte", "transformer.ln_f", "lm_head")
    )
    centred = x - x.mean(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        factor = norm * (1 / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + one(epsilon)))
        said = centred * factor @ read.T
    assert (bool(np.isfinite(said).all()) and said.argmax(-1).tolist() == [0, 0, 1]) is right
    net = net_of_module(network, tokens_for(automaton, None))
    assert check_certificate(net, certificate_for(net, automaton, 1, "float32")).certified is right


def test_a_channel_of_zeros_has_a_mean() -> None:
    """The last channel is 0 before LayerNorm, −√3 after it; times its gain it is infinite."""
    automaton = krohn.zoo("Memory2")
    for gain, finite in ((3e38, False), (1e37, True)):
        network = said_by_first(0.2, 1e-5)
        with torch.no_grad():
            network.transformer.wte.weight[:, :3] += 1
            network.transformer.wte.weight.mul_(8)  # gain / deviation is finite
            network.transformer.ln_f.weight[3] = gain
            network.lm_head.weight[:2, 1] = -network.lm_head.weight[:2, 0]
            said = network(torch.tensor([[0], [1], [2]])).logits[:, 0]
        assert (bool(said.isfinite().all()) and said.argmax(-1).tolist() == [0, 0, 1]) is finite
        net = net_of_module(network, tokens_for(automaton, None))
        assert check_certificate(net, certificate_for(net, automaton, 1, "float32")).certified is finite


def test_names_have_one_prefix_or_none() -> None:
    """transformers 4 takes tensors without it, beside others that have it, for missing, and draws them."""
    automaton, network = krohn.zoo("Memory2"), said_by_first(1.0, 1e-5)
    config, marks = json.loads(network.config.to_json_string()), tokens_for(automaton, None)
    held = {name: value.numpy() for name, value in network.state_dict().items()}
    none = {name.removeprefix("transformer."): value for name, value in held.items()}
    assert stock_net(config, held, marks).digest == stock_net(config, none, marks).digest
    mixed = {("wte.weight" if "wte" in name else name): value for name, value in held.items()}
    with pytest.raises(InvalidFile, match="all with or all without"):
        stock_net(config, mixed, marks)


def test_buffers_of_older_versions_are_ignored_if_they_are_the_usual_ones(
    network: GPT2LMHeadModel, folder: Path, tmp_path: Path
) -> None:
    """transformers ignores them, whatever they hold; an older version would take another mask from them."""
    own, marks = load_file(folder / "model.safetensors"), tokens_for(krohn.zoo("C5"), None)
    words, mask = torch.from_numpy(every_word(MODULUS, LENGTH)), torch.ones(1, 1, LENGTH, LENGTH).tril()
    bare = {name.removeprefix("transformer."): value for name, value in own.items()}
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    for held, name, buffer, says in (
        (own, "transformer.h.0.attn.bias", mask.bool(), None),
        (own, "transformer.h.0.attn.bias", mask.byte(), None),
        (bare, "h.0.attn.bias", mask, None),
        (own, "transformer.h.0.attn.masked_bias", torch.tensor(-1e4), None),
        (own, "transformer.h.0.attn.bias", torch.ones_like(mask).bool(), "must be the buffer"),
        (own, "transformer.h.0.attn.bias", mask[0, 0].clone(), "must be the buffer"),
        (own, "transformer.h.0.attn.bias", torch.tensor(1.0), "must be the buffer"),
        (own, "transformer.h.0.attn.masked_bias", torch.tensor(0.0), "must be the buffer"),
        (own, "transformer.h.0.attn.masked_bias", torch.tensor([-1e4]), "must be the buffer"),
        (own, "transformer.h.0.mlp.bias", mask, "unknown tensor"),
    ):
        save_file({**held, name: buffer}, tmp_path / "model.safetensors", metadata={"format": "pt"})
        with torch.no_grad():
            said = GPT2LMHeadModel.from_pretrained(tmp_path)(words).logits
        assert torch.equal(said, network(words).logits)
        if says is None:
            assert read_net(tmp_path, tokens=marks).digest == read_net(folder, tokens=marks).digest
            assert krohn.verify(tmp_path, automaton="C5", length=1).certified
        else:
            with pytest.raises(InvalidFile, match=says):
                krohn.verify(tmp_path, automaton="C5", length=1)


def test_the_sentence_says_what_tokens_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file of the network does: with others the same network is right about another automaton."""
    automaton, network = krohn.zoo("Memory2"), said_by_first(1.0, 1e-5)
    network.save_pretrained(tmp_path)
    net = net_of_module(network, {"prompt": [], "letters": [1, 0, 2], "states": [0, 1]})
    certificate = certificate_for(net, automaton, 1, "float32")
    tokens = "(tokens: prompt none; letters read = 1, 1 = 0, 2 = 2; states 1 = 0, 2 = 1)"
    assert tokens in certificate.claim.sentence()
    payload = certificate.to_json()
    for marks, status in (
        (payload["claim"]["configuration"]["tokens"], 0),
        ({}, 2),
        ("no lists", 2),
        (None, 2),
        ({"prompt": 1, "letters": [1, 0, 2], "states": [0, 1]}, 2),
        ({"prompt": [], "letters": ["1", {}, "\x1b[2J"], "states": [0, 1]}, 1),
    ):
        payload["claim"]["configuration"]["tokens"] = marks
        (tmp_path / "certificate.json").write_text(json.dumps(payload))
        assert main([str(tmp_path), str(tmp_path / "certificate.json")]) == status
        assert "\x1b" not in capsys.readouterr().out


def test_a_certificate_about_other_tokens_is_no_answer(folder: Path, tmp_path: Path) -> None:
    """The network is right about its own tokens; those that were asked for are another question."""
    file, automaton, numbers = tmp_path / "certificate.json", krohn.zoo("C5"), [*range(MODULUS)]
    krohn.verify(folder, automaton=automaton, length=1).save(file)
    turned = replace(
        automaton, table=automaton.table[:, ::-1].copy(), letter_names=automaton.letter_names[::-1]
    )
    named = {"states": {str(q): q for q in reversed(numbers)}, "letters": numbers}
    for meant, tokens, right in (
        (automaton, {"letters": numbers, "states": [*numbers[1:], 0]}, False),
        (automaton, {"letters": numbers, "states": numbers, "prompt": [0]}, False),
        (automaton, named, True),
        (turned, {"letters": numbers, "states": numbers}, False),  # a list is in the order of the automaton
        (turned, {"letters": numbers[::-1], "states": numbers}, True),
    ):
        again = krohn.verify(folder, automaton=meant, certificate=file, length=1, tokens=tokens)
        assert again.certified is right
        assert right or "other tokens" in again.reason
        if "prompt" not in tokens:
            assert krohn.verify(folder, automaton=meant, length=1, tokens=tokens).certified is right
    shown = replace(automaton, observe=tuple(numbers))
    seen = {"letters": numbers, "observations": numbers}
    assert not krohn.verify(folder, automaton=shown, certificate=file, length=1, tokens=seen).certified
    with pytest.raises(InvalidInput, match="leave --renamed out"):
        krohn.verify(folder, automaton=automaton, certificate=file, tokens=named, renamed=True)
    payload = json.loads(file.read_text())
    payload["claim"]["configuration"] = {}
    file.write_text(json.dumps(payload))
    assert not krohn.verify(folder, automaton=automaton, certificate=file, length=1).certified
    with pytest.raises(InvalidInput, match="names its own"):
        krohn.verify(compile("C2", length=2), tokens={"letters": [1, 0], "states": [0, 1]})


def test_a_word_that_float32_runs_wrong_refutes_nothing_in_float64(folder: Path) -> None:
    turned = {"letters": [*range(MODULUS)], "states": [*range(MODULUS)][::-1]}
    single, double = (
        krohn.verify(folder, dtype, automaton="C5", length=1, tokens=turned)
        for dtype in ("float32", "float64")
    )
    assert (single.reason, single.counterexample is None) == ("a word is run wrong", False)
    assert double.reason.startswith("words are proved in float32, not in float64; load it in float32")
    assert double.counterexample is None


def test_a_recheck_names_the_tokens_it_takes(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By others it is right about another automaton, and both verdicts were the same, line by line."""
    letters = ", ".join(f"{n} = {n}" for n in range(MODULUS))
    asked = ["verify", str(folder), "--automaton", "C5", "--length", "1"]
    file, turned = tmp_path / "certificate.json", tmp_path / "tokens.json"
    numbers = [*range(MODULUS)]
    turned.write_text(json.dumps({"letters": numbers, "states": numbers[::-1]}))
    assert run([*asked, "--out", str(file)]) == 0
    assert f"\ntokens: prompt none; letters {letters}; states {letters}\n" in capsys.readouterr().out
    assert run([*asked, "--tokens", str(turned)]) == 1
    assert f"\ntokens: prompt none; letters {letters}; states 0 = 4, 1 = 3, " in capsys.readouterr().out
    assert run([*asked, "--recheck", str(file), "--explain"]) == 0
    of_it = "tokens of the certificate (--tokens FILE compares them with yours): prompt none; letters 0 = 0, "
    assert f"\n{of_it}" in capsys.readouterr().out
    net = read_net(folder, tokens={"prompt": [0] * 9, "letters": [0] * 9, "states": []})
    many = certificate_for(net, krohn.zoo("C9"), 1, "float32")
    assert many.claim.tokens(2) == "prompt 0, 0, …; letters 0 = 0, 1 = 0, …; states "


@pytest.mark.parametrize("part", ["letters", "states", "prompt"])
def test_tokens_are_lists(
    part: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = {"letters": [*range(MODULUS)], "states": [*range(MODULUS)], "prompt": []}
    for numbers in (5, None):
        (tmp_path / "tokens.json").write_text(json.dumps({**right, part: numbers}))
        known = ["--automaton", "C5", "--tokens", str(tmp_path / "tokens.json")]
        assert run(["verify", str(folder), *known]) == 2
        said = capsys.readouterr().err
        assert f"tokens: {part} must be a list of numbers, as [5, 6]; got {numbers}" in said
    with pytest.raises(InvalidInput, match="tokens must be"):
        krohn.verify(folder, automaton="C5", tokens=[right])


def test_a_module_computes_in_the_type_of_its_tensors() -> None:
    """``half`` leaves the configuration alone. Two logits are infinite then, the first of them wrong."""
    automaton, network, words = krohn.zoo("Memory2"), said_by_first(1.0, 1e-5), torch.tensor([[0], [1], [2]])
    marks = {"prompt": [], "letters": [0, 1, 2], "states": [1, 2]}
    with torch.no_grad():
        network.lm_head.weight[:, 0] = torch.tensor([5e4, 6e4, -6e4])
        assert network(words).logits[:, 0].argmax(-1).tolist() == [1, 1, 2]
    network.config.dtype = torch.float32
    alone = certificate_for(net_of_module(network, marks), automaton, 1, "float32")
    assert check_certificate(net_of_module(network, marks), alone).certified
    assert "loaded" not in alone.claim.assumptions
    network.half()
    with torch.no_grad():
        assert network(words).logits[:, 0].argmax(-1).tolist() == [0, 0, 2]
    assert network.config.dtype == torch.float32
    net = net_of_module(network, marks)
    assert "loaded" in certificate_for(net, automaton, 1, "float32").claim.assumptions
    assert not check_certificate(net, alone).certified
    network.lm_head.float()
    assert net_of_module(network, marks).configuration["dtype"] is None


def test_a_folder_is_proved_in_the_type_in_which_it_is_loaded(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Readers round the weights to the type that the configuration names, where words may be wrong."""
    other = Path(shutil.copytree(folder, tmp_path / "half"))
    config = json.loads((folder / "config.json").read_text())
    assert run(["verify", str(folder), "--automaton", "C5"]) == 0
    (other / "config.json").write_text(json.dumps({**config, "dtype": "bfloat16"}))
    capsys.readouterr()
    assert run(["verify", str(other), "--automaton", "C5"]) == 1
    assert "in float32, not in bfloat16; load it in float32, and ask" in capsys.readouterr().out
    assert run(["verify", str(other), "--automaton", "C5", "--dtype", "float32"]) == 0
    assert "loaded" in capsys.readouterr().out


def test_words_that_cannot_be_run_in_time_or_memory_are_refused_at_once() -> None:
    """Two letters and 40 positions cost next to nothing each, and there are 2^40 words; prompts cost, too."""
    automaton, network = krohn.zoo("Memory2"), said_by_first(1.0, 1e-5)
    config = GPT2Config(**{**network.config.to_dict(), "n_positions": 9_000})
    long = GPT2LMHeadModel(config).eval()
    held = network.state_dict() | {"transformer.wpe.weight": torch.zeros(9_000, 4)}
    long.load_state_dict(held)
    for prompt, length, says in (
        ([], 1, ""),
        ([0] * 3, 1, ""),
        ([], 40, "more work than it is given (words"),
        ([], 8_000, "too long for the memory"),
        ([0] * 8_000, 1, "too long for the memory"),
        ([0] * 1_440, 1, "more work than it is given (words"),
    ):
        net = net_of_module(long, {"prompt": prompt, "letters": [0, 1, 2], "states": [0, 1]})
        verdict = check_certificate(net, certificate_for(net, automaton, length, "float32"))
        assert (verdict.certified, says in verdict.reason) == (not says, True)


def test_a_large_network_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with open(tmp_path / "model.safetensors", "wb") as stream:
        stream.truncate(2_000_000_000)
    with pytest.raises(krohn.KrohnError, match=r"at most 600,000,000 bytes is proved; .* has 2,000,000,000"):
        krohn.verify(tmp_path, automaton="Parity")
