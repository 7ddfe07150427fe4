"""``krohn verify``: the certificate of a directory."""

from pathlib import Path

import click
from click.core import ParameterSource

from krohn.automata.zoo import parse_spec
from krohn.certify.argument import explain
from krohn.certify.arithmetic import ARITHMETICS
from krohn.certify.certificate import Verification, place
from krohn.cli.output import emit, json_option, note
from krohn.cli.search_options import Finite
from krohn.network.storage import MEANING, MODEL, is_run, is_witness
from krohn.verification import verify


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--dtype",
    type=click.Choice(list(ARITHMETICS)),
    default="float64",
    show_default=True,
    help="The float format to certify for.",
)
@click.option("--length", "-T", type=int, help="Certify only words up to this length.  [default: as built]")
@click.option("--automaton", "spec", help="The automaton you mean.  [default: the one the file claims]")
@click.option(
    "--renamed", is_flag=True, help="Allow other names of states and letters than those of --automaton."
)
@click.option("--explain", "as_argument", is_flag=True, help="Print the proof lemma by lemma.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the certificate to this JSON file.")
@click.option(
    "--recheck", "claim", type=click.Path(path_type=Path), help="Prove again what this certificate claims."
)
@click.option(
    "--effort",
    type=Finite(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="For a trained network: how many words to run; 1 is a few seconds.",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="Where a trained network is run.",
)
@json_option
def command(
    directory: Path,
    dtype: str,
    length: int | None,
    spec: str | None,
    renamed: bool,
    as_argument: bool,
    out: Path | None,
    claim: Path | None,
    effort: float,
    device: str,
    as_json: bool,
) -> None:
    """Decide from the weights in DIRECTORY whether the network is right on every word up to the length.

    Exit status 0: certified. 1: not certified, with a counterexample where one was found. 2: bad files.
    A run of krohn train is examined: all words of the largest length that --effort allows, and samples of
    longer ones; for lstm and gru a proof for words of every length is looked for. Exit status 0: no error was
    found. 1: there is a wrong word.

    \b
    Example:  krohn compile S4 --length 128 --out s4 && krohn verify s4 --automaton S4 --dtype float32
    """
    if renamed and spec is None:
        raise click.UsageError("--renamed needs --automaton SPEC")
    if out is not None and any(_is_same(out, directory / name) for name in (MODEL, MEANING)):
        raise click.UsageError("--out must not be a file of the network itself")
    automaton = None if spec is None else parse_spec(spec)
    if is_witness(directory):
        from krohn.cli.recurrent import WitnessRequest, verify_witness  # only who has one waits for it

        typed = click.get_current_context().get_parameter_source("dtype") is ParameterSource.COMMANDLINE
        request = WitnessRequest(automaton, renamed, dtype if typed else "float32", length, out, claim)
        if not verify_witness(directory, request, as_json=as_json):
            raise click.exceptions.Exit(1)
        return
    if is_run(directory):
        from krohn.cli.trained_verdict import TrainedRequest, trained_verdict

        asked = TrainedRequest(length, automaton, renamed, effort, device, out, claim)
        payload, text = trained_verdict(directory, asked)
        emit(payload, as_json=as_json, text=lambda: text)
        failed = payload["counterexample"] is not None or "reason" in payload
        if failed or (claim and not payload["every_length_in_training"]):
            raise click.exceptions.Exit(1)
        return
    typed = click.get_current_context().get_parameter_source("dtype") is ParameterSource.COMMANDLINE
    wanted = dtype if typed else None
    found = verify(directory, wanted, length, automaton=automaton, renamed=renamed, certificate=claim)
    report(found, out, as_argument=as_argument, as_json=as_json)


def report(found: Verification, out: Path | None, *, as_argument: bool, as_json: bool) -> None:
    """Writes the certificate if there is one, prints the verdict; exit status 1 if it is not proved."""
    if out is not None and found.certificate is not None:
        found.save(out)
        note(f"wrote {out}")
    elif out is not None:
        note(f"nothing written to {out}: only a proof is")
    text = explain(found) if as_argument else summary(found)
    emit(found.to_json(), as_json=as_json, text=lambda: text)
    if not found.certified:
        raise click.exceptions.Exit(1)


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def summary(certificate: Verification) -> str:
    """A few lines."""
    automaton = certificate.automaton
    name = automaton.name or f"an automaton of {automaton.num_states} states"
    opinion = certificate.second_opinion
    if certificate.certified:
        tight = certificate.tightest
        lines = [
            f"certified: {name}, {certificate.words}, {certificate.dtype}",
            f"assumed: {', '.join(certificate.claim.assumptions)}; python -m krohn.check says what they are",
            f"logit margin {certificate.margin:.4g} after all errors; {len(certificate.checks)} checks"
            + (f"; tightest: {tight.name}, {place(tight.layer, certificate.depth)}" if tight else ""),
        ]
    else:
        lines = [f"not certified: {certificate.reason}"]
        if certificate.identity.mismatch:
            return lines[0]
        if certificate.counterexample is not None:
            shown = certificate.counterexample.to_json(certificate.automaton)
            lines.append(
                f"counterexample: {' '.join(shown['letters'])} → {shown['got']}, must be {shown['expected']}"
            )
        elif certificate.largest:
            lines.append(f"certified in {certificate.dtype} up to length {certificate.largest}")
        else:
            lines.append("no counterexample found: undecided")
    lines.append(certificate.identity.sentence())
    if opinion is not None and opinion.length:
        ran = f"all {opinion.words:,} words of length {opinion.length} and their beginnings"
        lines.append(f"independently run: {ran}, {opinion.wrong:,} wrong")
        lines += [f"no longer ones: {opinion.limit}"] if opinion.limit else []
    return "\n".join(lines)
