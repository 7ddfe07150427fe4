"""The page as one self-contained file: markup, style, scripts and data in one string, no address in it."""

import json
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "network.js",
    "search.js",
    "dom.js",
    "diagram.js",
    "word.js",
    "score.js",
    "inside.js",
    "facts.js",
    "breaking.js",
    "server.js",
    "patterns.js",
    "draw.js",
    "walk.js",
    "results.js",
    "explorer.js",
)


def render_page(payload: dict[str, Any]) -> str:
    """The page that shows ``payload``: ``machines``, and if wanted ``results`` and ``server``."""
    page = _asset("page.html")
    data = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    parts = {
        "/* style */": _asset("page.css"),
        "/* small */": small_text(),
        "/* scripts */": "\n".join(_asset(name) for name in SCRIPTS),
        "{/* data */}": data.replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029"),
    }
    machines = payload.get("machines", [])
    title = ", ".join(machine["name"] for machine in machines[:3]) or "automata"
    if payload.get("gallery"):
        title = f"Gallery of {len(machines)} automata"
    parts["<!-- title -->"] = _escaped(f"{title} · krohn")
    for mark, text in parts.items():
        before, _, after = page.partition(mark)
        page = f"{before}{text}{after}"
    return page


def small_text() -> str:
    """The compiled and proved networks of all small automata (``krohn.web.small_machines``)."""
    return _asset("small.txt")


def _asset(name: str) -> str:
    return (files("krohn.web") / "assets" / name).read_text(encoding="utf-8")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
