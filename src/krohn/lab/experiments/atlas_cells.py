"""The verdicts on a tenth of the atlas: 64 letters, a second replicate, letters that stay out of sinks."""

from collections.abc import Sequence

from krohn.lab.experiments.atlas_runs import Cell
from krohn.lab.experiments.atlas_verdicts import (
    Prediction,
    Row,
    Share,
    Table,
    Test,
    aperiodic,
    both,
    bounded,
    last,
    learned,
    small,
    with_groups,
)

LONG, AGAIN, FEASIBLE = Cell(length=64), Cell(replicate=1), Cell(distribution="feasible")
MOST_NEW = 0.05  # of those learned at 64 letters, learned there alone


def cell_verdicts(rows: Sequence[Row], automata: Sequence[Row]) -> list[Prediction]:
    """Predictions 19 to 25; open where nothing was run."""
    usual, long, again, feasible = (Table(rows, automata, cell) for cell in (Cell(), LONG, AGAIN, FEASIBLE))
    sine = "sinusoidal"

    def easy(table: Table) -> tuple[bool | None, str]:
        def rule(part: Test) -> tuple[bool | None, str]:
            share = learned(table.of(sine, part, aperiodic, small))
            return bounded(share, 0.97), str(share)

        return both(table, rule)

    same = pairs(usual, again)
    outcomes = (
        ("64 letters: aperiodic, fewer than 3,000 elements", "at least 97% learned", easy(long)),
        (
            "64 letters: not aperiodic, beside 32",
            "fewer, and at most 5% of those learned were not at 32",
            _fewer(pairs(usual, long, with_groups)),
        ),
        ("64 letters: groups by G₀", "abelian more than half, else at most 5%", _by_g0(long)),
        (
            "64 letters, no positions: learned one-way automata",
            "at least 80% keep 99% up to 256 letters",
            _above(last(long.of("none", lambda row: row["one_way"])), 0.8),
        ),
        (
            "second replicate, beside the first",
            "the same answer for at least 95%",
            _above(agreement(same), 0.95),
        ),
        (
            "second replicate: aperiodic, fewer than 3,000 elements",
            "the same answer for at least 99%",
            _above(agreement(pairs(usual, again, aperiodic, small)), 0.99),
        ),
        (
            "letters that stay out of sinks: aperiodic, fewer than 3,000 elements",
            "at least 97% learned",
            _above(learned(feasible.of(sine, aperiodic, small)), 0.97),
        ),
    )
    return [Prediction(19 + place, *one[:2], *one[2]) for place, one in enumerate(outcomes)]


def pairs(first: Table, second: Table, *tests: Test) -> list[tuple[Row, Row]]:
    """The rows of both tables for each automaton that the second has, with sinusoidal positions."""
    known = {row["automaton"]: row for row in first.of("sinusoidal", *tests)}
    return [
        (known[row["automaton"]], row) for row in second.of("sinusoidal", *tests) if row["automaton"] in known
    ]


def agreement(both_rows: Sequence[tuple[Row, Row]]) -> Share:
    """How many automata have the same answer twice."""
    return Share(sum(one["learned"] == other["learned"] for one, other in both_rows), len(both_rows))


def _above(share: Share, low: float) -> tuple[bool | None, str]:
    return bounded(share, low), str(share)


def _fewer(both_rows: Sequence[tuple[Row, Row]]) -> tuple[bool | None, str]:
    before = Share(sum(one["learned"] for one, _ in both_rows), len(both_rows))
    after = Share(sum(other["learned"] for _, other in both_rows), len(both_rows))
    new = sum(other["learned"] and not one["learned"] for one, other in both_rows)
    right = None if not after.hits else after.hits < before.hits and new <= MOST_NEW * after.hits
    return right, f"{after}, at 32 letters {before}; {new} at 64 alone"


def _by_g0(table: Table) -> tuple[bool | None, str]:
    groups = table.of("sinusoidal", lambda row: row["kind"] == "groups")
    abelian = learned([row for row in groups if row["g0_derived"] == 1])
    other = learned([row for row in groups if row["g0_derived"] > 1])
    rights = bounded(abelian, 0.5), bounded(other, 0.0, 0.05)
    right = False if False in rights else None if None in rights else True
    return right, f"abelian {abelian}; else {other}"
