"""The constructed DeltaProduct weights of a group in the stock layer of flash-linear-attention.

The stock layer passes queries, keys and values through SiLU, norms keys as k/√(|k|² + 10⁻⁶), has no bias,
and norms what it reads head by head. So the witness is scaled (SiLU is above −0.28: keys (1, 1, −1, −1)/4),
SiLU is inverted, every point has a column (norming forgets sizes; the directions of all columns together
differ), and reflections have the eigenvalue −1 + 8·10⁻⁶ instead of −1: states come closer: a horizon.

Without a GPU: TRITON_INTERPRET=1 python benchmarks/stock_deltaproduct.py S3 [--letters 60] [--longest 300000]
"""

import argparse
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.recurrent.delta_weights import small_action, swaps_and_merges

SIZE = 0.25  # scale of the entries of keys and values
EPSILON = 1e-6  # added to |k|² by the stock kernels
OFF, ON = -128.0, 128.0  # inputs of β = 2σ that make it exactly 0 and 2
Array = npt.NDArray[np.float64]


def before_silu(wanted: Array) -> Array:
    """x with x·σ(x) = wanted, by bisection above the minimum of SiLU at −1.278."""
    low, high = np.full_like(wanted, -1.278), np.abs(wanted) + 2.0
    for _ in range(200):
        middle = (low + high) / 2
        below = middle / (1 + np.exp(-middle)) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(wanted == 0, 0.0, (low + high) / 2)


class Group:
    """A group's letters as swaps of few points; in state q the point j is at ``places[q][j]``."""

    def __init__(self, automaton: Semiautomaton) -> None:
        self.automaton, self.action = automaton, small_action(automaton.letters)
        self.points = len(self.action[0])
        self.swaps = [[(i, j) for _, i, j in swaps_and_merges(letter)] for letter in self.action]
        self.steps = max(1, *map(len, self.swaps))
        places = {automaton.start: tuple(range(self.points))}
        queue = [automaton.start]
        for state in queue:
            for letter, images in enumerate(self.action):
                target = automaton.step(state, letter)
                if target not in places:
                    places[target] = tuple(images[place] for place in places[state])
                    queue.append(target)
        self.places = np.array([places[state] for state in range(automaton.num_states)])
        self.code = np.repeat(np.eye(self.points), 2, axis=1)
        # Places are encoded by numbers with distinct subset sums, so that all directions differ.
        self.query = np.repeat(np.sqrt(np.arange(1.0, self.points + 1)), 2) / 2

    def head(self) -> tuple[Array, Array]:
        """Read-out directions [states, points] of the states, and a bias, since the start reads zero."""
        read = self.code @ self.query
        seen = read[self.places] - read[None]
        size = np.linalg.norm(seen, axis=1, keepdims=True)
        directions = np.divide(seen, size, out=np.zeros_like(seen), where=size > 0)
        close = directions @ directions.T - 2 * np.eye(len(seen))
        assert close.max() < 0.9999, "two states must not be read in one direction"
        half = np.sqrt(2 * self.points) / 2  # of the length of a normed read-out
        return directions, np.where(size[:, 0] > 0, -half, 0.0)

    def tables(self) -> dict[str, Array]:
        """Queries, keys, values and inputs of β for each letter, after SiLU and before norming."""
        letters, width = self.automaton.num_letters, 2 * self.points
        key, value = np.zeros((letters, self.steps, width)), np.zeros((letters, self.steps, width))
        beta = np.full((letters, self.steps), OFF)
        for letter, swaps in enumerate(self.swaps):
            for step, (i, j) in enumerate(swaps):
                way = (self.code[i] - self.code[j]) / 2
                key[letter, step], beta[letter, step] = way * 2 * SIZE, ON
                value[letter, step, : self.points] = -self.code @ way * SIZE
        return {"query": np.tile(self.query, (letters, 1)), "key": key, "value": value, "beta": beta}


