"""Ten changes that people may ask for, each made in the room that docs/architecture.md names for it.

    python tools/ten_changes.py [--write]

Each is made in a scratch copy of the package: the room was chosen by the page before a file was opened, then
the edits that were needed, and a statement that fails before them and holds after. ``--write`` keeps in
results/changes.json which rooms and files each change touched.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "results" / "changes.json"


@dataclass(frozen=True)
class Change:
    """What is wanted, the room where the page sends its reader, the edits, and a statement that it holds."""

    wanted: str
    room: str
    edits: tuple[tuple[str, str, str], ...]
    holds: str


CHANGES = (
    Change(
        "a zoo family: a traffic light",
        "automata",
        (
            (
                "automata/zoo.py",
                '    Family("Parity", "Parity", parity,',
                '    Family("Light", "Light", lambda: cyclic(3, (0, 1)), "a traffic light", ("Light",)),\n'
                '    Family("Parity", "Parity", parity,',
            ),
        ),
        "import krohn; assert krohn.zoo('Light').num_states == 3",
    ),
    Change(
        "analyze says whether letters commute",
        "algebra",
        (
            (
                "algebra/analysis.py",
                '        "is_aperiodic": analysis.is_aperiodic,\n',
                '        "is_aperiodic": analysis.is_aperiodic,\n'
                '        "letters_commute": all(\n'
                "            a[b[q]] == b[a[q]]\n"
                "            for a in automaton.letters\n"
                "            for b in automaton.letters\n"
                "            for q in range(automaton.num_states)\n"
                "        ),\n",
            ),
        ),
        "import krohn; assert krohn.analyze('C4').report().to_json()['letters_commute']",
    ),
    Change(
        "compile for the fewest heads",
        "construct",
        (
            (
                "construct/request.py",
                'Objective = Literal["depth", "blocks", "parameters", "width"]',
                'Objective = Literal["depth", "blocks", "parameters", "width", "heads"]',
            ),
            (
                "construct/compiling.py",
                '        "width": (width, network.num_parameters),\n',
                '        "width": (width, network.num_parameters),\n'
                '        "heads": (network.heads, network.num_parameters),\n',
            ),
        ),
        "import krohn; assert krohn.compile('C2', 4, objective='heads', unproved=True).method",
    ),
    Change(
        "a network's sizes have its number of letters",
        "network",
        (
            (
                "network/compiled.py",
                '            "dim": net.dim,\n',
                '            "dim": net.dim,\n            "letters": self.automaton.num_letters,\n',
            ),
        ),
        "import krohn; assert krohn.compile('C3', 4, unproved=True).sizes()['letters'] == 3",
    ),
    Change(
        "no certificate for words of more than a million letters",
        "check",
        (
            (
                "check/claim.py",
                '    return int(lengths["up_to"])\n',
                '    need(lengths["up_to"] <= 10**6, "claim: words may have a million letters at most")\n'
                '    return int(lengths["up_to"])\n',
            ),
        ),
        "import krohn, dataclasses, tempfile, pathlib, json\n"
        "from krohn.check.certificate import read_certificate\n"
        "proof = krohn.verify(krohn.compile('C2', 4)).certificate\n"
        "text = json.dumps(proof.to_json()).replace('\"up_to\": 4', '\"up_to\": 2000000')\n"
        "file = pathlib.Path(tempfile.mkdtemp()) / 'c.json'; file.write_text(text)\n"
        "try: read_certificate(file)\n"
        "except krohn.KrohnError as error: assert 'a million' in str(error)\n"
        "else: raise AssertionError",
    ),
    Change(
        "verify prints the digest of the network",
        "proving",
        (
            (
                "proving/outcome.py",
                "    lines += [verdict.identity.sentence(), *_meaning(verdict)]\n",
                "    lines += [verdict.identity.sentence(), *_meaning(verdict)]\n"
                '    lines.append(f"the network has the digest {verdict.network}")\n',
            ),
        ),
        "import krohn; v = krohn.verify(krohn.compile('C2', 4)); assert v.network in v.text()",
    ),
    Change(
        "an export's README has the automaton's digest",
        "exporting",
        (
            (
                "exporting/model_card.py",
                '            f"{CHECKED}\\n",\n',
                '            f"Digest of the automaton: {self.automaton.digest}.\\n",\n'
                '            f"{CHECKED}\\n",\n',
            ),
        ),
        "import krohn, tempfile, pathlib; out = pathlib.Path(tempfile.mkdtemp()) / 'x'\n"
        "krohn.export(krohn.compile('C2', 4), 'hf', out, proof=False)\n"
        "assert 'Digest of the automaton' in (out / 'README.md').read_text()",
    ),
    Change(
        "the page shows hidden layers of an MLP",
        "explorer",
        (
            (
                "explorer/page_data.py",
                '"heads", "mlp_width", "num_parameters"',
                '"heads", "mlp_width", "mlp_depth", "num_parameters"',
            ),
        ),
        "from krohn.explorer.page_data import build_machine; import krohn\n"
        "rows = build_machine(krohn.zoo('C2'), 4)['sizes']['rows']\n"
        "assert 'mlp_depth' in [row['name'] for row in rows]",
    ),
    Change(
        "krohn zoo can be called krohn list",
        "cli",
        (("cli/app.py", '    "zoo": (', '    "list": ("zoo", "List the named automata."),\n    "zoo": ('),),
        "from krohn.cli.app import run; assert run(['list', 'C2']) == 0",
    ),
    Change(
        "a learning rate that falls in a straight line",
        "lab",
        (
            (
                "lab/training/sections.py",
                'schedule: Literal["constant", "cosine", "plateau"]',
                'schedule: Literal["constant", "cosine", "plateau", "linear"]',
            ),
            (
                "lab/training/state.py",
                '    if config.schedule != "cosine":\n',
                '    if config.schedule == "linear":\n'
                "        return warm * (1.0 - (1.0 - config.floor) * min(1.0, step / max(1, steps - 1)))\n"
                '    if config.schedule != "cosine":\n',
            ),
        ),
        "from krohn.lab.training.sections import OptimizerConfig\n"
        "from krohn.lab.training.state import shape\n"
        "config = OptimizerConfig(schedule='linear', warmup=0, floor=0.0)\n"
        "assert shape(config, 5, 11) == 0.5 and not config.reasons()",
    ),
)


def make(change: Change) -> list[str]:
    """The files that the change touched; refuses one that holds before it is made, or not afterwards."""
    with tempfile.TemporaryDirectory() as place:
        package = Path(place) / "krohn"
        shutil.copytree(ROOT / "src" / "krohn", package, ignore=shutil.ignore_patterns("__pycache__"))
        if _holds(change, place):
            raise SystemExit(f"{change.wanted}: holds before the change")
        for name, old, new in change.edits:
            text = (package / name).read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise SystemExit(f"{change.wanted}: {name} must have the place once")
            (package / name).write_text(text.replace(old, new), encoding="utf-8")
        if not _holds(change, place):
            raise SystemExit(f"{change.wanted}: does not hold after the change")
    return sorted({name for name, _, _ in change.edits})


def _holds(change: Change, place: str) -> bool:
    environment = {**os.environ, "PYTHONPATH": place, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", change.holds], capture_output=True, env=environment, cwd=place
    )
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write results/changes.json")
    asked = parser.parse_args()
    rows = []
    for change in CHANGES:
        files = make(change)
        rooms = sorted({name.split("/")[0] for name in files})
        print(f"{change.wanted}: {change.room}; {', '.join(files)}", flush=True)
        rows.append({"wanted": change.wanted, "room": change.room, "rooms": rooms, "files": files})
    if asked.write:
        PAGE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
