"""What ``krohn verify --kernel`` does: a Coq certificate, and Coq's answer."""

from pathlib import Path

import click
from click.core import ParameterSource

from krohn.automata.zoo import parse_spec
from krohn.cli.output import emit, note
from krohn.kernel.verdict import kernel_verdict

OTHERS = ("dtype", "length", "as_argument", "claim", "effort", "device")
"""Options of ``krohn verify`` that mean nothing to Coq: it proves float32 for all words of the network."""


def by_kernel(directory: Path, spec: str | None, *, renamed: bool, out: Path | None, as_json: bool) -> None:
    """Reports whether Coq accepts the certificate of the network in the directory; exit status 1 if not."""
    context = click.get_current_context()
    typed = [name for name in OTHERS if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if typed and not (typed == ["dtype"] and context.params["dtype"] == "float32"):
        raise click.UsageError(
            "--kernel proves float32 for all words a network was built for; omit --dtype, --length, "
            "--explain, --recheck, --effort and --device"
        )
    verdict = kernel_verdict(directory, None if spec is None else parse_spec(spec), renamed=renamed, out=out)
    if out is not None and verdict.coq is not None:
        note(f"wrote {out}")
    emit(verdict.to_json(), as_json=as_json, text=verdict.sentence)
    if not verdict.accepted:
        raise click.exceptions.Exit(1)
