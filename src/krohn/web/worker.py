"""One machine in a process of its own, with limits: a request on stdin, a machine or an error on stdout."""

import json
import sys
from typing import Any

from krohn.errors import KrohnError
from krohn.web.jobs import read_request
from krohn.web.page_data import build_machine

MAX_MEMORY = 4 << 30
MAX_SECONDS = 120


def limit() -> None:
    """Limits memory and CPU time of this process, where the system supports it."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS + 5))


def answer(text: str) -> dict[str, Any]:
    """The machine, or one line that says what is wrong."""
    try:
        request = read_request(json.loads(text), paths=True)
        return {"machine": build_machine(request.automaton(), request.length)}
    except KrohnError as error:
        return {"error": " ".join(str(error).split())[:400]}
    except MemoryError:
        return {"error": f"this automaton needs more than {MAX_MEMORY >> 30} GiB: try a shorter word"}


if __name__ == "__main__":
    limit()
    json.dump(answer(sys.stdin.read()), sys.stdout, allow_nan=False)
