"""Trained networks whose variables are known beforehand: taught by doubling, stored, and put to the test.

After block l = 1 … 4 a network was taught to hold, at each position, the product of the last 2^l letters.
What it does hold is measured: the stream of one position is exchanged between two words, all of it or the
part along the classes of the product, and the answers from there on must be those of the scan.

Weights are stored as whole numbers of eight bits, a scale for each row; the network of the suite is the one
with these weights, and every number about it was measured on it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.numpy import load_file

from krohn.automata.sampling import sample
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo
from krohn.base.files import read_json
from krohn.lab.interpret.findings import Share
from krohn.lab.interpret.readings import window_maps
from krohn.lab.interpret.stages import stages_of_decoder
from krohn.lab.suite.catalogue import TAUGHT_LENGTH, Entry
from krohn.lab.suite.causal import TEST, TRAIN, Counterfactual
from krohn.lab.suite.graph import Circuit, Graph, circuit_of
from krohn.lab.suite.patching import EdgeModel
from krohn.lab.suite.swaps import interchange_accuracy
from krohn.network.gpt2.decoder import Decoder
from krohn.network.gpt2.reference import logits
from krohn.network.gpt2.vocabulary import vocabulary_of

Words = npt.NDArray[np.int64]

LENGTH, BLOCKS, HEADS, WIDTH = TAUGHT_LENGTH, 4, 4, 32
WEIGHTS = Path(__file__).parent / "weights"
CIRCUITS = WEIGHTS / "circuits.json"
"""The edges of each network's circuit, a bit each, and the other pairs of words on which it was faithful."""
PAIRS, FITTED, JUDGED = 160, 512, 1_024


def load(entry: Entry) -> tuple[Decoder, Semiautomaton]:
    """A network of the tier."""
    automaton, parts = zoo(entry.automaton), load_file(WEIGHTS / f"{entry.name}.safetensors")
    tensors = {
        key: (part * parts[f"{key}.scale"]).astype(np.float32) if part.dtype == np.int8 else part
        for key, part in parts.items()
        if not key.endswith(".scale")
    }
    words = vocabulary_of(automaton.letter_names, automaton.state_names, 0)
    return Decoder(BLOCKS, HEADS, WIDTH, "gelu_new", True, words, tensors), automaton


def draw(automaton: Semiautomaton, count: int, seed: int) -> Words:
    """Words as in training."""
    return sample(automaton, length=LENGTH, count=count, seed=seed).letters.astype(np.int64)


def products(automaton: Semiautomaton, words: Words, window: int) -> npt.NDArray[np.int64]:
    """[word, t, state]: where the last ``window`` letters, or all up to t, take each state."""
    return window_maps(automaton.table.astype(np.int64), words, window)


def predict(automaton: Semiautomaton, base: Words, source: Words, letter: Words, window: int) -> Words:
    """The states of a scan whose product at ``letter`` comes from the source: every ``window`` letters later
    it is used, elsewhere it is not.
    """
    held, own = products(automaton, source, window), products(automaton, base, LENGTH)[:, :, automaton.start]
    out, rows = own.copy(), np.arange(len(base))
    before = np.where(letter >= window, own[rows, np.maximum(letter - window, 0)], automaton.start)
    state = held[rows, letter, before]
    for t in range(LENGTH):
        state = np.where(t > letter, automaton.table[state, base[:, t]], state)
        used = (t >= letter) & ((t - letter) % window == 0)
        out[:, t] = np.where(used, state, out[:, t])
    return out


