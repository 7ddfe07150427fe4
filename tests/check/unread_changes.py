"""Changes of unread parts: silent heads, unread columns and units, terms that cancel."""

import numpy as np

from check.subject import Subject, idle, largest


def idle_unit(s: Subject) -> None:
    """A unit that reads a channel with a large weight and is read by nothing, or by 0."""
    n = int(s.dice.integers(s.layers))
    if s.shape[n][1] < 2:
        return
    into = s.tensors[f"layers.{n}.mlp.0.W"]
    column = np.zeros((len(into), 1))
    column[int(s.dice.integers(len(into)))] = largest(s) * s.some((1e-3, 0.3, 0.9)) * s.some((-1, 1))
    s.tensors[f"layers.{n}.mlp.0.W"] = np.c_[into, column]
    for part, value in (("b", 0.0), ("activation", 0)):
        s.tensors[f"layers.{n}.mlp.0.{part}"] = np.append(s.tensors[f"layers.{n}.mlp.0.{part}"], value)
    s.tensors[f"layers.{n}.mlp.0.activation"] = s.tensors[f"layers.{n}.mlp.0.activation"].astype(np.int64)
    after = s.tensors[f"layers.{n}.mlp.1.W"]
    s.tensors[f"layers.{n}.mlp.1.W"] = np.r_[after, np.zeros((1, after.shape[1]))]


def _new_head(s: Subject, query: float, value: float, output: float) -> str:
    """One more head of some layer: it reads a channel that is 1 everywhere, and writes another one."""
    idle(s, 0.0, np.zeros(len(s.tensors["positions"])))
    idle(s, 0.0, np.ones(len(s.tensors["positions"])))
    n, d = int(s.dice.integers(s.layers)), s.tensors["embedding"].shape[1]
    name = f"layers.{n}.heads.{s.shape[n][0]}"
    for part in ("W_Q", "W_K", "W_V"):
        s.tensors[f"{name}.{part}"] = np.zeros((d, 1))
    s.tensors[f"{name}.W_Q"][-1] = s.tensors[f"{name}.W_K"][-1] = query
    s.tensors[f"{name}.W_V"][-1] = value
    s.tensors[f"{name}.W_C"] = np.zeros((1, d))
    s.tensors[f"{name}.W_C"][0, -2] = output
    s.shape[n][0] += 1
    return name


def silent_values(s: Subject) -> None:
    """A silent head with values near the largest number."""
    _new_head(s, 0.0, largest(s) * s.some((0.1, 0.9, 1.0076)), 0.0)


def silent_scores(s: Subject) -> None:
    """A silent head with scores near the largest number."""
    _new_head(s, np.sqrt(largest(s)) * s.some((0.1, 0.8, 2.0)), 1.0, 0.0)


def large_average(s: Subject) -> None:
    """A head whose averages are near the largest number, though what it adds is small."""
    value = largest(s) * s.some((0.1, 0.9, 1.0076))
    _new_head(s, 0.0, value, 1 / value)


def mixed_values(s: Subject) -> None:
    """A column of W_V that W_C does not read: the difference of two channels, many times."""
    head = s.head()
    value, output = s.tensors[f"{head}.W_V"], s.tensors[f"{head}.W_C"]
    column = np.zeros((len(value), 1))
    two = s.dice.choice(len(value), 2, replace=False) if len(value) > 1 else [0, 0]
    column[two[0]] = largest(s) * s.some((0.01, 0.3, 0.9))
    column[two[1]] = -column[two[0]]
    s.tensors[f"{head}.W_V"] = np.c_[value, column]
    s.tensors[f"{head}.W_C"] = np.r_[output, np.zeros((1, output.shape[1]))]


def cancelled_heads(s: Subject) -> None:
    """Two heads that add and subtract the same."""
    value = largest(s) * s.some((0.01, 0.4, 0.9))
    first = _new_head(s, 0.0, value, 1.0)
    n = int(first.split(".")[1])
    second = f"layers.{n}.heads.{s.shape[n][0]}"
    for part in ("W_Q", "W_K", "W_V", "W_C"):
        s.tensors[f"{second}.{part}"] = s.tensors[f"{first}.{part}"].copy()
    s.tensors[f"{second}.W_C"] *= -1
    s.shape[n][0] += 1


def cancelled_units(s: Subject) -> None:
    """Two units of the same sum, one of which the next matrix adds and the other subtracts, many times."""
    n = int(s.dice.integers(s.layers))
    if s.shape[n][1] < 2:
        return
    names = [f"layers.{n}.mlp.{part}" for part in ("0.W", "0.b", "0.activation", "1.W")]
    into, bias, codes, after = (s.tensors[name] for name in names)
    column, row = np.zeros((len(into), 2)), np.zeros((2, after.shape[1]))
    column[int(s.dice.integers(len(into)))] = s.some((1.0, 1000.0))
    row[:, int(s.dice.integers(after.shape[1]))] = largest(s) * s.some((1e-3, 0.3, 0.9)) * np.array([1, -1])
    s.tensors[names[0]], s.tensors[names[1]] = np.c_[into, column], np.append(bias, [0.0, 0.0])
    s.tensors[names[2]] = np.append(codes, [0, 0]).astype(np.int64)
    s.tensors[names[3]] = np.r_[after, row]


def unread_deep_unit(s: Subject) -> None:
    """Every MLP one identity deeper, and a unit of the first hidden layer that nothing reads."""
    for n in range(s.layers):
        depth = s.shape[n][1]
        if depth < 2:
            continue
        for m in range(depth - 1, 0, -1):
            for part in ("W", "b", "activation"):
                if f"layers.{n}.mlp.{m}.{part}" in s.tensors:
                    s.tensors[f"layers.{n}.mlp.{m + 1}.{part}"] = s.tensors.pop(f"layers.{n}.mlp.{m}.{part}")
        units = len(s.tensors[f"layers.{n}.mlp.0.b"])
        s.tensors[f"layers.{n}.mlp.1.W"] = np.eye(units)
        s.tensors[f"layers.{n}.mlp.1.b"] = np.zeros(units)
        s.tensors[f"layers.{n}.mlp.1.activation"] = np.zeros(units, dtype=np.int64)
        s.shape[n][1] += 1
    idle_unit(s)
