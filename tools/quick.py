"""The checks of a small change in under a minute: formatter, linter, architecture, tests that name it.

    python tools/quick.py

What changed is what differs from the main branch, committed or not. Of a changed module those tests run that
have its name, or import it. Types and other rooms are left to ``make test``.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BRANCHES = ("origin/main", "main")


def git(*words: str) -> list[str]:
    """The lines that git prints; none if it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files() -> list[Path]:
    """Python files that differ from the main branch, new ones included."""
    base = next((lines[0] for name in BRANCHES if (lines := git("merge-base", "HEAD", name))), "HEAD")
    names = {*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")}
    return [Path(name) for name in sorted(names) if name.endswith(".py") and (ROOT / name).exists()]


def tests_of(module: Path) -> set[str]:
    """Of the module's room the test files that have its name, else those that import it, else all."""
    inner = module.relative_to("src/krohn").with_suffix("")
    room = Path("tests", *inner.parts[: 2 if inner.parts[0] == "lab" else 1])
    if not (ROOT / room).is_dir():
        return set()
    files = sorted((ROOT / room).rglob("test_*.py"))
    imported = ".".join(("krohn", *(part for part in inner.parts if part != "__init__")))
    named = [path for path in files if path.stem.startswith(f"test_{inner.name}")]
    found = named or [path for path in files if imported in path.read_text(encoding="utf-8")]
    return {str(path.relative_to(ROOT)) for path in found} or {str(room)}


def main() -> int:
    changed = changed_files()
    sources = [path for path in changed if path.is_relative_to("src/krohn")]
    tests = {str(path) for path in changed if path.name.startswith("test_")}
    tests |= {test for path in sources for test in tests_of(path)}
    files = list(map(str, changed))
    checks = [["ruff", "format", "--check", *files], ["ruff", "check", *files]] if files else []
    chosen = ["tests/test_architecture.py", *sorted(tests)]
    checks.append(["pytest", "-q", "-n", "2", "-m", "not slow and not attack", *chosen])
    wrong = 0
    for check in checks:
        print("$", *check, flush=True)
        wrong |= subprocess.run([sys.executable, "-m", *check], cwd=ROOT, check=False).returncode
    print("make test adds types and the other rooms")
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main())
