"""The results view: what the records say, cell by cell, and the compiled attention on the same word."""

import base64
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

import krohn
from krohn.cli.app import run
from krohn.explorer.trained_results import SHOWN, results_view
from lab.experiments.made_up_records import read_results

RESULTS = Path(__file__).parents[2] / "results"


def test_cells_are_the_best_of_their_records_and_maps_are_those_of_the_compiled_network() -> None:
    result = [read_results(RESULTS / f"{name}-small.jsonl") for name in ("depth", "attention")]
    records = [record for some, _ in result for record in some]
    members = [member for _, some in result for member in some]
    view = results_view(records, members)
    assert {(cell["task"], cell["depth"]) for cell in view["depth"]} == {
        (member.label["task"], member.label["depth"]) for member in members if member.experiment == "depth"
    }
    for cell in view["depth"]:
        own = {record.replicate: record for record in records if record.run_id == cell["run"]}
        assert view["runs"][cell["run"]]["best"] == max(record.accuracy for record in own.values())
        shown = {one["number"]: one for one in view["runs"][cell["run"]]["replicates"]}
        assert {number: (one["sequences"], one["seconds"]) for number, one in shown.items()} == {
            number: (record.sequences, record.metrics["seconds"]) for number, record in own.items()
        }
    (shown,) = view["attention"]
    automaton = krohn.zoo(shown["task"])
    word = [automaton.letter_names.index(letter) for letter in shown["letters"]]
    assert [automaton.state_names[state] for state in automaton.run(word)] == shown["states"]
    heads = krohn.explain(krohn.compile(automaton, SHOWN), word).heads
    assert len(shown["compiled"]) == len(heads)
    for maps, head in zip(shown["compiled"], heads, strict=True):
        pixels = np.frombuffer(base64.b64decode(maps["data"]), np.uint8).reshape(SHOWN, SHOWN)
        padding = len(head.weights) - SHOWN
        np.testing.assert_allclose(pixels / 255, head.weights[padding:, padding:], atol=1 / 255)


def test_records_without_curves_or_with_other_words_are_shown_as_far_as_they_go() -> None:
    records, members = read_results(RESULTS / "curves-small.jsonl")
    assert results_view(records, members) == {"depth": [], "runs": {}, "attention": []}


def test_the_page_goes_from_the_map_to_curves_and_runs(browser: Chrome, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    chosen = [str(RESULTS / f"{name}-small.jsonl") for name in ("depth", "attention")]
    arguments = [part for path in chosen for part in ("--results", path)]
    assert run(["explore", "C2", "--length", "8", *arguments, "--out", str(out)]) == 0
    browser.get(out.as_uri())
    assert browser.find_element(By.ID, "name").is_displayed()
    browser.find_element(By.CSS_SELECTOR, "[data-view=results]").click()
    assert not browser.find_element(By.ID, "name").is_displayed()
    maps = browser.find_elements(By.CSS_SELECTOR, ".maps canvas")
    assert len(maps) > 10  # trained and compiled
    cell = browser.find_element(By.CSS_SELECTOR, ".depths [aria-label^='S4, 8 layers']")
    cell.click()
    assert browser.find_element(By.ID, "run-title").text == "S4, 8 layers"
    records, _ = read_results(RESULTS / "depth-small.jsonl")
    tried = [
        r for r in records if (r.config["task"]["spec"], r.config["model"]["layers"]) == ("S4", 8)
    ]  # several runs fill this cell; the best is shown
    best = max(tried, key=lambda record: record.accuracy)
    replicates = {record.replicate for record in tried if record.run_id == best.run_id}
    assert len(browser.find_elements(By.CSS_SELECTOR, ".curves polyline")) == len(replicates)
    assert len(browser.find_elements(By.CSS_SELECTOR, ".runs tbody tr")) == len(replicates)
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_a_folder_without_results_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explore", "C2", "--results", str(tmp_path), "--out", str(tmp_path / "page.html")]) == 2
    assert "krohn results export" in capsys.readouterr().err
