"""The paper's claims about how many layers each automaton needs, judged by the map of learned depths."""

from collections.abc import Sequence

from claim_evidence import (
    ABELIAN,
    CONTRADICTED,
    SHEETS,
    Missing,
    Records,
    Verdict,
    among,
    by_recipe,
    depths_of,
    needs_more,
    per_cent,
    weigh,
)

from krohn.lab.experiments.experiment import Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes.depth import COLUMN, DEEP, DEPTHS, MUON, NON_ABELIAN, WHOLE
from krohn.lab.experiments.recipes.depth import MEMORIES as APERIODIC
from krohn.lab.experiments.settings import TASKS

ADAMW = (WHOLE, DEEP)
"""The sheets by the paper's optimiser."""


def everything_is_learned(records: Records) -> Verdict:
    """A task counts if some recipe learns it; the text says which, since not every one learns all 19.

    It fails if none does and the paper's scale was run with every depth: with fewer words, replicates or
    layers than the paper's it is open.
    """
    paper = [row | {"sheet": "the paper's scale"} for row in records.rows("depth", Scale.PAPER)]
    rows = [*records.maps, *paper]
    fewest: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: int(row["depth"])):
        if row["solved"]:
            fewest.setdefault(row["task"], row)
    failed = [task for task in TASKS if task not in fewest and every_depth_was_tried(paper, task)]
    if not fewest and not failed:
        raise Missing("depth")
    kinds = {(row["depth"], row["sheet"]) for row in fewest.values()}
    learned = "; ".join(
        f"{among([task for task in TASKS if task in fewest and of(fewest[task]) == kind])} with {kind[0]}"
        f" ({COLUMN.get(kind[1], kind[1])})"
        for kind in sorted(kinds)
    )
    best = [
        max(own, key=lambda row: float(row["max_accuracy"]))
        for task in TASKS
        if task not in fewest and (own := [row for row in rows if row["task"] == task])
    ]
    rest = ", ".join(
        f"{row['task']} {per_cent(row['max_accuracy'])} with {row['depth']} after {row['sequences']:,} words"
        for row in best
    )
    text = f"{len(fewest)} of 19 on whole words" + (f" (layers: {learned}). " if learned else ". ")
    text += f"Not at 99%: {rest}. " if rest else ""
    text += f"With every depth at the paper's scale: {among(failed)}. " if failed else ""
    tried = {row["task"] for row in rows}
    text += "".join(f"{task} was not tried. " for task in TASKS if task not in tried)
    alone = {
        sheet: {row["task"] for row in records.maps if row["solved"] and row["sheet"] == sheet}
        for sheet in SHEETS
    }
    text += "By one recipe: " + ", ".join(f"{len(own)} ({COLUMN[sheet]})" for sheet, own in alone.items())
    deep = {row["task"] for row in records.maps if row["solved"] and row["sheet"] == DEEP} - alone.get(
        WHOLE, set()
    )
    text += f"; with 12 or 16 layers by AdamW also {among(sorted(deep, key=TASKS.index))}" if deep else ""
    words = [row["word_accuracy"] for row in rows if row["solved"]]
    if words:
        text += f". Networks that pass have {per_cent(min(words))} to {per_cent(max(words))} word accuracy"
    return weigh(True if task in fewest else False if task in failed else None for task in TASKS), text


def every_depth_was_tried(rows: Sequence[Row], task: str) -> bool:
    """Whether the rows have every depth of the paper, each trained to its last word."""
    return {row["depth"] for row in rows if row["task"] == task and not row["partial"]} >= set(
        DEPTHS[Scale.PAPER]
    )


def of(row: Row) -> tuple[int, str]:
    return int(row["depth"]), str(row["sheet"])


def non_abelian_groups_need_more(records: Records) -> Verdict:
    """Each non-abelian group is compared with every abelian group, by the same recipe."""

    def against(rows: Sequence[Row], task: str) -> bool | None:
        answers = [needs_more(rows, task, other) for other in ABELIAN]
        return None if None in answers and False not in answers else False not in answers

    parts = {task: by_recipe(records, lambda rows, t=task: against(rows, t)) for task in NON_ABELIAN}
    decided = [task for task, part in parts.items() if part is not None]
    count = sum(part is True for part in parts.values())
    text = (
        f"known to need more layers than each of the nine abelian groups by the same recipe: {count} of seven"
    )
    text += f" ({depths_of(records, decided)})" if decided else ""
    open_ones = [task for task, part in parts.items() if part is None]
    text += f"; open: {depths_of(records, open_ones)}" if open_ones else ""
    return weigh(parts.values()), text


def s5_needs_most(records: Records) -> Verdict:
    others = [task for task in TASKS if task != "S5"]
    parts = [by_recipe(records, lambda rows, t=task: needs_more(rows, "S5", t)) for task in others]
    text = (
        f"{depths_of(records, ['S5'])}; known to need more layers than {parts.count(True)} of the 18 others, "
    )
    text += f"and no more than {parts.count(False)}; open: {parts.count(None)}"
    verdict = CONTRADICTED if False in parts else weigh(parts)
    return verdict, text


def memories_are_easiest(records: Records) -> Verdict:
    """No semigroup without groups needs more layers than a group."""
    groups = (*ABELIAN, *NON_ABELIAN)
    answers = {
        (memory, group): by_recipe(records, lambda rows, m=memory, g=group: needs_more(rows, m, g))
        for memory in APERIODIC
        for group in groups
    }
    beaten = [f"{memory} more than {group}" for (memory, group), more in answers.items() if more]
    known = [not more for more in answers.values() if more is not None]
    text = f"least depths: {depths_of(records, APERIODIC)}. {sum(known)} of {len(answers)} comparisons "
    text += f"with groups hold; open (undecided, or the recipes disagree): {len(answers) - len(known)}"
    text += f"; against it: {', '.join(beaten)}" if beaten else ""
    return weigh([None if more is None else not more for more in answers.values()]), text


def q8_is_harder_than_d8(records: Records) -> Verdict:
    part = by_recipe(records, lambda rows: needs_more(rows, "Q8", "D8"))
    return weigh([part]), depths_of(records, ("D8", "Q8"))


def a4_needs_more_than_a5(records: Records) -> Verdict:
    """By the paper's optimiser alone: that Muon's least depths are otherwise says nothing against it."""
    part = by_recipe(records, lambda rows: needs_more(rows, "A4", "A5"), ADAMW)
    other = weigh([by_recipe(records, lambda rows: needs_more(rows, "A4", "A5"), (MUON,))])
    passed = [
        f"{row['task']} with {row['depth']} layers {row['reached']} of {row['replicates']}"
        for row in records.maps
        if row["sheet"] in ADAMW and row["task"] in ("A4", "A5") and row["depth"] >= 8
    ]
    text = f"depends on the recipe: by AdamW, the paper's optimiser, {among(passed)} pass; " if passed else ""
    return weigh([part]), f"{text}by Muon alone it would be {other}: {depths_of(records, ('A4', 'A5'))}"
