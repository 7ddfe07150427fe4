"""What a lemma promises about an MLP: hidden widths and the largest entry of each matrix and bias."""

from dataclasses import dataclass

import numpy as np

from krohn.network.transformer import Mlp

ROUNDING = 1e-9
"""Slack for the float64 rounding of a norm that meets its bound with equality."""


@dataclass(frozen=True)
class MlpBound:
    """Hidden widths, then one ∞-norm per weight matrix and per bias."""

    widths: tuple[int, ...]
    weights: tuple[float, ...]
    biases: tuple[float, ...]

    def violations(self, mlp: Mlp) -> list[str]:
        """Every promise the network breaks, in words; empty if it keeps them all."""
        found = []
        if len(mlp.weights) != len(self.weights):
            found.append(f"{len(mlp.weights)} layers, promised {len(self.weights)}")
        for index, (width, limit) in enumerate(zip(mlp.hidden_widths, self.widths, strict=False)):
            if width > limit:
                found.append(f"hidden layer {index} has width {width} > {limit}")
        for kind, arrays, limits in (("W", mlp.weights, self.weights), ("b", mlp.biases, self.biases)):
            for index, (array, bound) in enumerate(zip(arrays, limits, strict=False)):
                norm = float(np.abs(array).max(initial=0.0))
                if norm > bound * (1 + ROUNDING) + ROUNDING:
                    found.append(f"{kind}_{index + 1} has norm {norm:g} > {bound:g}")
        return found
