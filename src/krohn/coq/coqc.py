"""Runs ``coqc``: compiles the development once into the user's cache, then proves certificates with it.

What is noticed: other axioms than the four, a compiled file that changed since it was compiled, a folder
that others may write to, a ``coqc`` that also accepts what is false. What cannot be noticed: a file replaced
by someone with the user's own rights who also replaces the record of hashes, or a ``coqc`` that knows the
question it is asked; ``make coqchk`` has another program check the compiled development.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from krohn.coq.proof_text import proof_text
from krohn.errors import KrohnError, MissingDependency

try:
    import fcntl
except ImportError:  # no such locks on this system; Coq's programs are looked for all the same
    fcntl = None  # type: ignore[assignment]

SOURCES = Path(__file__).parent / "theories"
FORMULAS = "Formulas"
"""Lemmas about the checker in Python, which no certificate needs."""
LISTED = [line.removesuffix(".v") for line in (SOURCES / "_CoqProject").read_text().splitlines()[1:]]
ORDER = tuple(name for name in LISTED if name != FORMULAS)
"""The files of the development, each after those it needs: first those that state what is proved, then the
proofs, which need not be reviewed.
"""
AXIOMS = (
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
)
"""What a theorem may stand on, all of it and nothing else: the axioms of Coq's real numbers."""
RECORD = "hashes.json"
"""Beside the compiled files: the SHA-256 of each."""
INSTALL = "apt-get install coq libcoq-flocq"
NO_COQ = f"the kernel's proofs need Coq with Flocq, and no coqc is installed; {INSTALL}"
_REFUSED = re.compile(r'has type\s+"true = true"|Unable to unify|expected to have type', re.DOTALL)


class CoqFailed(KrohnError, RuntimeError):
    """``coqc`` ended without a verdict: no memory, or a development that this Coq cannot compile."""


@dataclass(frozen=True)
class KernelVerdict:
    """What Coq, or the program made of its checker, says of one certificate.

    Attributes:
        accepted: the certificate is accepted, and the theorem stands on the four axioms and on no others.
        by: who says so.
        trusts: what must be believed besides the definitions that the theorem names.
        assumptions: the axioms that the theorem stands on, as ``Print Assumptions`` names them.
        processor_seconds: CPU time; ``seconds`` is wall-clock time.
        megabytes: peak memory.
        reason: why it is not accepted; empty if it is.
    """

    accepted: bool
    by: str
    trusts: tuple[str, ...]
    assumptions: tuple[str, ...]
    seconds: float
    processor_seconds: float
    megabytes: int
    reason: str = ""


def coq_version() -> str | None:
    """The installed version of Coq; ``None`` without ``coqc``."""
    program = shutil.which("coqc")
    return None if program is None else _version(program)


@cache
def _version(program: str) -> str | None:
    completed = subprocess.run([program, "--print-version"], capture_output=True, text=True, check=False)
    return completed.stdout.split()[0] if completed.returncode == 0 and completed.stdout.split() else None


def development() -> Path:
    """The compiled development, as it was when it was compiled; the first call compiles it in a minute.

    Processes that need it at the same time wait for the one that compiles.
    """
    version = coq_version()
    if version is None:
        raise MissingDependency(NO_COQ)
    texts = {name: (SOURCES / f"{name}.v").read_bytes() for name in ORDER}
    program = Path(str(shutil.which("coqc"))).resolve()
    key = key_of(version.encode(), program.read_bytes(), _flocq(str(program)), *texts.values())
    folder = cache_folder()
    target = folder / f"coq-{key}"
    with alone(folder / f"coq-{key}.lock"):
        if not target.is_dir():
            _compile(texts, folder, target, version)
        changed = _find_changed(target)
    if changed:
        raise CoqFailed(
            f"compiled files must be as they were compiled; {changed} in {target} is not: remove that folder"
        )
    return target


