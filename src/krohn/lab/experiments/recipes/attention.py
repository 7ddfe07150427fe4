"""Heads of trained Grid9 networks: sums and boundary detectors, found by their scores (Figures 4 and 9)."""

from collections.abc import Iterator, Sequence
from typing import Any

from krohn.lab.experiments.experiment import Experiment, Figures, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.settings import Settings, by_scale, plan_product
from krohn.lab.experiments.summary import note_on
from krohn.lab.figures.charts import AttentionMap, attention_maps
from krohn.lab.interpret.attention import AttentionHeads, HeadScore, best_heads, score_from_row
from krohn.lab.interpret.packed_shares import unpack_shares

SETTINGS: Settings = {
    "length": by_scale(16, 128, 128),
    "layers": by_scale(2, 4, 4),
    "sequences": by_scale(8 * 40, 240_000, 600_000),
    "replicates": by_scale(2, 8, 20),
    "lr": by_scale((3e-3,), (3e-4, 1e-4), (3e-4, 1e-4)),
    "measured": by_scale((AttentionHeads(length=16, words=8),), (AttentionHeads(),), (AttentionHeads(),)),
}


def read_scores(cells: Sequence[ResultCell]) -> Iterator[tuple[Record, dict[str, Any], list[HeadScore]]]:
    """The replicates whose heads were scored, with what is stored of them; not those cut short."""
    for record in (record for cell in cells for record in cell.records):
        stored = record.evaluations.get("attention", {})
        if scores := [score_from_row(row) for row in stored.get("heads", ())]:
            yield record, stored, scores


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """For each replicate its best head of each kind: layer.head (1-based) and score."""
    rows = []
    for record, _, scores in read_scores(cells):
        row: Row = {"replicate": record.replicate, "accuracy": round(record.accuracy, 5)}
        for kind, head in best_heads(scores).items():
            row[kind] = f"{head.layer + 1}.{head.head + 1}"
            row[f"{kind}_score"] = getattr(head, kind)
        kinds = [score.kind for score in scores]
        row |= {f"{kind}_heads": kinds.count(kind) for kind in ("uniform", "both", "left", "right")}
        # Share of a detector's attention before the wall, where everything could be forgotten.
        before = [score.before for score in scores if score.kind in ("both", "left", "right")]
        row["before_the_wall"] = f"{min(before):.2f}–{max(before):.2f}" if before else ""
        rows.append(row | {"replicates": 1, "sequences": record.sequences})
    return rows


def draw(cells: Sequence[ResultCell], scale: Scale) -> Figures:
    """The best head of each kind, and the whole last layer, of the replicate with the clearest detectors."""
    stored, scores = next(
        ((stored, of) for _, stored, of in read_scores(cells) if "maps" in stored), ({}, [])
    )
    if not stored:
        return {}
    by_place = {(score.layer, score.head): score for score in scores}
    weights = {(kept["layer"], kept["head"]): unpack_shares(kept["weights"]) for kept in stored["maps"]}
    last = max(layer for layer, _ in weights)

    def shown(score: HeadScore, word: int, title: str, kind: str) -> AttentionMap:
        return AttentionMap(
            title=f"{title}layer {score.layer + 1}, head {score.head + 1}",
            weights=weights[score.layer, score.head][word],
            states=stored["states"][word],
            last_state=stored["last_state"],
            kind=kind,
        )

    words = range(len(stored["states"]))  # most informative first
    framed = {"uniform": ("uniform",), "left": ("left", "both"), "right": ("right", "both")}
    best = [
        shown(score, 0, f"{_title(score, kind)}\n", score.kind if score.kind in framed[kind] else "")
        for kind, score in best_heads(scores).items()
    ]
    layer = [
        shown(by_place[place], word, "", by_place[place].kind)
        for word in words
        for place in sorted(place for place in weights if place[0] == last)
    ]
    strips = "strips above the diagonal: state 0 white, last state grey"
    note = f"{note_on(cells, scale)}\n{strips}; scores are means over {stored['words']} words"
    one = "drawn: one word, of those kept the one that goes from wall to wall most often"
    several = f"drawn: the {len(words)} words kept, the one that goes from wall to wall most often first"
    return {
        "attention-best": attention_maps(best, columns=3, note=f"{note}\n{one}"),
        "attention-layer": attention_maps(layer, columns=4, note=f"{note}\n{several}"),
    }


def _title(score: HeadScore, kind: str) -> str:
    """The head's score, a detector's score for the other wall, and its attention before the last wall.

    Many heads follow whichever wall came last, and none ignores everything before it.
    """
    other = {"left": "right", "right": "left"}.get(kind)
    won = f"{kind} {getattr(score, kind):.2f}"
    return f"{won}, {other} {getattr(score, other):.2f}, before {score.before:.2f}" if other else won


EXPERIMENT: Experiment = Experiment(
    name="attention",
    title="Attention heads of Grid9 networks",
    claim="first-layer heads attend uniformly; last-layer heads attend to the last visit of a boundary",
    plan=lambda scale: plan_product(scale, {"task": ["Grid9"]}, SETTINGS),
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: "8 replicates, learning rates 1e-4 and 3e-4",
        Scale.PAPER: "20 replicates, learning rates 1e-4 and 3e-4",
    },
)
