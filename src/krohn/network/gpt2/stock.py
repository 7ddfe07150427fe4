"""A GPT-2 that others made, saved or in memory, with the tokens of an automaton's letters and states."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.observed import with_target
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import parse_json, read_json
from krohn.check.files.folders import Net, shown
from krohn.check.files.reader import Automaton
from krohn.check.rules import read_net
from krohn.check.transformer.words import checked_tokens, stock_net, stock_network
from krohn.errors import InvalidInput
from krohn.network.gpt2.decoder import LAYER_NORM_EPSILON, Decoder
from krohn.network.gpt2.vocabulary import Vocabulary

NAMED = {"gelu_pytorch_tanh": "gelu_new"}
"""Activations that are the same function under another name."""

Tokens = Mapping[str, Any]
OBSERVED = "observations"


def tokens_for(automaton: Semiautomaton, given: str | Path | Tokens | None) -> dict[str, list[int]]:
    """The tokens of prompt, letters and states, from a JSON file or an object.

    ``letters`` and ``states`` are lists in the order of the automaton, or objects by name; ``observations``
    stand in place of states if the network outputs these; ``prompt`` is a list, empty if it is missing.
    Without any of these, letter number i is token i, and so is state number i.
    """
    outputs, found = automaton.output_names, _read_tokens(given)
    if not found:
        return {"prompt": [], "letters": [*range(automaton.num_letters)], "states": [*range(len(outputs))]}
    marks = {"prompt": _listed("prompt", found.get("prompt", []))}
    for part, names in (("letters", automaton.letter_names), ("states", outputs)):
        numbers = found[OBSERVED if part == "states" and OBSERVED in found else part]
        if isinstance(numbers, Mapping):
            if set(numbers) != set(names):
                raise InvalidInput(f"tokens: {part} must name {', '.join(names[:8])}, each once")
            numbers = [numbers[name] for name in names]
        marks[part] = _listed(part, numbers)
    return marks


def _listed(part: str, numbers: Any) -> list[int]:
    if not isinstance(numbers, list | tuple):
        raise InvalidInput(f"tokens: {part} must be a list of numbers, as [5, 6]; got {shown(numbers)}")
    return list(numbers)


def named_tokens(automaton: Semiautomaton, given: str | Path | Tokens | None) -> dict[str, Any]:
    """The same by the names of letters and outputs, whatever their order."""
    meant = with_outputs(automaton, given)
    marks = tokens_for(meant, given)
    letters, outputs = (
        dict(zip(names, marks[part], strict=False))
        for part, names in (("letters", meant.letter_names), ("states", meant.output_names))
    )
    return {**marks, "letters": letters, "states": outputs, "target": meant.target}


def with_outputs(automaton: Semiautomaton, given: str | Path | Tokens | None) -> Semiautomaton:
    """The automaton that shows what the network outputs: observations, if its tokens name them."""
    return with_target(automaton, "observation") if OBSERVED in _read_tokens(given) else automaton


def _read_tokens(given: str | Path | Tokens | None) -> Tokens:
    found = read_json(Path(given)) if isinstance(given, str | Path) else {} if given is None else given
    keys = set(found) - {"prompt"} if isinstance(found, Mapping) else set()
    if given is not None and keys not in ({"letters", "states"}, {"letters", OBSERVED}):
        raise InvalidInput(
            'tokens must be {"letters": …, "states": …} or {"letters": …, "observations": …}, perhaps with a '
            '"prompt"'
        )
    return found


def net_of_module(module: Any, tokens: Tokens | None) -> Net:
    """A ``GPT2LMHeadModel`` in memory; its weights as they are."""
    config = parse_json(module.config.to_json_string())  # what save_pretrained writes
    tensors = {name: value.detach().cpu() for name, value in module.state_dict().items()}
    half = {name for name, value in tensors.items() if value.element_size() < 4}
    arrays = {name: (value.float() if name in half else value).numpy() for name, value in tensors.items()}
    # ``module.half()`` computes in float16 and leaves what its configuration says.
    types = {
        str(value.dtype).removeprefix("torch.") for value in tensors.values() if value.is_floating_point()
    }
    if types != {config.get("dtype", config.get("torch_dtype"))}:
        config |= {"dtype": types.pop() if len(types) == 1 else None, "torch_dtype": None}
    return stock_net(config, arrays, tokens)


def stock_of(network: Any, automaton: Semiautomaton, tokens: str | Path | Tokens | None) -> Net:
    """The network of a folder or a module, with the tokens that it takes letters and gives states by."""
    marks = tokens_for(automaton, tokens)
    is_folder = isinstance(network, str | Path)
    net = read_net(network, tokens=marks) if is_folder else net_of_module(network, marks)
    shows = np.array(automaton.outputs, dtype=np.int64)
    checked_tokens(net, Automaton(np.asarray(automaton.table, dtype=np.int64), automaton.start, shows))
    return net


def decoder_of_stock(net: Net) -> Decoder:
    """The network as every other part reads it; refuses what is not GPT-2's forward pass."""
    stock_network(net)  # shapes, names, activation
    about, tokens = net.configuration, net.configuration["tokens"]
    if about["layer_norm_epsilon"] != LAYER_NORM_EPSILON:
        raise InvalidInput(
            f"layer_norm_epsilon must be {LAYER_NORM_EPSILON}; it is {about['layer_norm_epsilon']}"
        )
    tensors = {name: np.asarray(tensor, dtype=np.float32) for name, tensor in net.tensors.items()}
    tensors.setdefault("lm_head.weight", tensors["transformer.wte.weight"])
    names = tuple(map(str, range(about["vocab_size"])))
    prompt, letters, states = (tuple(tokens[part]) for part in ("prompt", "letters", "states"))
    return Decoder(
        layers=about["n_layer"],
        heads=about["n_head"],
        width=about["n_embd"] // about["n_head"],
        activation=NAMED.get(about["activation_function"], about["activation_function"]),
        normalized=True,
        vocabulary=Vocabulary(names, prompt, -1, -1, letters, states),
        tensors=tensors,
    )
