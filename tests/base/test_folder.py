"""A folder is known by its files, and nothing of another kind or another program is written over."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import krohn
from krohn.base.files import (
    CHECKPOINT,
    COMPILED,
    CONTENTS,
    EXPORT,
    KEYS,
    RECURRENT,
    TRAINED,
    Folder,
    require,
)
from krohn.check.rules import READERS
from krohn.errors import InvalidInput, KrohnError

KEYS_WITH_NAME = (COMPILED, RECURRENT, EXPORT)  # whose files name krohn


@given(st.sets(st.sampled_from([*KEYS.values(), CHECKPOINT, "notes.txt"])))
def test_the_kind_is_that_of_the_first_key(names: set[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        for name in names:
            (Path(place) / name).touch()
        expected = next((kind for kind in KEYS if KEYS[kind] in names), None)
        assert Folder(Path(place)).kind == expected


def test_the_checker_looks_for_the_same_files() -> None:
    assert set(KEYS.values()) - {KEYS[TRAINED]} <= set(READERS)


def test_real_folders_are_of_their_kind(tmp_path: Path) -> None:
    krohn.save(krohn.compile("C2", 4), tmp_path / "t")
    krohn.save(krohn.compile("C2", architecture="lstm"), tmp_path / "r")
    krohn.export(krohn.compile("C2", 4), "hf", tmp_path / "e")
    kinds = {name: Folder(tmp_path / name).kind for name in "tre"}
    assert kinds == {"t": COMPILED, "r": RECURRENT, "e": EXPORT}
    for name, kind in kinds.items():
        assert kind is not None
        for other in KEYS_WITH_NAME:
            if other != kind:
                with pytest.raises(InvalidInput, match=f"must not hold {CONTENTS[kind]}"):
                    Folder(tmp_path / name).check_target(other, (KEYS[other],))
        Folder(tmp_path / name).check_target(kind, [path.name for path in (tmp_path / name).iterdir()])


@pytest.mark.parametrize("kind", KEYS_WITH_NAME)
@pytest.mark.parametrize("text", ["", "[]", "{}", '{"other": 1}', "[" * 10_000])
def test_a_file_without_the_name_of_krohn_is_kept(kind: str, text: str, tmp_path: Path) -> None:
    (tmp_path / KEYS[kind]).write_text(text)
    with pytest.raises(InvalidInput, match="krohn did not write this one"):
        Folder(tmp_path).check_target(kind, (KEYS[kind],))
    (tmp_path / KEYS[kind]).write_text(json.dumps({"krohn": 1}))
    Folder(tmp_path).check_target(kind, (KEYS[kind],))


@pytest.mark.parametrize("kind", KEYS_WITH_NAME)
def test_a_run_is_kept_from_its_first_checkpoint_on(kind: str, tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).touch()
    with pytest.raises(InvalidInput, match="must not hold a training run"):
        Folder(tmp_path).check_target(kind, ())
    with pytest.raises(InvalidInput, match="must be a directory"):
        Folder(tmp_path / CHECKPOINT).check_target(kind, ())


@pytest.mark.parametrize("kind", KEYS)
def test_what_is_needed_and_what_is_there_are_named(kind: str, tmp_path: Path) -> None:
    (tmp_path / KEYS[kind]).touch()
    assert require(tmp_path, "it needs", *KEYS) == kind
    others = [other for other in KEYS if other != kind]
    with pytest.raises(KrohnError, match=f"it needs .*; .* holds {CONTENTS[kind]}"):
        require(tmp_path, "it needs", *others)
    with pytest.raises(KrohnError, match="must exist"):
        require(tmp_path / "none", "it needs", kind)
