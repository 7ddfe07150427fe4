"""An export and its certificate, with one thing changed that decides the answer: judged by transformers.

Every change is refused by both programs. Those that transformers answers wrongly would have been certified by
a checker that does not read the field; the others change nothing today, or make the folder unreadable.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForCausalLM

import krohn
from krohn.check.__main__ import main
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.rules import RULES, check_certificate, read_net
from krohn.cli.app import run
from krohn.errors import KrohnError
from krohn.proving.word_search import all_words

LENGTH = 6
KEPT = Path(__file__).parents[2] / "results" / "networks"


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    base = tmp_path_factory.mktemp("exports")

    def export(name: str) -> Path:
        if not (base / name).exists():
            krohn.export(krohn.compile(name, length=LENGTH), "hf", base / name)
        return base / name

    return export


def configured(**fields: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **fields}))

    return change


def generating(**fields: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "generation_config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))

    return change


def tensors(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        held = {name: tensor.copy() for name, tensor in load_file(folder / "model.safetensors").items()}
        change(held)
        save_file(held, folder / "model.safetensors", {"format": "pt"})

    return changed


def tokens(folder: Path) -> None:
    facts = json.loads((folder / "export.json").read_text())
    facts["tokens"]["letters"].reverse()
    (folder / "export.json").write_text(json.dumps(facts))


def names(folder: Path) -> None:
    automaton = json.loads((folder / "automaton.json").read_text())
    automaton["letters"].reverse()
    (folder / "automaton.json").write_text(json.dumps(automaton))


def nudged(held: dict[str, Any]) -> None:
    held["lm_head.weight"][0, 0] += 2.0**-20


def exchanged(held: dict[str, Any]) -> None:
    """The rows of two output tokens."""
    held["lm_head.weight"][[-2, -1]] = held["lm_head.weight"][[-1, -2]]


CHANGES: dict[str, tuple[Callable[[Path], None], bool]] = {
    "layer_norm_epsilon": (configured(layer_norm_epsilon=1e15), True),
    "layer_norm_epsilon, a little": (configured(layer_norm_epsilon=1.1e-5), False),
    "scale_attn_weights": (configured(scale_attn_weights=False), True),
    "scale_attn_by_inverse_layer_idx": (configured(scale_attn_by_inverse_layer_idx=True), False),
    "reorder_and_upcast_attn": (configured(reorder_and_upcast_attn=True), False),
    "activation_function": (configured(activation_function="gelu_new"), True),
    "another name of n_layer": (configured(num_hidden_layers=1), True),
    "n_layer": (configured(n_layer=1), True),
    "tie_word_embeddings": (configured(tie_word_embeddings=True), False),
    "a field that is not known": (configured(rope_theta=10_000), False),
    "dtype": (configured(dtype="float16"), False),
    "do_sample": (generating(do_sample=True), False),
    "max_new_tokens": (generating(max_new_tokens=3), False),
    "temperature": (generating(temperature=0.1), False),
    "one more tensor": (tensors(lambda held: held.update(extra=np.zeros(3, np.float32))), False),
    "one number of a tensor": (tensors(nudged), False),
    "an adapter": (lambda folder: (folder / "adapter_config.json").write_text("{}") and None, False),
    "tokens of letters": (tokens, False),
    "names of letters": (names, False),
}
"""What is changed, and whether transformers then answers some word wrongly."""


def wrong_in_transformers(
    folder: Path, facts: dict[str, Any], name: str = "D6", length: int = LENGTH
) -> bool:
    automaton = krohn.zoo(name)
    words = all_words(automaton.num_letters, length)
    prompt = np.broadcast_to(np.array(facts["prompt"], dtype=np.int64), (len(words), len(facts["prompt"])))
    ids = np.concatenate([prompt, np.array(facts["letters"])[words]], axis=1)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        shown = model(torch.from_numpy(ids)).logits.argmax(-1).numpy()[:, len(facts["prompt"]) :]
    return bool((shown != np.array(facts["states"])[krohn.simulate(automaton, words)]).any())


def refused(folder: Path, honest: Certificate) -> bool:
    """Whether both programs refuse its certificate; and one that claims what the changed files say, by the
    same witness; and whether a new proof fails.
    """
    own = str(folder / "certificate.json")
    statuses = [main([str(folder), own]), run(["verify", str(folder), "--recheck", own])]
    statuses.append(run(["verify", str(folder)]))
    try:
        net = read_net(folder)
    except KrohnError:
        return set(statuses) <= {1, 2}
    claim = replace(honest.claim, network=net.digest, configuration=net.configuration)
    claim = replace(claim, assumptions=RULES["transformer"].assumptions(net, claim))
    (folder / "forged.json").write_text(json.dumps(replace(honest, claim=claim).to_json()))
    statuses.append(main([str(folder), str(folder / "forged.json")]))
    return set(statuses) <= {1, 2}


@pytest.mark.parametrize("spec", ["D6", "Grid4", "abab", "C2", "D8"])
def test_the_export_itself_is_right_and_proved(spec: str, exports: Callable[[str], Path]) -> None:
    export = exports(spec)
    facts = json.loads((export / "export.json").read_text())["tokens"]
    assert not wrong_in_transformers(export, facts, spec)
    assert main([str(export), str(export / "certificate.json")]) == 0


@pytest.mark.parametrize("name", CHANGES)
def test_one_change_is_refused(name: str, exports: Callable[[str], Path], tmp_path: Path) -> None:
    change, matters = CHANGES[name]
    export = exports("D6")
    folder = Path(shutil.copytree(export, tmp_path / "changed"))
    facts = json.loads((export / "export.json").read_text())["tokens"]
    change(folder)
    if matters:
        assert wrong_in_transformers(folder, facts)
        assert refused(folder, read_certificate(export / "certificate.json"))
    else:
        assert main([str(folder), str(folder / "certificate.json")]) in (1, 2)
        assert run(["verify", str(folder), "--recheck", str(folder / "certificate.json")]) in (1, 2)


def test_the_export_of_a_trained_network_is_proved_word_by_word(tmp_path: Path) -> None:
    """A kept GPT, right on short words in transformers; each change that its answers depend on is refused."""
    folder, proof = tmp_path / "export", tmp_path / "proof.json"
    krohn.export(KEPT / "c2-gpt", "hf", folder)
    facts = json.loads((folder / "export.json").read_text())["tokens"]
    assert not wrong_in_transformers(folder, facts, "C2", 1)
    assert run(["verify", str(folder), "--length", "1", "--out", str(proof)]) == 0
    assert main([str(folder), str(proof), "--as-claimed"]) == 0
    assert main([str(folder), str(proof)]) == 1  # it reads longer words than the claim is about
    for number, change in enumerate((configured(model_type="gpt_neo"), tensors(exchanged), tokens)):
        changed = Path(shutil.copytree(folder, tmp_path / str(number)))
        change(changed)
        assert main([str(changed), str(proof), "--as-claimed"]) == 1
        assert run(["verify", str(changed), "--length", "1"]) in (1, 2)


def doubled_heads(folder: Path) -> None:
    """Twice as many heads, each half as wide: the tensors fit as before."""
    config = json.loads((folder / "config.json").read_text())
    configured(n_head=2 * config["n_head"])(folder)


WRONG: dict[str, Callable[[Path], None]] = {
    "layer_norm_epsilon": configured(layer_norm_epsilon=1e9),
    "heads": doubled_heads,
    "activation_function": configured(activation_function="silu"),
    "layers": configured(n_layer=1),
}
ANSWERS = [
    *((spec, "layer_norm_epsilon") for spec in ("Grid4", "abab", "C2", "D8")),
    ("Grid4", "heads"),
    *((spec, "activation_function") for spec in ("Grid4", "C2", "D8")),
    ("Grid4", "layers"),
]
"""Automata, and changes of a configuration after which transformers answers some word wrongly."""


@pytest.mark.parametrize(("spec", "name"), ANSWERS)
def test_a_configuration_that_transformers_answers_wrongly_is_refused(
    spec: str, name: str, exports: Callable[[str], Path], tmp_path: Path
) -> None:
    export = exports(spec)
    facts = json.loads((export / "export.json").read_text())["tokens"]
    folder = Path(shutil.copytree(export, tmp_path / "changed"))
    WRONG[name](folder)
    assert wrong_in_transformers(folder, facts, spec)
    assert refused(folder, read_certificate(export / "certificate.json"))


@pytest.mark.parametrize("name", ["suppress_tokens", "pad_token_id"])
def test_what_generate_is_told_decides_its_answer(
    name: str, exports: Callable[[str], Path], tmp_path: Path
) -> None:
    """Its card recommends ``generate``, which was told not to say a state, or to skip a letter as padding."""
    folder = Path(shutil.copytree(exports("FlipFlop"), tmp_path / "net"))
    facts, automaton = json.loads((folder / "export.json").read_text())["tokens"], krohn.zoo("FlipFlop")
    own = str(folder / "certificate.json")
    words = all_words(automaton.num_letters, LENGTH)[::7]
    prompt = np.tile(np.array(facts["prompt"], dtype=np.int64), (len(words), 1))
    ids = torch.from_numpy(np.concatenate([prompt, np.array(facts["letters"])[words]], axis=1))
    wanted = np.array(facts["states"])[krohn.simulate(automaton, words)[:, -1]]

    def wrong() -> bool:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        said = torch.cat([model.generate(word[None])[0, -1:] for word in ids])
        return bool((said.numpy() != wanted).any())

    assert not wrong()
    assert main([str(folder), own]) == run(["verify", str(folder)]) == 0
    generating(**{name: [facts["states"][1]] if name == "suppress_tokens" else facts["letters"][1]})(folder)
    assert wrong()
    assert main([str(folder), own]) == run(["verify", str(folder)]) == 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_no_half_type_is_claimed_for_a_reader_that_computes_it_otherwise(dtype: str, tmp_path: Path) -> None:
    """Some multiply queries and keys in the half type itself, where scores can overflow."""
    krohn.export(krohn.compile("FlipFlop", length=4), "hf", tmp_path / "net")
    assert krohn.verify(tmp_path / "net").certified
    verdict = krohn.verify(tmp_path / "net", dtype)
    assert "exports are proved in float32 and float64 only" in verdict.reason
    own = read_certificate(tmp_path / "net" / "certificate.json")
    half = replace(own.claim, dtype=dtype)
    half = replace(half, assumptions=RULES["transformer"].assumptions(read_net(tmp_path / "net"), half))
    assert not check_certificate(read_net(tmp_path / "net"), replace(own, claim=half)).certified
