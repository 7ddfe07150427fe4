"""Statuses, verdicts, pages and heads of reports made by hand."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

import krohn
from every import every
from krohn.errors import InvalidInput
from krohn.lab.interpret.findings import Amount, Finding, Share
from krohn.lab.interpret.head_patterns import HeadReport, classify_heads, nearness, patterns, report_of
from krohn.lab.interpret.readings import Readings
from krohn.lab.interpret.report import Report, status, verdict
from krohn.lab.interpret.report_page import heat_map, html
from krohn.lab.interpret.stages import stages_of_transformer
from krohn.lab.interpret.understand import CONTROLS
from krohn.lab.interpret.variables import Variable, letter_variable, state_variable
from krohn.proving.by_position import ByPosition
from network.naive_transformer import random_transformer

SURE, NEVER, HALF = Share(1.0, 0.97, 1.0), Share(0.0, 0.0, 0.03), Share(0.7, 0.62, 0.77)
PLAIN = Finding(
    layer=1,
    probe=SURE,
    baseline=0.5,
    selectivity=0.5,
    causal=SURE,
    stays=SURE,
    controls={"random": NEVER},
    rest=NEVER,
    chance=0.3,
    pairs=160,
    dimension=2,
)


@every(
    ("changes", "wanted"),
    [
        ({}, "held"),
        ({"causal": Share(0.95, 0.9, 0.97)}, "held"),
        ({"causal": Share(0.95, 0.899, 0.97), "stays": None}, "partly"),
        ({"stays": None}, "held"),
        ({"stays": Share(0.89, 0.8, 0.95)}, "partly"),
        ({"stays": Share(0.49, 0.4, 0.6)}, "readable"),
        ({"alike": True}, "with the state"),
        ({"alike": True, "final": True}, "with the state"),
        ({"final": True}, "read-out"),
        ({"final": True, "role": "moved with its state"}, "held"),
        ({"causal": HALF}, "partly"),
        ({"causal": HALF, "final": True}, "read-out"),
        ({"causal": Share(0.55, 0.5, 0.6)}, "readable"),
        ({"causal": HALF, "controls": {"random": NEVER, "untrained": Share(0.6, 0.5, 0.62)}}, "readable"),
        *[
            ({"controls": {**dict.fromkeys(CONTROLS, NEVER), name: SURE}}, "as a control")
            for name in CONTROLS
        ],
        ({"controls": {"shuffled": SURE}, "alike": True}, "as a control"),
        ({"controls": {"shuffled": SURE}, "final": True}, "as a control"),
        ({"controls": {"shuffled": Share(0.9, 0.8, 0.97)}}, "as a control"),
        ({"controls": {"shuffled": Share(0.9, 0.8, 0.969)}}, "held"),
        ({"causal": HALF, "chance": 0.61}, "readable"),
        ({"causal": HALF, "chance": 0.61, "role": "moved"}, "partly"),
        ({"causal": HALF, "chance": None}, "partly"),
        ({"causal": NEVER}, "readable"),
        ({"causal": None, "baseline": 0.2, "probe": Share(0.9, 0.8, 1.0)}, "no"),
        ({"causal": None, "baseline": 0.2, "probe": Share(0.93, 0.8, 1.0)}, "readable"),
        ({"causal": None, "baseline": 1.0}, "no"),
    ],
)
def test_a_status_needs_all_that_it_says(changes: dict[str, object], wanted: str) -> None:
    assert status(replace(PLAIN, **changes)) == wanted  # type: ignore[arg-type]


def test_the_control_that_is_reported_is_the_highest() -> None:
    assert PLAIN.control == 0.0
    assert replace(PLAIN, controls={"random": NEVER, "untrained": HALF}).control == 0.7
    assert replace(PLAIN, controls={}).control is None


@pytest.mark.parametrize(("effort", "wanted"), [(1, 192), (2, 384), (0.05, 32), (0.51, 98)])
def test_effort_scales_every_amount_and_keeps_enough(effort: float, wanted: int) -> None:
    assert Amount.of(effort).judge == wanted
    assert min(vars(Amount.of(effort)).values()) >= 32


@pytest.mark.parametrize("effort", [0, 0.049, 101, float("nan"), float("inf"), -1])
def test_an_invalid_effort_is_refused(effort: float) -> None:
    with pytest.raises(InvalidInput, match=r"0\.05–100; got"):
        Amount.of(effort)


def variable(name: str, family: str, *aliases: str) -> Variable:
    return Variable(name, family, f"text of {name}", lambda readings: readings.states, {}, aliases)


WHERE = "in words of 8 letters, the longest with 99% right (letters 1–8: 100.00%, 9–16: 34.38%)"


def report_with(
    *findings: tuple[Variable, list[Finding]], whole: list[dict[str, Share]] | None = None
) -> Report:
    return Report(
        network="net <of> A & B",
        kind="compiled",
        automaton="A & B",
        length=8,
        layers=2,
        dim=4,
        seed=3,
        effort=0.5,
        accuracy=Share(0.875, 0.8, 0.9),
        by_position=ByPosition((4,) * 8 + (3, 2) + (1,) * 6, 4),
        length_is="measured",
        variables=tuple((one, tuple(rows)) for one, rows in findings),
        whole=tuple(whole or [{"state": NEVER, "letter": SURE}] * 3),
        heads=(
            HeadReport(1, 2, "latest", "latest a<b", 0.9, 0.1),
            HeadReport(2, 1, "none", "itself", 0.3, 0.0),
        ),
        notes=("no <windows> & more",),
    )


def rows(*layers: int, **changes: object) -> list[Finding]:
    return [replace(PLAIN, layer=layer, **changes) for layer in layers]  # type: ignore[arg-type]


def test_a_verdict_names_runs_of_layers_and_the_worst_share_of_each() -> None:
    worse = Share(0.97, 0.93, 0.98)
    actual = [*rows(1), *rows(2, causal=worse), *rows(5, causal=worse)]
    text = verdict(report_with((variable("window", "scan", "sum"), actual)))
    wanted = "Window = sum after blocks 1–2, causal 97% [93–98]; window = sum after block 5, causal 97% ["
    assert wanted in text


def test_a_verdict_says_where_something_starts_in_the_embedding() -> None:
    text = verdict(report_with((variable("sum", "count"), rows(0, 1)), (variable("bit", "scan"), rows(0))))
    assert "Sum from the embedding to block 1, causal 100% [97–100]; bit in the embedding, causal" in text


def test_every_network_holds_its_letters_and_that_is_not_reported() -> None:
    assert "Nothing is held that the algebra names." in verdict(report_with((letter_variable(), rows(0))))
    assert "Letter after block 1, causal 100%" in verdict(report_with((letter_variable(), rows(0, 1))))


def test_a_verdict_keeps_apart_what_is_held_alike_and_partly_held() -> None:
    text = verdict(
        report_with(
            (state_variable(), rows(2)),
            (variable("parity", "count"), rows(1, alike=True)),
            (variable("level", "cascade"), rows(1, causal=HALF)),
        )
    )
    assert (
        "State after block 2, causal 100% [97–100]. Indistinguishable from the state: parity after block 1, "
        "causal 100% [97–100]. Partly: level after block 1, causal 70% [62–77]."
    ) in text


def test_a_verdict_names_the_control_that_does_as_well() -> None:
    controls = {"random": NEVER, "shuffled": Share(0.95, 0.9, 0.98), "untrained": HALF}
    actual = [(letter_variable(), rows(0)), (variable("window", "scan"), rows(1, 2, controls=controls))]
    text = verdict(report_with(*actual))
    assert text.startswith(
        f"The network is right after 87.50% of the letters {WHERE}, and computes perhaps, "
        "as swaps of a control are followed too, with the window (block 1). Nothing is held that the algebra "
        "names. Followed no more than a control: "
        "window after blocks 1–2, causal 100% [97–100], shuffled 95% [90–98]"
    )
    assert "a scan" not in text.lower()


def test_families_without_a_finding_are_named_with_their_best_share() -> None:
    low, lower = Share(0.4, 0.33, 0.48), Share(0.2, 0.14, 0.27)
    unread = {"probe": HALF, "baseline": 0.6}
    text = verdict(
        report_with(
            (variable("window", "scan"), rows(1, causal=lower, **unread)),
            (
                variable("wide window", "scan"),
                [*rows(1, causal=low, chance=0.25), *rows(2, causal=HALF, chance=0.69, final=True)],
            ),
            (variable("sum", "count"), rows(1, causal=None)),
            (variable("bit", "memory"), rows(1, causal=lower, **unread)),
            (variable("wide bit", "memory"), [*rows(1, causal=None), *rows(2, causal=low)]),
            (variable("set bit", "memory"), rows(1, causal=None)),
            (variable("wall", "walls"), rows(1, causal=None)),
        )
    )
    assert (
        "A scan: not held (at most 40% [33–48], chance 25%: wide window, after block 1; "
        "a probe reads wide window, but swaps do not follow)" in text
    )
    assert "Nothing causal can be said about counts; a probe reads sum, which no swap tested." in text
    assert (
        "wide bit, after block 2; a probe reads wide bit, but swaps do not follow; "
        "a probe reads set bit, which no swap tested)" in text
    )
    assert "cascade" not in text
    assert "wall" not in text


def test_a_share_near_chance_is_called_that() -> None:
    low = Share(0.4, 0.33, 0.48)
    text = verdict(
        report_with((variable("window", "scan"), rows(1, causal=low, chance=0.38, probe=HALF, baseline=0.6)))
    )
    assert "A scan: no more than chance (at most 40% [33–48], chance 38%: window, after block 1)" in text


@pytest.mark.parametrize(
    ("letters", "states", "wanted"),
    [
        ([1, 0, 0], [0, 0, 1], ["brings its state from block 2 on (100% [97–100])"]),
        (
            [1, 1, 0],
            [0, 0, 1],
            ["up to block 1 a whole position swapped brings its letter alone", "block 2 on"],
        ),
        ([1, 0, 0], [0, 0, 0], []),
        ([1, 0, 1], [1, 0, 1], ["brings its state from block 2 on (100% [97–100])"]),
        ([1, 0, 1], [1, 0, 0], []),
    ],
)
def test_what_whole_positions_bring(letters: list[int], states: list[int], wanted: list[str]) -> None:
    shares = (NEVER, SURE)
    whole = [{"letter": shares[a], "state": shares[b]} for a, b in zip(letters, states, strict=True)]
    lines = verdict(report_with((state_variable(), rows(2)), whole=whole)).partition("]. ")[2]
    assert [text in lines.lower() for text in wanted] == [True] * len(wanted)
    assert bool(lines) == bool(wanted)


REPORT = report_with(
    (state_variable(), [*rows(0, causal=NEVER), *rows(1, alike=True), *rows(2)]),
    (variable("a <b> & c", "scan"), [*rows(0, causal=None), *rows(1, causal=HALF), *rows(2, final=True)]),
)


def test_a_verdict_begins_with_a_sentence_for_everybody() -> None:
    many = [(variable(name, "scan"), rows(number)) for number, name in enumerate("dcba", 1)]
    assert verdict(report_with(*many[::-1])).startswith(
        f"The network is right after 87.50% of the letters {WHERE}, and computes with the d (block 1), "
        "the c (block 2), the b (block 3) and 1 more. "
    )
    half = verdict(report_with((variable("level", "cascade"), rows(1, causal=HALF))))
    assert half.startswith(
        f"The network is right after 87.50% of the letters {WHERE}, and computes in part "
        "with the level (block 1). "
    )
    alike = verdict(report_with((variable("bit", "memory"), rows(1, alike=True))))
    assert alike.startswith(
        f"The network is right after 87.50% of the letters {WHERE}, and computes with what no pair of "
        "words tells from the state: the bit (block 1). "
    )
    both = report_with((variable("bit", "memory"), rows(1, alike=True)), (state_variable(), rows(2)))
    assert "computes with the state (block 2). State after block 2" in verdict(both)
    nearly = replace(both, accuracy=Share(0.999999, 0.9, 1.0))
    assert verdict(nearly).startswith(f"The network is right after 99.99% of the letters {WHERE}, and ")
    text = replace(REPORT, accuracy=nearly.accuracy).text()
    assert text.startswith("net <of> A & B: 99.99% of the letters right in words of 8 letters\n")
    none = replace(report_with((letter_variable(), rows(0, 1))), accuracy=Share(1.0, 0.9, 1.0))
    assert verdict(none).startswith(
        f"The network is right after every letter tried {WHERE}; no quantity of its automaton was found at "
        "work in it (1 tried). "
    )


def test_the_first_sentence_says_which_length_and_why() -> None:
    full = ByPosition((4,) * 8, 4)
    for curve, how, wanted in (
        (full, "measured", "in words of 8 letters (letters 1–8: 100.00%), and"),
        (REPORT.by_position, "given", "in words of 8 letters (letters 1–8: 100.00%, 9–16: 34.38%), and"),
        (
            ByPosition((19,) * 8 + (0,), 20),
            "measured",
            "the longest with 90% right (letters 1–8: 95.00%, 9: 0.00%)",
        ),
        (
            ByPosition((1,) * 8, 4),
            "measured",
            "none of any length being 90% right (letters 1: 25.00%, 2: 25.00%, 3",
        ),
    ):
        assert wanted in verdict(replace(REPORT, by_position=curve, length_is=how)).partition(". ")[0]


def test_json_has_every_number_of_every_row() -> None:
    report = json.loads(json.dumps(REPORT.to_json(), allow_nan=False))
    assert [(row["name"], row["layer"], row["status"]) for row in report["variables"]] == [
        ("state", 0, "readable"),
        ("state", 1, "with the state"),
        ("state", 2, "held"),
        ("a <b> & c", 0, "readable"),
        ("a <b> & c", 1, "partly"),
        ("a <b> & c", 2, "read-out"),
    ]
    assert [row["causal_interval"] for row in report["variables"]][3:5] == [None, [0.62, 0.77]]
    assert report["variables"][4]["controls"] == {"random": {"value": 0.0, "low": 0.0, "high": 0.03}}
    assert report["accuracy"]["value"] == 0.875
    assert report["heads"][1] == {
        "layer": 2, "head": 1, "kind": "none", "nearest": "itself", "score": 0.3, "prompt": 0.0
    }  # fmt: skip
    assert report["verdict"] == verdict(REPORT)
    assert repr(REPORT).startswith(
        "<Report on net <of> A & B: The network is right after 87.50% of the letters in"
    )


def test_the_heat_map_frames_exactly_what_is_held() -> None:
    root = ElementTree.fromstring(heat_map(REPORT.to_json()).replace("<br>", ""))
    cells = [cell for cell in root.iter("td") if cell.get("style")]
    assert [cell.get("class") for cell in cells if cell.get("class")] == ["with", "held"]
    assert "a <b> & c" in [name.text for name in root.iter("th")]
    assert [cell.text for cell in cells].count("·") == 1
    shades = {(cell.get("style") or "").partition(";")[0] for cell in cells}
    assert shades >= {"background:#f2f2f2", "background:#1f4e8c", "background:#ffffff"}
    titles = [cell.get("title") for cell in cells]
    assert "no counterfactual; probe 100.0%, guessing 50.0%" in titles
    swaps = "partly: causal 70.0% [62.0–77.0] in 160 swaps of 2 dimensions; random 0.0%"
    assert f"{swaps}; probe 100.0%, guessing 50.0%" in titles


def test_the_page_escapes_names_and_says_all(tmp_path: Path) -> None:
    page = html(REPORT.to_json())
    assert "net &lt;of&gt; A &amp; B" in page
    assert "<of>" not in page
    assert "<li>no &lt;windows&gt; &amp; more</li>" in page
    assert "<td>latest a&lt;b</td><td>90%</td><td>10%</td>" in page
    REPORT.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text() == page
    with pytest.raises(InvalidInput, match=r"must end in \.html; got .*a\.pdf"):
        REPORT.save(tmp_path / "a.pdf")
    assert not (tmp_path / "a.pdf").exists()


LENGTH = 12


@pytest.fixture(scope="module")
def grid() -> Readings:
    return Readings(krohn.zoo("Grid4"), np.random.default_rng(0).integers(2, size=(30, LENGTH)))


def looking(where: np.ndarray, share: float = 1.0, prompt: int = 0) -> torch.Tensor:
    """Attention [word, query, key] of which that share lies on the position, the rest on all seen alike."""
    out = np.zeros((len(where), prompt + LENGTH, prompt + LENGTH))
    out[:, :prompt, 0] = 1
    for word, t in np.ndindex(where.shape):
        out[word, prompt + t, prompt : prompt + t + 1] = (1 - share) / (t + 1)
        out[word, prompt + t, prompt + max(where[word, t], 0)] += share
    return torch.from_numpy(out)


@pytest.mark.parametrize("name", ["itself", "1 back", "3 back", "latest L", "latest R", "latest visit of 0"])
def test_a_head_that_looks_at_one_place_gets_its_name(grid: Readings, name: str) -> None:
    ideals = list(patterns(grid))
    kind, where = next((kind, where) for kind, other, where in ideals if other == name)
    assert where is not None
    result = report_of(1, 1, looking(where, 0.85), 0, ideals)
    assert (result.kind, result.nearest) == (kind, name)
    assert 0.85 < result.score < 1.0
    vague = report_of(1, 1, looking(where, 0.6), 0, ideals)
    assert (vague.kind, vague.nearest) == ("none", name)


def test_patterns_are_places_of_the_word(grid: Readings) -> None:
    table = {name: where for _, name, where in patterns(grid)}
    assert len(table) == 1 + 1 + (LENGTH - 1) + 2 + 3
    for word, states in zip(grid.letters.tolist(), grid.states.tolist(), strict=True):
        number = grid.letters.tolist().index(word)
        for t in range(LENGTH):
            last_left = [i for i in range(t + 1) if word[i] == 0]
            at_wall = [i for i in range(t + 1) if states[i] in (0, 3)]
            for name, places in (("latest L", last_left), ("latest visit of 0, 3", at_wall)):
                where = table[name]
                assert where is not None
                assert where[number, t] == (places[-1] if places else -1)


def test_nearness_is_one_less_the_distance(grid: Readings) -> None:
    rng = np.random.default_rng(1)
    attention = np.tril(rng.random((3, 4, 4)))
    attention /= attention.sum(-1, keepdims=True)
    distances = [
        sum(abs(attention[word, t, i] - (i <= t) / (t + 1)) for i in range(4)) / 2
        for word in range(3)
        for t in (1, 2, 3)
    ]
    assert nearness(torch.from_numpy(attention), None) == pytest.approx(1 - np.mean(distances))
    where = np.array([[0, -1, 1, 2], [0, 0, -1, 3], [0, 1, 2, -1]])
    seen = [attention[word, t, where[word, t]] for word in range(3) for t in (1, 2, 3) if where[word, t] >= 0]
    assert nearness(torch.from_numpy(attention), where) == pytest.approx(np.mean(seen))
    assert nearness(torch.from_numpy(attention), np.full((3, 4), -1)) == 0.0


def test_attention_on_the_prompt_is_set_apart(grid: Readings) -> None:
    ideals = list(patterns(grid))
    back = next(where for _, name, where in ideals if name == "2 back")
    assert back is not None
    weights = looking(back, prompt=1)
    weights[:, 2:] *= 0.3
    weights[:, 2:, 0] = 0.7
    result = report_of(1, 1, weights, 1, ideals)
    assert (result.kind, result.nearest) == ("look back", "2 back")
    assert (result.prompt, result.score) == (pytest.approx(0.7), pytest.approx(1.0))
    weights[:, 2:] *= 0.1
    weights[:, 2:, 0] = 0.97
    assert report_of(1, 1, weights, 1, ideals).kind == "prompt"


def test_heads_that_write_nothing_are_left_out_and_the_others_keep_their_numbers() -> None:
    network = random_transformer(2)
    first, *others = network.layers
    quiet = replace(first.heads[0], output=np.zeros_like(first.heads[0].output))
    idle = replace(network, layers=(replace(first, heads=(quiet, *first.heads[1:])), *others))
    readings = Readings(krohn.zoo("C3"), np.random.default_rng(0).integers(3, size=(10, 5)))
    stages = stages_of_transformer(idle)
    passed = stages.run(readings.letters, attention=True)
    result = classify_heads(stages, passed, readings)
    assert [(head.layer, head.head) for head in result] == [(1, 2), (2, 1)]
    assert result[0] == report_of(1, 2, passed.attention[0][:, 1], 1, list(patterns(readings)))
