"""A looped block with codes: how it runs, in loops or letter by letter, and its files.

It runs in plain float32, in numpy's order of sums; nothing is proved here. After a loop the stream is one of
finitely many codes, so that a merge of two is computed once. On disk it is ``model.safetensors`` (tensors)
and ``looped.json`` (automaton and sizes).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.reader import Reader
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import KEYS, LOOPED, require_keys
from krohn.check.files.folders import Net, looped_net
from krohn.check.ground import Refused
from krohn.check.looped.block import EPSILON, OPTIONS, CodedBlock
from krohn.errors import InvalidInput
from krohn.recurrent.network_files import Tensors, read_network, write_network

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
VERSION = 1
ROWS = 1 << 22
"""Numbers in the widest array of one pass."""


@dataclass(frozen=True, eq=False)
class Merges:
    """What the block makes of two streams, each pair computed once.

    Attributes:
        later, earlier: the rows that streams may have [n, d]; row 0 of ``earlier`` alone may stand for
            nothing.
        known: the codes of pairs, the earlier one first; −1 where not yet computed.
    """

    later: Floats
    earlier: Floats
    known: npt.NDArray[np.int16]

    @classmethod
    def of(cls, later: Floats, earlier: Floats) -> "Merges":
        """Nothing computed yet."""
        return cls(later, earlier, np.full((len(earlier), len(later)), -1, np.int16))


@dataclass(frozen=True, repr=False, eq=False)
class LoopedNetwork(Reader):
    """Tensors without padding, the model's options, and the automaton it claims to track."""

    tensors: dict[str, Floats]
    model: dict[str, Any]
    automaton: Semiautomaton
    _first: Merges = field(init=False)
    _letters: Merges = field(init=False)
    _codes: Merges = field(init=False)

    def __post_init__(self) -> None:
        """Refuses what the checker could not read either."""
        try:
            CodedBlock.of(self.tensors, self.model, self.automaton.num_letters, self.automaton.num_states)
        except Refused as error:
            raise InvalidInput(f"not a looped network: {error}") from error
        letters, codes = self.tensors["wte"], self.tensors["codes"]
        made = {
            "_first": Merges.of(letters, self.tensors["none"][None]),
            "_letters": Merges.of(letters, letters),
            "_codes": Merges.of(codes, codes),
        }
        for name, merges in made.items():
            object.__setattr__(self, name, merges)

    def forward(self, words: npt.NDArray[np.int64], /, dtype: Any = "float64") -> npt.NDArray[np.int64]:
        """States after each letter of words ``[batch, length]``, in ⌈log₂ length⌉ loops, in float32."""
        words = np.asarray(words, dtype=np.int64)
        if not words.size:
            return words
        stream = self._merged(self._first, np.zeros_like(words[:, :1]), words[:, :1])
        rest = self._merged(self._letters, words[:, :-1], words[:, 1:])
        stream, back = np.concatenate([stream, rest], axis=1), 2
        while back < words.shape[1]:
            merged = self._merged(self._codes, stream[:, :-back], stream[:, back:])
            stream, back = np.concatenate([stream[:, :back], merged], axis=1), 2 * back
        return self._read(stream)

    def online(self) -> Callable[[int], int]:
        """See ``Reader``.

        A letter is merged with what stands before the first; windows of equal size are merged, and an answer
        merges the windows from the oldest to the newest.
        """
        windows: list[int] = []
        count = 0
        letters = np.arange(len(self.tensors["wte"]))
        first = self._merged(self._first, np.zeros_like(letters), letters).tolist()
        read = self._read(np.arange(len(self.tensors["codes"]))).tolist()

        @cache
        def product(earlier: int, later: int) -> int:
            return int(self._merged(self._codes, np.array([earlier]), np.array([later]))[0])

        def step(letter: int) -> int:
            nonlocal count
            code: int = first[letter]
            for _ in range((~count & (count + 1)).bit_length() - 1):
                code = product(windows.pop(), code)
            windows.append(code)
            count += 1
            whole = windows[0]
            for window in windows[1:]:
                whole = product(whole, window)
            return int(read[whole])

        return step

    @property
    def num_parameters(self) -> int:
        """Numbers in all tensors."""
        return sum(tensor.size for tensor in self.tensors.values())

    @property
    def net(self) -> Net:
        """The network as the checker reads it from a folder."""
        automaton = self.automaton
        names = {"letters": list(automaton.letter_names), "states": list(automaton.state_names)}
        return looped_net(dict(self.tensors), self.model, names)

    def save(self, directory: str | Path) -> None:
        """Writes it to a directory, as ``krohn.save`` does."""
        save(self, directory)

    def __repr__(self) -> str:
        sizes = f"{len(self.tensors['codes'])} codes, {self.num_parameters:,} parameters"
        return f"<looped network for {self.automaton.name or 'an automaton'}: {sizes}>"

    def _merged(self, merges: Merges, earlier: Ints, later: Ints) -> Ints:
        """The codes of pairs, by number; those that were never computed are."""
        found = merges.known[earlier, later]
        if (found < 0).any():
            number = np.unique((earlier * len(merges.later) + later)[found < 0])
            size = max(1, ROWS // max(self.tensors["h.0.mlp.c_fc.weight"].shape))
            for first in range(0, len(number), size):
                i, j = np.divmod(number[first : first + size], len(merges.later))
                merges.known[i, j] = self._merge(merges.earlier[i], merges.later[j])
            found = merges.known[earlier, later]
        return found.astype(np.int64)

    def _merge(self, far: Floats, near: Floats) -> Ints:
        """The codes after a loop where ``near`` [n, d] reads itself and ``far``."""
        w, dim, heads = self.tensors, len(self.tensors["none"]), self.model["heads"]
        slot, weight = w["h.0.attn.slot"], w["h.0.attn.c_attn.weight"]
        own = self._normed("h.0.ln_1", near)
        query = own @ weight[:, :dim] + w["h.0.attn.c_attn.bias"]
        key, value = np.split(own @ weight[:, dim:] + slot[0], 2, axis=1)
        there = self._normed("h.0.ln_1", far) @ weight[:, dim:] + slot[1]
        far_key, far_value = np.split(there, 2, axis=1)
        by_head = (len(near), heads, dim // heads)
        score = (query * (far_key - key)).reshape(by_head).sum(-1, keepdims=True)
        with np.errstate(over="ignore", under="ignore"):
            share = 1 / (1 + np.exp(-score * np.float32(1 / sqrt(dim // heads))))
        mixed = value + (share * (far_value - value).reshape(by_head)).reshape(len(near), dim)
        x = near + mixed @ w["h.0.attn.c_proj.weight"] + w["h.0.attn.c_proj.bias"]
        hidden = self._normed("h.0.ln_2", x) @ w["h.0.mlp.c_fc.weight"] + w["h.0.mlp.c_fc.bias"]
        x = x + _gelu(hidden) @ w["h.0.mlp.c_proj.weight"] + w["h.0.mlp.c_proj.bias"]
        scores = self._normed("h.0.ln_3", x) @ w["codes"].T + w["codes_bias"]
        return np.asarray(scores.argmax(axis=1), np.int64)

    def _read(self, codes: Ints) -> Ints:
        logits = self._normed("ln_f", self.tensors["codes"]) @ self.tensors["head.weight"]
        answers = (logits + self.tensors["head.bias"]).argmax(axis=1)
        return np.asarray(answers[codes], np.int64)

    def _normed(self, name: str, x: Floats) -> Floats:
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(EPSILON))
        return np.asarray(centred / deviation * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"])


def _gelu(x: Floats) -> Floats:
    """In the tanh form."""
    inner = np.float32(sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x * x * x)
    return np.asarray(np.float32(0.5) * x * (1 + np.tanh(inner)))


@dataclass(frozen=True)
class LoopedReport:
    """The sizes of a looped network."""

    network: LoopedNetwork
    notes: tuple[str, ...] = ()

    def to_json(self, out: Path | None = None) -> dict[str, Any]:
        """One JSON object; ``out`` is where the network was written."""
        model = self.network.model
        return {
            "automaton": self.network.automaton.name,
            "architecture": "looped",
            "layers": 1,
            **{name: model[name] for name in ("codes", "dim", "mlp")},
            "num_parameters": self.network.num_parameters,
            "out": None if out is None else str(out),
        }

    def text(self) -> str:
        """Two lines."""
        known = self.to_json()
        return (
            f"{known['automaton'] or 'the automaton'}: one block for all loops: {known['codes']:,} codes of "
            f"{known['dim']:,} numbers, MLP of {known['mlp']:,} units, "
            f"{known['num_parameters']:,} parameters\n"
            "it reads words of any length, T letters in ⌈log₂ T⌉ loops or one by one; krohn verify proves it"
        )


def save(network: LoopedNetwork, directory: str | Path) -> None:
    """Writes both files or none; an existing network is replaced."""
    write_network(directory, LOOPED, VERSION, {"model": network.model}, network.automaton, network.tensors)


def load(directory: str | Path) -> LoopedNetwork:
    """The network in a directory; anything that does not fit is refused in one line."""
    return read_network(directory, LOOPED, VERSION, ("model",), _of_files, "looped")


def _of_files(
    payload: dict[str, Any], tensors: Callable[[], Tensors], automaton: Semiautomaton
) -> LoopedNetwork:
    model = require_keys(payload["model"], OPTIONS, f"{KEYS[LOOPED]}: model")
    return LoopedNetwork(dict(tensors()), model, automaton)
