"""``krohn suite``: networks whose algorithm is known, with their circuits, and a scorer."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from krohn.base.notebook import table
from krohn.cli.output import emit, json_option, note
from krohn.lab.suite.catalogue import listed

if TYPE_CHECKING:
    from krohn.lab.suite.scoring import CircuitScore


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
    rows = listed()
    text = table(tuple(rows[0]), [tuple(row.values()) for row in rows])
    emit({"networks": rows}, as_json=as_json, text=lambda: text)


def _names(ctx: click.Context, parameter: click.Parameter, given: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in (given or "").split(",") if name.strip()))


@command.command("build")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Directory for the folders.")
@click.option("--only", callback=_names, help="Names of networks, with commas.  [default: all]")
@json_option
def build_networks(out: Path, only: tuple[str, ...], as_json: bool) -> None:
    """Write networks with their circuits, causal models and counterfactuals; finished ones are kept.

    \b
    Example:  krohn suite build --out suite --only c2-cascade-plain,d6-scan-rotated
    """
    from krohn.lab.suite.building import build

    done = build(out, only, lambda name, number, count: note(f"{number + 1}/{count} {name}"))
    keys = ("name", "blocks", "heads", "width", "edges", "in graph", "variables", "proof")
    rows = [
        (
            built.name,
            *(built.facts.get(key, "·") for key in ("layers", "heads", "dim", "edges", "in_graph")),
            len(built.facts["variables"]),
            "proved" if built.facts.get("proof", "").startswith("proved") else "tested",
        )
        for built in done
    ]
    payload = {"networks": [built.to_json() for built in done]}
    emit(payload, as_json=as_json, text=lambda: table(keys, rows))


@command.command("score")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--circuit",
    type=click.Path(path_type=Path),
    help="A circuit in MIB's JSON format, or a directory with one for each size.",
)
@click.option("--subspace", type=click.Path(path_type=Path), help="JSON: variable, place, basis.")
@click.option(
    "--answers", type=click.Path(path_type=Path), help="For locks. JSON: name of task to automaton."
)
@click.option(
    "--key", type=click.Path(path_type=Path), help="For locks: the key.  [default: FOLDER.key/key.json]"
)
@json_option
def score_hypothesis(
    folder: Path,
    circuit: Path | None,
    subspace: Path | None,
    answers: Path | None,
    key: Path | None,
    as_json: bool,
) -> None:
    """Compare a circuit, subspaces of variables, or automata with what is known of the network in FOLDER.

    A circuit is scored by AUROC over all edges, and by MIB's faithfulness curve; a subspace by how often
    swapping it between two words makes the network answer as the causal model does. Automata of locks are
    right if they agree with the truth on every word; the planted words are counted as well.

    \b
    Example:  krohn suite score suite/c2-cascade-plain --circuit my-circuit.json
              krohn suite score locks --answers answers.json
    """
    if sum(given is not None for given in (circuit, subspace, answers)) != 1:
        raise click.UsageError("give --circuit FILE, --subspace FILE or --answers FILE, one of the three")
    if answers is not None:
        from krohn.lab.suite.locks import score_locks

        found = score_locks(folder, answers, key)
        said = f"{found.exact:.1%} of the automata are exact, {found.word:.1%} of the planted words are found"
        emit(found.to_json(), as_json=as_json, text=lambda: said)
        return
    from krohn.lab.suite.scoring import score_circuit, score_subspace

    if circuit is not None:
        score = score_circuit(folder, circuit)
        emit(score.to_json(), as_json=as_json, text=lambda: _circuit_text(score))
        return
    assert subspace is not None
    result = score_subspace(folder, subspace)
    rows = [(one.variable, one.place, one.dimension, f"{one.interchange:.1%}", one.pairs) for one in result]
    emit(
        {"subspaces": [one.to_json() for one in result]},
        as_json=as_json,
        text=lambda: table(("variable", "place", "dimension", "interchange accuracy", "pairs"), rows),
    )


def _circuit_text(score: "CircuitScore") -> str:
    """A few lines, and the curve."""
    overlap = (
        f"of the circuit's edges {score.precision:.0%} are true, "
        f"of the true ones {score.recall:.0%} are in it"
        if score.claimed
        else "no edge is marked in_graph, so this is a ranking without a circuit"
    )
    curve = score.curve
    columns = curve.share, curve.true_positive, curve.false_positive, curve.faithfulness
    rows = [(f"{a:.1%}", f"{b:.2f}", f"{c:.2f}", f"{d:.2f}") for a, b, c, d in zip(*columns, strict=True)]
    lines = [
        f"AUROC {score.auroc:.3f}; {overlap}",
        f"faithfulness: CPR {score.cpr:.3f} (1 is best), CMD {score.cmd:.3f} (0 is best)",
        table(("share of edges", "true found", "false found", "faithfulness"), rows),
    ]
    return "\n".join(lines)


@command.command("locks")
@click.option("--count", type=click.IntRange(1, 100_000), required=True, help="How many.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), required=True, help="Decides all planted words.")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="A new folder; the key goes beside it."
)
@json_option
def write_locks(count: int, seed: int, out: Path, as_json: bool) -> None:
    """Write networks with a planted word, tasks for those who look for it, and a key that is kept back.

    A lock shows a parity until a word of 11 letters over 8 has been read, and its opposite from then on.
    OUT can be published; OUT.key holds key, seed, plain networks and certificates.

    \b
    Example:  krohn suite locks --count 3 --seed 1 --out locks
    """
    from krohn.lab.suite.locks import BOUND, QUERIES, build_locks, key_folder

    tasks = build_locks(
        out,
        count,
        seed,
        progress=lambda name, number, all: note(f"{number + 1}/{all} {name}"),
    )
    lines = [
        f"{count} locks in {out}, the key in {key_folder(out)}",
        f"from outside {QUERIES:,} queries find at most {BOUND:.2%} of the planted words",
    ]
    payload = {"tasks": [task.to_json() for task in tasks], "key": str(key_folder(out))}
    emit(payload, as_json=as_json, text=lambda: "\n".join(lines))
