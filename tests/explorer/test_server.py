"""The server form: workers with limits, bounded uploads, no foreign pages, a token beyond loopback."""

import asyncio
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

import krohn
from krohn.cli.app import run
from krohn.errors import InvalidInput
from krohn.explorer import page_data
from krohn.explorer.jobs import MAX_BYTES, Jobs, MachineRequest, answer, read_request
from krohn.explorer.server import Guard, is_loopback

SLOW = (sys.executable, "-c", "import time; time.sleep(60)")


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, int]]:
    """The address of a server and its process."""
    command = [sys.executable, "-m", "krohn", "explore", "C2", "--length", "8", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        yield url.removeprefix("http://").rstrip("/"), process.pid
        process.terminate()


@pytest.fixture(scope="module")
def address(server: tuple[str, int]) -> str:
    return server[0]


def workers(server: tuple[str, int]) -> list[str]:
    return subprocess.run(["pgrep", "-P", str(server[1])], capture_output=True, text=True).stdout.split()


def until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def ask(address: str, body: bytes, **headers: str) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection(address, timeout=120)
    usual = {"Content-Type": "application/json"}
    try:
        connection.request(
            "POST", "/machine", body, {**usual, **{k.replace("_", "-"): v for k, v in headers.items()}}
        )
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def test_a_name_gives_a_machine_and_a_bad_pattern_one_line(address: str) -> None:
    status, result = ask(address, b'{"spec": "C3", "length": 8}')
    assert status == 200
    assert result["machine"]["certificate"]["certified"] is True  # type: ignore[index]
    for spec in ("regex:(a|b", "Nothing9"):
        status, result = ask(address, json.dumps({"spec": spec, "length": 8}).encode())
        assert status == 422
        assert "\n" not in str(result["error"])
        assert len(str(result["error"])) <= 400


def test_large_and_malformed_requests_are_refused_before_any_work(address: str) -> None:
    status, result = ask(address, b'{"spec": "' + b"x" * 5_000_000 + b'"}')
    assert (status, result["error"]) == (
        413,
        f"a request may have at most {MAX_BYTES:,} bytes: upload a smaller file",
    )
    assert ask(address, b"[" * 100_000)[0] == 422
    assert ask(address, b'{"spec": "C3", "length": 100000}')[0] == 422
    assert ask(address, b'{"spec": "C3"}', Content_Type="text/plain")[0] == 422


def test_other_pages_and_other_names_of_this_machine_are_refused(address: str) -> None:
    body = b'{"spec": "C3", "length": 8}'
    assert ask(address, body, Origin="http://evil.example")[0] == 403
    assert ask(address, body, Host="evil.example")[0] == 403  # a name that somebody points at 127.0.0.1
    assert ask(address, body, Sec_Fetch_Site="cross-site")[0] == 403


def test_beyond_loopback_the_token_is_needed() -> None:
    guard = Guard(8000, "secret")
    headers = {"host": "192.168.0.9:8000"}
    assert "token" in guard.refusal("/", headers, "")
    assert "token" in guard.refusal("/machine", headers, "wrong")
    assert guard.refusal("/machine", headers, "secret") == ""
    assert guard.refusal("/machine", {**headers, "origin": "http://evil.example"}, "secret")
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "10.1.1.1")] == [
        *[True] * 3,
        *[False] * 2,
    ]
    with pytest.raises(InvalidInput, match="upload the automaton instead"):
        read_request({"spec": "/etc/passwd", "length": 8}, paths=False)


def test_a_worker_ends_after_its_time_or_when_its_client_leaves() -> None:
    request = MachineRequest("C2", None, 8)

    async def story() -> None:
        jobs = Jobs(seconds=0.3, command=SLOW)
        assert "no network within 0.3 seconds" in (await jobs.run(request))["error"]
        jobs = Jobs(workers=1, queue=0, command=SLOW)
        task = asyncio.create_task(jobs.run(request))
        while not jobs.running:
            await asyncio.sleep(0.01)
        assert "too many requests" in (await jobs.run(request))["error"]
        (pid,) = jobs.running
        task.cancel()
        await asyncio.wait({task})
        assert jobs.running == set()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    asyncio.run(story())


def test_the_worker_answers_with_a_machine_or_one_line() -> None:
    assert answer('{"spec": "C2", "length": 4}')["machine"]["name"] == "C2"
    assert "is never closed" in answer('{"spec": "regex:(", "length": 4}')["error"]
    table = {"krohn": 1, "letters": ["a"], "states": ["p"], "start": "p", "next": {"p": {"a": "q"}}}
    assert "q" in answer(json.dumps({"spec": "mine", "file": table, "length": 4}))["error"]


