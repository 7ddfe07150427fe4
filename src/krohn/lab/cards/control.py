"""Positive controls: exact weights of a group in the stock Gated DeltaProduct layer, and how far they hold.

The layer is flash-linear-attention's, unmodified: queries, keys and values go through SiLU, keys are normed
as k/√(|k|² + 10⁻⁶), nothing has a bias, and what is read is normed. A letter is swaps of few points, and a
swap is a reflection, M ← M + k(2(v − kᵀM)). SiLU is above −0.28, so keys are (1, 1, −1, −1) times a number m
that SiLU gives with both signs, to the last bit; every point has a column. Three lengths are compared:

* *guaranteed*: no word of that length is answered wrongly by the reference; ``None``: no word at all. A step
  is a contraction, so the error grows by at most what one step adds: the difference of a step with the
  layer's own tables from the exact one, over all states, letters and swaps, and the rounding of its sums. The
  answer is right while the error times the query is below the distance at which some read-out turns.
* *estimated*: the median first wrong letter of random words with random rounding in every step.
* *measured*: the first wrong letter on random words, by the layer's kernel where there is one; else by the
  reference here, one letter after the other, memories in float32. ``None``: no letter is wrong.

The layer has two kernels. The chunked one rounds normed keys to its type and takes bfloat16 alone; the
recurrent one norms keys in float32 whatever the type.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike, as_automaton, split_specs
from krohn.base.files import json_bytes
from krohn.base.notebook import Rows, table
from krohn.base.svg import Canvas
from krohn.errors import InvalidInput
from krohn.lab.cards.card_files import write_all
from krohn.recurrent.small_action import small_action, swaps_and_merges

AUTOMATA = ("C2", "S3", "A5", "S5")
KERNELS = (("float32", "fused_recurrent"), ("bfloat16", "fused_recurrent"), ("bfloat16", "chunk"))
"""Types and the layer's kernels for them."""
LAYER = "fla:GatedDeltaProduct"
EPSILON, RMS = 1e-6, 1e-5
"""Added by the stock layer to |k|² and to the mean square of what is read."""
OFF, ON = -128.0, 128.0
"""Inputs of β = 2σ that make it exactly 0 and 2."""
WORDS, BLOCK, LONGEST = 4, 500, 100_000
ROUNDING = 2.0**-24
INK, COLOURS = "#555555", ("#9db7e0", "#c77d2e", "#2f5db0")
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Control:
    """One automaton in one type; lengths in letters, ``None`` where nothing fails within ``tested``.

    ``guaranteed`` is ``None`` where every word is answered rightly, of whatever length.
    """

    automaton: str
    dtype: str
    kernel: str
    steps: int
    guaranteed: int | None
    estimated: int | None
    measured: int | None
    tested: int
    by: str


def both_signs(dtype: torch.dtype, device: str = "cpu") -> tuple[float, float]:
    """Inputs whose SiLU on the device are m and −m, equal to the last bit of the type, with m near 0.25."""
    given: dict[str, Any] = {"dtype": dtype, "device": device}
    for number in range(1 << 14):
        above = torch.tensor(0.44, **given) + number * torch.finfo(dtype).eps / 4
        wanted = -functional.silu(above)
        low, high = torch.tensor(-1.2, **given), torch.tensor(0.0, **given)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if functional.silu(middle) < wanted else (low, middle)
        for below in (low, high):
            if functional.silu(below) == wanted:
                return float(above), float(below)
    raise InvalidInput(f"no number has both signs after SiLU in {dtype}")


