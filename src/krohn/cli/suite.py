"""``krohn suite``: networks whose algorithm is known, with their circuits, and a scorer."""

from pathlib import Path

import click

from krohn.cli.output import emit, json_option, note, table
from krohn.lab.suite.catalogue import entries


@click.group()
def command() -> None:
    """Build GPT-2s whose algorithm is known, and score circuits and subspaces against the truth.

    All three commands take --json.

    \b
    Example:  krohn suite build --out suite --only c2-cascade-plain
              krohn suite score suite/c2-cascade-plain --circuit suite/c2-cascade-plain/circuit.json
    """


@command.command("list")
@json_option
def list_networks(as_json: bool) -> None:
    """List the networks: automaton, algorithm, disguise.

    \b
    Example:  krohn suite list
    """
    rows = [entry.to_json() for entry in entries()]
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
            *(built.facts[key] for key in ("layers", "heads", "dim", "edges", "in_graph")),
            len(built.facts["variables"]),
            "proved" if built.facts["proof"].startswith("proved") else "tested",
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
@json_option
def score_hypothesis(folder: Path, circuit: Path | None, subspace: Path | None, as_json: bool) -> None:
    """Compare a circuit, or subspaces of variables, with what is known of the network in FOLDER.

    A circuit is scored by AUROC over all edges, and by MIB's faithfulness curve; a subspace by how often
    swapping it between two words makes the network answer as the causal model does.

    \b
    Example:  krohn suite score suite/c2-cascade-plain --circuit my-circuit.json
    """
    if (circuit is None) == (subspace is None):
        raise click.UsageError("give --circuit FILE or --subspace FILE, one of the two")
    from krohn.lab.suite.scoring import score_circuit, score_subspace

    if circuit is not None:
        score = score_circuit(folder, circuit)
        overlap = (
            f"of the circuit's edges {score.precision:.0%} are true, "
            f"of the true ones {score.recall:.0%} are in it"
            if score.claimed
            else "no edge is marked in_graph, so this is a ranking without a circuit"
        )
        lines = [
            f"AUROC {score.auroc:.3f}; {overlap}",
            f"faithfulness: CPR {score.cpr:.3f} (1 is best), CMD {score.cmd:.3f} (0 is best)",
            table(
                ("share of edges", "true found", "false found", "faithfulness"),
                [
                    (f"{a:.1%}", f"{b:.2f}", f"{c:.2f}", f"{d:.2f}")
                    for a, b, c, d in zip(
                        score.curve.share,
                        score.curve.true_positive,
                        score.curve.false_positive,
                        score.curve.faithfulness,
                        strict=True,
                    )
                ],
            ),
        ]
        emit(score.to_json(), as_json=as_json, text=lambda: "\n".join(lines))
        return
    assert subspace is not None
    result = score_subspace(folder, subspace)
    rows = [(one.variable, one.place, one.dimension, f"{one.interchange:.1%}", one.pairs) for one in result]
    emit(
        {"subspaces": [one.to_json() for one in result]},
        as_json=as_json,
        text=lambda: table(("variable", "place", "dimension", "interchange accuracy", "pairs"), rows),
    )
