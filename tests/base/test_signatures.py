"""Files of others that name krohn: ``--out`` overwrote them, since they contain the word."""

import json
import zipfile
from pathlib import Path

import pytest

from krohn.base.files import check_output
from krohn.base.signatures import is_signed
from krohn.cli.app import run
from krohn.errors import InvalidInput

OTHERS = {
    "package.json": '{"name": "mine", "dependencies": {"krohn": "1"}}',
    "first.json": '{"krohn": "is a package"}',
    "true.json": '{"krohn": true, "notes": 1}',
    "late.json": '{"notes": [1, 2], "krohn": 1}',
    "list.json": '[{"krohn": 1}]',
    "broken.json": '{"krohn": 1, ',
    "lines.jsonl": '{"letters": [0], "comment": "by krohn"}\n',
    "talk.jsonl": '{"krohn": 1}\n',
    "drawn.svg": '<svg width="1">\n<title>krohn</title>\n<!-- drawn by krohn, changed by me -->\n</svg>',
    "page.html": "<!doctype html>\n<title>What krohn is</title>",
    "machine.jff": '<?xml version="1.0"?>\n<structure><!-- krohn --></structure>',
    "graph.dot": "digraph mine { krohn -> rhodes }",
    "table.csv": "name,krohn\n1,2\n",
    "krohn.att": "0 1 krohn krohn\n",
    "notes.txt": "krohn proves networks right",
    "notes": "# krohn\n",
    "words.npz": "PK state_names.npy targets.npy krohn",
    "words.parquet": "PAR1 krohn PAR1",
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_that_mentions_krohn_is_kept(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(OTHERS[name])
    assert not is_signed(file, file.suffix)
    with pytest.raises(InvalidInput, match="krohn did not write it, so it is kept"):
        check_output(file)
    assert file.read_text() == OTHERS[name]


def test_an_archive_and_a_table_of_others_are_kept(tmp_path: Path) -> None:
    archive, table = tmp_path / "mine.npz", tmp_path / "mine.parquet"
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("krohn.npy", b"state_names.npy")
    about = b"\x18\x06about \x18\x05krohn"
    table.write_bytes(b"PAR1" + about + len(about).to_bytes(4, "little") + b"PAR1")
    for file in (archive, table):
        with pytest.raises(InvalidInput, match="is kept"):
            check_output(file)
    table.write_bytes(b"PAR1" + about + (1 << 31).to_bytes(4, "little") + b"PAR1")
    assert not is_signed(table, ".parquet")


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_blank_file_is_written_to(text: str, tmp_path: Path) -> None:
    file = tmp_path / "new.json"
    file.write_text(text)
    check_output(file)
    file.write_text(" " * 5_000)
    assert not is_signed(file, ".json")


@pytest.mark.parametrize(
    "line",
    [
        "zoo C2 --out {}.dot",
        "sample C2 --length 3 --count 2 --out {}.jsonl --format repl",
        "sample abab@accept --length 3 --count 2 --out {}.npz",
        "sample regex:(a|b)*b --length 3 --count 2 --out {}.jsonl",
    ],
)
def test_what_krohn_wrote_is_written_again(line: str, tmp_path: Path) -> None:
    """The other formats are in ``cli/test_nothing_is_lost.py``."""
    words = line.format(tmp_path / "own").split()
    assert run(words) == 0
    (file,) = tmp_path.iterdir()
    before = file.read_bytes()
    assert run(words) == 0
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", ["mine", "mine.txt", "mine.json"])
def test_an_automaton_is_kept_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    """People write them by hand; a certificate is written over a certificate."""
    file = tmp_path / name
    file.write_text(json.dumps({"krohn": 2, "claim": {}}))
    check_output(file)
    file.write_text(json.dumps({"krohn": 1, "letters": [], "states": [], "start": 0, "next": []}))
    with pytest.raises(InvalidInput, match="is an automaton, so it is kept"):
        check_output(file)
