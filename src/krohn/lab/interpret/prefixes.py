"""Prefix patching: the first positions of a word become those of another, and the network goes on.

After every block the first positions are replaced by the source's and the last ones kept, from one to all but
one. The answer at the last letter shows what the kept positions held by then; mechanisms predict it
(``hybrids``). Li, Guo and Andreas (arXiv 2503.02854) patch prefixes to tell sequential, parallel and
associative algorithms apart; here the two words differ everywhere, so that a prediction rarely holds by
chance, and each stage of each mechanism predicts the exact state.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.base.notebook import table
from krohn.errors import InvalidInput
from krohn.lab.interpret.carrying import letter_pairs, patched
from krohn.lab.interpret.hybrids import (
    LETTERS,
    ONE_STEP,
    WHOLE,
    Hybrids,
    MechanismStage,
    classes,
    ends,
    stages_between,
)
from krohn.lab.interpret.readings import Numbers, Readings
from krohn.lab.interpret.subject import Subject
from krohn.lab.interpret.swaps import dealt
from krohn.lab.interpret.understand import subject_from
from krohn.network.compiled import CompiledNetwork

PAIRS = 64
WIDTH = 98
NAMED_FROM = 0.9
"""Least share, after every block, for a mechanism to be named as the network's."""
EARLY = 0.25
"""A quotient comes early if keeping this share of the positions determines the class."""
NONE, QUOTIENT, SOME_CUT = "none of these", "quotient first", "some cut"

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Fit:
    """The best-fitting stage of a mechanism, selected on half of the pairs, evaluated on the rest.

    ``chance`` is the share of the same answers permuted among pairs with as many kept letters.
    """

    stage: str
    share: float
    chance: float


@dataclass(frozen=True)
class AfterBlock:
    """Results of patching prefixes after ``layer`` blocks.

    Attributes:
        letters, whole: for each number of kept positions, the share of the answers that follow the letters of
            both words, and of those that are the base's own; only where the two differ.
        whole_class: the same as ``whole`` for the class in the largest commutative quotient.
        known_from: least number of kept positions from which nine of ten answers are the base's own.
        class_known_from: the same for the class.
        first_letter: for each number of patched positions, the share of the answers that follow the source
            where the two words differ only in the first letter.
        first_within: least number of patched positions from which nine of ten do.
        fits: by mechanism; under ``SOME_CUT`` the best cut for each number of kept positions.
        cuts: these cuts: at c, the answer is that of the source's first c letters and the base's others.
    """

    layer: int
    letters: list[float | None]
    whole: list[float | None]
    whole_class: list[float | None] | None
    known_from: int | None
    class_known_from: int | None
    first_letter: list[float | None]
    first_within: int | None
    fits: dict[str, Fit]
    cuts: list[int]


@dataclass(frozen=True)
class PrefixReport:
    """Prefix patching of one network, and the mechanism that explains it, if one does."""

    network: str
    automaton: str
    length: int
    pairs: int
    seed: int
    kept: list[int]
    patched: list[int]
    classes: int | None
    layers: list[AfterBlock]
    mechanism: str
    nearest: str
    shares: dict[str, float]

    def __repr__(self) -> str:
        return f"<PrefixReport on {self.network[:60]}: {self.mechanism}>"

    @property
    def verdict(self) -> str:
        """The mechanism in a sentence, with the decisive numbers."""
        return _sentence(self)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "verdict": self.verdict}

    def text(self) -> str:
        """The verdict, and by layer from how many kept positions on the answer is known, and the fits."""
        return _text(self)


