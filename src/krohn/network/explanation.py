"""One word through one network, with every intermediate named: ground truth for interpretability."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import UnknownName, counted
from krohn.network.forward import logits
from krohn.network.picture import HeadView, word_picture
from krohn.network.transformer import Layout, Transformer
from krohn.notebook import frame

if TYPE_CHECKING:
    from krohn.notebook import DataFrame

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Registers and attention of one word. Position 0 … τ−1 are padding, then the letters.

    ``moments[m][name]`` holds the values along the positions: ``m`` = 0 after the embedding,
    2l+1 after attention of layer l, 2l+2 after its MLP.
    """

    positions: tuple[str, ...]
    states: tuple[str, ...]
    moments: tuple[dict[str, Array], ...]
    heads: tuple[HeadView, ...]

    def __repr__(self) -> str:
        word = " ".join(self.positions[len(self.positions) - len(self.states) :][:20])
        more = " …" if len(self.states) > 20 else ""
        return f"<Explanation of {word or 'the empty word'}{more}: {counted(len(self.heads), 'head')}>"

    def _repr_svg_(self) -> str:
        """What a notebook shows: registers, states and attention."""
        return word_picture(self.positions, self.states, self.moments, self.heads)

    def value(self, register: str) -> Array:
        """A register along the positions, at the last moment that holds it."""
        for moment in reversed(self.moments):
            if register in moment:
                return moment[register]
        known = sorted({name for moment in self.moments for name in moment})
        raise UnknownName(f"a register must be one of {', '.join(known)}; got {register!r}")

    def to_frame(self) -> "DataFrame":
        """One row for each position: letter, every register at the last moment that holds it, state."""
        held = {name: values for moment in self.moments for name, values in moment.items()}
        states = [None] * (len(self.positions) - len(self.states)) + list(self.states)
        return frame(
            {"letter": letter, **{name: values[at] for name, values in held.items()}, "state": states[at]}
            for at, letter in enumerate(self.positions)
        )

    def to_json(self) -> dict[str, Any]:
        """Plain lists, for files and web pages; layers and heads are numbered from 1, as in all output."""
        return {
            "positions": list(self.positions),
            "states": list(self.states),
            "moments": [{name: held.tolist() for name, held in moment.items()} for moment in self.moments],
            "heads": [
                {"layer": h.layer + 1, "head": h.number + 1, "text": h.text, "weights": h.weights.tolist()}
                for h in self.heads
            ],
        }


def explain_word(
    network: Transformer, layout: Layout, automaton: Semiautomaton, word: tuple[int, ...]
) -> Explanation:
    """Runs the word in float64 and records every intermediate under its name."""
    seen: dict[str, Array] = {}
    words = np.array([word], dtype=np.int64).reshape(1, len(word))
    states = logits(network, words, observe=lambda name, value: seen.update({name: value[0]})).argmax(-1)[0]
    streams = [seen["embedding"]]
    for layer in range(network.depth):
        streams += [seen[f"layer.{layer}.mixed"], seen[f"layer.{layer}.stream"]]
    return Explanation(
        positions=(
            *(["⊥"] * network.num_padding),
            *(automaton.letter_names[letter] for letter in word),
        ),
        states=tuple(automaton.output_names[state] for state in states),
        moments=tuple(layout.registers(index, stream) for index, stream in enumerate(streams)),
        heads=tuple(
            HeadView(layer, number, meaning.text, seen[f"layer.{layer}.head.{number}.weights"])
            for layer, meanings in enumerate(layout.heads)
            for number, meaning in enumerate(meanings)
        ),
    )
