"""SHA-256 of the files that commands write, beside the kept ones: the same bytes on every machine.

``python tests/golden/digests.py`` computes all of them and prints those that differ (exit status 1);
``networks certificates`` after it takes only these kinds, and ``--write`` keeps what was found. Whoever
changes a construction on purpose writes them again and says so; whoever moves code about sees here that no
weight moved.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from itertools import islice, product
from pathlib import Path

from krohn.cli.app import run

KEPT = Path(__file__).with_name("digests.json")

ZOO = (
    "C2 C3 C4 C5 C6 C7 C8 C5:01 D6 D8 A4 A5 S3 S4 S5 Q8 Dyck2,2 Dyck4,2 Grid4 Grid9 Grid9:noop Grid3x4 "
    "FlipFlop Memory3 WriteOnce2 abab Parity Counter5 Add PermReset3 T3 C2xC2 C2xC2xC2 regex:(a|b)*abb"
)
METHODS = {
    "auto": ZOO.replace("PermReset3 ", ""),
    "scan": "C2 C5 Memory3 S3 S4 A5 abab Dyck4,2 Grid4 FlipFlop Counter5 T3",
    "cascade": ZOO.replace("A5 ", "").replace("S5 ", ""),
    "features": "C2 C3 C4 D8 FlipFlop Dyck2,2 abab Add C2xC2",
    "paper": "C2 C5 FlipFlop D6 D8 Q8 A4 S4 abab Dyck4,2 Grid9 T3 regex:(a|b)*abb",
    "grid": "Grid4 Grid9 Grid9:noop Grid3x4",
}
OPTIONS = {
    "--objective blocks": "C2 D6 S4",
    "--objective parameters": "C4 Dyck2,2 abab",
    "--objective width": "A4 D8",
    "--target observation": "regex:(a|b)*abb abab@accept",
    "--dtype float64": "C3 S4 Grid4",
    "--dtype float16": "C2 Grid4",
    "--method scan --gadget plateau": "S3 T3",
    "--method scan --gadget hat": "S3 T3",
    "--method grid --variant mod_sum": "Grid9",
    "--method grid --variant log_depth": "Grid9",
    "--method grid --variant max_pool": "Grid9",
    "--method grid --variant constant_depth": "Grid9",
    "--method grid --variant count": "Grid9",
}
ARCHITECTURES = {
    "deltaproduct": "C2 C5 S3 S5 abab Grid4",
    "deltanet": "C2 C3",
    "diagonal": "FlipFlop Grid4 C3",
    "rankone": "C2 S3 abab",
    "lstm": "C2 S3 abab",
    "gru": "C2 S3 abab",
}
DATA = ("S5 --length 40", "Dyck4,2 --length 30", "Grid9 --length 20", "abab --length 25", "C5:01 --length 7")
FORMATS = {
    "float64": "C2 Q8 S4 Grid9 Dyck4,2 abab",
    "float32": "C2 Q8 S4 A5 abab",
    "bfloat16": "C2 Grid4",
    "float16": "C2 Grid4 Q8",
}
METHODS_PROVED = (("scan", "S3"), ("cascade", "D6"), ("features", "Add"), ("paper", "D6"), ("grid", "Grid4"))


def networks() -> Iterator[str]:
    """The zoo by every method that takes it, and each option once."""
    for method, names in METHODS.items():
        yield from (f"compile {name} --length 12 --method {method} --out net" for name in names.split())
    for options, names in OPTIONS.items():
        yield from (f"compile {name} --length 12 {options} --out net" for name in names.split())
    yield from (f"compile {name} --length 100 --out net" for name in ("C2", "D8", "S4", "A5", "Dyck4,2"))


def recurrent() -> Iterator[str]:
    """Weights of recurrent networks."""
    for architecture, names in ARCHITECTURES.items():
        yield from (f"compile {name} --architecture {architecture} --out net" for name in names.split())


def data() -> Iterator[str]:
    """Data sets, in the formats that no library stamps with its version."""
    for words, kind in product(DATA, ("npz", "jsonl")):
        yield f"sample {words} --count 300 --out words.{kind}"
    yield "sample C2 --length 9 --count 100 --distribution bernoulli:0.3 --seed 5 --out words.jsonl"


def exports() -> Iterator[str]:
    """Networks in the formats of others, with what is proved and measured of them."""
    for name, kind in product(("C2", "D6"), ("hf", "onnx")):
        yield f"compile {name} --length 10 --dtype float64 --out net && export net --to {kind} --out export"
    yield "compile C3 --length 10 --out net && export net --to hf --dtype bfloat16 --out export"


def certificates() -> Iterator[str]:
    """What is proved: by each method, in each float format, of recurrent networks."""
    for dtype, names in FORMATS.items():
        for name in names.split():
            yield (
                f"compile {name} --length 12 --dtype {dtype} --out net && "
                f"verify net --dtype {dtype} --out certificate.json"
            )
    for method, name in METHODS_PROVED:
        yield (f"compile {name} --length 12 --method {method} --out net && verify net --out certificate.json")
    for architecture in ("deltaproduct", "diagonal", "rankone", "lstm", "gru"):
        name = ARCHITECTURES[architecture].split()[1]
        yield f"compile {name} --architecture {architecture} --out net && verify net --out certificate.json"


KINDS = {
    "networks": networks,
    "recurrent": recurrent,
    "data": data,
    "exports": exports,
    "certificates": certificates,
}


def digests(line: str) -> dict[str, str]:
    """SHA-256, by name, of each file that the last command of a line writes in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        before: set[Path] = set()
        for command in line.split(" && "):
            before = written()
            with redirect_stdout(StringIO()) as out, redirect_stderr(out):
                status = run(command.split(" "))
            if status == 2:
                raise SystemExit(f"krohn {command}: {out.getvalue()}")
        return {
            path.as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(written() - before)
        }


