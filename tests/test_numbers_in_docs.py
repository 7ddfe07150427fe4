"""Numbers that a page takes from a record or a measurement by hand are those that it has."""

import re
from pathlib import Path

import pytest

import krohn
from krohn.proving.recurrent import close, horizon_of
from krohn.recurrent.recurrent_weights import WEIGHTS

ROOT = Path(__file__).parents[1]
NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
}


def text(path: str) -> str:
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def rows(path: str, marker: str) -> list[list[str]]:
    """The rows of a generated table, header included."""
    block = (ROOT / path).read_text(encoding="utf-8").split(f"<!-- {marker} -->")[1].split("<!-- end -->")[0]
    lines = [line for line in block.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_outcomes_of_predictions_are_counted_as_the_record_has_them() -> None:
    outcomes = re.findall(
        r"^(\d+)\. \*\*(Holds|Refuted)(.*)", (ROOT / "results/learned-depth.md").read_text(), re.M
    )
    page = re.search(
        r"(\w+) hold, (\w+) are refuted .*?, one .*?, and one holds but", text("docs/learned-depth.md")
    )
    assert page is not None
    assert len(outcomes) == 19
    assert NUMBERS[page[2]] == sum(kind == "Refuted" for _, kind, _ in outcomes)
    qualified = sum(
        bool(re.search("says little|can be asked", rest)) for _, kind, rest in outcomes if kind == "Holds"
    )
    assert qualified == 2
    assert NUMBERS[page[1]] == sum(kind == "Holds" for _, kind, _ in outcomes) - qualified


def test_shares_of_words_that_taught_networks_need() -> None:
    untaught = {}
    head, *table = rows("results/learned-depth.md", "words")
    for name, *cells in table:
        deep = [
            cell
            for column, cell in zip(head[1:], cells, strict=True)
            if column in {"L = 6", "L = 7", "L = 8"}
        ]
        untaught[name] = min((int(cell.split()[0]) for cell in deep if cell[:1].isdigit()), default=0)
    taught = dict(
        re.findall(
            r"^\| (\S+) \| 7 \| 100 \| doubling \| ([\d,]+) \|",
            (ROOT / "results/findings.md").read_text(),
            re.M,
        )
    )
    share = {name: round(int(words.replace(",", "")) / untaught[name] / 10) for name, words in taught.items()}
    cyclic = [share[f"C{n}"] for n in range(2, 9)]
    others = [share[name] for name in ("C2xC2", "C2xC2xC2", "D6", "D8", "Q8", "S4", "S5")]
    said = f"{min(others)} to {max(others)}% of what the same task takes"
    assert said in text("docs/taught.md")
    assert f"(A5 {share['A5']}%, A4 {share['A4']}%), and {min(cyclic)} to {max(cyclic)}%" in text(
        "docs/taught.md"
    )


@pytest.mark.parametrize(("name", "kind"), [("Grid4", "diagonal"), ("D8", "diagonal"), ("S4", "deltanet")])
def test_pairs_of_a_closure_are_those_of_the_page(name: str, kind: str) -> None:
    automaton = krohn.zoo(name)
    found = ", ".join(map(str, close(WEIGHTS[kind](automaton), automaton).layers))
    page = (ROOT / "docs" / "every-length.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| {name}, `{kind}` .*\| {found} \|", page, re.MULTILINE), found


@pytest.mark.parametrize("name", ["C7", "D14"])
def test_horizons_in_bfloat16_are_those_of_the_page(name: str) -> None:
    automaton = krohn.zoo(name)
    horizon = horizon_of(WEIGHTS["diagonal"](automaton), automaton, "bfloat16")
    page = (ROOT / "docs" / "every-length.md").read_text(encoding="utf-8")
    (said,) = re.findall(rf"^\| {name} \|.*\| (\d+) \|$", page, re.MULTILINE)
    assert horizon is not None
    assert horizon.length == int(said)
