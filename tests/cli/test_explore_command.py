"""``krohn explore``: the page in a new folder, opened where there is a screen; nothing is overwritten."""

import json
import os
import sys
import webbrowser
from pathlib import Path

import pytest

from krohn.cli.app import run
from krohn.explorer import page_data

SMALL = ["explore", "C2", "--length", "3"]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser is sent to, on a machine with a screen; the current folder is empty."""
    addresses: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or True)
    return addresses


def test_the_page_is_written_to_a_new_folder_and_opened(
    opened: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "krohn-page").mkdir()
    (tmp_path / "krohn-page-2").symlink_to("nowhere")
    assert run([*SMALL, "--json"]) == 0
    page = tmp_path / "krohn-page-3" / "page.html"
    assert json.loads(capsys.readouterr().out)["out"] == "krohn-page-3/page.html"
    assert opened == [page.as_uri()]
    assert page.read_text().startswith("<!doctype html>")
    assert not any((tmp_path / "krohn-page").iterdir())


def test_with_out_nothing_is_opened(opened: list[str], tmp_path: Path) -> None:
    assert run([*SMALL, "--out", "page.html"]) == 0
    assert opened == []
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="there is always a screen")
def test_without_a_screen_the_command_says_where_the_page_is(
    opened: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    assert run(SMALL) == 0
    assert opened == []
    assert "open krohn-page/page.html yourself" in capsys.readouterr().err


def test_a_refused_automaton_leaves_no_folder(opened: list[str], tmp_path: Path) -> None:
    assert run(["explore", "zebra"]) == 2
    assert [*tmp_path.iterdir(), *opened] == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(
    opened: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o500)
    assert run(SMALL) == 2
    tmp_path.chmod(0o700)
    assert "--out page.html" in capsys.readouterr().err


def test_a_network_that_is_too_large_for_a_page_is_refused_before_it_is_proved(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_data, "MAX_PARAMETERS", 50)
    monkeypatch.setattr(page_data, "verify", lambda network: pytest.fail("it is proved"))
    assert run(["explore", "S4", "--length", "8", "--out", str(tmp_path / "page.html")]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("error: a page holds networks of at most 50 parameters; S4 at --length 8 has")
    assert list(tmp_path.iterdir()) == []
