"""Requests of a page, validated; expensive ones run in worker processes with a timeout."""

import asyncio
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from krohn.automata.files import automaton_from_payload
from krohn.automata.jflap import parse_jff
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import FILES, parse_spec
from krohn.errors import InvalidInput, KrohnError
from krohn.explorer.page_data import build_machine

MAX_BYTES = 1_000_000
MAX_SPEC, MAX_LENGTH = 1000, 128


@dataclass(frozen=True)
class MachineRequest:
    """Either ``spec`` or ``file`` (JSON, or the text of a .jff file), and the longest word."""

    spec: str
    file: dict[str, Any] | str | None
    length: int

    def automaton(self) -> Semiautomaton:
        """The requested automaton; refused in one line if invalid."""
        name = self.spec[:60] or "uploaded"
        if isinstance(self.file, str):
            return parse_jff(self.file.encode(errors="replace"), name)
        if self.file is not None:
            return automaton_from_payload(self.file, name)
        return parse_spec(self.spec)


def read_request(payload: object, *, paths: bool) -> MachineRequest:
    """Validates a request from a page; with ``paths`` a spec may name a file on this machine."""
    if not isinstance(payload, dict) or set(payload) - {"spec", "file", "length"}:
        raise InvalidInput("a request must be a JSON object with the keys spec, file and length")
    spec, file, length = payload.get("spec", ""), payload.get("file"), payload.get("length", 32)
    if not isinstance(spec, str) or len(spec) > MAX_SPEC:
        raise InvalidInput(f"a name or pattern must be a text of at most {MAX_SPEC} characters")
    if file is not None and not isinstance(file, dict | str):
        raise InvalidInput("an automaton file must be a JSON object or a JFLAP file (.jff)")
    if type(length) is not int or not 1 <= length <= MAX_LENGTH:
        raise InvalidInput(f"the longest word must have 1 to {MAX_LENGTH} letters; got {str(length)[:20]}")
    text = spec.strip()
    if file is None and not text:
        raise InvalidInput("type a name (S4), a pattern (regex:(ab)*) or choose a file")
    is_path = text.endswith(FILES) or os.sep in text
    if file is None and is_path and not text.startswith("regex:") and not paths:
        raise InvalidInput("this server does not read files of its own machine: upload the automaton instead")
    return MachineRequest(text, file, length)


_PACKAGE = str(Path(__file__).parents[2])
_START = (
    f"import runpy, sys; {_PACKAGE!r} in sys.path or sys.path.insert(0, {_PACKAGE!r}); "
    f"runpy.run_module('krohn.explorer.jobs', run_name='__main__')"
)
COMMAND = (sys.executable, "-I", "-c", _START)
"""Isolated: no module of the current folder or of the environment is imported, krohn's own folder is."""


class Jobs:
    """Runs requests; at most ``workers`` at once, and at most ``queue`` waiting."""

    def __init__(
        self, *, workers: int = 2, queue: int = 8, seconds: float = 90.0, command: tuple[str, ...] = COMMAND
    ) -> None:
        self._free = asyncio.Semaphore(workers)
        self._most = workers + queue
        self._seconds, self._command = seconds, command
        self.running: set[int] = set()
        self._held = 0

    async def run(self, request: MachineRequest) -> dict[str, Any]:
        """The worker's answer; cancelling the call ends the worker."""
        if self._held >= self._most:
            return {"error": "too many requests are waiting; try again in a minute"}
        self._held += 1
        try:
            async with self._free:
                return await self._worker(json.dumps(asdict(request)).encode())
        finally:
            self._held -= 1

    async def _worker(self, text: bytes) -> dict[str, Any]:
        pipe = asyncio.subprocess.PIPE
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=environment
        )
        self.running.add(process.pid)
        try:
            out, _ = await asyncio.wait_for(process.communicate(text), self._seconds)
        except TimeoutError:
            return {"error": f"no network within {self._seconds:g} seconds: try a shorter word"}
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            self.running.discard(process.pid)
        try:
            answer = json.loads(out)
        except ValueError:
            return {"error": "this needed too much time or memory: try a shorter word"}
        assert isinstance(answer, dict)
        return answer


# The worker: a request on stdin, a machine or an error on stdout.

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
    """The machine, or a one-line error message."""
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
