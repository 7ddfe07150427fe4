"""``krohn sample --for``: stock code computes no loss on these words, and reads every column."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import torch
import transformers

import krohn
from krohn.cli.app import run
from krohn.network.gpt2.reading import IGNORED

LENGTH = 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("exports")
    for name in ("D6", "Grid9"):
        krohn.export(krohn.compile(krohn.zoo(name), length=LENGTH), "hf", base / name, proof=False)
    krohn.export(krohn.compile(krohn.zoo("C2"), length=LENGTH), "onnx", base / "onnx", proof=False)
    return base


@pytest.mark.parametrize("name", ["D6", "Grid9"])
def test_stock_code_has_no_loss_on_them(name: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "words.parquet"
    arguments = ["sample", "--for", str(folder / name), "--length", str(LENGTH), "--count", "50"]
    assert run([*arguments, "--out", str(out)]) == 0
    table = pyarrow.parquet.read_table(out).to_pydict()
    ids, labels, targets = (torch.tensor(table[key]) for key in ("input_ids", "labels", "targets"))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder / name).eval()
    with torch.no_grad():
        seen = model(ids, labels=labels.long())
    assert seen.loss < 1e-6
    assert (labels != IGNORED).sum() == 50 * (LENGTH - 1)
    compared = targets != IGNORED
    assert compared.sum() == 50 * LENGTH
    assert (seen.logits.argmax(-1)[compared] == targets[compared]).all()
    moved = labels.clone()
    moved[:, :-1], moved[:, -1] = labels[:, 1:].clone(), IGNORED
    with torch.no_grad():
        assert model(ids, labels=moved.long()).loss > 1  # the shift matters


def test_every_form_of_file_has_the_same_words(folder: Path, tmp_path: Path) -> None:
    arguments = ["sample", "D6", "--for", str(folder / "D6"), "--length", "5", "--count", "20", "--seed", "3"]
    for name in ("words.npz", "words.jsonl", "words.parquet"):
        assert run([*arguments, "--out", str(tmp_path / name)]) == 0
    columns = ("input_ids", "labels", "targets")
    with np.load(tmp_path / "words.npz") as archive:
        wanted = {key: archive[key].tolist() for key in columns}
    lines = [json.loads(line) for line in (tmp_path / "words.jsonl").read_text().splitlines()]
    table = pyarrow.parquet.read_table(tmp_path / "words.parquet").to_pydict()
    for key in columns:
        assert [line[key] for line in lines] == wanted[key] == table[key]
    automaton = krohn.zoo("D6")
    letters = np.array(wanted["input_ids"])[:, 1:] - 3  # after <bos>, <pad>, <unk>
    plain = krohn.sample(automaton, 5, 20, seed=3)
    np.testing.assert_array_equal(letters, plain.letters)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ([], "needs an automaton, or --for"),
        (["C2", "--for", "D6"], "must be that of the export"),
        (["--for", "onnx"], "give its automaton.json instead"),
        (["--for", "nowhere"], "written by krohn export"),
        (["--for", "D6", "--length", "8"], "at most 7 letters; got length 8"),
    ],
)
def test_bad_input_gets_one_line(
    arguments: list[str], match: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = [str(folder / one) if one in ("D6", "onnx", "nowhere") else one for one in arguments]
    fixed = ["--length", "4", "--count", "3", "--out", str(tmp_path / "words.npz")]
    assert run(["sample", *fixed, *there]) == 2
    error = capsys.readouterr().err
    assert match in error
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "words.npz").exists()


@pytest.mark.parametrize(
    "text",
    [
        *["", "[", "[]", "{}", '{"tokens": {}, "length": 3, "target": "state"}', "[" * 100_000],
        '{"tokens": {"prompt": [0], "letters": [-1], "states": [2]}, "length": 3, "target": "state"}',
    ],
    ids=str.__len__,
)
def test_a_broken_export_is_refused(
    text: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "automaton.json").write_bytes((folder / "D6" / "automaton.json").read_bytes())
    (tmp_path / "export.json").write_text(text)
    out = str(tmp_path / "words.npz")
    assert run(["sample", "--for", str(tmp_path), "--length", "3", "--count", "3", "--out", out]) == 2
    assert "export.json must" in capsys.readouterr().err
