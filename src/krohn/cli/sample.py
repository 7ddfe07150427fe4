"""``krohn sample``: a data set of random words and their states."""

import sys
import time
from pathlib import Path

import click

from krohn.automata.datasets import Drawing, write_dataset
from krohn.automata.language_data import FORMATS, loader, write_language
from krohn.automata.sampling import Sampler
from krohn.automata.zoo import parse_spec
from krohn.cli.output import emit, json_option
from krohn.errors import InvalidInput, counted
from krohn.network.gpt2.token_words import token_sampler


@click.command()
@click.argument("spec", required=False)
@click.option("--length", "-T", type=int, required=True, help="Letters per word.")
@click.option("--count", type=int, required=True, help="Number of words.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="F.parquet, F.npz or F.jsonl.")
@click.option(
    "--for",
    "export",
    type=click.Path(path_type=Path),
    help="The directory of an export: write words as its tokens, with labels; SPEC is not needed.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="Text for next-token language models, F.jsonl: letters with queried states, a session, or tokens.",
)
@click.option("--distribution", help="uniform, feasible, bernoulli:P or abab:P; default: the paper's choice.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same file.")
@click.option(
    "--threads",
    type=click.IntRange(1, 64),
    help="Threads; by default one per core. Their number never changes the data.",
)
@json_option
def command(
    spec: str | None,
    length: int,
    count: int,
    out: Path,
    export: Path | None,
    form: str | None,
    distribution: str | None,
    seed: int,
    threads: int | None,
    as_json: bool,
) -> None:
    """Write random words with the states after each letter, as 0-based integers.

    With --for the columns are input_ids, labels (shifted one position to the right, as
    stock losses expect) and targets (unshifted); -100 marks positions without a label.

    \b
    Example:  krohn sample S5 --length 100 --count 100000 --out s5.npz
              krohn sample --for nets/s4-gpt2 --length 50 --count 1000 --out s4.parquet
              krohn sample S3 --length 64 --count 1000 --format repl --out s3.jsonl
    """
    if form is not None and export is not None:
        raise InvalidInput("--format is for language models, --for is for an export; give one of them")
    sampler = _sampler(spec, export, length, distribution, seed)
    begin = time.perf_counter()
    if form is None:
        _write(sampler, count, out, threads)
    else:
        write_language(sampler, count, out, form, threads=threads)
    seconds = time.perf_counter() - begin
    payload = {
        "count": count,
        "length": length,
        "seconds": seconds,
        "automaton": sampler.automaton.name,
        "distribution": sampler.distribution_name,
        "seed": seed,
        "out": str(out),
    }
    if form is not None:
        payload |= {"format": form, "load": loader(form, out)}
    words = counted(count, "word")
    text = f"{out}: {words} of length {length:,} ({payload['distribution']}) in {seconds:.2f} s"
    text += "" if form is None else f"\nload it: {payload['load']}"
    emit(payload, as_json=as_json, text=lambda: text)


def _sampler(
    spec: str | None, export: Path | None, length: int, distribution: str | None, seed: int
) -> Drawing:
    automaton = None if spec is None else parse_spec(spec)
    if export is not None:
        return token_sampler(export, automaton, length, distribution, seed)
    if automaton is None:
        raise InvalidInput("sample needs an automaton, or --for and the directory of an export")
    return Sampler(automaton, length, distribution, seed)


def _write(sampler: Drawing, count: int, out: Path, threads: int | None) -> None:
    if not sys.stderr.isatty():
        write_dataset(sampler, count, out, threads=threads)
        return
    from tqdm import tqdm

    with tqdm(total=count, unit=" words", unit_scale=True, desc=out.name, leave=False) as bar:
        write_dataset(sampler, count, out, threads=threads, progress=bar.update)
