"""Reference for ``Recurrent.v``: the layers in scalar torch float32, summed from left to right."""

import math

import torch
from torch import Tensor

from krohn.check.recurrent.stacks import DeltaStack, DiagonalStack, RankOneStack
from krohn.coq.stored import StoredNetwork

Vector = list[Tensor]
ZERO, ONE, TWO = (torch.tensor(float(n)) for n in range(3))


def dot(x: Vector, y: Vector) -> Tensor:
    total = x[0] * y[0]
    for a, b in list(zip(x, y, strict=True))[1:]:
        total = total + a * b
    return total


def root(x: Tensor) -> Tensor:
    """Rounded to nearest, as float64's is when rounded again; torch's own may be one unit off."""
    return torch.tensor(math.sqrt(x.item()))


class ScalarNetwork:
    """Runs one word; gates must be saturated or at 0."""

    def __init__(self, network: StoredNetwork) -> None:
        self.cell = network.cell
        self.tensors = {t.name: torch.from_numpy(t.floats().copy()) for t in network.tensors}

    def logits(self, word: list[int]) -> Tensor:
        """Logits after the last letter."""
        layers, dim = self.cell.layers, self.cell.dim
        memories: list[object] = [None] * layers
        before = {(i, part): [ZERO] * dim for i in range(layers) for part in ("mixer", "mlp")}
        for letter in word:
            x = list(self.tensors["wte"][letter])
            for i in range(layers):
                read, memories[i] = self.mix(f"h.{i}.mix.", self.window(x, before, (i, "mixer")), memories[i])
                y = [a + b for a, b in zip(x, self.linear(read, f"h.{i}.mix.out"), strict=True)]
                seen = self.window(y, before, (i, "mlp"))
                hidden = [torch.relu(z) for z in self.linear(seen, f"h.{i}.mlp.in", f"h.{i}.mlp.in_bias")]
                x = [a + b for a, b in zip(y, self.linear(hidden, f"h.{i}.mlp.out"), strict=True)]
            result = torch.stack(self.linear(x, "head.weight", "head.bias"))
        return result

    def window(self, x: Vector, before: dict[tuple[int, str], Vector], place: tuple[int, str]) -> Vector:
        last, before[place] = before[place], x
        return [*x, *last] if self.cell.conv == 2 else x

    def linear(self, x: Vector, weight: str, bias: str = "") -> Vector:
        matrix = self.tensors[weight]
        offsets = list(self.tensors[bias]) if bias else []
        return [
            dot([*x, *([ONE] if bias else [])], [*matrix[:, j], *([offsets[j]] if bias else [])])
            for j in range(matrix.shape[1])
        ]

    def mix(self, p: str, x: Vector, memory: object) -> tuple[Vector, object]:
        if not isinstance(self.cell, DiagonalStack):
            return self.delta(p, x, memory)
        gates, write = self.linear(x, f"{p}gate.weight", f"{p}gate.bias"), self.linear(x, f"{p}write")
        if self.cell.gate != "complex":
            bend = torch.tanh if self.cell.gate == "signed" else torch.sigmoid
            old = memory or [ZERO] * len(gates)
            new = [w + bend(z) * h for z, w, h in zip(gates, write, old, strict=True)]  # type: ignore[call-overload]
            return new, new
        n = len(gates) // 2
        real, imaginary = memory or ([ZERO] * n, [ZERO] * n)  # type: ignore[misc]
        re, im = [], []
        for k in range(n):
            a, b = gates[k], gates[n + k]
            size = root(torch.maximum(a * a + b * b, ONE))
            a, b = a / size, b / size
            re.append((a * real[k] - b * imaginary[k]) + write[k])
            im.append((a * imaginary[k] + b * real[k]) + write[n + k])
        return [*re, *im], (re, im)

    def delta(self, p: str, x: Vector, memory: object) -> tuple[Vector, object]:
        assert isinstance(self.cell, DeltaStack)
        heads, steps, keys, values = self.cell.sizes_of_heads
        parts = {k: self.linear(x, p + k) for k in ("key", "value", "query")}
        rank_one = isinstance(self.cell, RankOneStack)
        rates = "rate" if rank_one else "beta"
        rate = [TWO * torch.sigmoid(z) for z in self.linear(x, f"{p}{rates}.weight", f"{p}{rates}.bias")]
        reads, after = [], []
        for h in range(heads):
            columns = memory[h] if memory else [[ZERO] * keys for _ in range(values)]  # type: ignore[index]
            if not rank_one:
                gate = torch.sigmoid(self.linear(x, f"{p}gate.weight", f"{p}gate.bias")[h])
                columns = [[gate * c for c in column] for column in columns]
            for s in range(steps):
                at = h * steps + s
                raw = _piece(parts["key"], at, keys)
                size = torch.maximum(root(dot(raw, raw)), torch.tensor(1e-12))
                key = [k / size for k in raw]
                value = _piece(parts["value"], at, values)
                look = [r * k for r, k in zip(_piece(rate, at, keys), key, strict=True)] if rank_one else key
                new = []
                for column, v in zip(columns, value, strict=True):
                    missing = v - dot(look, column)
                    write = missing if rank_one else rate[at] * missing
                    new.append([c + k * write for c, k in zip(column, key, strict=True)])
                columns = new
            query = _piece(parts["query"], h, keys)
            reads += [dot(query, column) for column in columns]
            after.append(columns)
        return reads, after


def _piece(values: Vector, place: int, size: int) -> Vector:
    return values[place * size : (place + 1) * size]
