"""The site is built without a warning, its links lead somewhere, and its commands are those of the code."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import krohn
from krohn.cli.app import COMMANDS
from krohn.explorer.trained_results import GALLERY

DOCS = Path(__file__).parents[1] / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", str(DOCS), str(out)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := values.get(key))}
        for key in ("href", "src"):
            if value := values.get(key):
                self.targets.append(value)


def test_every_link_inside_the_site_leads_somewhere(site: Path) -> None:
    pages = {path: Links() for path in site.rglob("*.html") if path.name != "explorer.html"}
    for path, links in pages.items():
        links.feed(path.read_text(encoding="utf-8"))
    assert len(pages) > 25
    lost = []
    for path, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[aim].anchors if aim in pages else {parts.fragment}
            if not aim.exists() or (parts.fragment and parts.fragment not in anchors):
                lost.append(f"{path.name} -> {target}")
    assert lost == []


KINDS = ("Tutorials", "How to", "Reference", "Explanation")


def test_every_page_is_of_one_of_four_kinds() -> None:
    """The sidebar names each page once; records are no pages for readers, decisions have an index."""
    listed = re.findall(
        r"^```{toctree}\n:caption: (.+?)\n.*?\n\n(.*?)^```", INDEX, flags=re.MULTILINE | re.DOTALL
    )
    assert tuple(kind for kind, _ in listed) == KINDS
    names = [name for _, lines in listed for name in lines.split()]
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert sorted(names) == sorted(pages | {"reference/commands", "reference/python", "decisions/index"})


def test_every_page_is_in_the_contents_and_every_command_in_the_reference(site: Path) -> None:
    for page in [*DOCS.glob("*.md"), *DOCS.glob("decisions/*.md"), *DOCS.glob("records/*.md")]:
        assert (site / page.relative_to(DOCS).with_suffix(".html")).exists()
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert all(f"krohn {name}" in text for name in COMMANDS)
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert all(name in text for name in krohn.__all__ if not name.startswith("_"))


def test_the_reference_shows_no_addresses_of_this_process(site: Path) -> None:
    assert "at 0x" not in (site / "reference" / "python.html").read_text(encoding="utf-8")


def test_the_gallery_holds_the_automata_of_the_paper(site: Path) -> None:
    text = (site / "explorer.html").read_text(encoding="utf-8")
    assert [name for name in GALLERY if f'"name":"{name}","about"' not in text] == []
    assert text.count('"certified":true') == len(GALLERY) == 19
