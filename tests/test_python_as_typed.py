"""Python as people type it: names, files and objects alike, letter names, one-line reprs, pictures."""

import re
from pathlib import Path

import numpy as np
import pytest

import krohn

LONGEST = 200


@pytest.fixture(scope="module")
def network() -> krohn.CompiledNetwork:
    return krohn.compile("abab", length=8)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "abab.json"
    krohn.dump_automaton(krohn.zoo("abab"), path)
    return path


def test_a_name_a_file_and_an_object_give_the_same(stored: Path) -> None:
    for given in ("abab", stored, str(stored), krohn.zoo("abab")):
        assert krohn.analyze(given).complexity == "ACC0"
        assert krohn.decompose(given).levels == krohn.decompose("abab").levels
        assert krohn.compile(given, length=4).sizes() == krohn.compile("abab", length=4).sizes()
        assert krohn.simulate(given, ["abab"]).tolist() == [krohn.zoo("abab").run("abab")]
        assert len(krohn.sample(given, 4, 3)) == 3


@pytest.mark.parametrize("function", [krohn.analyze, krohn.decompose])
def test_what_is_no_automaton_is_refused(function: object) -> None:
    with pytest.raises(krohn.KrohnError, match="must be a Semiautomaton, a name or a file; got int"):
        function(7)  # type: ignore[operator]


def test_words_of_letter_names_run_as_words_of_numbers(network: krohn.CompiledNetwork) -> None:
    words = np.array([[0, 1, 0, 1], [0, 0, 1, 1]])
    assert (network.run(["abab", "aabb"]) == network.run(words)).all()
    assert network.run("abab").tolist() == krohn.zoo("abab").run("abab")
    assert network.run([[0, 1, 0, 1]]).tolist() == [krohn.zoo("abab").run("abab")]
    assert network.explain("abab").states == network.explain((0, 1, 0, 1)).states
    assert krohn.simulate("abab", ["abab", "aabb"]).tolist() == network.run(words).tolist()


def test_a_decomposition_reads_letter_names() -> None:
    cascade = krohn.decompose("abab")
    assert cascade.simulate(["abab"]).tolist() == [krohn.zoo("abab").run("abab")]
    assert cascade.step(cascade.initial, "a") == cascade.step(cascade.initial, 0)
    with pytest.raises(krohn.KrohnError, match="every letter must be one of a b"):
        cascade.step(cascade.initial, "c")


def test_words_that_are_none_are_refused(network: krohn.CompiledNetwork) -> None:
    with pytest.raises(krohn.KrohnError, match="every letter must be one of a b"):
        network.run(["abab", "abcd"])
    with pytest.raises(krohn.KrohnError, match="words must have one length; got lengths 2 to 3"):
        krohn.simulate("abab", ["ab", "aba"])


def test_a_network_is_saved_and_loaded(network: krohn.CompiledNetwork, tmp_path: Path) -> None:
    krohn.save(network, tmp_path / "net")
    again = krohn.load(tmp_path / "net")
    assert again.run("abab").tolist() == network.run("abab").tolist()
    assert krohn.verify(tmp_path / "net").certified


def test_every_result_has_a_repr_of_one_line(network: krohn.CompiledNetwork, tmp_path: Path) -> None:
    results = [
        krohn.export(network, tmp_path / "gpt2", proof=False),
        krohn.train("C2", length=4, layers=1, dim=8, heads=1, mlp=8, steps=2, batch=2, device="cpu"),
        krohn.understand(network, effort=0.05),
        network,
        network.transformer,
        network.explain("abab"),
        network.automaton,
        krohn.analyze("S5"),
        krohn.decompose("S4"),
        krohn.verify(network),
        krohn.sample("S4", 5, 3),
    ]
    for result in results:
        text = repr(result)
        assert text.startswith(f"<{type(result).__name__}")
        assert len(text) <= LONGEST
        assert "\n" not in text


def test_results_show_themselves_in_a_notebook(network: krohn.CompiledNetwork) -> None:
    assert "ACC0" in krohn.analyze("S4")._repr_html_()
    assert "<b>A Transformer for abab</b>" in network._repr_html_()
    assert "<td>yes</td>" in krohn.verify(network)._repr_html_()
    assert network.explain("abab")._repr_svg_().startswith("<svg")


def test_names_are_escaped_in_a_notebook() -> None:
    odd = krohn.Semiautomaton(np.array([[1], [0]]), name="<b>&")
    assert "&lt;b&gt;&amp;" in krohn.compile(odd, length=3)._repr_html_()


def test_help_lists_every_public_name_with_a_line() -> None:
    listed = re.findall(r"^    (\w+(?:, \w+)*)  +\S.*$", krohn.__doc__ or "", flags=re.MULTILINE)
    names = [name for entry in listed for name in entry.split(", ")]
    assert sorted(names) == sorted(set(krohn.__all__) - {"__version__"})


def test_training_takes_an_automaton_and_settings_by_name(stored: Path) -> None:
    small = {
        "length": 4,
        "layers": 1,
        "dim": 8,
        "heads": 1,
        "mlp": 8,
        "steps": 1,
        "batch": 2,
        "device": "cpu",
    }
    specs = [krohn.train(given, **small).config.task.spec for given in (stored, krohn.zoo("abab"))]
    assert specs == [str(stored), "abab"]
    result = krohn.train(
        "Grid4",
        length=6,
        layers=1,
        dim=8,
        heads=2,
        mlp=8,
        lr=1e-3,
        steps=2,
        batch=2,
        device="cpu",
        evaluation={"every": 2, "sequences": 4},
    )
    config = result.config
    assert (config.task.spec, config.task.length, config.steps) == ("Grid4", 6, 2)
    assert (config.model.layers, config.optimizer.lr, config.optimizer.batch) == (1, (1e-3,), 2)
    with pytest.raises(krohn.KrohnError, match=r"settings of a run must be among .*; got lenght"):
        krohn.train("Grid4", lenght=6)
    with pytest.raises(krohn.KrohnError, match="holds the whole run; leave out steps"):
        krohn.train(config, steps=3)
    nameless = krohn.Semiautomaton(np.array([[1], [0]]))
    with pytest.raises(krohn.KrohnError, match="must be able to name its automaton"):
        krohn.train(nameless, length=6)
