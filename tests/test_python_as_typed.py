"""Python as people type it: names, files and objects alike, letter names, one-line reprs, pictures."""

import html
import itertools
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch

import krohn
from krohn.cli.app import run

LONGEST = 200
WHOLE = ("BarringtonProgram", "Circuit", "Extracted", "Rows")
"""Results whose repr shows them whole."""
SIZES = {"layers": 1, "dim": 8, "heads": 1, "mlp": 8}
SMALL_RUN: dict[str, Any] = {**SIZES, "length": 4, "steps": 2, "batch": 2, "device": "cpu"}


@pytest.fixture(scope="module")
def network() -> krohn.CompiledNetwork:
    return krohn.compile("abab", length=8)


@pytest.fixture(scope="module")
def report(network: krohn.CompiledNetwork) -> krohn.Report:
    return krohn.understand(network, effort=0.05)


def has_a_short_repr(result: object) -> bool:
    text = repr(result)
    return text.startswith(f"<{type(result).__name__}") and len(text) <= LONGEST and "\n" not in text


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "abab.json"
    krohn.dump_automaton(krohn.zoo("abab"), path)
    return path


def test_a_name_a_file_and_an_object_give_the_same(stored: Path) -> None:
    complexity, levels = krohn.analyze("abab").complexity, krohn.decompose("abab").levels
    sizes = krohn.compile("abab", 4, unproved=True).sizes()
    for given in (stored, str(stored), krohn.zoo("abab")):
        assert krohn.analyze(given).complexity == complexity
        assert krohn.decompose(given).levels == levels
        assert krohn.compile(given, 4, unproved=True).sizes() == sizes
        assert krohn.simulate(given, ["abab"]).tolist() == [krohn.zoo("abab").run("abab")]
        assert len(krohn.sample(given, 4, 3)) == 3


@pytest.mark.parametrize("function", [krohn.analyze, krohn.decompose])
def test_invalid_automata_are_refused(function: object) -> None:
    with pytest.raises(krohn.KrohnError, match="got int"):
        function(7)  # type: ignore[operator]


def test_words_of_letter_names_run_as_words_of_numbers(network: krohn.CompiledNetwork) -> None:
    words = np.array([[0, 1, 0, 1], [0, 0, 1, 1]])
    assert (network.run(["abab", "aabb"]) == network.run(words)).all()
    assert network.run("abab").tolist() == krohn.zoo("abab").run("abab")
    assert network.run([[0, 1, 0, 1]]).tolist() == [krohn.zoo("abab").run("abab")]
    assert krohn.explain(network, "abab").states == krohn.explain(network, (0, 1, 0, 1)).states
    assert krohn.simulate("abab", ["abab", "aabb"]).tolist() == network.run(words).tolist()


def test_one_word_is_a_string_or_a_list_of_letters_and_several_a_list_of_lists() -> None:
    network, automaton = krohn.compile("S4", length=8, unproved=True), krohn.zoo("S4")
    states = automaton.run(["1023", "1230"])
    names = [automaton.state_names[state] for state in states]
    one = ["1023 1230", ["1023", "1230"], ("1023", "1230"), np.array([0, 1]), [0, 1]]
    for word in one:
        assert network(word) == names
        assert network.states(word).tolist() == states
        assert krohn.simulate(automaton, word).tolist() == states
        assert krohn.decompose(automaton).simulate(word).tolist() == states
    for words in ([["1023", "1230"]], [[0, 1]], ["1023 1230"], np.array([[0, 1]])):
        assert network(words) == [names]
        assert network.states(words).tolist() == [states]
    assert network([]) == network("") == []
    assert network([["1023"], ["1230"]]) == [["1023"], ["1230"]]


def test_a_network_of_a_pattern_accepts_words() -> None:
    pattern = re.compile("(a|b)*abb")
    network = krohn.compile("regex:(a|b)*abb", length=6, unproved=True)
    observed = krohn.compile("regex:(a|b)*abb", length=6, target="observation", unproved=True)
    words = ["".join(letters) for letters in itertools.product("ab", repeat=5)]
    for accepts in (network.accepts, observed.accepts):
        assert accepts(words) == [bool(pattern.fullmatch(word)) for word in words]
        assert accepts("abb") is True
        assert accepts("") is False
    assert krohn.compile("regex:(ab)*", length=4, unproved=True).accepts("") is True
    with pytest.raises(krohn.KrohnError, match="S4 has none"):
        krohn.compile("S4", length=2, unproved=True).accepts("1023")