def patch_prefixes(
    network: CompiledNetwork | Subject | str | Path,
    *,
    length: int | None = None,
    seed: int = 0,
    pairs: int = PAIRS,
    device: str = "cpu",
) -> PrefixReport:
    """What the last answer follows when prefixes are patched after each block, and which mechanism fits.

    Args:
        network: a compiled network, or a directory of ``krohn train``, ``compile`` or ``export --to hf``.
        length: letters of the words; by default as long as the network takes.
        seed: of the words.
        pairs: of words; stages are selected on half of them and evaluated on the others.
        device: where the network is run: cpu or cuda.
    """
    subject = subject_from(network).to(device)
    letters = subject.length if length is None else length
    if not 4 <= letters <= subject.length:
        raise InvalidInput(
            f"words must have between 4 and {subject.length} letters for this network; got {letters}"
        )
    if not 8 <= pairs <= 4096:
        raise InvalidInput(f"there must be between 8 and 4096 pairs of words; got {pairs}")
    words = subject.draw(seed, 2 * pairs, letters)
    hybrids = Hybrids(*(Readings(subject.automaton, side) for side in (words[:pairs], words[pairs:])))
    kept, prefixes = kept_counts(letters), prefix_counts(letters)
    answers = patched(subject.stages, hybrids, kept)
    first = letter_pairs(hybrids.base, 0, max(8, pairs // 4))
    moved = patched(subject.stages, first, [letters - count for count in prefixes])
    return judged(subject.title, hybrids, kept, answers, (first, prefixes, moved), seed)


def kept_counts(length: int) -> list[int]:
    """How many of the last positions are kept: all counts in short words, sixteen or so in long ones."""
    if length <= 16:
        return list(range(1, length))
    spread = {round(length * part / 8) for part in range(1, 8)}
    short = {1, 2, 4, 8}
    return sorted({*short, *spread, *(length - count for count in short)} & set(range(1, length)))


def prefix_counts(length: int) -> list[int]:
    """How many of the first positions are patched to follow the first letter: powers of two, all but one."""
    return (
        list(range(1, length))
        if length <= 16
        else [*(2**n for n in range(20) if 2**n < length - 1), length - 1]
    )


def judged(
    title: str,
    hybrids: Hybrids,
    kept: list[int],
    answers_by_layer: Numbers,
    first_letters: tuple[Hybrids, list[int], Numbers] | None = None,
    seed: int = 0,
) -> PrefixReport:
    """Compares every stage of every mechanism with the answers, after each block."""
    automaton = hybrids.base.automaton
    before, after = (_predicted(stage, hybrids, kept) for stage in ends())
    asked = before != after
    by_mechanism: dict[str, list[tuple[str, Numbers]]] = {ONE_STEP: [(LETTERS, before), (WHOLE, after)]}
    for stage in stages_between(automaton, hybrids.length):
        own = by_mechanism.setdefault(stage.mechanism, list(by_mechanism[ONE_STEP]))
        own.append((stage.name, _predicted(stage, hybrids, kept)))
    group = classes(automaton)
    prefixes, first = _first(first_letters, len(answers_by_layer))
    layers = []
    for layer, answers in enumerate(answers_by_layer):
        fits = {name: _best(stages, answers, asked) for name, stages in by_mechanism.items()}
        fits[SOME_CUT], cuts = _best_cuts(hybrids, kept, answers, asked)
        whole = _rows(answers == after, asked)
        known = None
        if group is not None:
            known = _rows(group[answers] == group[after], group[before] != group[after])
        layers.append(
            AfterBlock(
                layer,
                _rows(answers == before, asked),
                whole,
                known,
                _known_from(kept, whole),
                None if known is None else _known_from(kept, known),
                first[layer],
                _known_from(prefixes, first[layer]),
                fits,
                cuts,
            )
        )
    shares = {name: min(row.fits[name].share for row in layers) for name in layers[0].fits}
    mechanism, nearest = _named(shares, layers, hybrids.length)
    number = None if group is None else len(np.unique(group))
    size = len(hybrids.base.letters)
    return PrefixReport(
        title,
        automaton.name,
        hybrids.length,
        size,
        seed,
        kept,
        prefixes,
        number,
        layers,
        mechanism,
        nearest,
        shares,
    )


def _first(
    given: tuple[Hybrids, list[int], Numbers] | None, layers: int
) -> tuple[list[int], list[list[float | None]]]:
    """The share of answers that follow the other first letter, by layer and patched positions."""
    if given is None or not len(given[0].source.letters):
        return [], [[] for _ in range(layers)]
    hybrids, prefixes, by_layer = given
    wanted = hybrids.source.states[:, -1]
    return prefixes, [[float((answers == wanted).mean()) for answers in rows] for rows in by_layer]


def _predicted(stage: MechanismStage, hybrids: Hybrids, kept: Sequence[int]) -> Numbers:
    return np.array([stage.predict(hybrids, hybrids.length - count) for count in kept])


def _best(stages: list[tuple[str, Numbers]], answers: Numbers, asked: Flags) -> Fit:
    """The stage with the highest share on the first half of the pairs, evaluated on the second."""
    half = answers.shape[1] // 2
    tuned = asked[:, :half]
    name, predicted = max(stages, key=lambda one: int((one[1] == answers)[:, :half][tuned].sum()))
    return _evaluated(name, predicted, answers, asked)


def _best_cuts(hybrids: Hybrids, kept: list[int], answers: Numbers, asked: Flags) -> tuple[Fit, list[int]]:
    """The same for the best cut between the two words, selected for each number of kept positions.

    ``letters``, ``whole word``, ``scan`` and ``left to right`` are cases of it. Tie-breaker: the latest cut.
    """
    half, cuts = answers.shape[1] // 2, []
    for count, row, ask in zip(kept, answers[:, :half], asked[:, :half], strict=True):
        first = hybrids.length - count
        hits = (hybrids.cut[:half, : first + 1] == row[:, None])[ask].sum(axis=0)
        cuts.append(first - int(hits[::-1].argmax()))
    back = [hybrids.length - count - cut for count, cut in zip(kept, cuts, strict=True)]
    predicted = np.array([hybrids.cut[:, cut] for cut in cuts])
    return _evaluated(f"{min(back)} to {max(back)} letters back", predicted, answers, asked), cuts


def _evaluated(name: str, predicted: Numbers, answers: Numbers, asked: Flags) -> Fit:
    """The fit of a prediction on the second half of the pairs."""
    half = answers.shape[1] // 2
    judge = asked[:, half:]
    row = np.broadcast_to(np.arange(len(answers))[:, None], asked.shape)[:, half:][judge]
    there, wanted = answers[:, half:][judge], predicted[:, half:][judge]
    if not len(row):
        return Fit(name, 0.0, 0.0)
    return Fit(name, float((there == wanted).mean()), dealt(there, wanted, row))


def _rows(hits: Flags, asked: Flags) -> list[float | None]:
    """By kept positions; ``None`` where no pair of words is informative."""
    return [float(hit[ask].mean()) if ask.any() else None for hit, ask in zip(hits, asked, strict=True)]


def _known_from(kept: list[int], shares: list[float | None]) -> int | None:
    """The least number of kept positions from which every share is high."""
    result = None
    for count, share in zip(reversed(kept), reversed(shares), strict=True):
        if share is not None and share < NAMED_FROM:
            break
        result = count if share is not None else result
    return result


def _named(shares: dict[str, float], layers: list[AfterBlock], length: int) -> tuple[str, str]:
    """The simplest mechanism that explains every layer, or none; and the closest one."""
    mean = {
        name: float(np.mean([row.fits[name].share for row in layers])) for name in shares if name != SOME_CUT
    }
    nearest = max(mean, key=lambda name: mean[name])
    explains = [name for name in mean if shares[name] >= NAMED_FROM]
    if explains:
        return (ONE_STEP if ONE_STEP in explains else max(explains, key=lambda name: mean[name])), nearest
    if shares[SOME_CUT] >= NAMED_FROM:
        return SOME_CUT, nearest
    early = [row for row in layers[1:-1] if _quotient_only(row, length)]
    return (QUOTIENT if early else NONE), nearest


def _quotient_only(row: AfterBlock, length: int) -> bool:
    """Whether few kept positions determine the class, but the state takes nearly all, or is never known."""
    if row.class_known_from is None or row.class_known_from > EARLY * length:
        return False
    return row.known_from is None or row.known_from > (1 - EARLY) * length


def _sentence(report: PrefixReport) -> str:
    inner = report.layers[1:-1] or report.layers[1:]
    worst = min(inner, key=lambda row: row.fits[report.nearest].share)
    fit = worst.fits[report.nearest]
    numbers = f"{fit.share:.0%} of the answers after layer {worst.layer}, chance {fit.chance:.0%}"
    if report.mechanism == QUOTIENT:
        row = next(row for row in inner if _quotient_only(row, report.length))
        return (
            f"quotient first: after layer {row.layer} the last {row.class_known_from} positions have the "
            f"class of the state ({report.classes} of them), not the state; nearest: {report.nearest}, "
            f"{numbers}"
        )
    if report.mechanism == NONE:
        return f"none of these; nearest: {report.nearest} ({numbers})"
    stages = ", ".join(f"{row.layer} {row.fits[report.mechanism].stage}" for row in report.layers)
    least = report.shares[report.mechanism]
    return f"{report.mechanism} (by layer: {stages}; at least {least:.0%} of the answers)"


def _text(report: PrefixReport) -> str:
    names = list(report.shares)
    rows = [
        (
            str(row.layer),
            "·" if row.known_from is None else str(row.known_from),
            "·" if row.class_known_from is None else str(row.class_known_from),
            "·" if row.first_within is None else str(row.first_within),
            *(
                f"{row.fits[name].share:.0%} ({row.fits[name].chance:.0%}) {row.fits[name].stage}"
                for name in names
            ),
        )
        for row in report.layers
    ]
    return "\n".join(
        [
            f"{report.network}, {report.pairs} pairs of words of {report.length} letters",
            *wrap(report.verdict, WIDTH),
            "",
            table(
                (
                    "layer",
                    "state from",
                    "class from",
                    "first letter",
                    *(f"{name} (chance)" for name in names),
                ),
                rows,
            ),
            *wrap(
                "state from, class from: how many of the last positions must be kept for nine of ten answers "
                "to have the word's own state, or its class in the largest commutative quotient; first "
                "letter: how many of the first positions must be patched for nine of ten to follow it",
                WIDTH,
            ),
        ]
    )
