"""The explorer as a server: the same page, for any automaton that is typed in or uploaded."""

import asyncio
import hmac
import json
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from krohn.errors import InvalidInput, KrohnError
from krohn.explorer.jobs import MAX_BYTES, Jobs, read_request

# Access control: pages of this server only, and beyond loopback only with the token.


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Guard:
    """Requirements on a request; ``token`` is empty on loopback."""

    port: int
    token: str = ""

    def refusal(self, path: str, headers: Mapping[str, str], given: str) -> str:
        """The reason to refuse a request, empty if it is accepted; ``given`` is its token."""
        host = headers.get("host", "")
        if not self.token and host not in {
            f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")
        }:
            return "this page is served to this machine only"  # also against DNS rebinding
        origin = headers.get("origin")
        if origin is not None and origin.split("://", 1)[-1] != host:
            return "requests from other pages are refused"
        if path != "/" and headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return "requests from other pages are refused"
        if self.token and not hmac.compare_digest(given.encode(), self.token.encode()):
            return "the address must end with the token that krohn explore printed"
        return ""


PATIENCE = 5
"""Seconds for the body of a request; what is sent in part only is answered and closed."""
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def build_app(page: str, guard: Guard, jobs: Jobs) -> Starlette:
    """Two routes: the page, and the networks that it requests."""

    async def show(request: Request) -> Response:
        refused = _refuse(request, guard)
        return refused or HTMLResponse(page, headers=HEADERS)

    async def machine(request: Request) -> Response:
        if refused := _refuse(request, guard):
            return refused
        try:
            wanted = read_request(await _body(request), paths=not guard.token)
        except KrohnError as error:
            return _error(str(error), 422)
        except _Unreadable as error:
            return _error(*error.args)
        except ClientDisconnect:
            return Response(status_code=499)
        return await _patiently(request, jobs, wanted)

    return Starlette(routes=[Route("/", show), Route("/machine", machine, methods=["POST"])])


def serve(make_page: Callable[[], str], host: str, port: int, announce: Any) -> None:
    """Serves until it is interrupted; the page is made once the address is bound, then announced."""
    listener = _bound(host, port)
    page = make_page()
    real = listener.getsockname()[1]
    token = "" if is_loopback(host) else secrets.token_urlsafe(18)
    name = f"[{host}]" if ":" in host else host
    announce(f"http://{name}:{real}/" + (f"?token={token}" if token else ""))
    app = build_app(page, Guard(real, token), Jobs())
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="off", h11_max_incomplete_event_size=65536
    )
    uvicorn.Server(config).run(sockets=[listener])


def _bound(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        raise InvalidInput(
            f"--host and --port must be free on this machine; {host}:{port}: {error.strerror}; try --port 0"
        ) from error
    return listener


def _refuse(request: Request, guard: Guard) -> Response | None:
    given = request.headers.get("x-krohn-token") or request.query_params.get("token", "")
    reason = guard.refusal(request.url.path, request.headers, given)
    return _error(reason, 403) if reason else None


def _error(message: str, status: int) -> Response:
    return JSONResponse({"error": " ".join(message.split())[:400]}, status, headers=HEADERS)


class _Unreadable(Exception):
    """Why the body of a request is not read, and the status that says so."""


TOO_LARGE = f"a request may have at most {MAX_BYTES:,} bytes: upload a smaller file", 413


async def _body(request: Request) -> object:
    """The JSON of the request, read no further than the limit."""
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        raise InvalidInput("a request must be JSON")
    if int(request.headers.get("content-length", "0") or 0) > MAX_BYTES:
        raise _Unreadable(*TOO_LARGE)
    data = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for chunk in request.stream():
                data += chunk
                if len(data) > MAX_BYTES:
                    raise _Unreadable(*TOO_LARGE)
    except TimeoutError as error:
        raise _Unreadable(f"a request must arrive within {PATIENCE} seconds", 408) from error
    try:
        payload = json.loads(data)
        json.dumps(payload, ensure_ascii=False).encode()
    except UnicodeError as error:  # half of a surrogate pair, which no answer could repeat
        raise _Unreadable("a request must be text in UTF-8", 400) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput("a request must be JSON") from error
    return payload


async def _patiently(request: Request, jobs: Jobs, wanted: Any) -> Response:
    """Waits for the worker while the client is connected."""
    job = asyncio.create_task(jobs.run(wanted))
    while not job.done():
        await asyncio.wait({job}, timeout=0.2)
        if not job.done() and await request.is_disconnected():
            job.cancel()
            await asyncio.wait({job})
            return Response(status_code=499)
    answer = job.result()
    return JSONResponse(answer, 422 if "error" in answer else 200, headers=HEADERS)