def test_a_recurrent_network_is_run_like_a_compiled_one(tmp_path: Path) -> None:
    network = krohn.compile("C3", architecture="lstm")
    network.save(tmp_path / "lstm3")
    assert network("012") == ["0", "1", "0"]
    for given in (network, tmp_path / "lstm3", str(tmp_path / "lstm3")):
        assert krohn.run(given, "012").tolist() == [0, 1, 0]
        assert krohn.run(given, [[0, 1], [2, 2]], device="cpu").tolist() == [[0, 1], [2, 1]]


def test_a_recurrent_network_says_what_it_has_not(tmp_path: Path) -> None:
    network = krohn.compile("C2", architecture="lstm")
    with pytest.raises(krohn.KrohnError, match=r"only a compiled Transformer has to_torch.*krohn.run"):
        network.to_torch("float32")
    with pytest.raises(krohn.KrohnError, match="export needs a compiled network or a training run"):
        krohn.export(network, "hf", tmp_path)


def test_an_automaton_of_too_many_states_is_not_trained_on() -> None:
    calls = (lambda: krohn.train("Grid70000", steps=1), lambda: krohn.card("lstm", "Grid70000"))
    for function in calls:
        with pytest.raises(krohn.KrohnError, match=r"at most 65,536 states; Grid70000 has 70,000"):
            function()


def test_wrong_arguments_are_refused_in_one_line(network: krohn.CompiledNetwork, tmp_path: Path) -> None:
    calls = [
        (lambda: krohn.export(network, "hf"), r"missing .* 'out'; it takes \(network, to, out, "),
        (lambda: krohn.export(network, tmp_path, to="hf"), "multiple values for argument 'to'"),
        (lambda: krohn.export(network, tmp_path, "hf"), "a format must be one of hf, onnx; got"),
        (lambda: krohn.export(network, "hf", tmp_path, prof=True), "unexpected keyword argument 'prof'"),
        (lambda: krohn.analyze(), "missing .* 'automaton'"),
        (lambda: krohn.explore("C2", lenght=4), "unexpected keyword argument 'lenght'"),
        (lambda: krohn.compile("C2", lenght=8), "got lenght"),
        (lambda: krohn.zoo(5), "name must be str or None; got 5"),
        (lambda: krohn.from_regex(5), "pattern must be str; got 5"),
        (lambda: krohn.atlas("2", 2), "states must be int or None; got '2'"),
        (lambda: krohn.analyze("S3", effort="x"), "effort must be float; got 'x'"),
        (lambda: krohn.barrington(5), "formula must be str; got 5"),
        (lambda: krohn.atlas(1, 2), "2 to 8 states over 1 to 6 letters; got 1 and 2"),
        (lambda: krohn.atlas(2, 7), "2 to 8 states over 1 to 6 letters; got 2 and 7"),
        (lambda: krohn.atlas(9, 2, sample=1), "2 to 8 states over 1 to 6 letters; got 9 and 2"),
        (lambda: krohn.atlas(3, 2, sample=0), "must have an automaton and a seed ≥ 0; got 0"),
        (lambda: krohn.atlas(3, 2, sample=1, seed=-1), "must have an automaton and a seed ≥ 0; got 1 and -1"),
        *(
            (lambda tokens=tokens: krohn.verify(len, automaton="Parity", tokens=tokens), text)
            for tokens, text in (
                ({"letters": [5], "states": [0, 1]}, "letters must be 2 numbers"),
                ({"letters": [5, 5], "states": [0, 1]}, "letters must be different"),
                ({"letters": [5, 6], "states": [0]}, "every output must have a token"),
                ({"letters": [5, 6], "states": [0, "x"]}, "states must be numbers"),
                ({"letters": [5, 6], "states": [0, -1]}, "states must be numbers"),
            )
        ),
        (lambda: krohn.save(network, 3), "directory must be str or Path; got 3"),
    ]
    for call, text in calls:
        with pytest.raises(krohn.KrohnError, match=text) as raised:
            call()
        assert "\n" not in str(raised.value)