class StockWeights:
    """A group's letters as swaps of few points; in state q the point j is at ``places[q][j]``."""

    def __init__(
        self, automaton: Semiautomaton, dtype: str, kernel: str = "chunk", device: str = "cpu"
    ) -> None:
        if not all(len(set(images)) == automaton.num_states for images in automaton.letters):
            raise InvalidInput(f"exact weights are there for groups; {automaton.name or 'this one'} is none")
        self.automaton, self.dtype = automaton, getattr(torch, dtype)
        self.kernel, self.device = kernel, device
        self.action = small_action(automaton.letters)
        self.points = len(self.action[0])
        self.width = 2 * self.points
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
        self.signs = both_signs(self.dtype, device)
        above = torch.tensor(self.signs[0], dtype=self.dtype, device=device)
        self.size = float(functional.silu(above).double())

    @cached_property
    def inputs(self) -> dict[str, Array]:
        """What each letter's column of the projections holds, before SiLU; for β as it is."""
        letters = self.automaton.num_letters
        key, value = (np.zeros((letters, self.steps, self.width)) for _ in range(2))
        beta = np.full((letters, self.steps), OFF)
        above, below = self.signs

        def spoken(signs: Array) -> Array:
            return np.where(signs > 0, above, np.where(signs < 0, below, 0.0))

        for letter, swaps in enumerate(self.swaps):
            for step, (i, j) in enumerate(swaps):
                way = self.code[i] - self.code[j]
                key[letter, step], beta[letter, step] = spoken(way), ON
                value[letter, step, : self.points] = spoken(-self.code @ way)
        # Places are encoded by numbers with distinct subset sums, so that all directions differ.
        query = np.tile(np.repeat(np.sqrt(np.arange(1.0, self.points + 1)), 2), (letters, 1))
        return {"query": query, "key": key, "value": value, "beta": beta}

    @cached_property
    def tables(self) -> tuple[Array, Array, Array]:
        """Normed query and keys, and values, as the layer has them in the type, in float64."""
        bent = {
            name: functional.silu(torch.from_numpy(self.inputs[name]).to(self.device, self.dtype))
            .float()
            .cpu()
            for name in ("query", "key", "value")
        }

        def normalize(part: torch.Tensor) -> Array:
            size = (part.square().sum(-1, keepdim=True) + EPSILON).sqrt()
            held = self.dtype if self.kernel == "chunk" else torch.float32
            return (part / size).to(held).double().numpy()

        query = normalize(bent["query"])[0] * np.float32(self.width**-0.5)
        return query, normalize(bent["key"]), bent["value"].double().numpy()[..., : self.points]

    @cached_property
    def memories(self) -> Array:
        """The exact memory [state, width, points] in each state: the start reads nothing."""
        moved = self.code[self.places] - self.code[None]  # [state, point, width]
        return np.asarray(np.swapaxes(moved, 1, 2) * self.size)

    @cached_property
    def head(self) -> tuple[Array, Array]:
        """Directions [state, point] in which states are read, and a bias, since the start reads nothing."""
        seen = self.tables[0] @ self.memories
        size = np.linalg.norm(seen, axis=1, keepdims=True)
        directions = np.divide(seen, size, out=np.zeros_like(seen), where=size > 1e-12)
        half = np.sqrt(self.width) / 2  # of the length of a normed read-out
        return directions, np.where(size[:, 0] > 1e-12, -half, 0.0)

    def answers(self, seen: Array) -> Array:
        """States for what is read, [..., points]: normed, then by direction."""
        directions, bias = self.head
        normed = seen / np.sqrt((seen**2).sum(-1, keepdims=True) / self.width + RMS)
        return np.asarray((normed @ directions.T + bias).argmax(-1))


def guarantee(weights: StockWeights) -> int | None:
    """A length up to which the reference answers every word rightly; see the head of this module.

    A key has four entries that are not 0, and an exact memory has entries 0 and ±m. So a sum has four terms
    of at most m, and an entry of a step is rounded by at most 23·2⁻²⁴·m, to first order; if keys are exactly
    ±1/2 and m has few bits, by nothing.
    """
    query, keys, values = weights.tables
    most, exact = 0.0, weights.memories
    plain = bool(np.isin(keys, (-0.5, 0.0, 0.5)).all()) and weights.dtype is torch.bfloat16
    once = 0.0 if plain else 24 * ROUNDING * weights.size * math.sqrt(4 * weights.points)
    for letter, swaps in enumerate(weights.swaps):
        memory, added = exact, 0.0
        for step, (i, j) in enumerate(swaps):
            way = (weights.code[i] - weights.code[j]) / 2
            key, value = keys[letter, step], values[letter, step]
            write = -weights.code @ way * weights.size - way @ memory
            after = memory + 2 * way[:, None] * write[:, None]
            own = memory + 2 * key[:, None] * (value - key @ memory)[:, None]
            assert 2 * key @ key <= 2.0 + 1e-6, "a step must be a contraction"
            added += float(np.linalg.norm(own - after, axis=(1, 2)).max()) + once
            memory = after
        assert np.array_equal(memory, exact[weights.automaton.table[:, letter]]), "a letter must be its swaps"
        most = max(most, added)
    reach = turning_point(weights) / float(np.linalg.norm(query))
    if not most:
        return None if reach > 0 else 0
    return math.floor(0.99 * reach / most)