def counterfactuals(automaton: Semiautomaton, block: int, seed: int, split: str) -> list[Counterfactual]:
    """Pairs of words whose product differs at a letter; three of four change an answer."""
    window, many = 2**block, 6 * PAIRS
    rng = np.random.default_rng([seed, block, split == TEST])
    base, source = (draw(automaton, many, int(rng.integers(2**31))) for _ in range(2))
    letter = rng.integers(LENGTH, size=many)
    rows, own = np.arange(many), products(automaton, base, LENGTH)[:, :, automaton.start]
    values = [products(automaton, side, window)[rows, letter] for side in (base, source)]
    after = predict(automaton, base, source, letter, window)
    differ, telling = (values[0] != values[1]).any(axis=1), (after != own).any(axis=1)
    kinds = ((differ & telling, PAIRS * 3 // 4), (differ & ~telling, PAIRS // 4))
    chosen = [row for flags, most in kinds for row in np.flatnonzero(flags)[:most]]
    return [
        Counterfactual(
            f"product of {window} letters",
            tuple(base[row].tolist()),
            tuple(source[row].tolist()),
            int(letter[row]),
            tuple(after[row].tolist()),
            bool(telling[row]),
            split,
        )
        for row in chosen
    ]


def looks(decoder: Decoder, automaton: Semiautomaton, seed: int) -> list[list[float]]:
    """For each block and head the mean attention to where a scan looks: the end of the half before."""
    passed = stages_of_decoder(decoder, torch.float32).run(draw(automaton, FITTED, seed + 1), attention=True)
    first = passed.streams[0].shape[1] - LENGTH
    return [
        torch.diagonal(weights[:, :, first + 2**block :, first : -(2**block)], dim1=2, dim2=3)
        .mean((0, 2))
        .tolist()
        for block, weights in enumerate(passed.attention)
    ]


def classes(automaton: Semiautomaton, streams: torch.Tensor, words: Words, window: int) -> torch.Tensor:
    """An orthonormal basis of the differences between classes of the product, whatever the position.

    ``streams`` [word, t, d]; the mean of each position is taken off, directions that hold less than a
    thousandth of the largest difference are left out.
    """
    values = products(automaton, words, window).reshape(-1, automaton.num_states)
    _, number = np.unique(values, axis=0, return_inverse=True)
    centred = (streams - streams.mean(0)).flatten(0, 1).double()
    labels = torch.from_numpy(number.reshape(-1))
    count = torch.bincount(labels).clamp(min=1)[:, None]
    sums = torch.zeros(len(count), centred.shape[1], dtype=torch.double).index_add_(0, labels, centred)
    means = sums / count
    _, size, rows = torch.linalg.svd((means - means.mean(0)) * count.sqrt(), full_matrices=False)
    out: torch.Tensor = rows[size > 1e-3 * size[0]]
    return out


def establish(
    decoder: Decoder, automaton: Semiautomaton, seed: int
) -> tuple[list[dict[str, Any]], list[Counterfactual], dict[str, npt.NDArray[np.float32]]]:
    """For each block what its variable does, with intervals; the pairs; and the bases."""
    words, model = draw(automaton, FITTED, seed + 1), EdgeModel(decoder)
    passed = stages_of_decoder(decoder, torch.float32).run(words)
    rows, pairs, bases = [], list[Counterfactual](), {}
    for block in range(1, BLOCKS + 1):
        split = {which: counterfactuals(automaton, block, seed, which) for which in (TRAIN, TEST)}
        test, place = split[TEST], model.graph.places[2 * block]
        basis = classes(automaton, passed.streams[block], words, 2**block)
        dice = torch.Generator().manual_seed(seed)
        # As many random directions: a control for the size of the subspace alone.
        other = torch.linalg.qr(torch.randn(decoder.dim, len(basis), generator=dice, dtype=torch.double))[0].T
        shares = {
            "position": torch.eye(decoder.dim, dtype=torch.double),
            "classes": basis,
            "random": other,
        }
        name = test[0].variable
        measured = {
            key: _share(interchange_accuracy(model, place, one, test), len(test))
            for key, one in shares.items()
        }
        rows.append({"name": name, "place": place, "dimension": len(basis), "pairs": len(test), **measured})
        pairs += [*split[TRAIN], *test]
        bases[f"{name} @ {place}"] = basis.numpy().astype(np.float32)
    return rows, pairs, bases


def _share(value: float, count: int) -> dict[str, float]:
    share = Share.of(round(value * count), count)
    return {key: round(number, 4) for key, number in vars(share).items()}


def circuit_in(name: str, graph: Graph) -> tuple[Circuit, dict[str, float]]:
    """The circuit that the search kept, and on how many other pairs of words no answer changed."""
    row = read_json(CIRCUITS)[name]
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(row["kept"]), dtype=np.uint8))
    kept = graph.flags_of(name for name, bit in zip(graph.edges, bits, strict=False) if bit)
    return circuit_of(graph, kept), _share(1 - row["changed"] / row["of"], row["of"])


def judge(decoder: Decoder, automaton: Semiautomaton, seed: int) -> dict[str, Any]:
    """Letters and words right, of words that were never trained on."""
    words = draw(automaton, JUDGED, seed + 2)
    right = products(automaton, words, LENGTH)[:, :, automaton.start]
    hits = logits(decoder, words).argmax(-1) == np.array(decoder.vocabulary.states)[right]
    letters, whole = float(hits.mean()), float(hits.all(axis=1).mean())
    return {"letters_right": _share(letters, hits.size), "words_right": _share(whole, len(hits))}
