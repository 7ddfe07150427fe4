"""``krohn suite``: networks whose algorithm is known, with their circuits, and a scorer."""

from pathlib import Path
from typing import Any

import click

import krohn
from krohn.cli.options import PATH
from krohn.cli.output import emit, json_option, note


@click.group()
def command() -> None:
    """Build GPT-2s whose algorithm is known, and score circuits and subspaces against the truth.

    All commands take --json.

    \b
    Example:  krohn suite build --out suite --only c2-cascade-plain
              krohn suite score suite/c2-cascade-plain --circuit suite/c2-cascade-plain/circuit.json
    """


@command.command("list")
@json_option
def list_networks(as_json: bool) -> None:
    """List the networks: tier, automaton, algorithm, disguise.

    \b
    Example:  krohn suite list
    """
    from krohn.for_commands import suite_networks

    rows = suite_networks()
    emit({"networks": rows}, as_json=as_json, text=rows.text)


@command.command("build")
@click.option("--out", type=PATH, required=True, help="Directory for the folders.")
@click.option("--only", default=(), help="Names of networks, with commas.  [default: all but the locks]")
@json_option
def build_networks(out: Path, only: str | tuple[()], as_json: bool) -> None:
    """Write networks with their circuits and counterfactuals.

    Finished networks are kept, so that a build that was interrupted goes on.

    \b
    Example:  krohn suite build --out suite --only c2-cascade-plain,d6-scan-rotated
    """
    done = krohn.suite.build(out, only, lambda name, number, count: note(f"{number + 1}/{count} {name}"))
    emit({"networks": done.rows()}, as_json=as_json, text=done.text)


@command.command("score")
@click.argument("folder", type=PATH)
@click.option(
    "--circuit", type=PATH, help="A circuit in MIB's JSON format, or a directory with one for each size."
)
@click.option("--subspace", type=PATH, help="JSON: variable, place, basis.")
@click.option("--answers", type=PATH, help="For locks. JSON: name of task to automaton.")
@click.option("--key", type=PATH, help="For locks: the key.  [default: FOLDER.key/key.json]")
@json_option
def score_hypothesis(
    folder: Path,
    circuit: Path | None,
    subspace: Path | None,
    answers: Path | None,
    key: Path | None,
    as_json: bool,
) -> None:
    """Compare circuits, subspaces or automata with the truth.

    A circuit is scored by AUROC over all edges, and by MIB's faithfulness curve; a subspace by how often
    swapping it between two words makes the network answer as the causal model does. Automata of locks are
    right if they agree with the truth on every word; the planted words are counted as well.

    \b
    Example:  krohn suite score suite/c2-cascade-plain --circuit my-circuit.json
              krohn suite score locks --answers answers.json
    """
    if sum(given is not None for given in (circuit, subspace, answers)) != 1:
        raise click.UsageError("give --circuit FILE, --subspace FILE or --answers FILE, one of the three")
    score: Any = krohn.suite.score(folder, circuit=circuit, subspace=subspace, answers=answers, key=key)
    payload = score.to_json() if subspace is None else {"subspaces": score.rows()}
    emit(payload, as_json=as_json, text=score.text)


@command.command("locks")
@click.option("--count", type=click.IntRange(1, 100_000), required=True, help="How many.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), required=True, help="Decides all planted words.")
@click.option("--out", type=PATH, required=True, help="A new folder; the key goes beside it.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, help="Processes at a time.")
@json_option
def write_locks(count: int, seed: int, out: Path, jobs: int, as_json: bool) -> None:
    """Write networks with a planted word, tasks, and the key.

    A lock shows a parity until a word of 11 letters over 8 has been read, and its opposite from then on.
    OUT can be published; OUT.key holds key, seed, plain networks and certificates.

    \b
    Example:  krohn suite locks --count 3 --seed 1 --out locks
    """
    tasks = krohn.suite.locks(
        out, count, seed, progress=lambda name, number, count: note(f"{number + 1}/{count} {name}"), jobs=jobs
    )
    emit({"tasks": tasks.rows(), "key": str(tasks.key)}, as_json=as_json, text=tasks.text)
