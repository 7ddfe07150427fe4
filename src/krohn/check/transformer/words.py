"""Every word up to a length, one after another: the rules for any GPT-2, built, trained or brought along.

Words with a common beginning share its pass. A word is right if its logit leads all others by more than
``running_error`` says that the two can be off.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.claim import ANY, Claim
from krohn.check.files.folders import (
    MODEL,
    STOCK,
    TOKENS,
    Net,
    Tensors,
    read_fields,
    read_json,
    read_tensors,
    shown,
    whole_numbers,
)
from krohn.check.files.reader import Automaton, Network
from krohn.check.ground import Array, Refused, Verdict, Work, inside, require
from krohn.check.transformer.gpt2 import BESIDE, GPT2, PASSED, READ, SIZES, TYPES, USUAL, sized_decoder
from krohn.check.transformer.near import ACTIVATIONS, Near, Passed
from krohn.check.transformer.running_error import Running
from krohn.check.transformer.stream import after_heads, after_mlp, logits
from krohn.errors import need

BLOCK_CALLS, HEAD_CALLS = 2e7, 3e6
"""Multiplications that a block costs besides its own, and a head for each position that it sees."""
FROM_OLDER = frozenset({"_name_or_path", "gradient_checkpointing", "_attn_implementation_autoset"})
"""Fields of earlier versions of ``transformers`` that change no answer."""
MASK = (".attn.bias", ".attn.masked_bias")
"""Buffers of earlier versions, which later ones ignore: the causal mask, and the score of what it hides."""


def stock_net(config: Any, tensors: Tensors, tokens: Mapping[str, Any] | None) -> Net:
    """Configuration and tensors as ``transformers`` saves them, and which tokens mean what."""
    need(isinstance(config, dict), "config.json must be an object")
    need(config.get("model_type") == GPT2, "config.json must have model_type gpt2")
    config = {**config, "n_inner": config.get("n_inner")}
    about = read_fields(config, "config.json", READ, PASSED | FROM_OLDER)
    need(about["dtype"] in TYPES and about["torch_dtype"] in TYPES, "config.json: dtype is unknown")
    marks = {} if tokens is None else {"tokens": {part: list(tokens[part]) for part in TOKENS}}
    # Where only some names begin with it, earlier versions of the library draw the other tensors at random.
    prefix = {name.startswith("transformer.") for name in tensors if not name.startswith("lm_head.")}
    need(
        len(prefix) <= 1, "tensors must have GPT-2's names, all with or all without transformer. before them"
    )
    own = {
        name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}": tensor
        for name, tensor in tensors.items()
    }
    for name in [name for name in own if name.endswith(MASK)]:
        mask = own.pop(name)
        usual = mask.shape == () and mask == -1e4 if name.endswith(MASK[1]) else is_causal(mask)
        need(usual, f"{name} must be the buffer of the causal mask that transformers once saved")
    table, head = (own.get(name) for name in ("transformer.wte.weight", "lm_head.weight"))
    tied = about["tie_word_embeddings"] is True and table is not None and head is not None
    if tied and np.array_equal(table, head):  # type: ignore[arg-type]
        del own["lm_head.weight"]  # a module lists it, a file does not
    return Net(STOCK, {**about, **marks}, own)


def is_causal(mask: npt.NDArray[Any]) -> bool:
    """Whether a position sees itself and those before it; compared row by row, in little memory."""
    if mask.ndim != 4 or mask.shape != (1, 1, *mask.shape[3:] * 2):
        return False
    places = np.arange(mask.shape[3])
    return all(np.array_equal(row, places <= t) for t, row in enumerate(mask[0, 0]))


def read_stock(folder: Path, tokens: Mapping[str, Any] | None = None) -> Net:
    """What ``save_pretrained`` writes for a GPT-2; nothing in it is executed."""
    beside = [name for name in BESIDE if (folder / name).exists()]
    need(
        not beside,
        f"{next(iter(beside), '')} must not be there: save the network in one file, without adapters",
    )
    return stock_net(read_json(folder / "config.json"), read_tensors(folder / MODEL), tokens)


def stock_network(net: Net) -> Network:
    """Every tensor, as float32 holds it; refuses what is not GPT-2's forward pass."""
    about, tokens, tensors = net.configuration, net.configuration["tokens"], dict(net.tensors)
    for name, value in {"model_type": GPT2, **USUAL}.items():
        need(about[name] == value, f"config.json must have {name} {value}; it has {shown(about[name])}")
    bend = about["activation_function"]
    need(bend in ACTIVATIONS, f"activation_function must be one of {', '.join(ACTIVATIONS)}")
    table = tensors.get("transformer.wte.weight")
    need(table is not None, "the tensor transformer.wte.weight must be there")
    if about["tie_word_embeddings"]:
        same = np.array_equal(tensors.setdefault("lm_head.weight", table), table)  # type: ignore[arg-type]
        need(same, "lm_head.weight must be transformer.wte.weight, as tie_word_embeddings says")
    for name, tensor in tensors.items():
        need(tensor.dtype.kind == "f", f"{name} must be of floats")
        tensors[name] = tensor.astype(np.float32, copy=False)
    sizes = [about[name] for name in SIZES]
    whole = whole_numbers(sizes[2], 2**20, least=1)
    sizes[3] = 4 * sizes[2] if whole and sizes[3] is None else sizes[3]
    return sized_decoder(tensors, sizes, tokens, about["layer_norm_epsilon"], bend)


