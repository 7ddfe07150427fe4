"""``krohn verify``: whether a network of any kind is proved right, and its certificate."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from krohn.automata.zoo import parse_spec
from krohn.base.atomic import check_output
from krohn.base.nearest_float import portable_bound
from krohn.check.arithmetic.format import FORMATS
from krohn.check.claim import ANY
from krohn.check.files.folder import weight_files
from krohn.check.files.net import COMPILED, RECURRENT, TRAINED
from krohn.cli.output import emit, json_option, note
from krohn.cli.search_options import FiniteFloat, NetworkFolder
from krohn.proving.outcome import Verification, explain, place
from krohn.proving.verification import verify


def trained_text(payload: dict[str, Any], name: str) -> str:
    """The proof and the runs of a trained network, as text."""
    lines = [proof_text(proof, name) for proof in payload["proofs"]]
    if payload["every_length_in_training"]:
        lines.append(f"assumed: {', '.join(payload['claim']['assumptions'])}")
    if not payload["every_length_in_training"]:
        lines.append(f"examined, not certified: a trained network (replicate {payload['replicate']})")
    lines.append(_all_words(payload["exact"], "words"))
    if payload["exact_in_training"] is not None:
        lines.append(_all_words(payload["exact_in_training"], "words that training draws"))
    for name, kind in (("sample", "random words"), ("habits", "repetitive and alternating words")):
        lines.append(_sampled(payload[name], kind))
    if payload["counterexample"] is None:
        lines.append("no counterexample found")
    return "\n".join(lines)


def proof_text(proof: dict[str, Any], name: str) -> str:
    """The proof, or the reason for its failure, as text."""
    which = "words of every length" + ("" if proof["words"] == "all" else ", of those that training draws")
    if proof["proved"]:
        return (
            f"certified: {name}, {which}, float32, sums in any order\n"
            f"{proof['boxes']} boxes closed under {proof['steps']} steps; "
            f"logit margin {proof['margin']:.4g}, widest side {proof['widest']:.3g}"
        )
    return f"not proved for {which}: {proof['failure']}"


def _all_words(ran: dict[str, Any], which: str) -> str:
    return (
        f"all {ran['words']:,} {which} of length {ran['length']}: {ran['wrong']:,} with an error, "
        f"{100 * ran['right_share']:.6g} % right ({ran['words_per_second']:,.0f} words/s)"
    )


def _sampled(ran: dict[str, Any], kind: str) -> str:
    return (
        f"{ran['words']:,} {kind} of length {ran['length']}: {ran['right']:,} right at every position; "
        f"{100 * ran['confidence']:g} % confidence that the share of such words is between "
        f"{ran['low']:.4f} and {ran['high']:.4f}"
    )


OWN_FILES = ("model.safetensors", "krohn.json", "recurrent.json", "config.json", "export.json")
RUN_FILES = ("automaton.json", "weights.safetensors", "state.safetensors", "result.json")
"""Files of a network that a certificate must not replace."""


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.option(
    "--dtype",
    type=click.Choice(list(FORMATS)),
    help="The float format.  [default: float64 for compiled networks, that of config.json for exports, "
    "else float32]",
)
@click.option("--length", "-T", type=int, help="Certify only words up to this length.  [default: as built]")
@click.option("--automaton", "spec", help="The automaton you mean.  [default: the one the file claims]")
@click.option(
    "--renamed", is_flag=True, help="Allow other names of states and letters than those of --automaton."
)
@click.option("--explain", "as_argument", is_flag=True, help="Print the proof lemma by lemma.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write the certificate to this file: JSON, or .v with --kernel.",
)
@click.option(
    "--recheck",
    "claim",
    type=click.Path(path_type=Path),
    help="Check this certificate against the network again.",
)
@click.option(
    "--as-claimed", is_flag=True, help="With --recheck: ask for the words that the certificate claims alone."
)
@click.option("--chunks", is_flag=True, help="For a recurrent network: the chunked form must be proved, too.")
@click.option(
    "--effort",
    type=FiniteFloat(min=0, min_open=True),
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
@click.option(
    "--tokens",
    type=click.Path(dir_okay=False, path_type=Path),
    help="For a GPT-2 of transformers: JSON with the tokens of letters and states.  [default: their numbers]",
)
@click.option("--kernel", is_flag=True, help="For a compiled network: have Coq check the proof.")
@click.option(
    "--largest", is_flag=True, help="Where the proof fails: find the largest length that is proved; slow."
)
@json_option
def command(
    directory: Path,
    dtype: str | None,
    length: int | None,
    spec: str | None,
    renamed: bool,
    as_argument: bool,
    out: Path | None,
    claim: Path | None,
    as_claimed: bool,
    chunks: bool,
    effort: float,
    device: str,
    tokens: Path | None,
    kernel: bool,
    largest: bool,
    as_json: bool,
) -> None:
    """Decide from the files in DIRECTORY whether the network is proved right on every word.

    DIRECTORY is a compiled network, an export, recurrent weights, a training run (its best replicate), or a
    GPT-2 that transformers saved: that one needs --automaton, and is proved on all words up to a length that
    can be enumerated.
    Compiled networks and exports are proved up to a length, recurrent networks and trained ones for words of
    every length. A trained network is also run: all words of the largest length that --effort allows, and
    samples of longer ones; words without an error are no proof.

    Exit status 0: proved. 1: not proved, with a counterexample where one was found. 2: bad files.

    \b
    Example:  krohn compile S4 --length 128 --out s4 && krohn verify s4 --automaton S4 --dtype float32
    """
    if renamed and spec is None:
        raise click.UsageError("--renamed needs --automaton SPEC")
    if as_claimed and claim is None:
        raise click.UsageError("--as-claimed needs --recheck CERTIFICATE")
    own = [*(directory / name for name in OWN_FILES + RUN_FILES), *weight_files(directory)]
    if out is not None and any(_is_same(out, file) for file in own):
        raise click.UsageError("--out must not be a file of the network itself")
    if out is not None and out.is_dir():
        raise click.UsageError(f"--out must be a file; {out} is a directory")
    if out is not None and not kernel:
        check_output(out)  # fail early
    if kernel:
        return by_kernel(directory, spec, renamed=renamed, out=out, as_json=as_json)
    result = verify(
        directory,
        dtype,
        length,
        automaton=spec,
        renamed=renamed,
        certificate=claim,
        chunks=chunks,
        as_claimed=as_claimed,
        effort=effort,
        device=device,
        tokens=tokens,
        largest=largest,
    )
    report(result, out, as_argument=as_argument, as_json=as_json)


def report(verdict: Verification, out: Path | None, *, as_argument: bool, as_json: bool) -> None:
    """Writes the certificate if there is one, prints the verdict; exit status 1 if it is not proved."""
    if out is not None and verdict.certificate is not None:
        verdict.save(out)
        note(f"wrote {out}")
    elif out is not None:
        note(f"nothing written to {out}: only a proof is")
    text = explain(verdict) if as_argument else summary(verdict)
    emit(verdict.to_json(), as_json=as_json, text=lambda: text)
    if not verdict.certified:
        raise click.exceptions.Exit(1)


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def summary(verdict: Verification) -> str:
    """A few lines."""
    automaton = verdict.automaton
    name = automaton.name or f"an automaton of {automaton.num_states} states"
    if verdict.identity.mismatch:
        return f"not certified: {verdict.reason}"
    lines = [_verdict(verdict, name)]
    if verdict.counterexample is not None:
        wrong = verdict.counterexample.to_json(automaton)
        shown = f"{' '.join(wrong['letters'])} → {wrong['got']}, must be {wrong['expected']}"
        lines.append(f"counterexample: {shown}")
    elif not verdict.certified and verdict.claim.kind not in (RECURRENT, TRAINED):
        known = f"certified in {verdict.dtype} up to length {verdict.largest}"
        sought = " (--largest looks for a length that is proved)" * (verdict.claim.kind == COMPILED)
        lines.append(known if verdict.largest else f"no counterexample found: undecided{sought}")
    lines.append(verdict.identity.sentence())
    opinion = verdict.second_opinion
    if opinion is not None and opinion.length and verdict.claim.kind != TRAINED:
        ran = f"all {opinion.words:,} words of length {opinion.length} and their prefixes"
        lines.append(f"independently run in {opinion.dtype}: {ran}, {opinion.wrong:,} wrong")
        lines += [f"longer ones were not run: {opinion.limit}"] if opinion.limit else []
    return "\n".join(lines)


def _verdict(verdict: Verification, name: str) -> str:
    """The verdict and its assumptions."""
    assumed = f"assumed: {', '.join(verdict.claim.assumptions)}; python -I -m krohn.check spells them out"
    if verdict.claim.kind == TRAINED and "proofs" in verdict.more:
        return trained_text(verdict.to_json(), name)
    if verdict.claim.kind == RECURRENT and verdict.more:
        text = recurrent_text(verdict, name)
        return f"{text}\n{assumed}" if verdict.certified else text
    if not verdict.certified:
        return f"not certified: {verdict.reason}"
    tight = verdict.tightest if verdict.claim.kind == COMPILED else None
    checks = f"; {len(verdict.checks)} checks" if verdict.checks else ""
    where = f"; tightest: {tight.name}, {place(tight.layer, verdict.depth)}" if tight else ""
    margin = f"logit margin {portable_bound(verdict.margin):.4g} after all errors{checks}{where}"
    return f"certified: {name}, {verdict.words}, {verdict.dtype}{_ordered(verdict)}\n{assumed}\n{margin}"


def _ordered(verdict: Verification) -> str:
    """The order of sums, where the claim is not about all of them."""
    return "" if verdict.claim.order == ANY else f", sums added {verdict.claim.order}"


OTHERS = ("dtype", "length", "as_argument", "claim", "as_claimed", "chunks", "effort", "device", "tokens")
"""Options of ``krohn verify`` that mean nothing to Coq: it proves float32 for all words of the network."""


def by_kernel(directory: Path, spec: str | None, *, renamed: bool, out: Path | None, as_json: bool) -> None:
    """Reports whether Coq proves the network in the directory for sums in any order; exit status 1 if not."""
    context = click.get_current_context()
    typed = [name for name in OTHERS if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if typed and not (typed == ["dtype"] and context.params["dtype"] == "float32"):
        raise click.UsageError(
            "--kernel proves float32 for all words a network was built for; omit --dtype, --length, "
            "--explain, --recheck, --as-claimed, --chunks, --effort and --device"
        )
    from krohn.proving.kernel import kernel_verdict

    verdict = kernel_verdict(directory, None if spec is None else parse_spec(spec), renamed=renamed, out=out)
    if out is not None and verdict.coq is not None:
        note(f"wrote {out} and {out.with_suffix('.reader.v').name}, which states what it proves")
    emit(verdict.to_json(), as_json=as_json, text=verdict.sentence)
    if not verdict.certified:
        raise click.exceptions.Exit(1)


_CHUNKS = {
    True: "\nin chunks the floats are the same: proved for both forms",
    False: "\nproved one letter after the other; chunks multiply gates first and round elsewhere",
    None: "",
}


def recurrent_text(verdict: Verification, name: str) -> str:
    """The verdict in a line or two."""
    known = verdict.more
    if verdict.certified and verdict.length is None:
        order = "sums in any order" if known["any_order"] else "sums added from left to right, not fused"
        return (
            f"certified: {name}, words of every length, {verdict.dtype}, {order}\n"
            f"{known['vectors']} vectors are reached by all words; logit margin {verdict.margin:.4g}"
            f"{_CHUNKS[known['chunked']]}"
        )
    if verdict.certified:
        return f"certified: {name}, {verdict.words}, {verdict.dtype}{_ordered(verdict)}"
    if verdict.counterexample is not None:
        return "not certified: a wrong word was found"
    if verdict.largest:
        return (
            f"not certified: {verdict.reason}; every word of at most {verdict.largest:,} letters is right in "
            f"{verdict.dtype}, one letter after the other: --length {verdict.largest}"
        )
    return f"not certified: {verdict.reason}"
