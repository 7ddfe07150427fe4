"""A part of an experiment: some of its runs, or all of them with another number of sequences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from krohn.errors import InvalidInput, UnknownName
from krohn.experiments.experiment import PlannedRun


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which runs, and how long.

    Attributes:
        where: for some parts of the label (task, depth, model, …) the values to run; empty for all.
        sequences: training words of each replicate, instead of the recipe's number; the run gets another id.
    """

    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sequences: int | None = None

    def __post_init__(self) -> None:
        if self.sequences is not None and self.sequences < 1:
            raise InvalidInput(f"the number of sequences must be at least 1; got {self.sequences}")

    def of(self, planned: Sequence[PlannedRun]) -> list[PlannedRun]:
        """The chosen runs; a value that no run has is refused with the list of the known."""
        for part, values in self.where.items():
            known = list(dict.fromkeys(str(run.label.get(part, "")) for run in planned))
            if known == [""]:
                parts = ", ".join(planned[0].label)
                raise UnknownName(f"runs of this experiment differ in {parts}; got {part!r}")
            for value in values:
                if value not in known:
                    raise UnknownName(f"{part} must be one of {'; '.join(known)}; got {value!r}")
        chosen = [
            run
            for run in planned
            if all(str(run.label.get(part, "")) in values for part, values in self.where.items() if values)
        ]
        return [self._resized(run) for run in chosen]

    def _resized(self, run: PlannedRun) -> PlannedRun:
        if self.sequences is None:
            return run
        config = run.config
        steps = max(1, self.sequences // config.optimizer.batch)
        # As many evaluations as the recipe has, so that curves stay comparable.
        every = max(1, config.evaluation.every * steps // config.steps)
        evaluation = replace(config.evaluation, every=every)
        return replace(run, config=replace(config, steps=steps, evaluation=evaluation))