def turning_point(weights: StockWeights) -> float:
    """How far what is read may be off before some state is answered wrongly: a lower bound.

    Norming moves a vector s by at most √width·|Δ|/(|s| − |Δ|), and two logits change by that times the
    distance of their directions. From the start, of which nothing is read, a logit changes by |Δ|/√RMS.
    """
    directions, bias = weights.head
    root, seen = math.sqrt(weights.width), weights.tables[0] @ weights.memories
    least = math.inf
    for state, vector in enumerate(seen):
        size = float(np.linalg.norm(vector))
        if size < 1e-12:
            least = min(least, 0.99 * float(-bias.min()) * math.sqrt(RMS))
            continue
        logits = directions @ (vector / math.sqrt(size**2 / weights.width + RMS)) + bias
        lead = np.delete(logits[state] - logits, state)
        apart = np.delete(np.linalg.norm(directions - directions[state], axis=1), state)
        bound = float((0.9 * lead * size / (root * apart)).min())
        stored = 2.0**-8 * size if weights.dtype is torch.bfloat16 else 1e-6 * size
        least = min(least, max(0.0, min(bound, 0.1 * size) - stored))
    return least


def first_wrong(
    weights: StockWeights, longest: int, *, seed: int = 0, noise: float = 0.0, words: int = WORDS
) -> list[int | None]:
    """The first wrong letter of each random word, by the layer's arithmetic one letter after the other.

    With ``noise`` memories are float64 and every step is perturbed by so much, relatively, at random;
    without, they are float32 as in the layer.
    """
    kind = np.float64 if noise else np.float32
    query, keys, values = (np.asarray(table, kind) for table in weights.tables)
    rng = np.random.default_rng(seed)
    counts = np.array([len(swaps) for swaps in weights.swaps])
    memory = np.zeros((words, weights.width, weights.points), kind)
    state = np.full(words, weights.automaton.start)
    table, result = np.asarray(weights.automaton.table), list[int | None]([None] * words)
    for begin in range(0, longest, BLOCK):
        letters = rng.integers(weights.automaton.num_letters, size=(BLOCK, words))
        seen, truth = np.empty((BLOCK, words, weights.points), kind), np.empty((BLOCK, words), np.int64)
        for t, letter in enumerate(letters):
            for step in range(weights.steps):
                k = keys[letter, step] * (step < counts[letter])[:, None].astype(kind)
                off = (k[:, :, None] * memory).sum(axis=1)
                change = k[:, :, None] * (2 * (values[letter, step] - off))[:, None]
                memory = memory + change
                if noise:
                    memory += memory * rng.normal(0, noise, memory.shape)
            state = table[state, letter]
            seen[t], truth[t] = query @ memory, state
        if weights.dtype is torch.bfloat16:
            seen = torch.from_numpy(seen).bfloat16().double().numpy()
        wrong = weights.answers(seen.astype(np.float64)) != truth
        for word in range(words):
            if result[word] is None and wrong[:, word].any():
                result[word] = begin + int(wrong[:, word].argmax()) + 1
        if all(one is not None for one in result):
            break
    return [None if one is not None and one > longest else one for one in result]


def stock_layer(weights: StockWeights) -> torch.nn.Module:
    """``fla.layers.GatedDeltaProduct`` without convolution and gates, with these weights."""
    from fla.layers import GatedDeltaProduct  # type: ignore[import-not-found]

    letters = weights.automaton.num_letters
    layer: torch.nn.Module = GatedDeltaProduct(
        **{"hidden_size": max(letters, weights.width), "expand_v": 1, "head_dim": weights.width},
        **{"num_heads": 1, "use_output_gate": False, "use_short_conv": False, "use_forget_gate": False},
        **{"num_householder": weights.steps, "mode": weights.kernel},
    ).eval()
    into = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "b_proj": "beta"}
    with torch.no_grad():
        for name, part in into.items():
            weight = getattr(layer, name).weight
            weight.zero_()[:, :letters] = torch.from_numpy(weights.inputs[part].reshape(letters, -1).T)
        layer.o_norm.weight.fill_(1.0)  # type: ignore[union-attr, operator]
        layer.o_proj.weight.copy_(torch.eye(*layer.o_proj.weight.shape))  # type: ignore[union-attr, operator, misc]
    return layer


@torch.no_grad()
def measure_by_kernel(weights: StockWeights, longest: int, device: str) -> int | None:
    """The first wrong letter by the stock layer's own kernel; needs fla and a GPU."""
    layer = stock_layer(weights).to(device=device, dtype=weights.dtype)
    rng, width = np.random.default_rng(0), layer.hidden_size
    letters = rng.integers(weights.automaton.num_letters, size=(WORDS, longest))
    given = functional.one_hot(torch.from_numpy(letters), int(width)).to(device, weights.dtype)  # type: ignore[arg-type]
    out = layer(given)[0][..., : weights.points].double().cpu().numpy()
    directions, bias = weights.head
    truth = np.array([weights.automaton.run(word.tolist()) for word in letters])
    wrong = ((out @ directions.T + bias).argmax(-1) != truth).any(axis=0)
    return int(wrong.argmax()) + 1 if wrong.any() else None


