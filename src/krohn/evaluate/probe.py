"""Linear probes: can a coordinate of the cascade be read off the activations by a linear map?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.errors import InvalidInput


@dataclass(frozen=True)
class ProbeResult:
    """Held-out accuracy of the probe beside that of always guessing the commonest value."""

    accuracy: float
    baseline: float

    @property
    def gain(self) -> float:
        """How much of what guessing leaves open the probe gets right; 1 is everything, 0 nothing."""
        return (self.accuracy - self.baseline) / (1 - self.baseline) if self.baseline < 1 else 0.0


def linear_probe(activations: Tensor, labels: Tensor, *, ridge: float = 1e-3) -> ProbeResult:
    """Fits on the first half of the words, judges on the second.

    ``activations[word, t, dim]`` and ``labels[word, t]``. The probe is ridge regression onto one-hot
    labels, solved exactly in float64: no learning rate, no seed.
    """
    if activations.shape[:2] != labels.shape or activations.dim() != 3:
        given = f"{tuple(activations.shape)} and {tuple(labels.shape)}"
        raise InvalidInput(f"a probe needs one label for each activation [word, t, dim]; got {given}")
    words = labels.shape[0]
    if words < 2:
        raise InvalidInput(f"a probe needs at least two words, one to fit and one to judge; got {words}")
    classes = int(labels.max()) + 1
    features = _standardised(activations, words // 2)
    fit, judge = features[: words // 2].flatten(0, 1), features[words // 2 :].flatten(0, 1)
    fit_labels, judge_labels = labels[: words // 2].flatten(), labels[words // 2 :].flatten()
    targets = torch.nn.functional.one_hot(fit_labels, classes).to(torch.float64)
    gram = fit.T @ fit + ridge * len(fit) * torch.eye(fit.shape[1], dtype=torch.float64, device=fit.device)
    weights = torch.linalg.solve(gram, fit.T @ targets)
    accuracy = ((judge @ weights).argmax(dim=1) == judge_labels).double().mean().item()
    commonest = targets.sum(dim=0).argmax()
    return ProbeResult(accuracy, (judge_labels == commonest).double().mean().item())


def _standardised(activations: Tensor, fitted: int) -> Tensor:
    """Zero mean and unit spread by the fitted half, with a constant column for the offset."""
    values = activations.to(torch.float64)
    known = values[:fitted].flatten(0, 1)
    values = (values - known.mean(dim=0)) / known.std(dim=0).clamp_min(1e-9)
    return torch.cat([values, torch.ones_like(values[..., :1])], dim=-1)
