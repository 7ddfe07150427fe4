"""``krohn doctor``: what is installed here, what the machine has, and how to get what is missing."""

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import click

from krohn import __version__
from krohn.cli.output import emit, json_option, note, table

PURPOSES = {
    "": "krohn itself",
    "train": "krohn train, understand, bench, reproduce, and networks on a GPU",
    "parquet": "krohn sample --out words.parquet",
    "dfa": "krohn.from_dfa and krohn.to_dfa for automata-lib",
    "hf": "krohn export to transformers and ONNX",
    "explore": "krohn explore as a server",
    "cluster": "krohn reproduce --engine ray",
    "extract": "krohn extract",
}
_REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?\s*([^;]*)")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List versions, the accelerator, and every optional part with how to install it.

    Exit status 0: everything krohn needs is there. 1: a package it cannot do without is missing.

    \b
    Example:  krohn doctor
    """
    wanted = requirements()
    parts = [_part(extra, wanted.get(extra, [])) for extra in PURPOSES if extra in wanted]
    machine = {"python": platform.python_version(), "system": platform.platform(), **_accelerator()}
    payload = {"krohn": __version__, **machine, "parts": parts}
    emit(payload, as_json=as_json, text=lambda: _text(payload))
    if any(not part["extra"] and part["missing"] for part in parts):
        raise click.exceptions.Exit(1)


def requirements() -> dict[str, list[tuple[str, str]]]:
    """Packages and their versions by extra, as the installed krohn states them; "" is krohn itself."""
    try:
        stated = requires("krohn") or []
    except PackageNotFoundError:
        note("krohn runs from its sources and is not installed, so what it needs is not known: pip install .")
        return {}
    found: dict[str, list[tuple[str, str]]] = {"": []}
    for line in stated:
        extra = _EXTRA.search(line)
        match = _REQUIREMENT.match(line)
        if match is not None:
            found.setdefault(extra.group(1) if extra else "", []).append(
                (match.group(1), match.group(2).strip())
            )
    return found


def _part(extra: str, packages: list[tuple[str, str]]) -> dict[str, Any]:
    installed = {name: _version(name) for name, _ in packages}
    missing = [name for name, found in installed.items() if found is None]
    command = f"pip install 'krohn[{extra}]'" if extra else "pip install krohn"
    return {
        "extra": extra,
        "for": PURPOSES[extra],
        "installed": {name: found for name, found in installed.items() if found is not None},
        "missing": missing,
        "get": command if missing else "",
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _accelerator() -> dict[str, Any]:
    """The GPU as training sees it; torch takes seconds to import, so it is left out where it is missing."""
    if _version("torch") is None:
        return {"accelerator": "none: torch is missing"}
    from krohn.training.device import accelerator

    return {"accelerator": accelerator()}


def _text(payload: dict[str, Any]) -> str:
    head = "\n".join(
        f"{name:12} {payload[name]}"
        for name in ("krohn", "python", "system", "accelerator")
        if name in payload
    )
    rows = [
        (
            f"[{part['extra']}]" if part["extra"] else "krohn",
            part["for"],
            f"missing {', '.join(part['missing'])}: {part['get']}" if part["missing"] else "complete",
        )
        for part in payload["parts"]
    ]
    packages = {name: found for part in payload["parts"] for name, found in part["installed"].items()}
    tables = [
        table(("part", "what for", "state"), rows),
        table(("package", "version"), list(packages.items())),
    ]
    return "\n\n".join([head, *tables]) if rows else head
