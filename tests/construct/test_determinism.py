"""The same input gives the same bytes, whatever the order in which a process hashes strings."""

import os
import subprocess
import sys
from pathlib import Path

import krohn

SCRIPT = """
import hashlib, krohn
from krohn.network.storage import tensors_of
for spec, options in CASES:
    total = hashlib.sha256()
    for name, tensor in sorted(tensors_of(krohn.compile(spec, length=9, **options).transformer).items()):
        total.update(name.encode() + tensor.tobytes())
    print(spec, options, total.hexdigest())
"""
CASES = [
    ("D6", {"method": "cascade"}),
    ("Grid4", {}),
    ("Dyck2,2", {}),
    ("abab", {}),
    ("T3", {"mask": "strict"}),
    ("regex:(a|b)*abb", {"objective": "parameters"}),
    ("A5", {}),
    ("S4", {"activation": "sin"}),
]


def compiled(seed: int) -> str:
    source = str(Path(krohn.__file__).parents[1])
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": source}
    command = [sys.executable, "-c", f"CASES = {CASES!r}\n{SCRIPT}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_networks_do_not_depend_on_the_order_of_hashes() -> None:
    first = compiled(1)
    assert len(first.splitlines()) == len(CASES)
    for seed in (2, 3):
        assert compiled(seed).splitlines() == first.splitlines()