def test_a_disconnected_client_ends_its_worker(server: tuple[str, int]) -> None:
    connection = http.client.HTTPConnection(server[0], timeout=60)
    body = b'{"spec": "S5", "length": 128}'
    connection.request("POST", "/machine", body, {"Content-Type": "application/json"})
    assert until(lambda: bool(workers(server)))
    connection.close()
    assert until(lambda: not workers(server))


def test_a_taken_port_is_refused_in_one_line(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    port = address.rsplit(":", 1)[1]
    assert run(["explore", "C2", "--length", "4", "--port", port]) == 2
    assert "try --port 0" in capsys.readouterr().err


def test_the_page_asks_the_server(browser: Chrome, address: str, tmp_path: Path) -> None:
    def shows(text: str) -> bool:
        for _ in range(900):
            if text in browser.find_element(By.ID, "ask-status").text:
                return True
            time.sleep(0.1)
        return False

    browser.get(f"http://{address}/")
    browser.execute_script("krohn.find('longest').value = 8")
    spec = browser.find_element(By.ID, "spec")
    spec.send_keys("regex:(a|b")
    spec.submit()
    assert shows("a ( is never closed")
    spec.clear()
    spec.send_keys("regex:(ab)*")
    spec.submit()
    assert shows("is ready")
    assert browser.find_element(By.ID, "name").text == "regex:(ab)*"
    large = tmp_path / "large.json"
    large.write_bytes(b" " * 5_000_000)
    browser.find_element(By.ID, "file").send_keys(str(large))
    assert shows("large.json has 5.0 MB")
    small = tmp_path / "two.json"
    states = {"p": {"a": "q"}, "q": {"a": "p"}}
    small.write_text(
        json.dumps({"krohn": 1, "letters": ["a"], "states": ["p", "q"], "start": "p", "next": states})
    )
    browser.find_element(By.ID, "file").send_keys(str(small))
    assert shows("two is ready")
    krohn.dump_automaton(krohn.parse_spec("abab@accept"), tmp_path / "jflap.jff")
    browser.find_element(By.ID, "file").send_keys(str(tmp_path / "jflap.jff"))
    assert shows("jflap is ready")
    assert browser.execute_script("return krohn.current.machine.automaton.states.length") == 5
    hostile = tmp_path / "hostile.jff"
    hostile.write_text('<!DOCTYPE x [<!ENTITY e "boom">]><structure>&e;</structure>')
    browser.find_element(By.ID, "file").send_keys(str(hostile))
    assert shows("entities")
    offer = browser.execute_script(  # a drawing that the page alone does not hold
        """krohn.find('draw').open = true;
        [...document.querySelectorAll('#draw-body button')]
          .find((button) => button.textContent === 'Add a letter').click();
        krohn.find('show-network').click();
        return krohn.find('draw-offer').textContent"""
    )
    assert offer.endswith("the server behind this page compiles and proves its network.")
    assert shows("drawing is ready")
    assert "proved right" in browser.find_element(By.ID, "seal").text
    assert [e["message"] for e in browser.get_log("browser") if "422" not in e["message"]] == []


def test_a_link_makes_the_server_compile_a_name_but_read_no_file(browser: Chrome, address: str) -> None:
    def shown() -> list[object]:
        return list(
            browser.execute_script(
                "return [krohn.find('name').textContent, krohn.current.word, krohn.current.cursor]"
            )
        )

    browser.get("about:blank")
    browser.get(f"http://{address}/#a=D6&w=toggle+drive+drive&t=2")
    assert until(lambda: shown() == ["D6", [0, 1, 1], 2])
    browser.get("about:blank")
    browser.get(f"http://{address}/#a=/etc/hostname&w=a&t=1")
    browser.execute_async_script("setTimeout(arguments[0], 500)")
    assert browser.find_element(By.ID, "ask-status").text == ""


def test_a_network_that_is_too_large_for_a_page_is_refused_before_it_is_proved(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_data, "MAX_PARAMETERS", 50)
    monkeypatch.setattr(page_data, "verify", lambda network: pytest.fail("it is proved"))
    assert run(["explore", "S4", "--length", "8", "--out", str(tmp_path / "page.html")]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("error: a page holds networks of at most 50 parameters; S4 at --length 8 has")
    assert list(tmp_path.iterdir()) == []
