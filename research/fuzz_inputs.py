"""Inputs of `fuzz.py`: command lines sampled from the options that commands declare, and corrupted files."""

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from file_damage import bytes_damage, header_damage, json_damage, tensor_damage

from krohn.cli.app import COMMANDS, app

SPECS = [
    "C2",
    "Parity",
    "abab",
    "FlipFlop",
    "Grid4",
    "D6",
    "Dyck1,2",
    "T3",
    "C2xC2",
    "C3@zero",
    "regex:(ab)*",
]
BAD_SPECS = [
    "",
    "S40",
    "\u04054",
    "C0",
    "D7",
    "regex:(a",
    "regex:" + "(" * 3000,
    "nul\0.json",
    "x" * 5000,
    "a/b",
]
BAD_SPECS += [
    "/",
    "/dev/null",
    "-",
    "C２",
    "\udcff",
    "Nonsense",
    "S4:(0 9)",
    "C" + "9" * 400,
    "AxB",
    "C2x" * 40,
]
FORMULAS = ["x & y", "x & (y | !z)", "(", "", "x" * 300, "x &" * 50, "!" * 2000 + "x", "1", "x ^ x"]
WORDS = [
    b"",
    b"0 1 1\n",
    b"a b a b\n",
    b"\xff\xfe\n",
    b"\0\n",
    b"read\n1 2\n",
    b"x" * 100_000,
    b"\n" * 50,
    b"0 " * 500,
]
INTEGERS = ["0", "1", "2", "3", "5", "8", "-1", "-9999999", "9" * 30, "two", "1.5", "", "nan", "٣"]
FLOATS = ["0", "0.5", "1", "2", "-1", "nan", "inf", "1e400", "x", ""]
TEXTS = [
    "",
    "x",
    "uniform",
    "bernoulli:0.5",
    "bernoulli:2",
    "0",
    "\x1b[2J",
    "é",
    "a=1,b=0",
    "hf",
    "numpy",
    "cpu",
]
OUTPUTS = {"out", "svg", "store_path", "figures", "checkpoints"}


@dataclass
class Case:
    """One command line with its own folder, its stdin, and the paths it may write."""

    kind: str
    words: list[str]
    stdin: bytes = b""
    allowed: list[str] = field(default_factory=list)


def command_line(rng: random.Random, folder: Path) -> Case:
    """A random command with some of its options, with valid and invalid values."""
    name = rng.choice([*COMMANDS] * 3 + ["", "--version", "-h", "verfiy", "\0", "x" * 500])
    if name not in COMMANDS:
        return Case("command line", [name] if name != "\0" else ["\u0000"])
    command, words = _command(name), [name]
    if isinstance(command, click.Group) and rng.random() < 0.9:
        sub = rng.choice(list(command.commands))
        command, words = command.commands[sub], [name, sub]
    case = Case("command line", words, rng.choice(WORDS))
    for parameter in command.params:
        _add(rng, case, parameter)
    if name == "train":
        words += ["--steps", "2", "--device", "cpu", "--eval-sequences", "8", "--length", "4"]
    if name == "reproduce":
        words += ["--show"]
    if words[:2] == ["suite", "build"]:
        words += ["--only", "flipflop-cascade-plain"]
    if words[:2] == ["suite", "locks"]:
        case.allowed += [f"{name}.key" for name in case.allowed]
    if name == "explore":
        words += ["--out", "page.html"]
        case.allowed.append("page.html")
    if rng.random() < 0.15:
        words.append(rng.choice(["--nonsense", "--help", "extra", "--", "-1", "--json"]))
    case.allowed += ["runs"] if name in ("results", "reproduce") else []
    return case


def _command(name: str) -> click.Command:
    result = app.get_command(click.Context(app), name)  # type: ignore[attr-defined]
    assert isinstance(result, click.Command)
    return result