def stock_layer(group: Group) -> Any:
    """``fla.layers.GatedDeltaProduct`` without convolution and gates, with the witness's weights."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        take_the_first_configuration()
    from fla.layers import GatedDeltaProduct  # type: ignore[import-not-found]

    width, letters = 2 * group.points, group.automaton.num_letters
    layer = GatedDeltaProduct(
        **{"hidden_size": max(letters, width), "expand_v": 1, "head_dim": width, "num_heads": 1},
        **{"use_output_gate": False, "use_short_conv": False, "use_forget_gate": False},
        **{"num_householder": group.steps, "mode": "fused_recurrent"},
    ).eval()
    tables = group.tables()
    into = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "b_proj": "beta"}
    with torch.no_grad():
        for name, table in into.items():
            flat = tables[table].reshape(letters, -1)
            flat = flat if table == "beta" else before_silu(flat)
            weight = getattr(layer, name).weight
            weight.zero_()[:, :letters] = torch.from_numpy(flat.T)
        layer.o_norm.weight.fill_(1.0)
        layer.o_proj.weight.copy_(torch.eye(*layer.o_proj.weight.shape))
    return layer


def take_the_first_configuration() -> None:
    """Disables autotuning, which needs a GPU clock: each kernel uses its first configuration."""
    from triton.runtime.autotuner import Autotuner

    def run(self: Any, *given: Any, **named: Any) -> Any:
        return self.fn.run(*given, **{**self.configs[0].kwargs, **named})

    Autotuner.run = run


def answers(group: Group, layer: Any, word: list[int]) -> list[int]:
    """States after each letter, by the stock layer and a linear read-out."""
    directions, bias = group.head()
    device = layer.o_proj.weight.device
    given = torch.nn.functional.one_hot(torch.tensor([word]), layer.hidden_size).float().to(device)
    with torch.no_grad():
        seen = layer(given)[0][0, :, : group.points].double().cpu().numpy()
    return [int(state) for state in (seen @ directions.T + bias).argmax(1)]


def first_error(group: Group, epsilon: float, longest: int) -> int | None:
    """The first letter of a random word that is wrong in the stock layer's float32 arithmetic, if any."""
    tables = {name: table.astype(np.float32) for name, table in group.tables().items()}
    size = np.sqrt((tables["key"] ** 2).sum(-1, keepdims=True) + np.float32(epsilon))
    keys = np.divide(tables["key"], size, out=np.zeros_like(tables["key"]), where=size > 0)
    directions, bias = group.head()
    rng = np.random.default_rng(0)
    width = 2 * group.points
    memory, values = np.zeros((width, group.points), np.float32), tables["value"][..., : group.points]
    query = tables["query"][0] / np.sqrt((tables["query"][0] ** 2).sum() + np.float32(epsilon))
    query, state = query * np.float32(width**-0.5), group.automaton.start
    for t, letter in enumerate(rng.integers(group.automaton.num_letters, size=longest)):
        for step in range(len(group.swaps[letter])):
            k = keys[letter, step]
            memory += np.outer(k, 2 * (values[letter, step] - k @ memory))
        state = group.automaton.step(state, int(letter))
        seen = query @ memory
        seen = seen / np.sqrt((seen**2).sum() / width + 1e-5)
        if int((directions @ seen + bias).argmax()) != state:
            return t + 1
    return None


def main() -> None:
    """The stock layer on one word, and the horizon of its arithmetic with and without ε."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("spec", nargs="?", default="S3")
    parser.add_argument("--letters", type=int, default=60)
    parser.add_argument("--longest", type=int, default=300_000)
    asked = parser.parse_args()
    group = Group(parse_spec(asked.spec))
    word = np.random.default_rng(0).integers(group.automaton.num_letters, size=asked.letters).tolist()
    layer = stock_layer(group).to("cuda" if torch.cuda.is_available() else "cpu")
    result = answers(group, layer, word)
    wrong = [
        t + 1
        for t, pair in enumerate(zip(result, group.automaton.run(word), strict=True))
        if len(set(pair)) > 1
    ]
    first = f", the first wrong one is letter {wrong[0]:,}" if wrong else ""
    print(f"{asked.spec}, stock layer: {len(word) - len(wrong)} of {len(word)} letters right{first}")
    for epsilon in (EPSILON, 0.0):
        broken = first_error(group, epsilon, asked.longest)
        where = f"first wrong letter {broken:,}" if broken else f"right for {asked.longest:,} letters"
        print(f"{asked.spec}, ε = {epsilon:g}: {where}")


if __name__ == "__main__":
    main()