def written() -> set[Path]:
    return {path for path in Path().rglob("*") if path.is_file()}


def differences(actual: dict[str, dict[str, str]], stored: dict[str, dict[str, str]]) -> list[str]:
    """One line for each file of the commands run that is not the kept one, or is missing, or new."""
    lines = []
    for line, files in actual.items():
        wanted = stored.get(line, {})
        for name in sorted(files.keys() | wanted.keys()):
            if files.get(name) != wanted.get(name):
                why = "is not kept" if name not in wanted else "differs" if name in files else "is missing"
                lines.append(f"{name} {why}: krohn {line}")
    return lines


def main() -> int:
    """Compares or keeps; the exit status says whether all is as it was kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "kinds", nargs="*", metavar="KIND", help=f"some of {', '.join(KINDS)}; all by default"
    )
    parser.add_argument("--write", action="store_true", help="keep what was found")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th command")
    given = parser.parse_args()
    if given.write and given.every != 1:
        parser.error("--write keeps all commands of a kind: leave --every out")
    kinds = given.kinds or list(KINDS)
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"kinds must be some of {', '.join(KINDS)}; got {', '.join(sorted(unknown))}")
    stored = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    lines = []
    for kind in kinds:
        result = {line: digests(line) for line in islice(KINDS[kind](), 0, None, given.every)}
        lines += differences(result, stored.get(kind, {}))
        stored[kind] = result
        print(f"{kind}: {sum(map(len, result.values()))} files of {len(result)} commands")  # noqa: T201
    shown = lines[:40] + ["…"] * (len(lines) > 40)
    print("\n".join([*shown, f"{len(lines)} differ"]))  # noqa: T201
    if given.write:
        KEPT.write_text(json.dumps(stored, indent=1) + "\n")
    return 0 if given.write or not lines else 1


if __name__ == "__main__":
    sys.exit(main())
