"""Data sets on disk: every form holds the sample, and a failed write leaves nothing behind."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

from krohn.automata.datasets import write_dataset
from krohn.automata.sampling import Sample, Sampler, sample
from krohn.automata.zoo import zoo
from krohn.errors import InvalidInput


def read(path: Path) -> dict[str, np.ndarray]:
    keys = ("letters", "states", "observations")
    if path.suffix == ".npz":
        with np.load(path) as archive:
            return {key: archive[key] for key in keys if key in archive}
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
        return {key: np.array(table[key].to_pylist()) for key in table.column_names}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


@pytest.mark.parametrize("suffix", ["npz", "parquet", "jsonl"])
@pytest.mark.parametrize(
    ("name", "length", "count"),
    [("S5@first", 9, 20_000), ("Dyck4,8", 30, 100), ("Parity", 1, 1), ("C300", 5, 50)],
)
def test_a_data_set_holds_the_sample(suffix: str, name: str, length: int, count: int, tmp_path: Path) -> None:
    path = tmp_path / f"data.{suffix}"
    heard: list[int] = []
    write_dataset(Sampler(zoo(name), length, seed=4), count, path, progress=heard.append)
    expected = sample(zoo(name), length, count, seed=4).columns()
    actual = read(path)
    assert actual.keys() == expected.keys()
    for key, column in expected.items():
        assert np.array_equal(actual[key], column)
    assert sum(heard) == count
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_an_npz_passes_its_checksums_and_carries_the_names(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    write_dataset(Sampler(zoo("abab"), 12), 1000, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    with np.load(path) as archive:
        assert archive["letter_names"].tolist() == ["a", "b"]
        assert archive["state_names"].tolist() == ["0", "1", "2", "3", "4"]


def test_parquet_says_where_it_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    write_dataset(Sampler(zoo("Dyck4,2"), 12, seed=8), 10, path)
    about = json.loads(parquet.read_schema(path).metadata[b"krohn"])
    assert (about["automaton"], about["distribution"], about["seed"]) == ("Dyck4,2", "feasible", 8)
    assert about["letter_names"] == ["(", "[", ")", "]"]


@pytest.mark.parametrize("suffix", ["npz", "parquet", "jsonl"])
def test_the_same_seed_gives_the_same_bytes(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, cores in (("one", 1), ("two", 3)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        write_dataset(Sampler(zoo("S3"), 100, seed=2), 20_000, tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", ["npz", "parquet", "jsonl"])
def test_a_write_that_fails_leaves_the_old_file(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"data.{suffix}"
    write_dataset(Sampler(zoo("C3"), 2), 3, path)
    old = path.read_bytes()

    def failing(self: Sampler, count: int) -> Iterator[Sample]:
        yield self.chunk(0)
        raise OSError("the disk is full")

    monkeypatch.setattr(Sampler, "chunks", failing)
    with pytest.raises(OSError, match="the disk is full"):
        write_dataset(Sampler(zoo("Parity"), 5), 100_000, path)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == old


@pytest.mark.parametrize(
    ("name", "count", "complaint"),
    [
        ("data.csv", 5, "must end in one of"),
        ("data", 5, "must end in one of"),
        *((f"data.{suffix}", 10**26, "must fit on the disk") for suffix in ("npz", "parquet", "jsonl")),
        *(("data.npz", count, "at least 1") for count in (0, 2.5, float("nan"), "3")),
        ("data.jsonl", 2.5, "at least 1"),
        ("folder.npz", 5, "directory"),
    ],
)
def test_what_cannot_be_written_is_refused(name: str, count: Any, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InvalidInput, match=complaint):
        write_dataset(Sampler(zoo("Parity"), 5), count, tmp_path / name)
    assert [path.name for path in tmp_path.rglob("*")] == ["folder.npz"]
