"""``krohn understand``: which variables a network holds in which layer, found by interventions."""

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from krohn.base.notebook import table
from krohn.cli.options import NetworkFolder
from krohn.cli.output import emit, json_option, note
from krohn.errors import InvalidInput

if TYPE_CHECKING:
    from krohn.lab.interpret.prefixes import PrefixReport

WIDTH = 98


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.option("--length", "-T", type=int, help="Letters of the words.  [default: the network's, at most 40]")
@click.option("--automaton", "spec", help="For a GPT-2 of transformers: the automaton it should compute.")
@click.option(
    "--tokens",
    type=click.Path(dir_okay=False, path_type=Path),
    help="For a GPT-2 of transformers: JSON with the tokens of letters and states.  [default: their numbers]",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write the page, F.html or F.svg.")
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Seed of the words."
)
@click.option("--effort", type=float, default=1.0, show_default=True, help="How many words and swaps.")
@click.option("--prefixes", is_flag=True, help="Patch prefixes instead: which mechanism does it run?")
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="Where the network is run; cuda with --prefixes.",
)
@json_option
def command(
    directory: Path,
    length: int | None,
    spec: str | None,
    tokens: Path | None,
    out: Path | None,
    seed: int,
    effort: float,
    prefixes: bool,
    device: str,
    as_json: bool,
) -> None:
    """Swap variables of the automaton's algebra between words, layer by layer, to see if the output follows.

    DIRECTORY is a run of krohn train (GPT), a network of krohn compile, an export of krohn export --to hf, or
    a GPT-2 that transformers saved: that one needs --automaton.
    The table shows the share of swaps that the output follows. * marks variables that the layer holds, =
    those that no pair of words tells apart from the state itself, and a dot those without a counterfactual.
    The JSON has intervals, controls and probes.

    With --prefixes the first positions of a word are replaced by those of another, after each layer, and what
    comes out at the last letter is compared with what known mechanisms predict.

    \b
    Example:  krohn compile Grid4 --length 8 --method scan --out nets/scan
              krohn understand nets/scan --out scan.html
              krohn understand nets/scan --prefixes
    """
    if prefixes:
        if out is not None:
            raise InvalidInput(
                "--out writes the page of variables; with --prefixes there is none: use --json"
            )
        if spec is not None or tokens is not None:
            raise InvalidInput(
                "--prefixes is for networks that krohn wrote; leave --automaton and --tokens out"
            )
        _prefixes(directory, length, seed, effort, device, as_json)
        return
    if device != "cpu":
        raise InvalidInput(
            f"variables are swapped on the CPU; --device {device} needs --prefixes: leave it out"
        )
    from krohn.lab.interpret.report import check_page, write_page
    from krohn.lab.interpret.understand import understand

    if out is not None:
        check_page(out)  # fail early
    report = understand(directory, automaton=spec, tokens=tokens, length=length, seed=seed, effort=effort)
    if out is not None:
        write_page(report, out)
        note(f"written: {out}")
    payload = report.to_json()
    emit(payload, as_json=as_json, text=lambda: _text(payload))


def _prefixes(
    directory: Path, length: int | None, seed: int, effort: float, device: str, as_json: bool
) -> None:
    from krohn.lab.interpret.prefixes import PAIRS, patch_prefixes

    pairs = round(PAIRS * effort)
    report = patch_prefixes(directory, length=length, seed=seed, pairs=pairs, device=device)
    emit(report.to_json(), as_json=as_json, text=lambda: _prefix_text(report))


def _prefix_text(report: "PrefixReport") -> str:
    """The verdict, and for each layer from how many kept positions on the answer is known, and the fits."""
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


def _text(payload: dict[str, Any]) -> str:
    """The verdict, the table, the heads."""
    marks = {"held": "*", "with the state": "="}
    rows: dict[str, list[str]] = {}
    for entry in payload["variables"]:
        share = "·" if entry["causal"] is None else f"{100 * entry['causal']:.0f}"
        name = " = ".join((entry["name"], *entry["aliases"]))
        rows.setdefault(name[:60], []).append(share + marks.get(entry["status"], ""))
    header = ["causal, %", "start", *(f"layer {n}" for n in range(1, payload["layers"] + 1))]
    heads = [
        (h["layer"], h["head"], h["kind"], h["nearest"], f"{100 * h['score']:.0f}%") for h in payload["heads"]
    ]
    parts = [
        f"{payload['network']}: {100 * payload['accuracy']['value']:.2f}% of the letters right",
        *wrap(payload["verdict"], WIDTH),
        "",
        table(header, [[name, *cells] for name, cells in rows.items()]),
        "causal: share of swaps of the variable that the output follows; * the layer holds it, = no pair of",
        "words tells it from the state itself, · no swap predicts another answer",
    ]
    for what in ("state", "letter"):
        shares = " ".join(f"{100 * row[what]['value']:.0f}" for row in payload["whole"])
        parts.append(f"a whole position swapped brings its {what}, %, by layer: {shares}")
    if heads:
        parts += ["", table(("layer", "head", "kind", "nearest pattern", "agreement"), heads)]
    notes = (line for text in payload["notes"] for line in wrap(f"note: {text}", WIDTH))
    return "\n".join([*parts, *notes])
