"""Many automata in one run: a network for each, stacked in one graph; one row for each network.

A stack is a run like any other, whose replicates have an automaton each (`krohn.lab.tasks.many`). Its
configuration names the automata by a digest of their tables, so that a run directory belongs to them.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from krohn.automata.files import automaton_from_payload, load_automaton
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike, as_automaton, automaton, parse_spec
from krohn.base.files import parse_json, path_of, read_bytes, write_text
from krohn.base.notebook import frame, table
from krohn.errors import InvalidInput, KrohnError, Unsupported, counted
from krohn.lab.models.parameters import Weights
from krohn.lab.tasks.many import ManyTask
from krohn.lab.training.config import RunConfig
from krohn.lab.training.device import choose_precision
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.loop import TrainResult, train
from krohn.lab.training.sections import TEST_SEED
from krohn.lab.training.settings import written_down
from krohn.lab.training.stack_networks import write_networks
from krohn.lab.training.start import start_reasons

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame

TOGETHER = 256
"""Networks in one stack, unless the caller says otherwise."""
MOST_BYTES = 200_000_000
ROWS = "rows.jsonl"
LEARNED = 0.99
"""The share of letters from which an automaton counts as learned."""
LONGER_WORDS = 64
TEST_WORDS = 4
"""Size of the test set relative to the validation set."""
KINDS = {"bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64}
_SEEDS = 1_000_003  # stacks have seeds of their own, far from those of other runs


@dataclass(frozen=True)
class ManyResult:
    """What many runs gave.

    Attributes:
        rows: for each network its automaton and replicate; ``accuracy`` and ``word_accuracy`` on a test set;
            ``words_read`` up to the first evaluation with 99% of the letters, or ``None``; ``status``; and
            ``longer``: for some longer lengths the share of right letters beyond the trained length.
        seconds: time spent training.
    """

    rows: list[dict[str, Any]]
    seconds: float

    failed = False

    def __repr__(self) -> str:
        return f"<ManyResult: {counted(len(self.rows), 'network')}, {self.learned} learned>"

    @property
    def learned(self) -> int:
        """Networks with 99% of the letters of the test set."""
        return sum(row["accuracy"] >= LEARNED for row in self.rows)

    def to_frame(self) -> "DataFrame":
        """One row for each network."""
        return frame(self.rows)

    def text(self) -> str:
        """A row for each network, and the speed."""
        header = ("automaton", "replicate", "accuracy", "words read to 99%")
        rows = [
            (row["automaton"], row["replicate"], f"{row['accuracy']:.4f}", row["words_read"] or "")
            for row in self.rows
        ]
        total = f"{self.learned} of {len(rows)} learned, {self.seconds:.1f} s of training"
        return f"{table(header, rows)}\n{total}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"rows": self.rows, "seconds": self.seconds, "learned": self.learned}


def train_many(
    automata: Iterable[AutomatonLike],
    *,
    replicates: int = 1,
    together: int = TOGETHER,
    longer: Sequence[int] = (2, 4),
    directory: Path | str | None = None,
    device: str | None = None,
    progress: bool = False,
    deadline: float | None = None,
    seed: int = 0,
    each: Callable[[list[dict[str, Any]]], object] = lambda rows: None,
    **settings: Any,
) -> ManyResult:
    """Trains a network for each automaton: ``train_many(["C2", "Grid4"], length=32, layers=4, steps=2000)``.

    With a directory, every stack is a run directory in it, and so is every network of the stacks that are
    done, for ``krohn verify``, ``krohn understand`` and the others; ``rows.jsonl`` has a line for each, whose
    number is in the folder's name. The same call continues.

    Args:
        automata: objects, names or files.
        replicates: networks for each automaton, from different seeds.
        together: networks that are trained in one graph.
        longer: multiples of the length at which the networks are also tested.
        directory: where to save.
        device: ``cpu`` or ``cuda``; the GPU if there is one by default.
        progress: show the progress of each stack on stderr.
        deadline: Unix time; no stack begins after it, and one that runs gives no rows.
        seed: of weights and data.
        each: called with the rows of each stack.
        settings: of the run, as ``krohn.train`` takes them.
    """
    if min(replicates, together, *longer, 2) < 1:
        raise InvalidInput(
            "replicates, together and every length must be at least 1; "
            f"got {replicates}, {together}, {tuple(longer)}"
        )
    chosen = [as_automaton(one) for one in automata]
    if not chosen:
        raise InvalidInput("there must be at least one automaton; got none")
    places = [(one, replicate) for one in chosen for replicate in range(replicates)]
    stacks = [places[first : first + together] for first in range(0, len(places), together)]
    plans = [plan_of(stack, seed * _SEEDS + index, settings) for index, stack in enumerate(stacks)]
    for config, stack in zip(plans, stacks, strict=True):  # all that is wrong, before the first one trains
        faults = start_reasons(config, tuple(one for one, _ in stack), device)
        if faults:
            raise Unsupported("; ".join(faults))
    path, seconds = None if directory is None else path_of(directory), 0.0
    rows: list[dict[str, Any]] = []
    for index, (config, stack) in enumerate(zip(plans, stacks, strict=True)):
        if deadline is not None and time.time() >= deadline:
            break
        result = train(
            config,
            directory=None if path is None else path / f"stack-{index + 1}",
            device=device,
            progress=progress,
            automaton=tuple(one for one, _ in stack),
            deadline=deadline,
            test_sequences=TEST_WORDS * config.evaluation.sequences,
        )
        seconds += result.seconds
        if not result.finished:
            break
        if path is not None:
            write_networks(path, result, stack, len(rows))
        rows += _rows(result, stack, longer)
        each(rows[-len(stack) :])
        if path is not None:
            write_text(path / ROWS, "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows))
    return ManyResult(rows, seconds)


def automata_of(path: Path) -> list[Semiautomaton]:
    """The automata of a folder of files, or of a file with one JSON value in each line.

    A line is a name as on the command line, a whole automaton as krohn writes it, or the next states of each
    state: ``{"automaton": NAME, "table": [[…], …], "start": 0}``.
    """
    if not path.exists():
        raise InvalidInput(f"--each must be a file or folder of automata; there is no {path}")
    if path.is_dir():
        files = [one for one in sorted(path.iterdir()) if one.is_file() and not one.name.startswith(".")]
        return [load_automaton(one) for one in files]
    result = []
    for number, line in enumerate(read_bytes(path, MOST_BYTES).decode(errors="replace").splitlines(), 1):
        if line.strip():
            try:
                result.append(_automaton_of(parse_json(line)))
            except KrohnError as error:
                raise InvalidInput(f"{path} line {number}: {error}") from error
    return result


def _automaton_of(held: Any) -> Semiautomaton:
    if isinstance(held, str):
        return parse_spec(held)
    if not isinstance(held, dict) or "table" not in held:
        return automaton_from_payload(held)
    unknown = sorted(set(held) - {"automaton", "kind", "table", "start"})
    if unknown:
        raise InvalidInput(f"the keys must be automaton, kind, table and start; got {unknown[0]!r}")
    return automaton(held["table"], start=held.get("start", 0), name=str(held.get("automaton", "")))


def plan_of(stack: Sequence[tuple[Semiautomaton, int]], seed: int, settings: dict[str, Any]) -> RunConfig:
    """The run of a stack of automata, each with the number of its replicate."""
    return RunConfig.from_dict(
        written_down(
            f"each:{digest([one for one, _ in stack])}", settings | {"replicates": len(stack), "seed": seed}
        )
    )


def digest(automata: Sequence[Semiautomaton]) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of all tables, starts and observations."""
    known = [[one.table.tolist(), one.start, list(one.observe or ())] for one in automata]
    return sha256(json.dumps(known).encode()).hexdigest()[:16]


