"""``python -I -m krohn.check NET CERTIFICATE``: checks a certificate again, with the trusted part alone.

Exit status 0: the certificate proves that the network is right on all words that it reads. 1: it does not.
2: the files are not what they must be. With ``--as-claimed`` the question is about the words that the claim
names: perhaps shorter ones. With ``--order left`` it is about sums added from left to right and not fused,
without it about sums added in any order.
"""

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads cost more time than they save

from krohn.check.arithmetic.format import ASSUMPTIONS
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.claim import ORDERS
from krohn.check.files.folders import one_line
from krohn.check.ground import Verdict
from krohn.check.rules import check_certificate, read_net, unanswered
from krohn.errors import KrohnError

USAGE = f"usage: python -I -m krohn.check NET CERTIFICATE [--as-claimed] [--order {'|'.join(ORDERS)}]"


class Asked(NamedTuple):
    """The two files, and what is asked about them."""

    net: str
    file: str
    order: str | None
    as_claimed: bool


def asked_by(arguments: Sequence[str]) -> Asked | None:
    """What the arguments ask; nothing if they are others than those of ``USAGE``."""
    left, order, as_claimed = list(arguments), None, "--as-claimed" in arguments
    if as_claimed:
        left.remove("--as-claimed")
    if "--order" in left[:-1]:
        at = left.index("--order")
        order = left[at + 1]
        del left[at : at + 2]
    known = len(left) == 2 and not any(file.startswith("--") for file in left)
    return Asked(left[0], left[1], order, as_claimed) if known and order in (None, *ORDERS) else None


def recheck(question: Asked) -> tuple[Certificate, Verdict]:
    """The certificate, and whether its rule set proves what is asked of the network."""
    certificate = read_certificate(question.file)
    about = certificate.claim.configuration
    replicate, tokens = about.get("replicate", 0), about.get("tokens")
    held = read_net(question.net, replicate if type(replicate) is int else 0, tokens)
    missing = unanswered(held, certificate.claim, order=question.order, as_claimed=question.as_claimed)
    return certificate, Verdict(False, 0.0, missing) if missing else check_certificate(held, certificate)


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
