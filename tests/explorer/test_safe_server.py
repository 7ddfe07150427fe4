"""Nobody gets in: a worker imports nothing from where it runs; half a request is closed."""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SPOILERS = ("resource.py", "json.py", "asyncio.py", "krohn.py", "sitecustomize.py")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server that runs in a folder with hostile modules."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in SPOILERS:
        (folder / name).write_text(f"open({str(folder / 'ran')!r}, 'a').write(__name__ + '\\n')\n")
    command = [sys.executable, "-P", "-m", "krohn", "explore", "C2", "-T", "3", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        yield url.removeprefix("http://").rstrip("/"), folder
        process.terminate()


def answer(address: str, body: bytes) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection(address, timeout=120)
    try:
        connection.request("POST", "/machine", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def test_the_worker_imports_nothing_from_the_current_folder(served: tuple[str, Path]) -> None:
    address, folder = served
    status, result = answer(address, b'{"spec": "C3", "length": 3}')
    assert (status, "machine" in result) == (200, True), result
    assert not (folder / "ran").exists()


def test_half_of_a_surrogate_pair_is_a_bad_request(served: tuple[str, Path]) -> None:
    for body in (b'{"spec": "\\ud800"}', b'{"file": {"\\udfff": 1}, "spec": "x"}'):
        status, result = answer(served[0], body)
        assert (status, result["error"]) == (400, "a request must be text in UTF-8")


def test_a_body_that_is_sent_in_part_is_closed_after_five_seconds(served: tuple[str, Path]) -> None:
    host, port = served[0].split(":")
    head = f"POST /machine HTTP/1.1\r\nHost: {served[0]}\r\nContent-Type: application/json\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(f'{head}Content-Length: 100\r\n\r\n{{"spec": '.encode())
        begin, said = time.monotonic(), b""
        while part := connection.recv(4096):
            said += part
        assert 4 < time.monotonic() - begin < 30
    assert said.startswith(b"HTTP/1.1 408 ")