def test_an_analysis_has_the_depth_that_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "C3", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["depth"]
    depth = krohn.analyze("C3").depth
    assert (depth.upper, depth.lower, depth.optimal) == tuple(
        printed[key] for key in ("upper", "lower", "optimal")
    )


def test_invalid_words_are_refused(network: krohn.CompiledNetwork) -> None:
    for call, says in (
        (lambda: network.run(["abab", "abcd"]), "every letter must be one of a b"),
        (lambda: krohn.simulate("abab", ["ab", "aba"]), "words must have one length; got lengths 2 to 3"),
        (
            lambda: krohn.simulate("abab", [[0, 1], [0]]),
            "words must have one length, .*; got lengths 1",
        ),
        (lambda: network([0, 7]), "or a number below 2; letter 2 is '7'"),
        (lambda: network(3), "got 3"),
    ):
        with pytest.raises(krohn.KrohnError, match=says):
            call()


def test_a_network_is_saved_and_loaded(network: krohn.CompiledNetwork, tmp_path: Path) -> None:
    krohn.save(network, tmp_path / "net")
    again = krohn.load(tmp_path / "net")
    assert again.run("abab").tolist() == network.run("abab").tolist()
    assert krohn.verify(tmp_path / "net").certified


def test_results_show_themselves_in_a_notebook(network: krohn.CompiledNetwork) -> None:
    assert "ACC0" in krohn.analyze("S4")._repr_html_()
    assert "<b>A Transformer for abab</b>" in network._repr_html_()
    assert "<td>yes</td>" in krohn.verify(network)._repr_html_()
    assert krohn.explain(network, "abab")._repr_svg_().startswith("<svg")


def test_names_are_escaped_in_a_notebook() -> None:
    odd = krohn.Semiautomaton(np.array([[1], [0]]), name="<b>&")
    assert "&lt;b&gt;&amp;" in krohn.compile(odd, length=3, unproved=True)._repr_html_()


def test_help_lists_every_public_name_with_a_line() -> None:
    listed = re.findall(r"^    (\w+(?:, \w+)*)  +\S.*$", krohn.__doc__ or "", flags=re.MULTILINE)
    names = [name for entry in listed for name in entry.split(", ")]
    assert sorted(names) == sorted(set(krohn.__all__) - {"__version__"})


def test_training_takes_an_automaton_and_settings_by_name(stored: Path) -> None:
    specs = [krohn.train(given, **SMALL_RUN).config.task.spec for given in (stored, krohn.zoo("abab"))]
    assert specs == [str(stored), "abab"]
    others = {"length": 6, "heads": 2, "lr": 1e-3, "evaluation": {"every": 2, "sequences": 4}}
    result = krohn.train("Grid4", **SMALL_RUN | others)
    config = result.config
    assert (config.task.spec, config.task.length, config.steps) == ("Grid4", 6, 2)
    assert (config.model.layers, config.optimizer.lr, config.optimizer.batch) == (1, (1e-3,), 2)
    nameless = krohn.Semiautomaton(np.array([[1], [0]]))
    for given, settings, says in (
        ("Grid4", {"lenght": 6}, "settings of a run must be among .*; got lenght"),
        (config, {"steps": 3}, "holds the whole run; leave out steps"),
        (nameless, {"length": 6}, "must be able to name its automaton"),
    ):
        with pytest.raises(krohn.KrohnError, match=says):
            krohn.train(given, **settings)


def test_a_network_is_called_saved_exported_and_made_a_module(
    network: krohn.CompiledNetwork, tmp_path: Path
) -> None:
    assert network.states("abab").tolist() == network.run("abab").tolist() == krohn.zoo("abab").run("abab")
    network.save(tmp_path / "net")
    assert krohn.load(tmp_path / "net")("ab") == network("ab")
    done = krohn.export(network, "hf", tmp_path / "gpt2", proof=False)
    assert (tmp_path / "gpt2" / "config.json").is_file()
    assert done.findings["checked"]["wrong"] == 0
    for dtype in (torch.float32, "fp32", "float32", "bf16", torch.float64):
        module = network.to_torch(dtype)
        assert isinstance(module, torch.nn.Module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if dtype == "bf16" else "error")  # it is proved in float32
            assert module.states(torch.tensor([[0, 1, 0, 1]]))[0].tolist() == network.states("abab").tolist()
    own, torchs = network.state_dict(), network.to_torch().state_dict()
    assert set(torchs) <= set(own)
    for name, tensor in torchs.items():
        assert (tensor.numpy() == own[name]).all()
    with pytest.raises(krohn.KrohnError, match=r"dtype must be one of .*; got 'int8'"):
        network.to_torch("int8")


