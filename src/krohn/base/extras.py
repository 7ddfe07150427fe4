"""Optional packages: the extra that each belongs to, and the command that installs what is missing.

A command names the packages themselves, so it works wherever krohn came from: a checkout or a wheel.
"""

import re

from krohn.errors import MissingDependency

EXTRAS = {
    "torch": "train",
    "matplotlib": "train",
    "transformers": "hf",
    "onnx": "hf",
    "pyarrow": "parquet",
    "pandas": "pandas",
    "ray": "cluster",
}
"""Optional packages by import name, and the extra that installs each."""
_INDEX_NAMES = {"ray": "ray[default]"}
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_OWN = re.compile(r"krohn\[([^]]*)\]")


def missing(error: ModuleNotFoundError, what: str) -> MissingDependency | None:
    """The error shown to users; ``None`` if the missing module belongs to no extra."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return None
    return MissingDependency(f"{what} needs {package}, which is not installed: {to_install(EXTRAS[package])}")


def to_install(extra: str, package: str = "") -> str:
    """The command that installs an extra, or what is missing of it; or one package of it."""
    wanted = requirements().get(extra) or [
        _INDEX_NAMES.get(name, name) for name, other in EXTRAS.items() if other == extra
    ]
    wanted = [line for line in wanted if line.startswith(package)]
    lacking = [line for line in wanted if installed_version(line) is None]
    return " ".join(["pip install", *(f"'{line}'" for line in lacking or wanted)])


def installed_version(requirement: str) -> str | None:
    """The installed version of a required package, whatever version is required; ``None`` if missing."""
    from importlib import metadata  # on use: it takes as long as all of --help

    match = _NAME.match(requirement)
    try:
        return metadata.version(match.group()) if match else None
    except metadata.PackageNotFoundError:
        return None


def requirements() -> dict[str, list[str]]:
    """Required packages by extra, as the installed krohn states them; "" is krohn itself."""
    from importlib import metadata

    try:
        stated = metadata.requires("krohn") or []
    except metadata.PackageNotFoundError:
        return {}
    result: dict[str, list[str]] = {"": []}
    for line in stated:
        extra = _EXTRA.search(line)
        result.setdefault(extra.group(1) if extra else "", []).append(line.partition(";")[0].strip())
    return {extra: list(dict.fromkeys(_follow(lines, result))) for extra, lines in result.items()}


def _follow(lines: list[str], extras: dict[str, list[str]]) -> list[str]:
    """The lines, with those of krohn's own extras in place of their names."""
    result = []
    for line in lines:
        own = _OWN.match(line)
        names = [name.strip() for name in own.group(1).split(",")] if own else []
        result += [each for name in names for each in _follow(extras.get(name, []), extras)] or [line]
    return result
