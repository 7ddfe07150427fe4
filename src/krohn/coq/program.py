"""krohn-kernel: the checker of the development as a program, extracted to OCaml.

``make kernel-checker`` builds it; that needs Coq, Flocq, OCaml and zarith once, to run it needs none of them.
What it says yes to is right by ``check_is_right`` in ``Program.v``, if extraction, OCaml and zarith do what
they should.
"""

import hashlib
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from krohn.coq.coqc import (
    AXIOMS,
    ORDER,
    RECORD,
    SOURCES,
    CoqFailed,
    KernelVerdict,
    alone,
    assumptions_in,
    beyond,
    cache_folder,
    coqc,
    development,
    first_error,
    key_of,
    run,
)
from krohn.errors import MissingDependency

NAME = "krohn-kernel"
PARTS = Path(__file__).parent / "ocaml"
INSTALL = "apt-get install ocaml-nox ocaml-findlib libzarith-ocaml-dev"
TRUSTS = (
    "Coq's kernel and Flocq's definition of binary32, once, where the program was built",
    "Coq's extraction to OCaml, with Coq's tables for numbers",
    "OCaml's compiler and runtime",
    "zarith",
    "the reader of the two files: main.ml",
)


def _target() -> Path:
    """Where the program of these sources lies; its name changes with any of them."""
    files = [*(SOURCES / f"{name}.v" for name in ORDER), PARTS / "Extract.v", PARTS / "main.ml"]
    return cache_folder() / f"program-{key_of(*(file.read_bytes() for file in files))}"


def built_program() -> Path | None:
    """The program, if it was built from these sources and is as it was built."""
    program = _target() / NAME
    if not program.is_file():
        return None
    if json.loads((program.parent / RECORD).read_text()) != _hash(program):
        raise CoqFailed(f"{NAME} must be as it was built; {program} is not: remove that folder")
    return program


def _hash(program: Path) -> str:
    return hashlib.sha256(program.read_bytes()).hexdigest()


def build_program() -> Path:
    """Extracts and compiles the checker, unless that was done before; takes half a minute."""
    target = _target()
    with alone(target.with_suffix(".lock")):
        if built_program() is None:
            _build(target)
    return target / NAME


def _build(target: Path) -> None:
    compiler = shutil.which("ocamlfind")
    if compiler is None:
        raise MissingDependency(f"{NAME} needs OCaml with zarith, and no ocamlfind is installed; {INSTALL}")
    library = development()
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        folder, made = Path(name), Path(name) / "made"
        for part in ("Extract.v", "main.ml"):
            shutil.copy(PARTS / part, folder)
        done = coqc(library, folder / "Extract.v")
        wrong = first_error(done.stderr) if done.returncode else beyond(assumptions_in(done.stdout))
        if wrong:
            raise CoqFailed(f"Coq must extract the checker; it says: {wrong}")
        made.mkdir(mode=0o700)
        options = ["ocamlopt", "-package", "zarith,unix", "-linkpkg", "-w", "-a", "-o", str(made / NAME)]
        files = ["checker.mli", "checker.ml", "main.ml"]
        done = run([compiler, *options, *files], folder)
        if done.returncode:
            raise CoqFailed(f"OCaml must compile {NAME} ({INSTALL}); it says: {first_error(done.stderr)}")
        (made / RECORD).write_text(json.dumps(_hash(made / NAME)))
        made.rename(target)


def check(program: Path, certificate: dict[str, Any], network: bytes) -> KernelVerdict:
    """Has the program check what a certificate claims of the bytes of a file."""
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / "network.safetensors", Path(name) / "certificate.json"]
        files[0].write_bytes(network)
        files[1].write_text(json.dumps(certificate))
        begin = time.perf_counter()
        done = run([str(program), *map(str, files)], Path(name))
        seconds = time.perf_counter() - begin
    if done.returncode not in (0, 1):
        raise CoqFailed(f"{NAME} must answer yes or no; it says: {first_error(done.stderr)}")
    accepted = done.returncode == 0
    reason = "" if accepted else f"{NAME} does not accept the certificate"
    axioms = AXIOMS if accepted else ()
    return KernelVerdict(
        accepted, NAME, TRUSTS, axioms, seconds, done.processor_seconds, done.megabytes, reason
    )


if __name__ == "__main__":
    sys.stdout.write(f"{build_program()}\n")
