"""``krohn sample``: a data set of random words and their states."""

import sys
import time
from pathlib import Path

import click

from krohn.automata.datasets import write_dataset
from krohn.automata.sampling import Sampler
from krohn.automata.spec import parse_spec
from krohn.cli.output import emit, json_option


@click.command()
@click.argument("spec")
@click.option("--length", type=int, required=True, help="Letters per word.")
@click.option("--count", type=int, required=True, help="Number of words.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="F.parquet, F.npz or F.jsonl.")
@click.option("--distribution", help="uniform, feasible, bernoulli:P or abab:P; default: the paper's choice.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same file.")
@click.option("--threads", type=click.IntRange(1, 64), help="Default: one per core; never changes the data.")
@json_option
def command(
    spec: str,
    length: int,
    count: int,
    out: Path,
    distribution: str | None,
    seed: int,
    threads: int | None,
    as_json: bool,
) -> None:
    """Writes random words with the states after each letter, as 0-based integers.

    \b
    Example:  krohn sample S5 --length 100 --count 100000 --out s5.npz
    """
    sampler = Sampler(parse_spec(spec), length, distribution, seed)
    begin = time.perf_counter()
    _write(sampler, count, out, threads)
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
    text = f"{out}: {count:,} words of length {length:,} ({payload['distribution']}) in {seconds:.2f} s"
    emit(payload, as_json=as_json, text=lambda: text)


def _write(sampler: Sampler, count: int, out: Path, threads: int | None) -> None:
    if not sys.stderr.isatty():
        write_dataset(sampler, count, out, threads=threads)
        return
    from tqdm import tqdm

    with tqdm(total=count, unit=" words", unit_scale=True, desc=out.name, leave=False) as bar:
        write_dataset(sampler, count, out, threads=threads, progress=bar.update)
