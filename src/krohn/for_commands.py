"""What commands call beside the public functions: steps of their own that need several rooms."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from krohn.automata.boolean import parts_of
from krohn.automata.datasets import write_dataset
from krohn.automata.documents import loader, write_language
from krohn.automata.grading import grade as grade
from krohn.automata.reader import Reader, answer_all, states_of_all
from krohn.automata.regular import Match, from_textbook, is_delimited, looks_like_a_textbook
from krohn.automata.sampling import Sampler
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import DROP, names_a_file
from krohn.base.notebook import Rows
from krohn.errors import InvalidInput, counted
from krohn.proving.kinds import Forward
from krohn.proving.scan_cost import LONG, cost_of_scan

if TYPE_CHECKING:
    from krohn.exporting.exported import Exports
    from krohn.lab.training.loop import TrainResult
    from krohn.lab.training.many_runs import ManyResult
    from krohn.lab.training.settings import TrainSetting

BATCH_LETTERS = 1 << 16
"""Letters that a network reads at once."""


def spec_as_read(text: str, *, match: Match, outputs: bool, textbook: bool) -> tuple[str, str]:
    """The text for ``parse_spec`` of a pattern or file that is read so, and what should be said about it."""
    if expression := parts_of(text):
        operation, parts = expression
        read = [spec_as_read(each, match=match, outputs=outputs, textbook=textbook) for each in parts]
        remark = next((remark for _, remark in read if remark), "")
        return f"{operation}({'; '.join(part for part, _ in read)})", remark
    if not text.startswith("regex:"):
        return f"{text}{DROP}" if not outputs and names_a_file(text) else text, ""
    pattern, remark = text.removeprefix("regex:"), ""
    if textbook:
        pattern = from_textbook(pattern)
    elif looks_like_a_textbook(pattern):
        remark = "this looks like a textbook's notation; it is read as Python's re: see --textbook"
    if is_delimited(pattern):
        remark = "written /…/flags: the pattern may stand anywhere in the word"
    elif match == "search":
        pattern = f"/{pattern}/"
    return f"regex:{pattern}", remark


def cost_of_proof(length: int) -> str:
    """What a proof for long words may cost; empty for others."""
    if length <= LONG:
        return ""
    return f"if no network of a fixed depth is proved, a scan is: {cost_of_scan(length).text()}"


def named_states(
    network: Reader, forward: Forward, batches: Iterable[list[list[int]]]
) -> Iterator[list[str]]:
    """Names of the states of words of any lengths, as they come; one too long is refused by its line."""
    longest = network.longest or math.inf
    line = 0
    for words in batches:
        for word in words:
            line += 1
            if len(word) > longest:
                raise InvalidInput(
                    f"words must have at most {longest} letters here; line {line} has {len(word)}; "
                    f"compile with --length {len(word)} or more"
                )
        yield from map(network.names, answer_all(words, lambda batch: forward(batch).tolist(), BATCH_LETTERS))


def simulated_names(
    automaton: Semiautomaton, batches: Iterable[list[list[int]]], *, observe: bool = False
) -> Iterator[list[str]]:
    """Names of the states of words of any lengths, or what is observed of them, by the automaton itself."""
    names = automaton.observed if observe else automaton.state_names
    for words in batches:
        for states in states_of_all(automaton, words):
            yield [names[state] for state in states]


@dataclass(frozen=True)
class WrittenSample:
    """A data set on disk: what was drawn, and how it is loaded."""

    about: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return self.about

    def text(self) -> str:
        """A line, and how a language model's text is loaded."""
        known = self.about
        words = counted(known["count"], "word")
        drawn = f"{words} of length {known['length']:,} ({known['distribution']}) in {known['seconds']:.2f} s"
        load = f"\nload it: {known['load']}" if "load" in known else ""
        return f"{known['out']}: {drawn}{load}"


def write_sample(
    automaton: Semiautomaton,
    length: int,
    count: int,
    out: Path,
    *,
    form: str | None = None,
    distribution: str | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> WrittenSample:
    """Random words with their states on disk: a table, or text of a ``form``."""
    sampler = Sampler(automaton, length, distribution, seed)
    begin = perf_counter()
    if form is not None:
        write_language(sampler, count, out, form)
    else:
        write_dataset(sampler, count, out, progress=progress)
    about: dict[str, Any] = {"count": count, "length": length, "seconds": perf_counter() - begin}
    about |= {"automaton": sampler.automaton.name, "distribution": sampler.distribution_name, "seed": seed}
    about |= {"out": str(out)} | ({} if form is None else {"format": form, "load": loader(form, out)})
    return WrittenSample(about)


def export_formats() -> list[str]:
    """The formats of ``krohn export``, those of installed packages among them."""
    from krohn.exporting.formats import ALL_FORMATS

    return ALL_FORMATS.names()


def attempt_export(network: Path, formats: Sequence[str], out: Path, **options: Any) -> "Exports":
    """Exports, or why nothing was written; ``krohn.export`` raises that."""
    from krohn.exporting.driver import attempt

    return attempt(network, formats, out, **options)


def suite_networks() -> Rows[dict[str, Any]]:
    """The networks of the suite by name and tier; ``krohn.suite`` itself needs torch."""
    from krohn.lab.suite.catalogue import list_networks

    return list_networks()


def train_settings() -> "tuple[TrainSetting, ...]":
    """The settings of a run, as options are made of them."""
    from krohn.lab.training.settings import SETTINGS

    return SETTINGS


def train_as_typed(
    spec: str | None, config: Path | None, options: dict[str, Any], **show: Any
) -> "TrainResult":
    """Trains the run that the options describe, or that of a ``config.json``."""
    from krohn.lab.training import typed_run

    return typed_run.train_as_typed(spec, config, options, **show)


def train_each_as_typed(each: Path, options: dict[str, Any], **show: Any) -> "ManyResult":
    """Trains a network for each automaton of a file or folder, with the settings of the options."""
    from krohn.lab.training import typed_run

    return typed_run.train_each_as_typed(each, options, **show)
