"""Can it, with so many layers and steps: what the algebra decides, against witnesses and brute force."""

from every import every
from krohn.recurrent.capability import capability


@every(
    ("spec", "family", "layers", "steps", "can"),
    [
        ("C2", "diagonal [0, 1]", 5, 1, False),
        ("C2", "diagonal [-1, 1]", 1, 1, True),
        ("D8", "diagonal [-1, 1]", 1, 1, False),
        ("D8", "diagonal [-1, 1]", 2, 1, True),
        ("S4", "diagonal complex", 2, 1, False),
        ("S4", "diagonal complex", 3, 1, True),
        ("S3:all", "DeltaProduct", 1, 1, False),
        ("S3:all", "DeltaProduct", 1, 2, True),
        ("S3:all", "DeltaNet [0, 1]", 1, 2, False),
        ("S5:adjacent", "DeltaNet [0, 2]", 1, 1, True),
        ("S5:minimal", "DeltaProduct", 1, 2, None),
        ("WriteOnce2", "DeltaProduct", 1, 2, None),
        ("WriteOnce2", "DeltaProduct", 2, 2, True),
        ("WriteOnce2", "diagonal [0, 1]", 2, 1, True),
        ("S5", "GRU", 1, 1, True),
    ],
)
def test_the_answer(spec: str, family: str, layers: int, steps: int, can: bool | None) -> None:
    result, why = capability(spec, family.lower(), layers, steps)
    assert result is can
    assert bool(why) is (can is not True)


def test_what_is_open_or_has_no_margin_says_so() -> None:
    assert capability("WriteOnce2", "DeltaProduct", 1, 2)[1] == (
        "only with a margin that shrinks: 1 and 2 are idempotents with one image"
    )
    assert capability("S5:minimal", "DeltaProduct", 1, 2)[1] == (
        "known to suffice: 1 layer of 4 steps a letter; not decided here: 1 layer of 2 steps a letter"
    )
    assert "drive" in capability("D6", "DeltaProduct", 1, 1)[1]
