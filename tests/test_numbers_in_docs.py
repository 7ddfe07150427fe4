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
    head, *table = rows("results/learned-depth.md", "words")
    taught = dict(
        re.findall(
            r"^\| (\S+) \| 7 \| 100 \| doubling \| ([\d,]+) \|",
            (ROOT / "results/findings.md").read_text(),
            re.M,
        )
    )

    def shares(*columns: str) -> dict[str, int]:
        """Per cent of the least words read untaught in these columns, where any replicate gets there."""
        found = {}
        for name, *cells in table:
            own = [cell for column, cell in zip(head[1:], cells, strict=True) if column in columns]
            words = [int(cell.split()[0]) for cell in own if cell[:1].isdigit()]
            if words and name in taught:
                found[name] = round(int(taught[name].replace(",", "")) / min(words) / 10)
        return found

    same, quickest = shares("L = 7"), shares("L = 6", "L = 7", "L = 8")
    assert len(same) == 18, "all but S5, which none of six learns untaught with 7 layers"
    assert len(quickest) == 19
    cyclic = [f"C{n}" for n in range(2, 9)]
    few = ("C2xC2", "C2xC2xC2", "D6", "D8", "Q8", "S4")

    def ends(share: dict[str, int], *names: str) -> str:
        return f"{min(share[name] for name in names)} to {max(share[name] for name in names)}%"

    page = text("docs/taught.md")
    assert f"| {ends(same, *few, 'A5')}, with A5 | {ends(quickest, *few, 'S5')}, with S5 |" in page
    assert f"| A5 | | {quickest['A5']}% |" in page
    assert f"| A4 | {same['A4']}% | {quickest['A4']}% |" in page
    assert f"| cyclic groups | {ends(same, *cyclic)} | {ends(quickest, *cyclic)} |" in page


def test_replicates_that_pass_untaught_with_seven_layers() -> None:
    head, *table = rows("results/learned-depth.md", "seven")
    passed = {row[0]: int(row[head.index("untaught, 1,024,000")].split()[0]) for row in table}
    assert len(passed) == 19
    assert sum(count == 6 for count in passed.values()) == 15
    rest = {name: count for name, count in passed.items() if count < 6}
    assert rest == {"D8": 4, "D6": 2, "S4": 2, "S5": 0}
    page = text("docs/taught.md")
    for row in ("| D8 | 6 | 4 |", "| D6, S4 | 6 each | 2 each |", "| S5 | 6 | 0 |"):
        assert row in page
    assert "| the other 15 automata | 6 each | 6 each |" in page


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


def test_what_adamw_learns_is_what_the_records_have() -> None:
    head, *table = rows("docs/findings.md", "learned")
    column = next(place for place, name in enumerate(head) if "AdamW" in name)
    least = {name: int(cells[0]) for cells in table for name in cells[column].split(", ") if name}
    groups = {"D6", "D8", "Q8", "A4", "S4", "S5"}
    shallow = [name for name, layers in least.items() if layers <= 8]
    assert {name for name, layers in least.items() if layers > 8} == {"A4", "D8", "Q8"}
    said = f"learns {len(shallow)} with up to 8 layers and three more groups with 16, but not D6, S4 and S5"
    assert said in text("README.md")
    assert groups - set(least) == {"D6", "S4", "S5"}
    assert f"({len(shallow) + 3})" in head[column]
    assert f"{len(shallow) + 3} by AdamW" in text("docs/findings.md")
