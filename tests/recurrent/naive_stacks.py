"""Random stacks of recurrent layers, and one letter after the other in plain loops, from the definitions."""

from collections.abc import Callable

import numpy as np

from krohn.check.recurrent.cells import Cell
from krohn.check.recurrent.stacks import DeltaStack, DiagonalStack, RankOneStack

DIM, LETTERS, STATES, LAYERS, MLP = 3, 2, 4, 2, 5
HEADS, STEPS, KEYS, VALUES = 2, 2, 3, 2
CHANNELS = 4


def random_stack(kind: str, *, conv: int = 2, mlp: bool = True, seed: int = 0) -> Cell:
    """``kind`` is deltaproduct, rankone, unit, signed or complex; no number is special."""
    inputs = conv * DIM
    mixers: dict[str, dict[str, tuple[int, ...]]] = {
        "deltaproduct": {
            "query": (inputs, HEADS * KEYS),
            "key": (inputs, HEADS * STEPS * KEYS),
            "value": (inputs, HEADS * STEPS * VALUES),
            "beta.weight": (inputs, HEADS * STEPS),
            "beta.bias": (HEADS * STEPS,),
            "gate.weight": (inputs, HEADS),
            "gate.bias": (HEADS,),
            "out": (HEADS * VALUES, DIM),
        },
        "diagonal": {
            "gate.weight": (inputs, CHANNELS),
            "gate.bias": (CHANNELS,),
            "write": (inputs, CHANNELS),
            "out": (CHANNELS, DIM),
        },
    }
    delta = mixers["deltaproduct"]
    mixers["rankone"] = {name: delta[name] for name in ("query", "key", "value", "out")} | {
        "rate.weight": delta["key"],
        "rate.bias": (HEADS * STEPS * KEYS,),
    }
    shapes: dict[str, tuple[int, ...]] = {"wte": (LETTERS, DIM)}
    for i in range(LAYERS):
        shapes |= {f"h.{i}.mix.{name}": shape for name, shape in mixers.get(kind, mixers["diagonal"]).items()}
        if mlp:
            shapes |= {
                f"h.{i}.mlp.in": (inputs, MLP),
                f"h.{i}.mlp.in_bias": (MLP,),
                f"h.{i}.mlp.out": (MLP, DIM),
            }
    shapes |= {"head.weight": (DIM, STATES), "head.bias": (STATES,)}
    rng = np.random.default_rng(seed)
    tensors = {name: rng.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}
    if kind == "deltaproduct":
        return DeltaStack(tensors)
    return RankOneStack(tensors, heads=HEADS) if kind == "rankone" else DiagonalStack(tensors, gate=kind)


def naive_logits(cell: Cell, word: list[int]) -> list[np.ndarray]:
    """Logits after each letter, in float64."""
    w = {name: value.astype(np.float64) for name, value in cell.tensors.items()}
    layers = sum(name.endswith("mix.out") for name in w)
    mix = MIXERS[cell.kind]
    memories: list[object] = [None] * layers
    before: dict[tuple[int, str], np.ndarray] = {}
    result = []
    for letter in word:
        x = w["wte"][letter]
        for i in range(layers):

            def window(place: str, x: np.ndarray, i: int = i) -> np.ndarray:
                last = before.get((i, place), np.zeros(len(x)))
                before[i, place] = x
                return np.concatenate([x, last])

            own = {name.removeprefix(f"h.{i}.mix."): value for name, value in w.items()}
            seen = window("mixer", x)
            read, memories[i] = mix(own, seen, memories[i], cell)
            x = x + read @ own["out"]
            if f"h.{i}.mlp.in" in w:
                seen = window("mlp", x)
                inward = w[f"h.{i}.mlp.in"]
                bent = np.maximum(seen[: len(inward)] @ inward + w[f"h.{i}.mlp.in_bias"], 0)
                x = x + bent @ w[f"h.{i}.mlp.out"]
        result.append(x @ w["head.weight"] + w["head.bias"])
    return result


def sigma(z: np.ndarray | float) -> np.ndarray:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * np.asarray(z))))


Own = dict[str, np.ndarray]


def _delta(own: Own, seen: np.ndarray, memory: object, cell: Cell) -> tuple[np.ndarray, object]:
    """For each head: S ← αS, then S ← S + βk(v − kᵀS)ᵀ for each step, |k| = 1; what is read is qᵀS."""
    heads, steps, keys, values = cell.sizes_of_heads  # type: ignore[attr-defined]
    x = seen[: len(own["query"])]
    memories = memory if memory is not None else [np.zeros((keys, values))] * heads
    reads, after = [], []
    for head, state in enumerate(memories):  # type: ignore[arg-type,var-annotated]
        gate = "gate.weight" in own
        state = state * (sigma(x @ own["gate.weight"][:, head] + own["gate.bias"][head]) if gate else 1.0)
        for step in range(steps):
            at = head * steps + step
            key = x @ own["key"][:, at * keys : (at + 1) * keys]
            key = key / np.linalg.norm(key)
            value = x @ own["value"][:, at * values : (at + 1) * values]
            if gate:
                rate = 2 * sigma(x @ own["beta.weight"][:, at] + own["beta.bias"][at]) * np.ones(keys)
                write = rate[0] * value
            else:
                columns = slice(at * keys, (at + 1) * keys)
                rate = 2 * sigma(x @ own["rate.weight"][:, columns] + own["rate.bias"][columns])
                write = value
            state = state + np.outer(key, write - (rate * key) @ state)
        reads.append((x @ own["query"][:, head * keys : (head + 1) * keys]) @ state)
        after.append(state)
    return np.concatenate(reads), after


def _diagonal(own: Own, seen: np.ndarray, memory: object, cell: Cell) -> tuple[np.ndarray, object]:
    """h ← a·h + b in every channel; complex numbers are held as real parts, then imaginary parts."""
    x = seen[: len(own["write"])]
    z, write = x @ own["gate.weight"] + own["gate.bias"], x @ own["write"]
    gate = cell.gate  # type: ignore[attr-defined]
    if gate == "complex":
        half = len(z) // 2
        turned = [complex(a, b) for a, b in zip(z[:half], z[half:], strict=True)]
        factors = np.array([one / max(1.0, abs(one)) for one in turned])
        held = factors * (0 if memory is None else memory) + write[:half] + 1j * write[half:]
        return np.concatenate([held.real, held.imag]), held
    factors = np.tanh(z) if gate == "signed" else sigma(z)
    held = factors * (0 if memory is None else memory) + write
    return held, held


MIXERS: dict[str, Callable[[Own, np.ndarray, object, Cell], tuple[np.ndarray, object]]] = {
    "deltaproduct": _delta,
    "rankone": _delta,
    "diagonal": _diagonal,
}
