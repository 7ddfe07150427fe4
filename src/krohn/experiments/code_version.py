"""Which code made a result: the package's version and a digest of the sources that decide results."""

import hashlib
from functools import cache
from pathlib import Path

import krohn

# Parts that a trained network and its evaluation depend on; a change elsewhere changes no result.
_PARTS = ("automata", "models", "tasks", "training", "evaluate", "streams.py")


@cache
def code_version() -> str:
    """For example ``0.1.0+3f2a9c01``: the same sources give the same text on every machine."""
    root = Path(krohn.__file__).parent
    files = [path for part in _PARTS for path in sorted([root / part, *(root / part).rglob("*.py")])]
    total = hashlib.sha256()
    for path in files:
        if path.is_file():
            total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{krohn.__version__}+{total.hexdigest()[:8]}"
