"""Code version of a result: the version of the package and a digest of the sources that affect results."""

import hashlib
from functools import cache
from pathlib import Path

import krohn

# Parts that a trained network and its evaluation depend on; a change elsewhere changes no result.
PARTS = (
    "automata",
    "lab/models",
    "lab/tasks",
    "lab/training",
    "lab/interpret/evaluation.py",
    "lab/interpret/attention.py",
    "lab/interpret/packed_shares.py",
    "lab/cards/harness.py",
    "lab/random_streams.py",
)


@cache
def code_version() -> str:
    """For example ``0.1.0+3f2a9c01``: the same sources give the same text on every machine."""
    return f"{krohn.__version__}+{digest_of(Path(krohn.__file__).parent)}"


def digest_of(root: Path, parts: tuple[str, ...] = PARTS) -> str:
    """An eight-digit digest of the sources below ``root`` that affect results."""
    total = hashlib.sha256()
    for part in parts:
        for path in sorted([root / part, *(root / part).rglob("*.py")]):
            if path.is_file():
                total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:8]
