"""``python -I -m krohn.check NET CERTIFICATE``: checks a certificate again, with the trusted part alone.

Exit status 0: the certificate proves that the network is right on all words that it reads. 1: it does not.
2: the files are not what they must be. With ``--as-claimed`` the question is about the words that the claim
names: perhaps shorter ones. With ``--order left`` it is about sums added from left to right and not fused,
without it about sums added in any order. Words that are run again, one by one, take twenty seconds at most,
and so many times as long with ``--effort``.
"""

import os
import sys
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads cost more time than they save

from krohn.check.arithmetic.format import ASSUMPTIONS
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.claim import ORDERS
from krohn.check.files.folders import one_line
from krohn.check.ground import Verdict
from krohn.check.rules import check_certificate, read_net, unanswered
from krohn.errors import KrohnError

USAGE = (
    "usage: python -I -m krohn.check NET CERTIFICATE [--as-claimed] "
    f"[--order {'|'.join(ORDERS)}] [--effort NUMBER]"
)


class Asked(NamedTuple):
    """The two files, and what is asked about them."""

    net: str
    file: str
    order: str | None
    as_claimed: bool
    effort: float


def asked_by(arguments: Sequence[str]) -> Asked | None:
    """What the arguments ask; nothing if they are others than those of ``USAGE``."""
    files, options, as_claimed = list[str](), {"--order": "", "--effort": "1"}, False
    words = iter(arguments)
    for word in words:
        if word in options:
            options[word] = next(words, "?")
        elif word == "--as-claimed":
            as_claimed = True
        else:
            files.append(word)
    order = options["--order"] or None
    try:
        effort = float(options["--effort"])
    except ValueError:
        return None
    known = len(files) == 2 and not any(file.startswith("--") for file in files)
    known = known and order in (None, *ORDERS) and 0 < effort < inf
    return Asked(files[0], files[1], order, as_claimed, effort) if known else None


def recheck(question: Asked) -> tuple[Certificate, Verdict]:
    """The certificate, and whether its rule set proves what is asked of the network."""
    certificate = read_certificate(question.file)
    about = certificate.claim.configuration
    replicate, tokens = about.get("replicate", 0), about.get("tokens")
    held = read_net(question.net, replicate if type(replicate) is int else 0, tokens)
    missing = unanswered(held, certificate.claim, order=question.order, as_claimed=question.as_claimed)
    if missing:
        return certificate, Verdict(False, 0.0, missing)
    return certificate, check_certificate(held, certificate, question.effort)


def main(arguments: Sequence[str]) -> int:
    """Prints the claim, its assumptions and the verdict; returns the exit status."""
    if list(arguments) in (["-h"], ["--help"]):
        sys.stdout.write(f"{__doc__}\n{USAGE}\n")
        return 0
    question = asked_by(arguments)
    if question is None:
        sys.stderr.write(f"error: {USAGE}\n")
        return 2
    try:
        certificate, verdict = recheck(question)
    except Exception as error:  # no verdict, whatever it is: the status of a traceback is that of a no
        text = " ".join(str(error).split()) if isinstance(error, KrohnError | OSError) else repr(error)
        sys.stderr.write(f"error: {one_line(text)[:290]}\n")
        return 2
    claim = certificate.claim
    lines = [f"claim: {claim.sentence()}", f"rules: {certificate.rules}, version {certificate.version}"]
    lines += [f"assumed ({name}): {ASSUMPTIONS.get(name, 'unknown')}" for name in claim.assumptions]
    lead = f", with a logit margin of {verdict.margin:.6g}" if verdict.margin else ""
    lines.append(f"yes: proved{lead}" if verdict.certified else f"no: {verdict.reason}")
    # Names in the files are anyone's: none may look like a line of this program.
    sys.stdout.writelines(f"{one_line(line)}\n" for line in lines)
    return 0 if verdict.certified else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
