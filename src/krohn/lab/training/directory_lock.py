"""One process at a time trains into a directory."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from krohn.errors import Unsupported

try:
    import fcntl
except ImportError:  # not available on Windows: no lock there
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"


def lock(file: IO[bytes]) -> bool:
    """Locks an open file against other processes and threads; ``False`` if one of them has locked it.

    The lock belongs to the open file, not to the file's existence: it ends with its process, however that
    ends; a leftover lock file means nothing.
    """
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # some network file systems
        logging.getLogger(__name__).warning("%s cannot be locked (%s)", file.name, error)
    return True


@contextmanager
def sole_user(path: Path) -> Iterator[None]:
    """Creates the directory and locks it."""
    path.mkdir(parents=True, exist_ok=True)
    with (path / LOCK).open("ab") as file:
        if not lock(file):
            raise Unsupported(
                f"{path} must be trained by one process at a time; another is at work there: "
                "wait for it or choose another directory"
            )
        yield
