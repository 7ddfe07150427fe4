"""Training imports only what a machine with an accelerator has, for every kind of automaton."""

import json
import subprocess
import sys
from pathlib import Path

from krohn.automata.zoo import zoo_names

# What such a machine has, and what comes along with torch.
PRESENT = (
    "torch", "torchgen", "functorch", "triton", "numpy", "pyarrow", "matplotlib", "sympy", "networkx",
    "scipy", "tensorboard", "safetensors", "tqdm", "click", "mpmath", "typing_extensions", "filelock",
    "fsspec", "jinja2", "markupsafe", "setuptools", "packaging", "krohn",
)  # fmt: skip
SCRIPT = """
import json, sys

class Guard:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root not in sys.stdlib_module_names and root not in PRESENT:
            raise ModuleNotFoundError(f"{name} is not on the machine", name=name)
        return None

PRESENT, specs, options = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
sys.meta_path.insert(0, Guard())
from krohn.cli.app import run
for spec in specs:
    sys.stderr.write(f"{spec}\\n")
    assert run(["train", spec, *options, "--json"]) == 0, spec
try:
    import automata
except ModuleNotFoundError:
    print("guarded")
"""
OPTIONS = (
    "--length 4 --layers 1 --dim 8 --heads 2 --mlp 8 --steps 2 --eval-sequences 2 --batch 2 --device cpu"
)


def test_every_kind_of_automaton_trains_with_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "flip.json").write_text(
        json.dumps(
            {
                "krohn": 1, "letters": ["a", "b"], "states": ["p", "q"], "start": "p",
                "next": {"p": {"a": "q", "b": "p"}, "q": {"a": "p", "b": "q"}},
            }
        )
    )  # fmt: skip
    families = {name.rstrip("0123456789,x"): name for name in zoo_names()}
    specs = [
        *families.values(), "regex:(ab)*|b+", "regex:(a|b)*[ab]{2,}", str(tmp_path / "flip.json"),
        "C2xGrid3", "Grid9@boundary", "Grid3x4", "C5:01",
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(PRESENT), json.dumps(specs), *OPTIONS.split()],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert lines[-1] == "guarded"
    assert len(lines) == len(specs) + 1
    assert all(json.loads(line)["replicates"][0]["status"] == "finished" for line in lines[:-1])


def test_directories_need_nothing_else_either(tmp_path: Path) -> None:
    more = [*OPTIONS.split(), "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(PRESENT), '["C2"]', *more], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "run" / "result.json").exists()