def after(network: Network, token: Array, path: Sequence[Passed]) -> tuple[Running, Near]:
    """The stream after each of some tokens that follow the same beginning.

    The first sum is one addition: float32 has one result.
    """
    run = Running(network, path)
    x = run.started((token + network.positions[len(path)]).astype(np.float32).astype(np.float64))
    for number, layer in enumerate(network.layers, 1):
        with inside(f"block {number}", number):
            x = after_mlp(run, layer, after_heads(run, layer, x))
    return run, x


def size_of(network: Network) -> int:
    """Entries of all matrices but the embedding."""
    parts = (part for layer in network.layers for head in layer.heads for part in vars(head).values())
    weights = (weight for layer in network.layers for weight in layer.weights)
    return int(network.readout.size + sum(part.size for part in (*parts, *weights)))


def cost(network: Network, place: int, words: int) -> float:
    """Multiplications for so many words at a position, run at once."""
    d, blocks, size = len(network.readout), len(network.layers), size_of(network)
    heads = sum(len(layer.heads) for layer in network.layers)
    calls = BLOCK_CALLS * blocks + HEAD_CALLS * heads * (place + 1)  # operations on arrays, however small
    return calls + float(words * (place + 1) * (2 * size * d + blocks**2 * (place + 1) * d**3))


def costs(network: Network, length: int) -> Iterator[float]:
    """The cost of all words of one letter, of two, and so on, of each its last letter."""
    words, letters = 1.0, len(network.embedding)
    for place in range(len(network.padding), len(network.padding) + length):
        yield cost(network, place, letters) * words
        words *= letters


def held(network: Network, place: int) -> int:
    """Entries of the slopes of the widest tensor, for one word at a position."""
    d, units = len(network.readout), (len(bias) for layer in network.layers for bias in layer.biases)
    return int(d * max(network.readout.shape[1], *units) * 2 * len(network.layers) * (place + 1))


Found = tuple[tuple[int, ...], Array]
"""The beginning of some words, and the least lead after it and each further letter."""
TOGETHER, MOST_HELD = 1 << 24, 1 << 25
"""Entries of slopes that are held at once: for several words; for one, unless the network itself is large."""


