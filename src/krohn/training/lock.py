"""One process at a time trains into a directory."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from krohn.errors import Unsupported

try:
    import fcntl
except ImportError:  # Windows has none: there the lock is left out
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"


@contextmanager
def sole_user(path: Path) -> Iterator[None]:
    """Creates the directory and holds it against other processes and threads.

    The lock belongs to the open file, not to the file's existence: it ends with its process, however that
    ends, and what lies in the directory afterwards means nothing.
    """
    path.mkdir(parents=True, exist_ok=True)
    with (path / LOCK).open("ab") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Unsupported(
                    f"{path} must be trained by one process at a time; another is at work there: "
                    "wait for it or choose another directory"
                ) from error
            except OSError as error:  # some network file systems
                logging.getLogger(__name__).warning("%s cannot be locked (%s)", path, error)
        yield