def _add(rng: random.Random, case: Case, parameter: click.Parameter) -> None:
    """Appends one parameter: usually if it is required, rarely otherwise."""
    if parameter.name in ("help", "steps", "eval_sequences", "gallery"):  # the last one takes long
        return
    needed = parameter.required or isinstance(parameter, click.Argument)
    if rng.random() > (0.97 if needed else 0.15):
        return
    count = 1 if parameter.nargs == 1 else rng.choice([0, 1, 2])
    for _ in range(count):
        value = _value(rng, parameter)
        if isinstance(parameter, click.Argument):
            case.words.append(value)
        elif getattr(parameter, "is_flag", False):
            case.words.append(parameter.opts[0])
        else:
            case.words += [parameter.opts[0], value]
        if parameter.name in OUTPUTS:
            case.allowed.append(value)


def _value(rng: random.Random, parameter: click.Parameter) -> str:
    kind, name = parameter.type, parameter.name or ""
    if rng.random() < 0.05:
        return rng.choice([*BAD_SPECS[1:], *INTEGERS]).replace("\0", "0")
    if isinstance(kind, click.Choice):
        return rng.choice([*map(str, kind.choices)] * 4 + ["none"])
    if name in ("spec", "specs", "automaton"):
        return rng.choice(SPECS * 3 + BAD_SPECS + ["automaton.json"]).replace("\0", "0")
    if name == "formula":
        return rng.choice(FORMULAS)
    if name in OUTPUTS:
        return rng.choice(
            ["new", "deep/er/new.svg", "new.npz", "new.jsonl", "net", "run", "automaton.json", "link"]
        )
    if isinstance(kind, click.Path):
        return rng.choice(
            ["net", "run", "export", "automaton.json", "store", "results.jsonl", "nowhere", "."]
        )
    if isinstance(kind, (click.types.IntParamType, click.IntRange)):
        return rng.choice(INTEGERS)
    if isinstance(kind, (click.types.FloatParamType, click.FloatRange)):
        return rng.choice(FLOATS)
    return rng.choice([*TEXTS, *SPECS])


def _damaged(
    rng: random.Random, folder: Path, name: str, damage: Callable[[random.Random, Any], bytes]
) -> None:
    file = folder / name
    data = file.read_bytes()
    if rng.random() < 0.03:
        file.unlink()
        return
    file.write_bytes(damage(rng, data.decode() if damage is json_damage else data))


def automaton_file(rng: random.Random, folder: Path) -> Case:
    _damaged(rng, folder, "automaton.json", json_damage)
    name = rng.choice(["zoo", "analyze", "decompose", "simulate", "compile", "sample"])
    words = [name, "automaton.json"]
    words += {
        "compile": ["-T", "4", "--out", "new"],
        "sample": ["--length", "3", "--count", "2", "--out", "new.jsonl"],
    }.get(name, [])
    return Case("automaton file", [*words, *_json(rng)], rng.choice(WORDS), ["new", "new.jsonl"])


def network_meaning(rng: random.Random, folder: Path) -> Case:
    network = rng.choice(["net", "memory", "scan"])
    _damaged(rng, folder, f"{network}/krohn.json", json_damage)
    return _network_command(rng, "krohn.json", network)


def network_weights(rng: random.Random, folder: Path) -> Case:
    network = rng.choice(["net", "memory", "scan"])
    damage = rng.choice([bytes_damage, header_damage, tensor_damage])
    _damaged(rng, folder, f"{network}/model.safetensors", damage)
    return _network_command(rng, "model.safetensors", network)


def _network_command(rng: random.Random, kind: str, network: str) -> Case:
    name = rng.choice(["verify", "verify", "run", "export", "circuit", "compile"])
    words = [name, network]
    if name == "verify":
        words += rng.choice(
            [[], ["--dtype", "float32"], ["--dtype", "bfloat16"], ["--explain"], ["--automaton", "C2"]]
        )
    elif name == "export":
        words += ["--to", rng.choice(["hf", "onnx"]), "--out", "new"]
    elif name == "run":
        words += ["--dtype", rng.choice(["float64", "float32", "float16", "bfloat16"])]
    elif name == "compile":  # into the directory with the damaged file
        words = ["compile", "C2", "-T", "4", "--out", network]
    allowed = ["new", network] if name == "compile" else ["new"]
    return Case(kind, [*words, *_json(rng)], rng.choice(WORDS), allowed)