def _rows(
    result: TrainResult, stack: Sequence[tuple[Semiautomaton, int]], longer: Sequence[int]
) -> list[dict[str, Any]]:
    """The rows of a stack."""
    batch, length = result.config.optimizer.batch, result.config.task.length
    longer_shares = {length * factor: _beyond(result, factor) for factor in longer}
    rows = []
    for place, ((learned, replicate), entry) in enumerate(zip(stack, result.replicates, strict=True)):
        steps = [row["step"] for row in result.curves if row["accuracy"][place] >= LEARNED]
        rows.append(
            {
                "automaton": learned.name,
                "replicate": replicate,
                "accuracy": round(entry["test"]["accuracy"], 5),
                "word_accuracy": round(entry["test"]["sequence_accuracy"], 5),
                "words_read": steps[0] * batch if steps else None,
                "status": entry["status"],
                "longer": {
                    str(letters): round(shares[place], 5) for letters, shares in longer_shares.items()
                },
            }
        )
    return rows


def _beyond(result: TrainResult, factor: int) -> list[float]:
    """For each network the share of right letters beyond the trained length, on longer words."""
    config, task = result.config, result.task
    assert isinstance(task, ManyTask)
    longer = ManyTask(replace(config.task, length=factor * config.task.length), task.automata, task.device)
    words = HeldOut(longer, seed=TEST_SEED, count=LONGER_WORDS)
    scores = words.judge(result.network, _cast(result))
    return scores.position[:, config.task.length :].mean(1).tolist() if factor > 1 else scores.token.tolist()


def _cast(result: TrainResult) -> Weights:
    """The best weights in the precision in which they were trained."""
    kind = KINDS[choose_precision(result.config, result.task.device)]
    return {name: value.to(kind) for name, value in result.weights.items()}
