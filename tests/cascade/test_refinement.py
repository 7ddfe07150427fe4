"""What the components of a cascade are made of: counters and memories, level by level."""

from cascade.random_automata import golden
from krohn.cascade.cascade_data import refine
from krohn.cascade.holonomy import holonomy_cascade


def test_refinement_lists_counters_and_memories_by_level() -> None:
    refined = refine(holonomy_cascade(golden("T4")))
    assert [part.counters for part in refined] == [((2,), (3,), (2, 2)), ((2,), (3,)), ((2,),)]
    assert [part.memory for part in refined] == [4, 3, 2]
    assert refined[0].factors == ("C2", "C2", "C3", "C2")


def test_refinement_of_an_unsolvable_component_gives_its_factors() -> None:
    (part,) = refine(holonomy_cascade(golden("reg_A5")))
    assert part.counters is None
    assert part.factors == ("A5",)
    assert part.memory is None
