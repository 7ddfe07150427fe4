"""The torch module computes what the numpy pass computes, and its names are those of the file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import krohn
from every import every
from krohn.automata.zoo import zoo
from krohn.errors import InvalidInput
from krohn.lab.bridge import states_on_device, to_torch
from krohn.lab.interpret.stages import Past, stages_of_transformer
from krohn.network.forward import logits
from krohn.network.transformer_file import transformer_from
from network.naive_transformer import naive_logits, random_transformer
from unproved import compile

ROOT = Path(__file__).parents[2]


@every(
    ("name", "method", "activation"),
    [("S4", "cascade", "relu"), ("Grid4", "grid", "sin"), ("C5", "paper", "sin")],
)
def test_the_module_computes_the_logits_of_the_numpy_pass(name: str, method: str, activation: str) -> None:
    automaton = zoo(name)
    network = compile(automaton, 30, method=method, activation=activation)  # type: ignore[arg-type]
    words = np.random.default_rng(0).integers(0, automaton.num_letters, (5, 30))
    module = to_torch(network)
    assert np.allclose(
        module(torch.from_numpy(words)).detach().numpy(), logits(network.transformer, words), atol=1e-8
    )
    expected = [automaton.run(word) for word in words.tolist()]
    for dtype in (torch.float64, torch.float32):
        assert to_torch(network, dtype=dtype).states(torch.from_numpy(words)).tolist() == expected


@pytest.mark.filterwarnings("ignore::UserWarning")  # some CPUs have no fast bfloat16 product and say so
def test_a_scan_survives_bfloat16() -> None:
    automaton = zoo("A5")
    words = np.random.default_rng(0).integers(0, automaton.num_letters, (5, 64))
    module = to_torch(compile(automaton, 64), dtype=torch.bfloat16)
    assert module.states(torch.from_numpy(words)).tolist() == [automaton.run(word) for word in words.tolist()]


def test_the_names_in_the_state_dict_are_those_of_the_file() -> None:
    network = compile(zoo("C5"), 12, method="paper", activation="sin")
    held = to_torch(network).state_dict()
    stored = network.transformer.tensors()
    assert set(held) == set(stored)
    assert all(np.array_equal(held[name].numpy(), stored[name]) for name in stored)


def test_a_device_that_is_not_here_is_refused() -> None:
    with pytest.raises(InvalidInput, match="one that torch has here; got 'nowhere'"):
        states_on_device(compile(zoo("C2"), 4), "float32", "nowhere")


def test_words_that_are_too_long_are_refused() -> None:
    module = to_torch(compile(zoo("C2"), 4))
    with pytest.raises(InvalidInput, match=r"length ≤ 4; got \(1, 5\)"):
        module(torch.zeros((1, 5), dtype=torch.long))


def test_long_words_are_attended_to_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    network = compile(zoo("FlipFlop"), 40)
    words = torch.from_numpy(np.random.default_rng(0).integers(0, 3, (3, 40)))
    whole = to_torch(network)(words)
    monkeypatch.setattr("krohn.lab.bridge.SCORE_ENTRIES", 500)
    assert torch.allclose(to_torch(network)(words), whole)


@pytest.mark.parametrize("padding", [0, 2])
def test_the_module_is_the_network_of_the_paper(padding: int) -> None:
    """Random matrices, heads of different widths, both activations, against plain loops."""
    network = random_transformer(3, padding=padding)
    words = np.random.default_rng(0).integers(3, size=(4, 5))
    result = to_torch(network)(torch.from_numpy(words)).detach().numpy()
    assert np.allclose(result, [naive_logits(network, word) for word in words.tolist()], atol=1e-12)


def test_gradients_reach_every_matrix_and_weights_travel_back() -> None:
    network = random_transformer(4)
    module = to_torch(network)
    words = torch.from_numpy(np.random.default_rng(0).integers(3, size=(4, 5)))
    module(words).square().sum().backward()
    assert all(value.grad is not None and bool(value.grad.any()) for value in module.parameters())
    with torch.no_grad():
        for value in module.parameters():
            value += 0.1 * torch.randn(value.shape, generator=torch.Generator().manual_seed(0))
    again = to_torch(network)
    assert not torch.allclose(again(words), module(words))
    again.load_state_dict(module.state_dict())
    assert torch.equal(again(words), module(words))
    held = {name: value.numpy() for name, value in module.state_dict().items()}
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.layers]
    outputs = logits(transformer_from(held, shape), words.numpy())
    assert np.allclose(outputs, module(words).detach().numpy(), atol=1e-12)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (torch.tensor([[0, -1]]), r"letters must lie in \[0, 2\); got -1 to 0"),
        (torch.tensor([[0, 2]]), r"letters must lie in \[0, 2\); got 0 to 2"),
        (torch.tensor([0, 1]), r"words must be \[batch, length\]"),
    ],
)
def test_unknown_letters_are_refused(words: torch.Tensor, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        to_torch(compile(zoo("C2"), 4))(words)


def test_empty_words_have_no_states() -> None:
    module = to_torch(compile(zoo("C2"), 4))
    assert module.states(torch.zeros((3, 0), dtype=torch.long)).shape == (3, 0)
    run = states_on_device(compile(zoo("C2"), 4), "float32", "cpu")
    assert run(np.array([[1, 1, 1]])).tolist() == [[1, 0, 1]]


@pytest.mark.parametrize(
    ("spec", "options"),
    [("Grid4", {}), ("C3", {"method": "paper", "activation": "sin"}), ("D6", {"method": "paper"})],
)
def test_an_opened_network_has_the_logits_of_the_module(spec: str, options: dict[str, str]) -> None:
    network = compile(zoo(spec), 6, **options)  # type: ignore[arg-type]
    sample = np.random.default_rng(0).integers(network.automaton.num_letters, size=(40, 6))
    stages, module = stages_of_transformer(network.transformer), to_torch(network)
    expected = module(torch.from_numpy(sample))
    assert torch.equal(stages.logits(sample), expected)
    passed = stages.run(sample)
    for layer, stream in enumerate(passed.streams):
        assert torch.allclose(stages.logits_from(layer, stream), expected, rtol=1e-9, atol=1e-9)


def test_a_hook_on_a_head_acts_in_every_pass() -> None:
    """A head whose output a hook replaces by 0 is a head whose W_C is 0."""
    network = compile(zoo("Grid4"), 6)
    sample = np.random.default_rng(0).integers(2, size=(40, 6))
    at = torch.full((40,), 5 + network.transformer.num_padding)
    hooked, zeroed = (stages_of_transformer(network.transformer) for _ in range(2))
    hooked.blocks[-1].heads[0].register_forward_hook(lambda module, given, output: 0 * output)
    zeroed.blocks[-1].heads[0].W_C.zero_()
    expected = zeroed.logits(sample)
    assert (expected.argmax(-1).numpy() != network.run(sample)).any()
    assert torch.allclose(hooked.logits(sample), expected)
    module = to_torch(network)
    module.layers[-1].heads[0].register_forward_hook(lambda module, given, output: 0 * output)
    assert torch.allclose(module(torch.from_numpy(sample)), expected)
    passed = hooked.run(sample)
    assert (passed.answers == expected.argmax(-1).numpy()).all()
    past = Past.of(passed, torch.arange(40), at)
    resumed = hooked.resume(0, passed.streams[0][torch.arange(40), at][:, None], past)[:, 0]
    assert (resumed.numpy() == passed.answers[:, -1]).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_batches_run_on_a_gpu() -> None:
    automaton = zoo("S4")
    words = np.random.default_rng(0).integers(0, automaton.num_letters, (64, 100))
    module = to_torch(compile(automaton, 100), dtype=torch.float32, device="cuda")
    states = module.states(torch.from_numpy(words).cuda()).cpu()
    assert states.tolist() == [automaton.run(word) for word in words.tolist()]


def test_an_output_that_is_no_number_is_no_state() -> None:
    """Infinity times 0 is NaN: the arg max of such logits is a state, for numpy and for torch."""
    network, words = compile(zoo("C2"), 4), torch.tensor([[1, 0, 1]])
    embedding, positions = network.transformer.embedding.copy(), network.transformer.positions.copy()
    embedding[:, 0] = positions[:, 0] = 1.7e308
    sick = replace(
        network, transformer=replace(network.transformer, embedding=embedding, positions=positions)
    )
    assert np.isnan(logits(sick.transformer, words.numpy())).any(axis=-1).all()
    assert sick(words[0].tolist()) == ["NaN"] * 3
    assert to_torch(sick).states(words).tolist() == [[-1] * 3]
    assert network(words[0].tolist()) == ["1", "1", "0"]
    run = krohn.load(ROOT / "results" / "networks" / "c2-lstm-proved")
    assert run(words[0].tolist()) == ["1", "1", "0"]
    run.weights["head.bias"][0, 1] = torch.nan
    assert run(words[0].tolist()) == ["NaN"] * 3
