"""Small files that took gigabytes: one line and exit status 2, in a process that may take one.

It could not hold more, and to run out of memory would be another line.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from transformers import GPT2Config, GPT2LMHeadModel

import krohn
from krohn.automata.files import automaton_payload
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.ground import MOST_BYTES, afford
from krohn.check.rules import read_net
from krohn.check.transformer.checker import embed
from krohn.errors import InvalidFile, LimitExceeded
from krohn.proving.stock import certificate_for

MEMORY, SECONDS = 1_000_000_000, 20
KINDS = {"float64": "F64", "float32": "F32", "int64": "I64"}
BYTES = {"F64": 8, "F32": 4, "I64": 8, "BF16": 2}
Tensors = dict[str, tuple[str, list[int], bytes]]


def limited() -> None:
    """For the child: no more memory, and no more CPU time; what it writes is not counted."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def answer(*command: str) -> tuple[int, str]:
    """Exit status and the last line, of a program that may take a gigabyte and twenty seconds."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        preexec_fn=limited,
        timeout=20 * SECONDS,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if ": at work for " not in line]
    return done.returncode, said[-1] if done.returncode < 2 else "\n".join(said)


def refused(*command: str) -> str:
    """The one line of a program that must end with status 2."""
    status, line = answer(*command)
    assert (status, line.startswith("error: "), "\n" in line) == (2, True, False), line
    assert "MemoryError" not in line
    return line


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network, its export, and their certificates."""
    base = tmp_path_factory.mktemp("honest")
    network = krohn.compile("C2", 8)
    krohn.save(network, base / "net")
    krohn.verify(network).save(base / "net.json")
    krohn.export(network, "hf", base / "export")
    (base / "export.json").write_bytes((base / "export" / "certificate.json").read_bytes())
    return base


def copied(source: Path, folder: Path) -> Path:
    folder.mkdir()
    for file in source.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def with_holes(folder: Path, **changed: tuple[str, list[int]]) -> None:
    """These tensors become zeros that take no room on the disk."""
    file = folder / "model.safetensors"
    held: Tensors = {n: (KINDS[str(t.dtype)], [*t.shape], t.tobytes()) for n, t in load_file(file).items()}
    held |= {name: (kind, shape, b"") for name, (kind, shape) in changed.items()}
    header, place = {}, 0
    for name, (kind, shape, _) in held.items():
        end = place + BYTES[kind] * int(np.prod(shape, dtype=object))
        header[name], place = {"dtype": kind, "shape": shape, "data_offsets": [place, end]}, end
    text = json.dumps(header).encode()
    with file.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for name, (_, _, data) in held.items():
            stream.seek(8 + len(text) + header[name]["data_offsets"][0])
            stream.write(data)
        stream.truncate(8 + len(text) + place)
    assert file.stat().st_blocks * 512 < 100_000


def rechecks(net: Path, certificate: Path, *more: str) -> list[tuple[str, ...]]:
    """Both programs."""
    files = (str(net), str(certificate))
    return [("krohn.check", *files), ("krohn", "verify", files[0], "--recheck", files[1], *more)]


@pytest.mark.parametrize("name", ["net", "export"])
def test_the_honest_ones_are_proved_in_this_memory(name: str, honest: Path) -> None:
    for command in rechecks(honest / name, honest / f"{name}.json"):
        status, line = answer(*command)
        assert status == 0, line


def letters_of_texts(witness: dict[str, Any], texts: list[object]) -> dict[str, Any]:
    return {"kind": "scan", "letters": [texts], "padding": [0], "channels": [[0]]}


def worth_of_texts(witness: dict[str, Any], texts: list[object]) -> dict[str, Any]:
    return {**witness, "steps": [{**step, "wide": [texts]} for step in witness["steps"]]}


def deeply_in_a_list(witness: dict[str, Any], texts: list[object]) -> dict[str, Any]:
    return {**witness, "steps": [[[{"shape": [texts]}]]]}


@pytest.mark.parametrize("change", [letters_of_texts, worth_of_texts, deeply_in_a_list])
def test_texts_in_place_of_numbers(
    change: Callable[[dict[str, Any], list[object]], dict[str, Any]], honest: Path, tmp_path: Path
) -> None:
    """320 kB took 4.6 GB: an array gives each entry the room of the longest."""
    certificate = json.loads((honest / "net.json").read_text())
    certificate["witness"] = change(certificate["witness"], [0, "x" * 300_000, *["y"] * 3_900])
    (tmp_path / "own.json").write_text(json.dumps(certificate))
    for command in rechecks(honest / "net", tmp_path / "own.json"):
        line = refused(*command)
        assert "lists in a witness must hold numbers, not texts" in line


