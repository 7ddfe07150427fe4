"""Runs ``coqc``: compiles the development once into the user's cache, then checks certificates with it."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from krohn.errors import KrohnError, MissingDependency

SOURCES = Path(__file__).parent / "theories"
STATEMENTS = (
    *("Float32", "Sha256", "Tensors"),
    *("Recurrent", "Delta", "Diagonal"),
    *("Transformer", "TransformerFile"),
)
"""The files that state what is proved; the others are proofs and need not be reviewed."""
PROOFS = (
    *("Fits", "Network", "Closed", "Exists", "Exact", "OneOrder", "Reading", "Certificate"),
    *(
        "Bounds",
        "Boxes",
        "Softmax",
        "Attention",
        "Forms",
        "Counting",
        "Copying",
        "Layers",
        "Counted",
        "TransformerCertificate",
    ),
)
ORDER = (*STATEMENTS, *PROOFS)
"""The files of the development, each after those it needs."""
INSTALL = "apt-get install coq libcoq-flocq"
NO_COQ = f"the kernel's proofs need Coq with Flocq, and no coqc is installed; {INSTALL}"
_REFUSED = re.compile(r'has type\s+"true = true"|Unable to unify|expected to have type', re.DOTALL)


class CoqFailed(KrohnError, RuntimeError):
    """``coqc`` ended without a verdict: no memory, or a development that this Coq cannot compile."""


@dataclass(frozen=True)
class CoqVerdict:
    """The result of ``coqc`` on one file.

    Attributes:
        assumptions: the axioms that the theorem stands on, as ``Print Assumptions`` names them.
        processor_seconds: CPU time of ``coqc``; ``seconds`` is wall-clock time.
        megabytes: peak memory of ``coqc``.
    """

    accepted: bool
    seconds: float
    assumptions: tuple[str, ...]
    version: str
    processor_seconds: float
    megabytes: int


def coq_version() -> str | None:
    """The installed version of Coq; ``None`` without ``coqc``."""
    if shutil.which("coqc") is None:
        return None
    completed = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=False)
    return completed.stdout.split()[0] if completed.returncode == 0 and completed.stdout.split() else None


def development() -> Path:
    """The compiled development; the first call compiles it, which takes a minute."""
    version = coq_version()
    if version is None:
        raise MissingDependency(NO_COQ)
    texts = [(SOURCES / f"{name}.v").read_bytes() for name in ORDER]
    key = hashlib.sha256(b"\0".join([version.encode(), *texts])).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "krohn"
    target = cache / f"coq-{key}"
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        built = Path(folder) / "built"
        built.mkdir()
        for name, text in zip(ORDER, texts, strict=True):
            (built / f"{name}.v").write_bytes(text)
            done = _coqc(built, built / f"{name}.v")
            if done.returncode != 0:
                raise CoqFailed(
                    f"Coq {version} must compile {name}.v (is Flocq there? {INSTALL}); it says: "
                    f"{_first_error(done.stderr)}"
                )
        try:
            built.rename(target)
        except OSError:
            if not target.is_dir():  # it really failed: no concurrent run was faster
                raise
    return target


def check_text(text: str) -> CoqVerdict:
    """Checks one certificate in a folder of its own."""
    library = development()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.v"
        path.write_text(text)
        begin = time.perf_counter()
        done = _coqc(library, path)
        seconds = time.perf_counter() - begin
    accepted = done.returncode == 0
    if not accepted and not _REFUSED.search(done.stderr):
        raise CoqFailed(f"coqc must answer yes or no; it says: {_first_error(done.stderr)}")
    assumptions = assumptions_in(done.stdout) if accepted else ()
    return CoqVerdict(
        accepted, seconds, assumptions, coq_version() or "", done.processor_seconds, done.megabytes
    )


@dataclass(frozen=True)
class _Done:
    returncode: int
    stdout: str
    stderr: str
    processor_seconds: float
    megabytes: int


def _coqc(library: Path, path: Path) -> _Done:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            ["coqc", "-q", "-Q", str(library), "Krohn", path.name], cwd=path.parent, stdout=out, stderr=err
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        busy = usage.ru_utime + usage.ru_stime
        return _Done(process.returncode, out.read(), err.read(), busy, usage.ru_maxrss // 1024)


def assumptions_in(output: str) -> tuple[str, ...]:
    """The names that ``Print Assumptions`` lists."""
    if "Closed under the global context" in output:
        return ()
    listed = output.partition("Axioms:")[2]
    return tuple(re.findall(r"^([\w.']+)\s*(?::|$)", listed, re.MULTILINE))


def _first_error(stderr: str) -> str:
    after = stderr.partition("Error:")[2] or stderr
    lines = [line.strip() for line in after.splitlines() if line.strip()]
    return (lines[0] if lines else "nothing")[:200]


def output_of(text: str) -> str:
    """The output of Coq for a file that it must accept."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "question.v"
        path.write_text(text)
        done = _coqc(development(), path)
    if done.returncode != 0:
        raise CoqFailed(f"Coq must accept the file; it says: {_first_error(done.stderr)}")
    return done.stdout