def certificate(rng: random.Random, folder: Path) -> Case:
    _damaged(rng, folder, "certificate.json", json_damage)
    return Case("certificate", ["verify", "net", "--recheck", "certificate.json", *_json(rng)])


def run_directory(rng: random.Random, folder: Path) -> Case:
    name = rng.choice(
        ["config.json", "result.json", "environment.json", "weights.safetensors", "state.safetensors"]
    )
    _damaged(rng, folder, f"run/{name}", bytes_damage if name.endswith("safetensors") else json_damage)
    words = rng.choice(
        [
            ["verify", "run"],
            ["export", "run", "--to", "hf", "--out", "new"],
            ["train", "--config", "run/config.json", "--device", "cpu"],
            ["train", "--config", "run/config.json", "--device", "cpu", "--out", "run"],
        ]
    )
    return Case(
        f"run directory ({words[0]})",
        [*words, *_json(rng)],
        b"",
        ["new", "run"] if words[0] == "train" else ["new"],
    )


def results_text(rng: random.Random, folder: Path) -> Case:
    file = folder / "results.jsonl"
    lines = file.read_text().splitlines()
    at = rng.randrange(len(lines))
    if rng.random() < 0.8:
        lines[at] = json_damage(rng, lines[at]).decode(errors="replace")
        file.write_text("\n".join(lines) + "\n", errors="replace")
    else:
        file.write_bytes(bytes_damage(rng, file.read_bytes()))
    return Case(
        "results text",
        ["results", "list", "--store", "results.jsonl", *_json(rng)],
        b"",
        [],
    )


def store(rng: random.Random, folder: Path) -> Case:
    _damaged(rng, folder, "store/results.jsonl", bytes_damage)
    words = rng.choice(
        [
            ["results", "list", "--store", "store"],
            ["results", "show", "3", "--store", "store"],
            ["results", "export", "--out", "new.jsonl", "--store", "store"],
            [
                "reproduce",
                "curves",
                "--scale",
                "small",
                "--show",
                "--store",
                "store",
                "--figures",
                "new",
            ],
        ]
    )
    return Case("store", [*words, *_json(rng)], b"", ["new.jsonl", "new"])


def export_directory(rng: random.Random, folder: Path) -> Case:
    """A folder with foreign files, which only an export of ours may replace."""
    name = rng.choice(sorted(path.name for path in (folder / "export").iterdir()))
    _damaged(rng, folder, f"export/{name}", bytes_damage)
    words = rng.choice(
        [["export", "net", "--to", "hf", "--out", "export"], ["compile", "C2", "-T", "4", "--out", "export"]]
    )
    return Case("export directory", [*words, *_json(rng)], b"", ["export"] if words[0] == "export" else [])


def _json(rng: random.Random) -> list[str]:
    return ["--json"] if rng.random() < 0.3 else []


KINDS: list[tuple[int, Callable[[random.Random, Path], Case]]] = [
    (30, command_line),
    (10, automaton_file),
    (20, network_meaning),
    (15, network_weights),
    (5, certificate),
    (8, run_directory),
    (7, results_text),
    (6, store),
    (4, export_directory),
]


def draw(seed: int, templates: Path, folder: Path) -> Case:
    """The case of a seed; fills its folder."""
    rng = random.Random(f"krohn {seed}")
    shutil.copytree(templates, folder, symlinks=True)
    (make,) = rng.choices([kind for _, kind in KINDS], [weight for weight, _ in KINDS])
    return make(rng, folder)