def test_positions_without_a_place_on_the_disk(honest: Path, tmp_path: Path) -> None:
    """30 million numbers in 4 kB: 3 GB for the checker, and no answer of the search."""
    folder = copied(honest / "net", tmp_path / "net")
    about = json.loads((folder / "krohn.json").read_text())
    channels = load_file(folder / "model.safetensors")["positions"].shape[1]
    with_holes(folder, positions=("F64", [30_000_000 // channels, channels]))
    (folder / "krohn.json").write_text(json.dumps({**about, "length": 30_000_000 // channels - 1}))
    for command in (("krohn.check", str(folder), str(honest / "net.json")), ("krohn", "verify", str(folder))):
        assert "a file with holes, must take at most 800,000,000 bytes" in refused(*command)


@pytest.mark.parametrize("kind", ["net", "export", "stock"])
def test_a_tensor_that_grows_when_it_is_read(kind: str, honest: Path, tmp_path: Path) -> None:
    """400 MB of bfloat16 in a few blocks were 1.15 GB as float32, before anything was asked of them."""
    folder = copied(honest / ("net" if kind == "net" else "export"), tmp_path / "net")
    name = "embedding" if kind == "net" else "transformer.wte.weight"
    with_holes(folder, **{name: ("BF16", [25_000_000, 8])})
    if kind == "stock":
        (folder / "export.json").unlink()
    asked = ["--automaton", "C2"] if kind == "stock" else []
    for command in (
        ("krohn.check", str(folder), str(honest / "export.json")),
        ("krohn", "verify", str(folder), *asked),
        ("krohn", "run", str(folder), "0"),
    ):
        line = refused(*command)
        assert "a file with holes" in line or (kind == "stock" and command[1] == "run"), line


def test_a_file_with_small_holes_is_read(honest: Path, tmp_path: Path) -> None:
    """File systems make holes of blocks of zeros by themselves: what is small is read all the same."""
    folder = copied(honest / "net", tmp_path / "net")
    with_holes(folder, positions=("F64", [100_000, 3]))
    assert read_net_of(folder) == (100_000, 3)


def read_net_of(folder: Path) -> tuple[int, ...]:
    about = json.loads((folder / "krohn.json").read_text())
    (folder / "krohn.json").write_text(json.dumps({**about, "length": 100_000 - 1}))
    return read_net(folder).tensors["positions"].shape


def test_an_empty_file_has_no_holes(honest: Path, tmp_path: Path) -> None:
    """Where its data end cannot be asked for: that was an internal error."""
    folder = copied(honest / "net", tmp_path / "net")
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(InvalidFile, match="must begin with the size of its header"):
        read_net(folder)


def test_words_that_take_minutes_are_run_for_who_asks_for_it(tmp_path: Path) -> None:
    """3 kB about the 55,986 words of at most six of six letters: no answer after 109 seconds."""
    sizes = {"vocab_size": 6, "n_positions": 6, "n_embd": 4, "n_layer": 1, "n_head": 1, "n_inner": 4}
    network = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=None, eos_token_id=None)).eval()
    for parameter in network.parameters():
        parameter.data.zero_()
    network.transformer.ln_f.bias.data[0] = network.transformer.wte.weight.data[0, 0] = 1.0
    network.save_pretrained(tmp_path / "net")
    marks = {"prompt": [], "letters": [*range(6)], "states": [0]}
    net, automaton = read_net(tmp_path / "net", tokens=marks), Semiautomaton(np.zeros((1, 6), dtype=np.int32))
    (tmp_path / "one.json").write_text(json.dumps(automaton_payload(automaton)))
    little, much = ["--effort", "0.01"], ["--effort", "9"]
    for length, options, wanted in ((3, [], 0), (6, [], 1), (4, little, 1), (4, much, 0)):
        file = tmp_path / "own.json"
        file.write_text(json.dumps(certificate_for(net, automaton, length, "float32").to_json()))
        more = ["--as-claimed", *options]
        by_program, by_krohn = rechecks(tmp_path / "net", file, "--automaton", str(tmp_path / "one.json"))
        status, line = answer(*by_program, *more)
        assert (status, "words; --effort allows more" in line) == (wanted, wanted == 1), line
        assert answer(*by_krohn, *more)[0] == wanted


@pytest.mark.parametrize("name", ["config.json", "generation_config.json"])
@pytest.mark.parametrize("hidden", [4.0, 0.5, True, "4", [4]])
def test_a_padding_token_is_a_whole_number(name: str, hidden: object, honest: Path, tmp_path: Path) -> None:
    """Libraries compare by value: 4.0 hides token 4, and ``generate`` was wrong."""
    folder = copied(honest / "export", tmp_path / "net")
    file = folder / name
    about = json.loads(file.read_text()) if file.exists() else {"do_sample": False, "max_new_tokens": 1}
    for padding in (None, 1):
        file.write_text(json.dumps({**about, "pad_token_id": padding}))
        assert read_net(folder)
    file.write_text(json.dumps({**about, "pad_token_id": hidden}))
    with pytest.raises(InvalidFile, match="pad_token_id must be a whole number, or null"):
        read_net(folder)


def test_codes_of_positions_are_counted_before_they_are_added(honest: Path) -> None:
    afford(MOST_BYTES / 8, "numbers")
    with pytest.raises(LimitExceeded, match=r"numbers must take at most 800,000,000 bytes .*; 800,000,008"):
        afford(MOST_BYTES / 8 + 1, "numbers")
    with pytest.raises(LimitExceeded, match="numbers must take"):
        afford(float("nan"), "numbers")
    network = krohn.load(honest / "net").transformer
    with pytest.raises(LimitExceeded, match="codes of positions must take at most"):
        embed(network, 10**8, None)  # type: ignore[arg-type]
