"""Documentation cannot rot: its Python runs, its commands succeed, every command and name is described."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import published_tables
import pytest

import krohn
from krohn.cli.app import COMMANDS, run

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "results").glob("*.md")])


def blocks(language: str) -> list[tuple[str, str]]:
    """Each fenced block of a language, with the page and number it has."""
    result = []
    for page in PAGES:
        fenced = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        result += [(f"{page.name}-{number}", block) for number, block in enumerate(fenced)]
    return result


def commands(block: str) -> list[str]:
    """The lines a reader would type: those after a ``$`` prompt."""
    joined = block.replace("\\\n", " ")
    return [line[2:] for line in joined.splitlines() if line.startswith("$ ")]


# Blocks that name a file are parts of a change; tests/test_extending.py makes the whole of it.
SCRIPTS = [(name, block) for name, block in blocks("python") if not block.startswith("# file: ")]


@pytest.mark.parametrize(("name", "block"), SCRIPTS, ids=lambda value: value[:40])
def test_python_in_the_documentation_runs(
    name: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, which has the libraries loaded; what a script registers would stay, so not those."""
    if "register" in block or "sys." in block:
        command = [sys.executable, "-c", block]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        return
    if "transformer_lens" in block:
        pytest.importorskip("transformer_lens")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        exec(compile(block, name, "exec"), {"__name__": "__main__"})


def typed(command: str, folder: Path) -> None:
    """Runs a command line as a reader types it: ours in this process, a pipe in a shell."""
    lines = [shlex.split(line) for line in command.split(" && ")]
    if all(words[0] == "krohn" and not {"|", ">"} & set(words) for words in lines):
        for words in lines:
            assert run(words[1:]) == 0, command
        return
    scripts = Path(sys.executable).parent
    if shutil.which("krohn", path=str(scripts)) is None:
        pytest.skip(f"{scripts} has no command krohn: the package is run from its sources, not installed")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PATH": f"{scripts}:/usr/bin:/bin", "HOME": str(folder)},
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"


@pytest.mark.parametrize(("name", "block"), blocks("console"), ids=lambda value: value[:40])
def test_commands_in_the_documentation_succeed(
    name: str,
    block: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What README and the tour show of the output is part of it, line by line."""
    if "--kernel" in block and shutil.which("coqc") is None:
        pytest.skip("no coqc is installed: apt-get install coq libcoq-flocq")
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for command in commands(block):
        typed(command, tmp_path)
    printed = capsys.readouterr().out.splitlines()
    if name.startswith(("README", "tour")):
        shown = [line for line in block.splitlines() if not line.startswith("$ ")]
        assert [line for line in shown if line not in printed] == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"krohn {name}" in text.split("\n", 2)[2], "the help must show an example"
    assert "--json" in text or name in {"run", "simulate", "explore"}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_described_in_the_documentation(name: str) -> None:
    assert any(f"krohn {name}" in page.read_text() for page in PAGES)


@pytest.mark.parametrize("name", [name for name in krohn.__all__ if not name.startswith("_")])
def test_every_public_name_loads_and_is_described(name: str) -> None:
    assert getattr(krohn, name).__doc__


def test_commands_are_split_as_a_shell_would() -> None:
    assert commands("$ krohn zoo \\\n  --json\noutput\n") == ["krohn zoo    --json"]
    assert shlex.split("krohn analyze S4")[0] == "krohn"


def test_the_published_tables_come_from_the_generated_pages_and_the_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stale = published_tables.main(["--check"])
    assert stale == 0, f"run python tools/published_tables.py: {capsys.readouterr().out}"


def test_the_architecture_page_names_every_part() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    package = Path(krohn.__file__).parent
    parts = {
        path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert {part for part in parts if not part.startswith("__")} <= set(re.findall(r"`(\w+)`", page))


def test_files_and_modules_that_pages_name_are_there() -> None:
    folders = ("src", "tests", "tools", "benchmarks", "research", "examples")
    files = [
        path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*.py")
    ]
    own = {"my_layer.py", "my_rnn.py", "FILE.py"}  # the reader's
    lost = []
    for page in [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "decisions").glob("*.md"),
    ]:
        for name in set(re.findall(r"`([\w/*]+\.py)`", page.read_text())) - own:
            lost += [(page.name, name)] * (not any(f"/{file}".endswith(f"/{name}") for file in files))
        for name in set(re.findall(r"`(krohn(?:\.[a-z]\w*)+)`", page.read_text())) - {"krohn.json"}:
            path = name.replace(".", "/")
            module = [part for part in (path, path.rpartition("/")[0]) if f"src/{part}.py" in files]
            if not module and not (ROOT / "src" / path).is_dir() and not hasattr(krohn, name.split(".")[1]):
                lost.append((page.name, name))
    assert lost == []


def test_one_version_everywhere() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    newest = re.search(r"^## (\S+),", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert cited is not None
    assert newest is not None
    assert krohn.__version__ == stated == cited[1] == newest[1]


def test_every_page_is_reached_from_the_readme() -> None:
    links = set(re.findall(r"\]\((?:[\w./]+/)?([\w-]+\.md)", "".join(page.read_text() for page in PAGES)))
    assert {page.name for page in PAGES} - links <= {"README.md", "index.md"}


TRANSLATED = (
    "words all right",
    "stopped by the clock",
    "not every replicate has",
    "no contradiction",
    "is no number",
    "for it is",
    "true or false as it is",
    "must have a network of that name",
    "answer the same words alike",
    "not told from",
    "reads the names alone",
    "Whoever",
    "names of today",
    "belongs into",
    "Those of the cascade.",
)


def test_sentences_that_read_like_a_translation_stay_out() -> None:
    """In pages and in what programs print; the table of words in the conventions names them."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    pages = [page for page in pages if page.name != "conventions.md"]
    texts = {page: " ".join(page.read_text(encoding="utf-8").split()) for page in pages}
    assert [(page.name, words) for page, text in texts.items() for words in TRANSLATED if words in text] == []
