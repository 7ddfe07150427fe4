"""Untrusted JSON: malformed input that Python's reader accepts is refused in one line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from every import every
from krohn.base.files import parse_json, read_json, require_keys, short, shown, with_sorted_metadata
from krohn.errors import InvalidFile, LimitExceeded

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_what_python_writes_is_read_back_with_its_types(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    for form in (text, text.encode()):
        result = parse_json(form)
        assert result == value
        assert json.dumps(result) == json.dumps(value)  # 1, 1.0 and true are equal but not the same


@every(
    ("text", "message"),
    [
        (
            '{"a": 1, "b": {"z": 0, "c": 1, "c": 1}}',
            "a key must appear once in its object; 'c' appears twice",
        ),
        ("[1, NaN]", "numbers must be finite; got NaN"),
        ("[-Infinity]", "numbers must be finite; got -Infinity"),
        ("1e999", "numbers must be finite; got 1e999"),
        ("-1e999", "numbers must be finite; got -1e999"),
        ("[" * 100_000, "JSON must not be nested this deeply"),
        (b'"\xff"', "it must be JSON in UTF-8; byte 1 is not"),
        ("{'a': 1}", "it must be JSON; "),
        ("[1] [2]", "it must be JSON; Extra data"),
        ("", "it must be JSON; "),
        ("1" * 5_000, "it must be JSON; "),  # Python reads integers of at most 4,300 digits
    ],
)
def test_invalid_json_is_refused_in_one_line(text: str | bytes, message: str) -> None:
    with pytest.raises(InvalidFile) as refused:
        parse_json(text)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 250


def test_a_key_may_come_again_in_another_object_and_a_byte_order_mark_is_no_content() -> None:
    assert parse_json('[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]
    assert parse_json(b"\xef\xbb\xbf[1]") == [1]


def test_a_file_is_read_up_to_its_limit_and_named_in_every_refusal(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text("[123]")
    assert read_json(path, max_bytes=5) == [123]
    (tmp_path / "broken.json").write_text("[1,]")
    for error, says, where in (
        (LimitExceeded, r"some\.json must have at most 4 bytes; it has more", path),
        (InvalidFile, r"broken\.json: it must be JSON; ", tmp_path / "broken.json"),
        (InvalidFile, r"other\.json must exist; it does not", tmp_path / "other.json"),
        (InvalidFile, "must be readable: Is a directory", tmp_path),
        (InvalidFile, "must be readable: embedded null byte", "a\0b"),
    ):
        with pytest.raises(error, match=says):
            read_json(where, max_bytes=4)


def test_keys_are_all_there_and_no_others() -> None:
    good = {"a": 1, "b": 2}
    assert require_keys(good, ("a", "b"), "it") is good
    assert require_keys(good, ["a"], "it", optional=["b", "c"]) is good
    for payload, text in (
        ({"a": 1}, "it must have the keys a, b, c; 'b' is missing"),
        ({}, "it must have the keys a, b, c; 'a' is missing"),
        ({"a": 1, "b": 2, "z": 3, "y": 4}, "it must have the keys a, b, c; 'y' is not one of them"),
        ({"a": 1, "b": 2, "d": 3}, "it must have the keys a, b, c; 'd' is not one of them"),
        ([1, 2], r"it must be an object; got \[1, 2\]"),
        (None, "it must be an object; got None"),
    ):
        with pytest.raises(InvalidFile, match=text):
            require_keys(payload, ["a", "b"], "it", optional=["c"])


@every(
    ("value", "text"),
    [
        ("abc", "'abc'"),
        ({"a": 1}, "an object of 1"),
        ([[1], 2], "a list of 2"),
        ([1, 2, 3, 4, 5], "a list of 5"),
        ([1, 2, 3, 4], "[1, 2, 3, 4]"),
        ("\x1b[2J", "'\\x1b[2J'"),
        ("x" * 58, "'" + "x" * 58 + "'"),
        ("x" * 59, "'" + "x" * 56 + "…"),
    ],
)
def test_a_value_in_a_message_is_short_and_steers_no_terminal(value: Any, text: str) -> None:
    assert shown(value) == text


@given(st.text() | st.lists(st.text(), max_size=5))
def test_every_value_and_every_path_fits_into_a_line(value: Any) -> None:
    assert shown(value).isprintable()
    assert len(shown(value)) <= 60
    assert short(str(value)).isprintable()
    assert len(short(str(value) * 40)) <= 80


def test_a_long_path_keeps_its_end() -> None:
    assert short("/a" * 100 + "/net.json") == "…" + ("/a" * 100 + "/net.json")[-79:]
    assert short(Path("net.json")) == "net.json"
    assert short("x" * 80) == "x" * 80
    assert short("x" * 81) == "…" + "x" * 79


@pytest.mark.parametrize("name", ["a", "ab", "abcd", "length of a name", "π"])
def test_metadata_in_any_order_give_the_same_file_and_tensors_stay(name: str) -> None:
    tensors = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "y": np.array([7], dtype=np.int64)}
    pairs = [(name, "1"), ("zebra", "2"), ("ant", '{"k": "v"}')]
    files = {with_sorted_metadata(save(tensors, dict(order))) for order in (pairs, pairs[::-1])}
    assert len(files) == 1
    (file,) = files
    size = int.from_bytes(file[:8], "little")
    assert size % 8 == 0  # tensors begin where a processor reads them best
    header = json.loads(file[8 : 8 + size])
    assert list(header["__metadata__"].items()) == sorted(pairs)
    for key, tensor in load(file).items():
        assert np.array_equal(tensor, tensors[key])
