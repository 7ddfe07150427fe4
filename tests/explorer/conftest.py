"""A real browser for the tests of pages: the system's Chromium, driven by Selenium."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from krohn.cli.app import run

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars "
    "--window-size=1280,1000"
)

OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND"
"""No host is found: pages must need none."""


def _program(*names: str) -> str | None:
    return next((path for path in map(shutil.which, names) if path), None)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Chrome]":
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    program = _program("chromium", "chromium-browser", "google-chrome")
    driver = _program("chromedriver")
    if program is None or driver is None:
        message = "pages are tested in Chromium: apt-get install chromium chromium-driver"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    options = ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS.split(), OFFLINE, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = Chrome(options=options, service=ChromeService(driver))
    chrome.set_script_timeout(60)
    yield chrome
    chrome.quit()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One page with four automata: counters, sharp heads, a scan, a language with acceptance."""
    path = tmp_path_factory.mktemp("pages") / "page.html"
    specs = ["S4", "Dyck4,2", "A5", "regex:(a|b)*abb"]
    assert run(["explore", *specs, "--length", "16", "--out", str(path)]) == 0
    return path
