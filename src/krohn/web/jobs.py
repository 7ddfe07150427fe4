"""Expensive requests in worker processes: few at a time, ended on timeout or when the client is gone."""

import asyncio
import json
import os
import sys
from typing import Any

from krohn.web.page_request import MachineRequest

COMMAND = (sys.executable, "-m", "krohn.web.worker")


class Jobs:
    """Runs requests; at most ``workers`` at once, and at most ``queue`` waiting."""

    def __init__(
        self,
        *,
        workers: int = 2,
        queue: int = 8,
        seconds: float = 90.0,
        command: tuple[str, ...] = COMMAND,
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
                return await self._worker(json.dumps(request.as_dict()).encode())
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
            found = json.loads(out)
        except ValueError:
            return {"error": "this needed too much time or memory: try a shorter word"}
        assert isinstance(found, dict)
        return found