def key_of(*parts: bytes) -> str:
    """A name that changes with any of the parts."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@cache
def _flocq(program: str) -> bytes:
    """The compiled file that defines binary32; it holds the hashes of those it needs."""
    where = subprocess.run([program, "-where"], capture_output=True, text=True, check=False).stdout.strip()
    file = Path(where) / "user-contrib" / "Flocq" / "IEEE754" / "BinarySingleNaN.vo"
    return file.read_bytes() if file.is_file() else b""


def cache_folder() -> Path:
    """Where compiled proofs lie: a folder that only the user can write to, or replace."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "krohn"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for place in (folder, *folder.resolve().parents):
        found = place.stat()
        ours = not hasattr(os, "getuid") or found.st_uid in (
            (os.getuid(),) if place is folder else (os.getuid(), 0)
        )
        open_to_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
        if not ours or open_to_others:
            raise CoqFailed(
                f"compiled proofs must lie where only you can write; others can write to {place}: "
                "chmod go-w, or set XDG_CACHE_HOME"
            )
    return folder


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Waits until no other process is here; a file that is left behind means nothing."""
    with path.open("ab") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile(texts: dict[str, bytes], folder: Path, target: Path, version: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        built = Path(name) / "built"
        built.mkdir(mode=0o700)
        for file, text in texts.items():
            (built / f"{file}.v").write_bytes(text)
            done = coqc(built, built / f"{file}.v")
            if done.returncode != 0 or not (built / f"{file}.vo").exists():
                raise CoqFailed(
                    f"Coq {version} must compile {file}.v (is Flocq there? {INSTALL}); it says: "
                    f"{first_error(done.stderr)}"
                )
        (built / RECORD).write_text(json.dumps({file: _hash(built, file) for file in texts}))
        built.rename(target)


def _hash(folder: Path, file: str) -> str:
    return hashlib.sha256((folder / f"{file}.vo").read_bytes()).hexdigest()


def _find_changed(folder: Path) -> str:
    """The first compiled file that is not what was compiled; empty if there is none."""
    try:
        known = json.loads((folder / RECORD).read_text())
        return next((f"{file}.vo" for file in ORDER if _hash(folder, file) != known[file]), "")
    except (OSError, ValueError, KeyError, TypeError):
        return RECORD


FALSE = "Check (eq_refl : 0 = 1)."
"""A control: a ``coqc`` that accepts this accepts anything."""


def prove(certificate: dict[str, Any], network: bytes) -> KernelVerdict:
    """Has Coq prove what a certificate claims of the bytes of a file, in a folder of its own."""
    text, library = proof_text(certificate, network), development()
    with tempfile.TemporaryDirectory() as folder:
        path, control = Path(folder) / "proof.v", Path(folder) / "control.v"
        path.write_text(text)
        control.write_text(FALSE)
        if coqc(library, control).returncode == 0:
            raise CoqFailed(f"coqc must refuse what is false; {shutil.which('coqc')} accepts that 0 = 1")
        begin = time.perf_counter()
        done = coqc(library, path)
        seconds = time.perf_counter() - begin
    if done.returncode != 0 and not _REFUSED.search(done.stderr):
        raise CoqFailed(f"coqc must answer yes or no; it says: {first_error(done.stderr)}")
    assumptions = assumptions_in(done.stdout) if done.returncode == 0 else ()
    reason = beyond(assumptions) if done.returncode == 0 else "Coq does not accept the certificate"
    by = f"Coq {coq_version()}"
    trusts = (f"{by}: its kernel with the virtual machine", "Flocq's definition of binary32")
    return KernelVerdict(
        not reason, by, trusts, assumptions, seconds, done.processor_seconds, done.megabytes, reason
    )


def beyond(assumptions: tuple[str, ...]) -> str:
    """Why these are not the four axioms; empty if they are."""
    if sorted(assumptions) == sorted(AXIOMS):
        return ""
    others = ", ".join(name for name in assumptions if name not in AXIOMS)
    return f"the theorem must stand on four axioms; it stands on {others or len(assumptions)}"


@dataclass(frozen=True)
class Done:
    """What a program said, and what it took."""

    returncode: int
    stdout: str
    stderr: str
    processor_seconds: float
    megabytes: int


def coqc(library: Path, path: Path) -> Done:
    """Compiles a file with the development."""
    return run([str(shutil.which("coqc")), "-q", "-Q", str(library), "Krohn", path.name], path.parent)


def run(command: list[str], folder: Path) -> Done:
    """Runs a program to its end."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        busy = usage.ru_utime + usage.ru_stime
        return Done(process.returncode, out.read(), err.read(), busy, usage.ru_maxrss // 1024)


def assumptions_in(output: str) -> tuple[str, ...]:
    """What ``Print Assumptions`` lists: the names of axioms, and whole lines about checks that were off."""
    if "Closed under the global context" in output:
        return ()
    entries = re.findall(r"^\S.*$", output.partition("Axioms:")[2], re.MULTILINE)
    # An axiom is a name and its type; "x is assumed to be guarded." is a recursion that may never end.
    named = (re.fullmatch(r"([\w.']+)\s*(?::.*)?", entry) for entry in entries)
    return tuple(name[1] if name else entry for name, entry in zip(named, entries, strict=True))


def first_error(stderr: str) -> str:
    """The first line of the first error that a program names."""
    after = stderr.partition("Error:")[2] or stderr
    lines = [line.strip() for line in after.splitlines() if line.strip()]
    return (lines[0] if lines else "nothing")[:200]
