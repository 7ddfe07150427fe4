"""Networks that the suite keeps are those that the compiler builds, and none is kept from a patched one."""

from pathlib import Path

import numpy as np
import pytest

import krohn
from kept_networks import KeptNetworks, key_of
from krohn.construct.compiling import find_accepted, make_request
from krohn.explorer.page_data import build_machine


def keeping(folder: Path) -> KeptNetworks:
    kept = KeptNetworks(folder)
    kept.remember()
    kept.on = True
    return kept


def test_a_kept_network_is_the_one_that_is_built(tmp_path: Path) -> None:
    kept, request = keeping(tmp_path), make_request("S3", 8)
    build = kept.keeping(find_accepted)
    first, again = build(request), build(request)
    assert len(list(tmp_path.iterdir())) == 1
    assert again is not first
    assert again.automaton is request.automaton
    assert (again.program, again.layout, again.proved) == (first.program, first.layout, "float32")
    for name, matrix in first.transformer.tensors().items():
        assert np.array_equal(again.transformer.tensors()[name], matrix)
    with pytest.raises(ValueError, match="read-only"):
        again.transformer.embedding[:] = 0.0


def test_nothing_is_kept_while_something_is_patched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = keeping(tmp_path)
    build = kept.keeping(find_accepted)
    monkeypatch.setattr("krohn.network.lowering.assembly.lower_linear", None)
    build(make_request("C2", 4))
    monkeypatch.undo()
    monkeypatch.setattr("krohn.network.program.Program.describe", lambda self: "", raising=False)
    build(make_request("C2", 4))
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    build(make_request("C2", 4))
    assert len(list(tmp_path.iterdir())) == 1


def test_what_a_page_shows_is_built_once_and_is_what_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    monkeypatch.setattr("krohn.explorer.page_data.describe", lambda *_: built.append(1) or {"shown": built})
    kept, c2 = keeping(tmp_path), krohn.parse_spec("C2")
    show = kept.keeping_machines(build_machine)
    assert show(c2, 3) == show(c2, 3) == {"shown": [1]}
    assert show(c2, 4) == {"shown": [1, 1]}
    assert show(krohn.parse_spec("C3"), 3) == {"shown": [1, 1, 1]}
    monkeypatch.undo()  # something is patched, seen from where this began
    assert show(c2, 3) == build_machine(c2, 3)
    assert len(list(tmp_path.iterdir())) == 3


def test_names_and_options_decide_the_key() -> None:
    keys = [
        key_of("accepted", make_request(automaton, length, **options))  # type: ignore[arg-type]
        for automaton, length, options in (
            ("C2", 4, {}),
            ("C2", 5, {}),
            ("C2", 4, {"dtype": "float64"}),
            (krohn.automaton({"a": {"x": "b"}, "b": {"x": "a"}}), 4, {}),
            (krohn.automaton({"p": {"x": "q"}, "q": {"x": "p"}}), 4, {}),
        )
    ]
    assert len(set(keys)) == len(keys)
    assert key_of("accepted", make_request("C2", 4)) == keys[0] != key_of("build", make_request("C2", 4))
