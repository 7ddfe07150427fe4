"""Writes src/krohn/__init__.pyi: the public names with their types, for editors and type checkers.

``import krohn`` stays instant because names are looked up on first use, which no type checker follows.

Run: python tools/public_types.py [--check]
"""

import argparse
import sys
from pathlib import Path

import krohn

STUB = Path(krohn.__file__).with_suffix(".pyi")
HEAD = '"""The names of ``krohn.__all__`` and where they are; written by tools/public_types.py."""\n'


def generate() -> str:
    """An import for each public name, in the order of modules."""
    places = sorted((*target.split(":"), name) for name, target in krohn._PUBLIC.items())
    imports = [f"from {module} import {own} as {name}" for module, own, name in places]
    return "\n".join([HEAD, *imports, "", "__version__: str", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="exit 1 if the file is not what would be written"
    )
    if parser.parse_args().check:
        return int(not STUB.is_file() or STUB.read_text() != generate())
    STUB.write_text(generate())
    return 0


if __name__ == "__main__":
    sys.exit(main())