# Rule: all words up to a length.
# Hypotheses: a position reads those before it alone, and of these only what is in ``Passed``. Conclusion:
# each word has at least its lead, in any run. Why: bounds hold for each run by itself, so words with one
# beginning share them, even if a library rounds it otherwise in each.
def leads_of(
    network: Network, automaton: Automaton, outputs: Sequence[int], length: int, budget: Work
) -> Iterator[Found]:
    """The leads on all words up to a length, beginning by beginning; ``outputs``: the tokens of states."""
    letters, d = network.embedding.shape
    path: list[Passed] = []
    last, shown = len(network.padding) + length, np.array(outputs, dtype=np.int64)[automaton.shows]
    # Each half block keeps its slopes by those before it, at this position and all before.
    kept = max((len(network.layers) * d * last) ** 2, held(network, last))
    fits = kept <= max(MOST_HELD, 16 * size_of(network))
    require(fits, "words are too long for the memory of this check", "use a shorter length")
    spent, prompt = 0.0, (cost(network, place, 1) for place in range(len(network.padding)))
    for more in (*prompt, *costs(network, length)):
        spent += more
        budget.foresee(spent, "words; --effort allows more")
    for token in network.padding:
        budget.spend(cost(network, len(path), 1), "the prompt")
        path.append(after(network, token[None], path)[0].made)

    def walk(word: tuple[int, ...], state: int, path: list[Passed]) -> Iterator[Found]:
        rows = max(1, TOGETHER // held(network, len(path)))
        for first in range(0, letters, rows):
            some = np.arange(first, min(first + rows, letters))
            budget.spend(cost(network, len(path), len(some)), "words")
            run, stream = after(network, network.embedding[some], path)
            states = automaton.table[state, some]
            yield word, run.lead(logits(run, network, stream), shown[states]).min(axis=1)
            # Depth first: the passes of one beginning are held at a time, not those of all.
            for row, letter in enumerate(some.tolist()):
                if len(path) + 1 < last:
                    yield from walk((*word, letter), int(states[row]), [*path, run.made.word(row)])

    yield from walk((), automaton.start, path)


def prove_words(net: Net, claim: Claim, witness: object, work: float) -> Verdict:
    """Whether the claim holds: every word of at most so many letters leads."""
    require(claim.up_to is not None, "words of every length cannot be run; the claim must name a length")
    require(claim.order == ANY, "these rules are for any order of sums")
    advice = "load it in float32, and ask about --dtype float32"
    require(claim.dtype == "float32", f"words are proved in float32, not in {claim.dtype}", advice)
    require(witness is None, "the witness of these rules is null")
    tokens = checked_tokens(net, claim.automaton)
    network = stock_network(net)
    longest = len(network.positions) - len(tokens["prompt"])
    length = claim.up_to or 0
    require(length <= longest, f"the network has positions for words of at most {longest} letters")
    margin = np.inf
    for word, leads in leads_of(network, claim.automaton, tokens["states"], length, Work(work)):
        least = int(leads.argmin())
        if not (leads > 0).all():
            read = " ".join(claim.letters[letter] for letter in (*word, least))
            raise Refused(f"the right logit does not lead by more than rounding on the word {read}")
        margin = min(margin, float(leads[least]))
    return Verdict(True, margin, "")


def checked_tokens(net: Net, automaton: Automaton) -> dict[str, list[int]]:
    """The tokens of prompt, letters and outputs, if they fit the automaton and the vocabulary."""
    tokens, words = net.configuration.get("tokens"), net.configuration["vocab_size"]
    need(isinstance(tokens, dict) and set(tokens) == set(TOKENS), f"tokens must have {', '.join(TOKENS)}")
    made: dict[str, list[int]] = tokens  # type: ignore[assignment]
    for part, count in (("prompt", None), ("letters", automaton.table.shape[1]), ("states", None)):
        fits = whole_numbers(made[part], words, count)
        need(
            fits, f"tokens: {part} must be {'numbers' if count is None else f'{count} numbers'} below {words}"
        )
        need(part == "prompt" or len(set(made[part])) == len(made[part]), f"tokens: {part} must be different")
    need(automaton.shows.max() < len(made["states"]), "tokens: every output must have a token of its own")
    return made
