"""How long the checker takes, and how much memory: refusals, a large file, exports with their proofs.

Limits: a refusal within 20 s of processor time; an export of T = 64 with its proof within 10 s. Every row is
a command in a process of its own, so that its memory is its own. Run: python benchmarks/bench_checker.py
[--part refusals|large|exports]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt

import krohn
from krohn.network.compiled import save
from krohn.network.transformer import Mlp

REFUSED = (
    ("Rubik", "float32", 64),
    ("D8", "bfloat16", 100),
    ("Grid9", "bfloat16", 100),
    ("Q8", "bfloat16", 100),
    ("A5", "bfloat16", 64),
    ("S4", "float16", 100),
    ("S5", "float16", 100),
    ("Dyck4,2", "float16", 100),
)
EXPORTED = ("S4", "D8", "Grid9", "Dyck4,2")


def command(*words: str) -> tuple[int, float, float]:
    """Exit status, processor seconds and megabytes of a command of krohn."""
    process = subprocess.Popen(
        [sys.executable, "-m", "krohn", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def show(name: str, *words: str) -> None:
    status, seconds, memory = command(*words)
    print(f"| {name} | {status} | {seconds:.1f} | {memory:,.0f} |", flush=True)


def padded(matrix: npt.NDArray[np.float64], *shape: int) -> npt.NDArray[np.float64]:
    out = np.zeros(shape)
    out[tuple(slice(size) for size in matrix.shape)] = matrix
    return out


def write_large(folder: Path, units: int) -> None:
    """C2 with a second hidden layer of that many units, nearly all of them 0: 512 MB for 8,000."""
    network = krohn.compile("C2", length=16)
    layer, mlp = network.transformer.layers[0], network.transformer.layers[0].mlp
    first, second = mlp.weights[:2]
    identity = padded(np.eye(first.shape[1]), units, units)
    weights = (padded(first, len(first), units), identity, padded(second, units, second.shape[1]))
    biases = (padded(mlp.biases[0], units), np.zeros(units), *mlp.biases[1:])
    kinds = (
        padded(mlp.activations[0], units).astype(np.int64),
        np.zeros(units, np.int64),
        *mlp.activations[1:],
    )
    wide = Mlp((*weights, *mlp.weights[2:]), biases, kinds)
    matrices = replace(network.transformer, layers=(replace(layer, mlp=wide),))
    heads = tuple(replace(head, operations=()) for head in network.layout.heads[0])
    layout = replace(network.layout, heads=(heads,))  # the description that is left must fit
    save(replace(network, transformer=matrices, program=None, layout=layout), folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", choices=("refusals", "large", "exports"))
    part = parser.parse_args().part
    print("| | exit status | processor seconds | MB |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for spec, dtype, length in REFUSED if part in (None, "refusals") else ():
            save(krohn.compile(spec, length=length), folder / f"{spec}{length}")
            show(
                f"verify {spec}, T = {length}, {dtype}",
                "verify",
                str(folder / f"{spec}{length}"),
                "--dtype",
                dtype,
            )
        if part in (None, "large"):
            writer = get_context("spawn").Process(target=write_large, args=(folder / "large", 8_000))
            writer.start()  # apart: a process begins with the peak memory of the one that starts it
            writer.join()
            show("verify a file of 512 MB", "verify", str(folder / "large"), "--dtype", "float32")
        for spec in EXPORTED if part in (None, "exports") else ():
            save(krohn.compile(spec, length=64, dtype="float32"), folder / f"{spec}-64")
            show(
                f"export {spec}, T = 64, to hf",
                *("export", str(folder / f"{spec}-64"), "--to", "hf", "--out", str(folder / f"{spec}-hf")),
            )


if __name__ == "__main__":
    main()
