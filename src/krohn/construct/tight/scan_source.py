"""The proposal of a scan: always possible, ⌈log₂ T⌉ layers."""

from collections.abc import Iterator

from krohn.construct.proposal import Proposal
from krohn.construct.request import Request
from krohn.construct.tight.scan import scan_depth, scan_program
from krohn.work import Work


def scan_proposals(request: Request, work: Work) -> Iterator[Proposal]:
    """The scan on as few points as possible."""
    program = scan_program(request.automaton, request.length, request.mask)
    yield Proposal("scan", program.depth, lambda: program, (f"scan in {scan_depth(request.length)} layers",))
