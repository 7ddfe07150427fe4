"""Known layers beside hers: stored runs of the same protocol, from the table of stock layers."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _known() -> dict[str, Any]:
    text = files("krohn.lab.cards").joinpath("known.json").read_text(encoding="utf-8")
    result: dict[str, Any] = json.loads(text)
    return result


def beside(settings: Mapping[str, Any], tasks: Sequence[str]) -> list[dict[str, Any]]:
    """The stored rows about these automata; none if the card has another protocol."""
    known = _known()
    if any(settings.get(key) != value for key, value in known["protocol"].items()):
        return []
    return [row for row in known["rows"] if row["task"] in tasks]


def stored_protocol() -> str:
    """The protocol of the stored runs, in words."""
    held = _known()["protocol"]
    return f"T = {held['length']}, width {held['width']}, {held['steps']:,} steps of {held['optimizer']}"
