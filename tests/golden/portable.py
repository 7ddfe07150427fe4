"""The same bytes under other settings: ``python tests/golden/portable.py`` (``make portable``).

Each setting stands for something in which machines differ. In each the kept digests are compared again, and
tests that read kept files are run. ``--small`` puts all settings of the environment into one, and takes each
twelfth command: what continuous integration runs.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from numpy._core import _multiarray_umath as umath

ROOT = Path(__file__).parents[2]
HERE = Path("tests/golden")
PACKAGES = [
    "numpy",
    "torch",
    "safetensors",
    "transformers",
    "onnx",
    "onnxruntime",
    "pyarrow",
    "hypothesis",
    "pytest",
]
KERNELS = {"x86_64": ("Prescott", "Nehalem"), "aarch64": ("ARMV8", "CORTEXA53")}
"""Kernels of OpenBLAS that every processor of the architecture can run."""
TESTS = (
    "tests/lab/provable/test_checker_inside.py::test_a_certificate_is_used_only_if_it_is_about_the_network",
    "tests/recurrent/test_recurrent_files.py",
    "tests/lab/experiments/test_committed.py",
    "tests/automata/test_datasets.py",
    "tests/exporting/test_export_proof.py",
)
"""One of each kind of tests that read what was written before, here or elsewhere."""


@dataclass(frozen=True)
class Setting:
    """Environment variables; ``other``: on a machine that rounds differently; ``odd``: in an odd folder."""

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    other: bool = False
    odd: bool = False


def features() -> list[str]:
    """Vector instructions that numpy found here and can do without."""
    return [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]


def settings() -> Iterator[Setting]:
    """All that can be run here."""
    yield Setting("as it is")
    if features():
        off = {"NPY_DISABLE_CPU_FEATURES": " ".join(features())}
        yield Setting(f"numpy without {' '.join(features())}", off)
    for kernel in KERNELS.get(platform.machine(), ()):
        yield Setting(f"OpenBLAS for {kernel}", {"OPENBLAS_CORETYPE": kernel})
    yield Setting("torch without vector instructions", {"ATEN_CPU_CAPABILITY": "default"})
    for threads in ("1", "2"):
        both = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        yield Setting(f"threads: {threads}", both)
    yield Setting("random hash seed", {"PYTHONHASHSEED": "random"})
    yield Setting("locale C, a time zone of tomorrow", {"LC_ALL": "C", "TZ": "Pacific/Kiritimati"})
    yield Setting("no home to write to", {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"})
    yield Setting("a path with spaces and umlauts", odd=True)
    yield Setting("rounded differently", other=True)


def missing() -> Iterator[str]:
    """Settings that this machine cannot test."""
    if not features():
        yield "numpy has no vector instructions here that can be switched off"
    if platform.machine() not in KERNELS:
        yield f"no other kernels of OpenBLAS are known for {platform.machine()}"
    others = sorted(set(KERNELS) - {platform.machine()})
    yield f"other architectures: {', '.join(others)}; the digests are the same file there"


def about() -> str:
    """Architecture, vector instructions, versions: is a failure due to the machine or the commit?"""
    result = []
    for name in PACKAGES:
        try:
            result.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            result.append(f"{name} not installed")
    flags = " ".join(name for name, there in umath.__cpu_features__.items() if there)
    lines = (
        f"{platform.machine()}, {os.cpu_count()} cores, {platform.platform()}",
        f"vector instructions: {flags}",
        f"numpy {np.__version__} uses {', '.join(_kernels()) or 'no known BLAS'}",
        ", ".join([f"Python {platform.python_version()}", *result]),
    )
    return "\n".join(lines)


def _kernels() -> list[str]:
    from threadpoolctl import threadpool_info

    return [f"{one['internal_api']} {one.get('architecture', '')}".strip() for one in threadpool_info()]


def run(setting: Setting, every: int, folder: Path) -> tuple[bool, str, float]:
    """Whether all is as kept in this setting, what was printed, and how many seconds it took."""
    begun = time.monotonic()
    root = odd_copy(folder) if setting.odd else ROOT
    scripts = [str(HERE / "other_machine.py")] if setting.other else []
    path = os.pathsep.join(str(root / part) for part in ("src", "tests"))
    environment = {**os.environ, **setting.variables, "PYTHONPATH": path, "TMPDIR": str(folder)}
    commands = [[*scripts, str(HERE / "digests.py"), "--every", str(every)]]
    if every == 1 and not setting.other and not setting.odd:
        commands.append(["-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS])
    good, printed = True, ""
    for command in commands:
        result = [sys.executable, *command]
        done = subprocess.run(result, cwd=root, env=environment, capture_output=True, text=True, check=False)
        good, printed = good and done.returncode == 0, printed + done.stdout + done.stderr
    return good, printed, time.monotonic() - begun


def odd_copy(folder: Path) -> Path:
    """Sources and kept digests in a folder whose name some programs stumble over."""
    copy = folder / "Größe und Maß"
    if not copy.exists():
        for part in (Path("src"), HERE):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def main() -> int:
    """Runs the settings one after the other; the exit status says whether all were as kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--small", action="store_true", help="all variables at once, each twelfth command")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="so many settings side by side")
    given = parser.parse_args()
    small, every = given.small, 12 if given.small else 1
    chosen = list(settings())
    if small:
        together = {name: value for one in chosen for name, value in one.variables.items()}
        chosen = [Setting("all variables at once", together, odd=True), *(one for one in chosen if one.other)]
    print(about(), flush=True)  # noqa: T201
    bad = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        for setting, (good, printed, seconds) in zip(
            chosen, pool.map(lambda one: run(one, every, Path(folder)), chosen), strict=True
        ):
            verdict = "same" if good else "DIFFERS"
            print(f"{verdict}\t{seconds:.0f} s\t{setting.name}", flush=True)  # noqa: T201
            if not good:
                bad.append(setting.name)
                print(printed[-4000:], flush=True)  # noqa: T201
    print("\n".join(f"not run here: {what}" for what in missing()))  # noqa: T201
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
