"""A compiled network as a stock GPT-2: run by the stock code itself, and checked."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import krohn
from krohn.exporting.from_compiled import check, decoder_of_compiled
from krohn.exporting.hugging_face import hugging_face_files
from krohn.network.gpt2.decoder import Decoder, write_files
from krohn.network.gpt2.reference import logits

LENGTH = 20
KINDS = ["C5", "S4", "A5", "Grid3x4", "Dyck4,2", "FlipFlop", "Add", "T3"]
"""One automaton for each kind of plan: counters, groups with and without a scan, walls, stacks, memory."""


def stock(decoder: Decoder, folder: Path) -> transformers.GPT2LMHeadModel:
    write_files(folder, hugging_face_files(decoder, {}))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    assert type(model) is transformers.GPT2LMHeadModel
    return model.eval()


@pytest.mark.parametrize("name", KINDS)
def test_the_stock_model_is_right_on_random_words(name: str, tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo(name), length=LENGTH, unproved=True)
    decoder = decoder_of_compiled(network, normalized=True)
    model = stock(decoder, tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    automaton = network.automaton
    words = np.random.default_rng(1).integers(automaton.num_letters, size=(40, LENGTH))
    lines = [" ".join(automaton.letter_names[letter] for letter in word) for word in words]
    ids = tokenizer(lines, return_tensors="pt").input_ids
    with torch.no_grad():
        out = model(ids).logits.argmax(-1)[:, len(decoder.vocabulary.prompt) :]
    got = [tokenizer.convert_ids_to_tokens(row) for row in out]
    wanted = [[automaton.state_names[state] for state in row] for row in krohn.simulate(automaton, words)]
    assert got == wanted


def test_the_reference_is_what_the_stock_code_computes(tmp_path: Path) -> None:
    """In float32 both round; in float64 the difference is gone, so it was noise."""
    network = krohn.compile(krohn.zoo("Grid9"), length=LENGTH, unproved=True)
    decoder = decoder_of_compiled(network, normalized=True)
    model = stock(decoder, tmp_path)
    words = np.random.default_rng(2).integers(2, size=(8, LENGTH))
    ids, prompt = torch.tensor(decoder.token_ids(words)), len(decoder.vocabulary.prompt)
    with torch.no_grad():
        single = model(ids).logits[:, prompt:].numpy()
        double = model.double()(ids).logits[:, prompt:].numpy()
    scale = np.abs(double).max()
    assert np.abs(single - logits(decoder, words)).max() < 1e-3 * scale
    assert np.abs(double - logits(decoder, words, np.float64)).max() < 1e-9 * scale


def test_a_batch_of_words_of_several_lengths_is_filled_up_and_right(tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo("D6"), length=LENGTH, unproved=True)
    model = stock(decoder_of_compiled(network, normalized=True), tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    words = [[0, 1, 1, 0, 1], [1], [0, 0, 1]]
    names = network.automaton.letter_names
    lines = [" ".join(names[letter] for letter in word) for word in words]
    batch = tokenizer(lines, return_tensors="pt", padding=True)
    positions = (batch.attention_mask.cumsum(-1) - 1).clamp(min=0)  # as the card says
    with torch.no_grad():
        left = model(**batch, position_ids=positions).logits.argmax(-1)
        batch = tokenizer(lines, return_tensors="pt", padding=True, padding_side="right")
        right = model(**batch).logits.argmax(-1)
    for word, one, other in zip(words, left, right, strict=True):
        wanted = [network.automaton.state_names[state] for state in network.automaton.run(word)]
        assert tokenizer.convert_ids_to_tokens(one[-len(word) :]) == wanted
        assert tokenizer.convert_ids_to_tokens(other[1 : 1 + len(word)]) == wanted


def test_the_type_that_it_is_right_in_stands_first(tmp_path: Path) -> None:
    """In bfloat16 it is wrong without a word: the configuration and the card say so where they are read."""
    krohn.export(krohn.compile("S4", length=LENGTH), "hf", tmp_path / "s4", proof=False)
    config = json.loads((tmp_path / "s4" / "config.json").read_text())
    assert config["torch_dtype"] == config["dtype"] == "float32"
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "s4")
    assert model.dtype == torch.float32
    assert config["krohn"]["right_in"].split()[0] == "float32"
    page = (tmp_path / "s4" / "README.md").read_text().partition("# ")[2].splitlines()
    assert page[0].endswith("(float32)")
    assert 'dtype="float32"' in "".join(page[:4])
    assert "bfloat16" in "".join(page[:4])


@pytest.mark.parametrize("name", ["C2", "S4", "regex:a*b"])
def test_words_of_one_letter_need_no_layer_but_a_model(name: str, tmp_path: Path) -> None:
    network = krohn.compile(krohn.parse_spec(name), length=1, unproved=True)
    decoder = decoder_of_compiled(network, normalized=True)
    assert (decoder.layers, check(decoder, network).wrong) == (1, 0)
    words = np.arange(network.automaton.num_letters)[:, None]
    with torch.no_grad():
        out = stock(decoder, tmp_path)(torch.tensor(decoder.token_ids(words))).logits.argmax(-1)[:, -1]
    right = np.array(decoder.vocabulary.states)[krohn.simulate(network.automaton, words)[:, 0]]
    assert out.tolist() == right.tolist()


@pytest.mark.parametrize("normalized", [True, False])
def test_the_right_state_leads_by_twenty(normalized: bool) -> None:
    network = krohn.compile(krohn.zoo("D8"), length=40, unproved=True)
    checked = check(decoder_of_compiled(network, normalized=normalized), network)
    assert (checked.wrong, checked.counterexample) == (0, None)
    assert checked.words > 2**10 + 300  # all words of 10 letters, and long ones
    assert 19.9 < checked.least_lead < 20.1


def test_cached_generation_and_padding_on_the_right_change_nothing(tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo("S4"), length=LENGTH, unproved=True)
    decoder = decoder_of_compiled(network, normalized=True)
    model = stock(decoder, tmp_path)
    words = np.random.default_rng(3).integers(8, size=(3, LENGTH))
    ids = torch.tensor(decoder.token_ids(words))
    with torch.no_grad():
        whole = model(ids).logits
        cache, steps = None, []
        for place in range(ids.shape[1]):
            out = model(ids[:, place : place + 1], past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            steps.append(out.logits)
        padded = torch.cat([ids[:, :9], torch.zeros_like(ids[:, 9:])], dim=1)
        mask = (torch.arange(ids.shape[1]) < 9).long().expand_as(ids)
        short = model(padded, attention_mask=mask).logits[:, :9]
    assert (torch.cat(steps, dim=1).argmax(-1) == whole.argmax(-1)).all()
    assert (short.argmax(-1) == whole[:, :9].argmax(-1)).all()


def test_generating_one_token_gives_the_state_of_every_word_of_a_batch(tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo("S4"), length=LENGTH, unproved=True)
    model = stock(decoder_of_compiled(network, normalized=True), tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    names, words = network.automaton.letter_names, [[0, 1, 0, 1, 1], [1, 0]]
    lines = [" ".join(names[letter] for letter in word) for word in words]
    batch = tokenizer(lines, return_tensors="pt", padding=True)
    out = model.generate(**batch, max_new_tokens=1, do_sample=False)[:, -1]
    wanted = [network.automaton.state_names[network.automaton.run(word)[-1]] for word in words]
    assert tokenizer.convert_ids_to_tokens(out) == wanted


def test_sampling_at_temperature_one_returns_the_state() -> None:
    network = krohn.compile(krohn.zoo("A4"), length=LENGTH, unproved=True)
    decoder = decoder_of_compiled(network, normalized=True)
    words = np.random.default_rng(4).integers(2, size=(50, LENGTH))
    scores = torch.tensor(logits(decoder, words))
    right = torch.tensor(np.array(decoder.vocabulary.states)[krohn.simulate(network.automaton, words)])
    likely = scores.softmax(-1).gather(-1, right[..., None])
    assert likely.min() > 1 - 1e-6


@pytest.mark.parametrize(
    "name", ["transformer.wpe.weight", "transformer.h.0.mlp.c_fc.bias", "lm_head.weight"]
)
def test_a_broken_decoder_is_found_with_the_word_that_shows_it(name: str) -> None:
    network = krohn.compile(krohn.zoo("C3"), length=12, unproved=True)
    decoder = decoder_of_compiled(network, normalized=True)
    broken = decoder.tensors | {name: np.roll(decoder.tensors[name], 1, axis=0)}
    checked = check(replace(decoder, tensors=broken), network)
    result = checked.counterexample
    assert checked.wrong > 0
    assert checked.least_lead < 0
    assert result is not None
    word = np.array([[network.automaton.letter_names.index(letter) for letter in result.letters]])
    assert network.automaton.state_names[krohn.simulate(network.automaton, word)[0, -1]] == result.expected
    assert result.got != result.expected


@pytest.mark.parametrize("change", ["missing", "shape", "infinite"])
def test_a_decoder_that_does_not_fit_together_is_refused(change: str) -> None:
    decoder = decoder_of_compiled(krohn.compile(krohn.zoo("C2"), length=4, unproved=True), normalized=True)
    tensors, name = dict(decoder.tensors), "transformer.h.0.attn.c_proj.bias"
    if change == "missing":
        del tensors[name]
    elif change == "shape":
        tensors[name] = np.zeros(3, dtype=np.float32)
    else:
        tensors[name] = np.full_like(tensors[name], np.inf)
    with pytest.raises(ValueError, match=rf"{name}"):
        replace(decoder, tensors=tensors)


def test_heads_must_divide_the_width() -> None:
    decoder = decoder_of_compiled(krohn.compile(krohn.zoo("D6"), length=4, unproved=True), normalized=False)
    norms = [f"transformer.h.{block}.{norm}" for block in range(decoder.layers) for norm in ("ln_1", "ln_2")]
    ones = {
        f"{norm}.{part}": np.ones(decoder.dim, dtype=np.float32)
        for norm in [*norms, "transformer.ln_f"]
        for part in ("weight", "bias")
    }
    assert decoder.heads * decoder.width != decoder.dim
    with pytest.raises(
        ValueError, match=f"heads must divide the width {decoder.dim}; got {decoder.heads} of"
    ):
        replace(decoder, normalized=True, tensors={**decoder.tensors, **ones})
