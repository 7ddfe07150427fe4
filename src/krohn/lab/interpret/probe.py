"""Linear probes: what a linear map can read off activations."""

from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.errors import InvalidInput


@dataclass(frozen=True)
class ProbeResult:
    """Held-out accuracy of the probe, and of always guessing the most common value."""

    accuracy: float
    baseline: float


RIDGE = 1e-3


class LinearProbe:
    """Activations ``[word, t, dim]``, split by words: the first half for fitting, the second for evaluation.

    The probe is ridge regression onto one-hot labels, solved exactly in float64: no learning rate, no seed.
    What depends on the activations alone is cached.
    """

    def __init__(self, activations: Tensor) -> None:
        if activations.dim() != 3 or len(activations) < 2:
            raise InvalidInput(
                "a probe needs activations [word, t, dim] of at least two words, to fit and to judge; "
                f"got {tuple(activations.shape)}"
            )
        self.shape, half = activations.shape[:2], len(activations) // 2
        features = _standardise(activations, half)
        self._fit, self._judge = features[:half].flatten(0, 1), features[half:].flatten(0, 1)
        eye = torch.eye(self._fit.shape[1], dtype=torch.float64, device=features.device)
        self._factor = torch.linalg.cholesky(self._fit.T @ self._fit + RIDGE * len(self._fit) * eye)

    def judge(self, labels: Tensor) -> ProbeResult:
        """Fits and evaluates a probe of ``labels[word, t]``."""
        if labels.shape != self.shape:
            given = f"{tuple(self.shape)} and {tuple(labels.shape)}"
            raise InvalidInput(f"a probe needs one label for each activation [word, t, dim]; got {given}")
        half = len(labels) // 2
        fit, judge = labels[:half].flatten(), labels[half:].flatten()
        targets = torch.nn.functional.one_hot(fit, int(labels.max()) + 1).to(torch.float64)
        weights = torch.cholesky_solve(self._fit.T @ targets, self._factor)
        accuracy = ((self._judge @ weights).argmax(dim=1) == judge).double().mean().item()
        commonest = targets.sum(dim=0).argmax()
        return ProbeResult(accuracy, (judge == commonest).double().mean().item())


def _standardise(activations: Tensor, fitted: int) -> Tensor:
    """Standardised by the fitted half, with a constant column for the intercept."""
    values = activations.to(torch.float64)
    known = values[:fitted].flatten(0, 1)
    values = (values - known.mean(dim=0)) / known.std(dim=0).clamp_min(1e-9)
    return torch.cat([values, torch.ones_like(values[..., :1])], dim=-1)
