"""``krohn zoo``: the named automata."""

from pathlib import Path
from typing import Any

import click

from krohn.automata.diagram import diagram
from krohn.automata.files import dump_automaton
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import FILES, entry, families, parse_spec, zoo, zoo_names
from krohn.base.atomic import check_output, write_text
from krohn.base.notebook import table
from krohn.cli.output import emit, json_option, note
from krohn.errors import counted

_SHOWN = 40


@click.command()
@click.argument("spec", required=False)
@click.option(
    "--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw the automaton into this file."
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the automaton: F.json, or F.jff for JFLAP.",
)
@json_option
def command(spec: str | None, svg: Path | None, out: Path | None, as_json: bool) -> None:
    """List the named automata, or show one automaton's states, letters and table.

    \b
    Example:  krohn zoo
              krohn zoo Dyck4,2@top --svg dyck.svg
              krohn zoo abab@accept --out abab.jff
    """
    if spec is None and svg is not None:
        raise click.UsageError("--svg draws one automaton; say which: krohn zoo S4 --svg s4.svg")
    if spec is None and out is not None:
        raise click.UsageError("--out writes one automaton; say which: krohn zoo S4 --out s4.json")
    if spec is None:
        rows = [entry(zoo(name)) for name in zoo_names()]
        emit({"automata": rows, "families": _families()}, as_json=as_json, text=lambda: _listing(rows))
        return
    if svg is not None:
        check_output(svg, ".svg")  # fail early
    if out is not None:
        check_output(out, *FILES)
    automaton = parse_spec(spec)
    if svg is not None:
        write_text(svg, diagram(automaton))
        note(f"drawn in {svg}")
    if out is not None:
        dump_automaton(automaton, out)
        note(f"written: {out}")
    payload = {
        **entry(automaton),
        "start": automaton.state_names[automaton.start],
        "states": list(automaton.state_names),
        "table": automaton.table.tolist() if as_json else [],
        "observe": automaton.observe,
    }
    emit(payload, as_json=as_json, text=lambda: _picture(automaton))


def _families() -> list[dict[str, Any]]:
    return [
        {"form": family.form, "summary": family.summary, "observations": list(family.observations)}
        for family in families()
    ]


def _listing(rows: list[dict[str, Any]]) -> str:
    named = table(
        ("name", "states", "letters"), [(row["name"], row["num_states"], row["num_letters"]) for row in rows]
    )
    forms = table(
        ("form", "what it is", "observations"),
        [
            (family.form, family.summary, " ".join(f"@{name}" for name in family.observations))
            for family in families()
        ],
    )
    also = "Also: AxB (direct product), regex:PATTERN, table:ROWS, file.json, file.jff (JFLAP)."
    return f"{named}\n\n{forms}\n\n{also}\nLetters of one: krohn zoo NAME"


def _picture(automaton: Semiautomaton) -> str:
    names = automaton.state_names
    seen = ("φ",) if automaton.observe is not None else ()
    rows: list[tuple[object, ...]] = []
    for state in range(min(_SHOWN, automaton.num_states)):
        targets = [names[target] for target in automaton.table[state].tolist()]
        observed = (automaton.observe[state],) if automaton.observe is not None else ()
        rows.append((names[state], *observed, *targets))
    sizes = f"{counted(automaton.num_states, 'state')}, {counted(automaton.num_letters, 'letter')}"
    title = f"{automaton.name}: {sizes}"
    more = automaton.num_states - _SHOWN
    rest = f"\n… and {counted(more, 'more state')} (krohn zoo NAME --json has all)" if more > 0 else ""
    header = ("state", *seen, *automaton.letter_names)
    return f"{title}, start {names[automaton.start]}\n\n{table(header, rows)}{rest}"