@pytest.mark.parametrize("dtype", [torch.bfloat16, "bf16", "bfloat16"])
def test_a_float_format_has_its_short_name_and_its_torch_type(
    dtype: object, network: krohn.CompiledNetwork
) -> None:
    words = np.random.default_rng(0).integers(2, size=(50, 8))
    assert (network.run(words, dtype) == network.run(words, "bfloat16")).all()
    assert (
        krohn.compile("C3", length=4, dtype=dtype).sizes() == krohn.compile("C3", 4, dtype="bfloat16").sizes()
    )


def test_several_formats_are_exported_as_by_the_command(
    network: krohn.CompiledNetwork, tmp_path: Path
) -> None:
    for number, formats in enumerate(("hf,onnx", ["hf", "onnx"])):
        out = tmp_path / str(number)
        exports = krohn.export(network, formats, out, proof=False)
        assert [one.to for one in exports] == ["hf", "onnx"]
        assert sorted(path.name for path in out.iterdir()) == ["hf", "onnx"]
    with pytest.raises(krohn.KrohnError, match=r"a format must be one of .*got 'nonsense'"):
        krohn.export(network, "hf,nonsense", tmp_path / "none")


def test_the_zoo_lists_its_names() -> None:
    assert "S4" in krohn.zoo()
    assert all(krohn.zoo(name).name == name for name in krohn.zoo()[:5])


def test_an_automaton_is_a_dictionary_or_a_table() -> None:
    moves = {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}}
    table = [[0, 1], [1, 0]]
    parity = krohn.automaton(moves, accept=["odd"])
    assert parity.run("1101") == [1, 0, 0, 1]
    assert parity.observe == (0, 1)
    assert krohn.automaton(moves, start="odd").run("1") == [0]
    assert krohn.automaton(table).run([1, 1]) == krohn.automaton(np.array(table)).run([1, 1]) == [1, 0]
    for given in (moves, table, np.array(table)):
        assert krohn.analyze(given).complexity == "ACC0"
        assert krohn.compile(given, length=4, unproved=True).run([[1, 1, 0, 1]]).tolist() == [[1, 0, 0, 1]]
    assert krohn.automaton("S4").num_states == 24
    for wrong, text in [
        ({"p": {"a": "q"}}, "state 'p', letter 'a' must lead to one of the states"),
        ({"p": {"a": "p"}, "q": {}}, "letter 'a'"),
        ({"p": "q"}, "from states to letters to next states"),
        ({}, "from states to letters to next states"),
        ([[0, 1], [0]], "a row for each state"),
        ([0, 1], "a row for each state"),
        ([[0.5]], "a row for each state"),
        ([[7]], "7"),
    ]:
        with pytest.raises(krohn.KrohnError, match=re.escape(text)):
            krohn.automaton(wrong)
    with pytest.raises(krohn.KrohnError, match="a state must be one of even odd; got 'none'"):
        krohn.automaton(moves, start="none")