class ControlTable(Rows[Control]):
    """The lengths of exact weights, one row for each automaton and type."""

    def __init__(self, rows: Iterable[Control]) -> None:
        super().__init__(rows, asdict)

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {"layer": LAYER, "control": self.rows()}

    def text(self) -> str:
        """A table for people, and what the lengths mean."""

        def said(letters: int | None, none: str) -> str:
            return none if letters is None else f"{letters:,}"

        header, lines = ("automaton", "type", "kernel", "guaranteed", "estimated", "measured"), []
        for row in self:
            every, beyond = "every length", f"> {row.tested:,}"
            texts = said(row.guaranteed, every), said(row.estimated, beyond), said(row.measured, beyond)
            lines.append((row.automaton, row.dtype, row.kernel, *texts))
        head = (
            f"exact weights in {LAYER}: every word of the guaranteed length is right; "
            f"then the first wrong letter, estimated, and measured by {self[0].by}"
        )
        return f"{head}\n{table(header, lines)}"


def control_figure(rows: list[Control]) -> str:
    """The three lengths of each automaton and type on a logarithmic scale, as SVG; open: none was wrong."""
    canvas, left, top = Canvas(720, 26 * len(rows) + 60), 210.0, math.log(10 * LONGEST)

    def place(letters: int | None) -> float:
        return left + 480 * math.log(max(1, letters or 10 * LONGEST)) / top

    for number, row in enumerate(rows):
        y = 20.0 + 26 * number
        canvas.text(100, y, f"{row.automaton} {row.dtype} {row.kernel}", size=12, fill=INK)
        canvas.line(left, y, place(row.guaranteed), y, stroke=COLOURS[0], stroke_width=6)
        marks = (row.estimated, COLOURS[1], 8, "none"), (row.measured, COLOURS[2], 4, COLOURS[2])
        for letters, colour, size, fill in marks:
            x = place(row.tested if letters is None else letters)
            canvas.circle(x, y, size, fill=fill if letters else "none", stroke=colour, stroke_width=2)
    for power in range(7):
        canvas.text(place(10**power), 26 * len(rows) + 22, f"{10**power:,}", size=11, fill=INK)
    names = (
        "guaranteed (bar; to the end: every length)",
        "estimated (ring)",
        "measured (dot; open: none wrong)",
    )
    for number, (name, colour) in enumerate(zip(names, COLOURS, strict=True)):
        canvas.text(170 + 220 * number, 26 * len(rows) + 44, name, size=11, fill=colour)
    return canvas.render(title=f"exact weights in {LAYER} (krohn)")


def control(
    layer: str = LAYER,
    automata: str | Sequence[AutomatonLike] | None = None,
    *,
    kernels: Sequence[tuple[str, str]] = KERNELS,
    longest: int = LONGEST,
    device: str = "cpu",
    out: str | Path | None = None,
) -> ControlTable:
    """Guaranteed, estimated and measured lengths of exact weights in a stock layer, for some automata or all.

    The folder ``out`` gets control.json and control.svg.
    """
    if layer != LAYER:
        raise InvalidInput(f"exact weights are there for {LAYER}; got {layer[:60]!r}")
    names = split_specs(automata) if isinstance(automata, str) else AUTOMATA if automata is None else automata
    if not names:
        raise InvalidInput("a control needs at least one automaton; name them with --tasks C2,S3")
    result = []
    for given in names:
        automaton = as_automaton(given)
        name = given if isinstance(given, str) else automaton.name or "an automaton"
        for dtype, kernel in kernels:
            weights = StockWeights(automaton, dtype, kernel, device)
            noisy = [one or longest + 1 for one in first_wrong(weights, longest, seed=1, noise=ROUNDING)]
            middle = sorted(noisy)[len(noisy) // 2]
            if device == "cpu":
                ends = [one for one in first_wrong(weights, longest) if one is not None]
                measured, by = min(ends, default=None), "reference on a CPU"
            else:
                measured, by = measure_by_kernel(weights, longest, device), "the layer's kernel"
            estimated = None if middle > longest else middle
            row = (name, dtype, kernel, weights.steps, guarantee(weights), estimated, measured, longest, by)
            result.append(Control(*row))
    rows = ControlTable(result)
    if out is not None:
        about = json_bytes({"krohn": 1, "krohn_control": 1, **rows.to_json()})
        write_all(Path(out), {"control.json": about, "control.svg": control_figure(rows)})
    return rows