def test_commands_are_functions(network: krohn.CompiledNetwork, tmp_path: Path) -> None:
    network.save(tmp_path / "net")
    assert krohn.run(tmp_path / "net", "abab").tolist() == network.states("abab").tolist()
    assert krohn.explain(tmp_path / "net", "abab").states == krohn.explain(network, "abab").states
    rows = krohn.atlas(2, 1)
    assert [row["table"] for row in rows] == [[[1], [0]], [[1], [1]]]
    assert krohn.circuit("C2", length=3).gates == krohn.circuit(krohn.compile("C2", 3)).gates
    page = krohn.explore("C2", length=4, out=tmp_path / "c2.html")
    assert (tmp_path / "c2.html").read_text() == page.html
    page.save(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == page.html
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert html.unescape(frame.split('"')[1]) == page.html
    with pytest.raises(krohn.KrohnError, match="the folder of --out must exist"):
        krohn.explore("C2", length=4, out=tmp_path / "no" / "page.html")
    assert not (tmp_path / "no").exists()
    assert krohn.extract(tmp_path / "net", 4).difference is None
    assert krohn.barrington("x & y").accepts({"x": True, "y": True})
    with pytest.raises(krohn.KrohnError, match="a store must exist"):
        krohn.reproduce("depth", store=tmp_path / "none", show=True)


def test_tables_become_data_frames(
    network: krohn.CompiledNetwork, report: krohn.Report, tmp_path: Path
) -> None:
    trained = krohn.train("C2", **SMALL_RUN)
    assert has_a_short_repr(trained)
    doctor, zoo, atlas = krohn.doctor(), krohn.zoo(), krohn.atlas(2, 1)
    store = Path(__file__).parents[1] / "results" / "curves-small.jsonl"
    listed = krohn.results.list(store)
    first = listed[0]["run"]
    shown = krohn.reproduce("curves", "small", store=store, show=True, figures=tmp_path / "figures")
    frames = {
        "zoo": (zoo.to_frame(), len(zoo), {"name", "num_states", "num_letters"}),
        "atlas": (atlas.to_frame(), len(atlas), {"table", "depth", "lower"}),
        "suite": (krohn.suite.list().to_frame(), len(krohn.suite.list()), {"name", "automaton"}),
        "results": (listed.to_frame(), len(listed), {"experiment", "run", "max_accuracy"}),
        "run": (krohn.results.show(first, store).to_frame(), listed[0]["replicates"], {"accuracy", "status"}),
        "reproduce": (shown.to_frame(), len(shown.table), set(shown.table[0])),
        "train": (trained.to_frame(), len(trained.replicates), {"accuracy", "status"}),
        "sample": (krohn.sample("C2", 5, 3).to_frame(), 3, {"letters", "states"}),
        "explain": (krohn.explain(network, "abab").to_frame(), 5, {"letter", "state"}),
        "understand": (
            report.to_frame(),
            len(report.to_json()["variables"]),
            {"name", "layer", "status"},
        ),
        "doctor": (doctor.to_frame(), len(doctor.parts), set()),
    }
    for name, (frame, rows, columns) in frames.items():
        assert isinstance(frame, pandas.DataFrame), name
        assert len(frame) == rows, name
        assert columns <= set(frame.columns), (name, list(frame.columns))
    for name in ("name", "layer", "status"):
        assert report.to_frame()[name].tolist() == [row[name] for row in report.to_json()["variables"]]
    zoo = krohn.zoo().to_frame().set_index("name")
    assert zoo.loc["S4", "num_states"] == 24
    states = krohn.explain(network, "abab").to_frame()["state"].dropna().tolist()
    assert states == network("abab")
    assert "S4" in krohn.zoo()._repr_html_()


def test_a_data_frame_without_pandas_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(krohn.KrohnError, match=r"needs pandas, .*: pip install 'pandas>=2.2'"):
        krohn.zoo().to_frame()


def test_results_are_instances_of_exported_types_with_a_repr_of_one_line(
    network: krohn.CompiledNetwork, report: krohn.Report, tmp_path: Path
) -> None:
    network.save(tmp_path / "net")
    outcome = {
        "Analysis": krohn.analyze("C2"),
        "Decomposition": krohn.decompose("C2"),
        "CompiledNetwork": network,
        "Verification": krohn.verify(network),
        "Explanation": krohn.explain(network, "ab"),
        "Sample": krohn.sample("C2", 3, 2),
        "Circuit": krohn.circuit("C2", length=2),
        "BarringtonProgram": krohn.barrington("x & y"),
        "Extracted": krohn.extract(tmp_path / "net", 3),
        "Exported": krohn.export(network, "hf", tmp_path / "gpt2", proof=False),
        "Installation": krohn.doctor(),
        "Report": report,
        "Rows": krohn.atlas(2, 1),
        "Page": krohn.explore("C2", length=3),
    }
    for name, result in outcome.items():
        assert isinstance(result, getattr(krohn, name)), name
        assert name in WHOLE or has_a_short_repr(result), name
    for result in (network.transformer, network.automaton, krohn.analyze("S5"), krohn.decompose("S4")):
        assert has_a_short_repr(result)


def test_names_are_one_string_or_a_list_as_in_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    effort = {"seeds": 1, "length": 2, "steps": 1, "width": 2}
    for tasks in ("C2,FlipFlop", ["C2", "FlipFlop"]):
        rows = krohn.card("lstm", tasks, **effort).rows
        assert [row["task"] for row in rows] == ["C2", "FlipFlop"]
    for only, where in (("Grid4", "depth=2"), (["Grid4"], ["depth=2"])):
        table = krohn.reproduce("depth", only=only, where=where, sequences=16, device="cpu").table
        assert {(row["task"], row["depth"]) for row in table if row["replicates"]} == {("Grid4", 2)}
    for names in ("c2-cascade-plain, none", ["c2-cascade-plain", "none"]):
        with pytest.raises(krohn.KrohnError, match="no network named 'none'"):
            krohn.suite.build("suite", names)
    for refused in (lambda: krohn.suite.build("suite", ""), lambda: krohn.card("lstm", "", **effort)):
        with pytest.raises(krohn.KrohnError, match="name"):
            refused()


def test_a_page_is_refused_words_that_it_cannot_draw() -> None:
    with pytest.raises(krohn.KrohnError, match="at most 512 letters; got 1000000"):
        krohn.explore("S4", length=10**6)
    with pytest.raises(krohn.KrohnError, match="no folder nothing-here"):
        krohn.explore("C2", length=4, results="nothing-here")


def test_a_suite_that_cannot_be_written_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krohn.lab.suite.building.files_of", lambda entry: pytest.fail("it was built"))
    with pytest.raises(OSError, match="none"):
        krohn.suite.build("/proc/none/suite", "c2-cascade-plain")


def test_zoo_takes_what_the_command_takes(tmp_path: Path) -> None:
    krohn.dump_automaton(krohn.zoo("S3"), tmp_path / "s3.json")
    assert krohn.zoo(str(tmp_path / "s3.json")) == krohn.zoo("S3")
    assert krohn.zoo("regex:(ab)*") == krohn.from_regex("(ab)*")
    assert krohn.zoo("table:01.10").table.tolist() == [[0, 1], [1, 0]]


def test_explain_says_what_the_parts_mean_as_the_command_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = krohn.compile("abab", 4, out=tmp_path / "net")
    assert run(["explain", str(tmp_path / "net"), "--json"]) == 0
    assert krohn.explain(net).to_json() == json.loads(capsys.readouterr().out)


def test_no_function_takes_an_empty_path_for_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = krohn.compile("C2", 4)
    network.save(tmp_path)
    monkeypatch.chdir(tmp_path)
    kept = {path: path.read_bytes() for path in tmp_path.iterdir()}
    tiny = {"layers": 1, "dim": 8, "heads": 1, "mlp": 8, "length": 4, "steps": 1, "device": "cpu"}
    for refused in (
        lambda: network.save(""),
        lambda: krohn.compile("C2", architecture="gru").save(""),
        lambda: krohn.load(""),
        lambda: krohn.verify(""),
        lambda: krohn.circuit(""),
        lambda: krohn.explore("C2", out=""),
        lambda: krohn.verify("", kernel=True),
        lambda: krohn.explain(""),
        lambda: krohn.understand(""),
        lambda: krohn.extract("", length=2),
        lambda: krohn.export(network, "hf", ""),
        lambda: krohn.train("C2", directory="", **tiny),
        lambda: krohn.card("lstm", "C2", seeds=1, length=2, steps=1, width=2, out=""),
        lambda: krohn.suite.build("", "c2-cascade-plain"),
        lambda: krohn.suite.locks("", count=1, seed=0),
        lambda: krohn.reproduce("depth", store="", show=True),
    ):
        with pytest.raises(krohn.KrohnError, match="a path must have a name"):
            refused()
    with pytest.raises(krohn.KrohnError, match="must be a file; it is a directory"):
        krohn.verify(network, out=".")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == kept
