"""Each claim of the paper beside the measurements: numbers from the records, verdicts by rules.

Every claim is a function of the records in results/; those about depth are in `depth_claims.py`. It gives a
verdict and one sentence with the numbers that decide it. Networks that have not learned their task are no
evidence: a claim whose runs are missing, or have learned nothing, is "not reached". A claim of several parts
is "partly" if some part holds, and "contradicted" only if every part was tested and none holds; one task
alone decides that S5 needs the most layers (against it), and that more patience can help (for it).
`python tools/published_tables.py` writes the tables into results/findings.md and docs/findings.md.
"""

from collections.abc import Callable, Mapping
from statistics import fmean

from claim_evidence import (
    COMPARISONS,
    CONTRADICTED,
    LEVEL,
    MEMORIES,
    NOT_REACHED,
    PARTLY,
    REPRODUCED,
    Gain,
    Missing,
    Records,
    Verdict,
    among,
    clearly,
    luck,
    per_cent,
    weigh,
)
from depth_claims import (
    a4_needs_more_than_a5,
    everything_is_learned,
    memories_are_easiest,
    non_abelian_groups_need_more,
    q8_is_harder_than_d8,
    s5_needs_most,
)

from krohn.lab.experiments.experiment import Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes import stability
from krohn.lab.experiments.recipes.depth import DEPTHS, DOUBLING_DEPTH
from krohn.lab.experiments.recipes.generalization import (
    GPT,
    GPT_BOS,
    LSTM,
    NO_POSITIONS_BOS,
    RECENCY,
    SCRATCHPAD,
    SHIFTED_BOS,
)
from krohn.lab.experiments.recipes.incomplete import LSTM_LONGER, MUON, TASKS
from krohn.lab.experiments.recipes.indirect import COLUMNS, HARD
from krohn.lab.experiments.store import Store
from krohn.lab.experiments.summary import SOLVED, mean_and_error

DIFFERENCE = 0.01  # of the letters, from which the best and the median replicate differ much


def best_and_median_differ(records: Records) -> Verdict:
    rows = [row for row in records.maps if row["solved"] and not row["halved"] and not row["partial"]]
    if not rows:
        raise Missing("medians")
    differ = [row for row in rows if row["max_accuracy"] - row["median_accuracy"] >= DIFFERENCE]
    each = [
        f"{row['task']} with {row['depth']} layers {per_cent(row['max_accuracy'])} and "
        f"{per_cent(row['median_accuracy'])}"
        for row in differ
    ]
    text = f"cells whose replicates were all trained to the end and whose best passes 99%: {len(rows)}. Best "
    text += f"and median differ by a point or more in {len(differ)}: {', '.join(each) or 'none'}"
    return weigh(row in differ for row in rows), text


def training_is_unstable(records: Records) -> Verdict:
    """A task is unstable if a replicate of a run that learns it loses more than ten points again."""
    rows = records.rows("curves")
    if not rows:
        raise Missing("curves")
    learned = [row for row in rows if row["max_accuracy"] >= SOLVED]
    drops = {task: [row["largest_drop"] for row in learned if row["task"] == task] for task in ("C2", "S5")}
    parts = [max(own) > 0.1 if own else None for own in drops.values()]
    names = [row["task"] + (f" ({row['sheet']})" if "sheet" in row else "") for row in rows]
    each = [f"{name} {100 * row['largest_drop']:.1f}" for name, row in zip(names, rows, strict=True)]
    unsolved = [name for name, row in zip(names, rows, strict=True) if row not in learned]
    text = (
        f"the most that a replicate loses again, in points of held-out accuracy: {', '.join(each)}. C2 at a "
    )
    text += "constant rate, the others on a falling one unless stated"
    text += f"; not learned in these runs: {among(unsolved)}" if unsolved else ""
    return weigh(parts), text


def dropout_helps_groups(records: Records) -> Verdict:
    gains = [records.gain(task, "long training", "residual and attention .1") for task in ("D8", "Q8")]
    without = records.gain("D8", "long training", "residual .1")
    text = f"GPT-2's dropout, attention included, after 1,000,000 words at T = 40: {gains[0]}, {gains[1]}; "
    text += f"on the residual stream alone {without}"
    return weigh(gain.helps for gain in gains), text


def dropout_hurts_memories(records: Records) -> Verdict:
    gains = [records.gain(task, "dropout", 0.1) for task in MEMORIES]
    return weigh(gain.hurts for gain in gains), ", ".join(map(str, gains))


def averaging_helps(records: Records) -> Verdict:
    tasks = ("D8", "Q8", "Grid9")
    gains = {decay: [records.gain(task, "EMA", decay) for task in tasks] for decay in stability.EMA}
    text = "; ".join(f"decay {decay}: {', '.join(map(str, own))}" for decay, own in gains.items())
    return weigh(gain.helps for own in gains.values() for gain in own), text


def patience_helps(records: Records) -> Verdict:
    """Reproduced if patience 2 hurts one learned task; contradicted if it helps all of two or more."""
    gains = [records.gain(task, "patience", 2) for task in ("D8", "Q8", "Grid9")]
    text = f"patience 2 against 32, within 80,000 words: {', '.join(map(str, gains))}"
    learned = [gain for gain in gains if gain.learned]
    if any(gain.hurts for gain in learned):
        return REPRODUCED, text
    doubted = len(learned) >= 2 and all(gain.helps for gain in learned)
    return CONTRADICTED if doubted else NOT_REACHED, text


def heads_look_at_walls(records: Records) -> Verdict:
    """Only heads of the first and of the last layer count for what the claim says of these layers."""
    networks = records.heads()
    if not networks:
        raise Missing("attention")
    last = max(head.layer for heads in networks for head in heads)
    uniform = min(max(head.uniform for head in heads if head.layer == 0) for heads in networks)
    walls = min(
        max(getattr(head, side) for head in heads if head.layer == last)
        for heads in networks
        for side in ("left", "right")
    )
    both = [sum(head.kind == "both" for head in heads) for heads in networks]
    walled = ("both", "left", "right")
    before = [head.before for heads in networks for head in heads if head.kind in walled]
    text = f"in each of {len(networks)} networks a head of the first layer attends uniformly (score at least "
    text += f"{uniform:.2f}), and heads of the last to the last left and the last right wall (at least "
    text += f"{walls:.2f})"
    if before:
        text += f"; but {min(both)} to {max(both)} detectors follow either wall, and a detector puts "
        text += f"{100 * min(before):.0f} to {100 * max(before):.0f}% of its attention before it, which "
        text += "Theorem 3 would forget"
    return weigh([uniform > 0.5, walls > 0.5, max(before) <= 0.05 if before else None]), text


def observations_suffice(records: Records) -> Verdict:
    rows = {(row["task"], row["model"]): row for row in records.rows("indirect")}
    gpt = {name: rows.get((name, GPT)) for name in COLUMNS}
    if any((name, LSTM) not in rows for name in COLUMNS):
        raise Missing("indirect")
    lstm = min(rows[name, LSTM]["max_accuracy"] for name in COLUMNS)
    reached = {name: row for name, row in gpt.items() if row is not None}
    good = [name for name, row in reached.items() if row["max_accuracy"] >= 0.996]
    each = ", ".join(f"{name} {per_cent(row['max_accuracy'])}" for name, row in reached.items())
    missing = [name for name in gpt if name not in reached]
    text = f"at least 99.6% in {len(good)} of 7 columns: {each}. LSTM at least {per_cent(lstm)} in all seven"
    for way, setting in (("curriculum", "curriculum"), ("Muon", "optimizer")):
        own = [name for name in reached if setting in HARD.get(name, {})]
        text += f". By {way}: {among(own)}" if own else ""
    text += f". Not measured on test words: {among(missing)}" if missing else ""
    # GPT can fail a column that the LSTM learns. From 99 to 99.6% it is open: fewer words than the paper's.
    parts = [
        True
        if name in good
        else False
        if row is not None and row["max_accuracy"] < SOLVED <= rows[name, LSTM]["max_accuracy"]
        else None
        for name, row in gpt.items()
    ]
    return weigh([*parts, lstm >= 0.9995 if lstm >= SOLVED else None]), text


LABEL_WORDS = 1_000_000  # that a network reads before it counts as one that fewer labels do not teach


def labels_may_be_few(records: Records) -> Verdict:
    def of(task: str, *models: str) -> list[Row]:
        """The cells of the model that most replicates learn from all labels; of several such, the last."""
        found: list[list[Row]] = [[]]
        for model in models:
            own = [row for row in records.rows("incomplete") if (row["task"], row["model"]) == (task, model)]
            found += [own] if len(own) > 1 else []
        return max(found[::-1], key=share_that_learns)

    def summary(rows: list[Row]) -> str:
        return ", ".join(f"{per_cent(row['max_accuracy'])} from {row['reveal']:g}" for row in rows)

    s5, c2 = of("S5", GPT), of("C2", GPT, MUON)
    lstm_s5, lstm_c2 = of("S5", LSTM, LSTM_LONGER), of("C2", LSTM)
    four = s5, c2, lstm_s5, lstm_c2
    if min(map(len, four)) < 2:
        raise Missing("incomplete")
    # One measure for all four; the paper has the first degrade, and the others not. Against the paper counts
    # what most replicates learn from all labels, and not from few.
    worse = [degrades(rows) for rows in four]
    worse[1:] = [
        None if one and share_that_learns(rows) <= 0.5 else one
        for one, rows in zip(worse[1:], four[1:], strict=True)
    ]
    parts = [worse[0], *(None if one is None else not one for one in worse[1:])]
    words = [weigh([part]) for part in parts]
    text = f"share of labels shown; GPT on S5 (T = 40, 8 layers, by curriculum): {summary(s5)}: {words[0]}. "
    text += f"At T = 100 by Muon: {summary(longer)}. " if (longer := of("S5", MUON)) else ""
    layers = DOUBLING_DEPTH if c2[0]["model"] == MUON else TASKS["C2"]["layers"][Scale.SMALL]
    text += f"{c2[0]['model']} on C2 (T = 100, {layers} layers): {summary(c2)}: {words[1]} after "
    text += (
        f"{c2[-1]['sequences']:,} words ({c2[0]['reached']} of {c2[0]['replicates']} replicates pass with "
    )
    text += (
        f"all labels). LSTM on S5: {summary(lstm_s5)}: {words[2]} after {lstm_s5[-1]['sequences']:,} words "
    )
    text += f"(a failure counts from {LABEL_WORDS:,}); on C2: {summary(lstm_c2)}: {words[3]}"
    return weigh(parts), text


def share_that_learns(rows: list[Row]) -> float:
    """The share of replicates that pass from all labels; 0 if there are no cells."""
    return float(rows[0]["reached"]) / float(rows[0]["replicates"]) if rows else 0.0


def degrades(rows: list[Row]) -> bool | None:
    """Whether the fewest labels cost ten points or more of a task that all of them teach.

    False if it is still learned; None between, if it was not learned from all labels, and if it fails after
    too few words to say.
    """
    first, last = rows[0]["max_accuracy"], rows[-1]["max_accuracy"]
    if first < SOLVED:
        return None
    if last < first - 0.1:
        return True if rows[-1]["sequences"] >= LABEL_WORDS else None
    return False if last >= SOLVED else None


def other_coins_break_it(records: Records) -> Verdict:
    gpt, *recurrent = (records.row("ood", model=name) for name in (GPT, LSTM, RECENCY))
    worst = min(row["worst_by_probability"] for row in recurrent)
    text = f"means over replicates: GPT {per_cent(gpt['mean_accuracy'])} at .5 and "
    text += f"{per_cent(gpt['worst_by_probability'])} at {gpt['at_probability']}; "
    text += f"LSTM and scratchpad + recency at least {per_cent(worst)}"
    fails = gpt["worst_by_probability"] < gpt["mean_accuracy"] - 0.1 if gpt["reached"] else None
    holds = worst > SOLVED if all(row["mean_accuracy"] >= SOLVED for row in recurrent) else None
    return weigh([fails, holds]), text


def few_ones_are_harder(records: Records) -> Verdict:
    """Words of 40 letters with as many ones as others have zeros, by Student's paired test."""
    row, by_ones = records.row("ood", model=GPT), records.by_ones(GPT)
    if len(by_ones.get(2, ())) < 2:
        raise Missing("C2")
    lost = [many - few for few, many in zip(by_ones[2], by_ones[38], strict=True)]
    mean, error = mean_and_error(lost)
    gain = Gain("C2", mean, error, sum(one > 0 for one in lost), len(lost), best=1.0)
    text = f"the {row['reached']} of {row['replicates']} replicates that solve C2 have "
    text += ", ".join(f"{per_cent(fmean(by_ones[place]))} at {place} ones" for place in (2, 4, 36, 38, 40))
    return weigh([gain.helps]), text


def shifted_positions_help(records: Records) -> Verdict:
    """Against sinusoidal positions with the same BOS token, not against GPT without one; an exact test."""
    shifted, gpt = (records.row("ood", model=name) for name in (SHIFTED_BOS, GPT_BOS))
    own, others = (records.by_ones(name) for name in (SHIFTED_BOS, GPT_BOS))
    if not (own and others):
        raise Missing("C2")
    places = (2, 4, 8)
    level = LEVEL / len(places)
    parts = [
        True
        if luck(own[place], others[place]) <= level
        else False
        if luck(others[place], own[place]) <= level
        else None
        for place in places
    ]
    text = f"with a BOS token: the {shifted['reached']} of {shifted['replicates']} replicates that solve C2, "
    text += f"against {gpt['reached']} of {gpt['replicates']} with sinusoidal positions and the same token: "
    text += ", ".join(
        f"{per_cent(fmean(own[place]))} against {per_cent(fmean(others[place]))} at {place} ones"
        + ("" if part is not None else " (may be chance)")
        for place, part in zip(places, parts, strict=True)
    )
    return weigh(parts), text


def only_recurrences_hold(records: Records) -> Verdict:
    """Only networks that have learned the trained length count."""
    rows = [row for row in records.rows("length") if row["reached"]]
    recurrent = [row for row in rows if row["model"] in (LSTM, RECENCY)]
    others = [row for row in rows if row["model"] not in (LSTM, RECENCY)]
    if len(recurrent) < 4 or {row["task"] for row in others} < {"Dyck4,2", "C2"}:
        raise Missing("length")
    worst = min(row["mean_at_128"] for row in recurrent)
    best = {
        task: max(row["mean_at_128"] for row in others if row["task"] == task) for task in ("Dyck4,2", "C2")
    }
    names = sorted({row["model"] for row in others})
    text = f"at 128 letters LSTM and scratchpad + recency have at least {per_cent(worst)}, the others ("
    text += (
        f"{'; '.join(names)}) at most {per_cent(best['Dyck4,2'])} on Dyck4,2 and {per_cent(best['C2'])} on C2"
    )
    return weigh([worst > SOLVED, max(best.values()) < SOLVED]), text


def recency_is_necessary(records: Records) -> Verdict:
    """A scratchpad without recency gains nothing at greater length."""
    parts: list[bool | None] = []
    words = []
    for task in ("Dyck4,2", "C2"):
        alone, gpt = (records.row("length", task=task, model=name) for name in (SCRATCHPAD, GPT))
        learned = alone["reached"] and gpt["reached"]
        parts.append(alone["mean_at_128"] <= gpt["mean_at_128"] + 0.05 if learned else None)
        words.append(f"{task} {per_cent(alone['mean_at_128'])} against {per_cent(gpt['mean_at_128'])}")
    return weigh(parts), f"scratchpad without recency against GPT, at 128 letters: {'; '.join(words)}"


def no_positions_help(records: Records) -> Verdict:
    words: list[str] = []
    parts: list[bool | None] = []
    for task in ("Dyck4,2", "C2"):
        without, gpt = (records.row("length", task=task, model=name) for name in (NO_POSITIONS_BOS, GPT))
        learned = without["reached"] and gpt["reached"]
        parts.append(clearly(without["mean_at_128"] - gpt["mean_at_128"], 0.05) if learned else None)
        words.append(
            f"{task} {per_cent(without['mean_at_80'])} and {per_cent(without['mean_at_128'])} "
            f"at 80 and 128 letters against {per_cent(gpt['mean_at_80'])} and {per_cent(gpt['mean_at_128'])}"
        )
    text = "no positions with a BOS token, against sinusoidal ones without it: "
    return weigh(parts), text + "; ".join(words)


def linear_positions_extrapolate(records: Records) -> Verdict:
    words: list[str] = []
    parts: list[bool | None] = []
    for task in ("Grid9", "abab accept"):
        linear, waves = (
            records.row("positions", task=task, positions=name) for name in ("linear", "sinusoidal")
        )
        lost = [row["mean_at_T"] - row["mean_at_2T"] for row in (linear, waves)]
        learned = linear["reached"] and waves["reached"]
        parts.append(clearly(lost[1] - lost[0], 0.02) if learned else None)
        words.append(
            f"{task} {per_cent(linear['mean_at_T'])} and {per_cent(linear['mean_at_2T'])} at T and 2T "
            f"against {per_cent(waves['mean_at_T'])} and {per_cent(waves['mean_at_2T'])}"
        )
    return weigh(parts), f"linear against sinusoidal: {'; '.join(words)}"


CLAIMS: dict[str, Callable[[Records], Verdict]] = {
    "all 19 automata pass 99% at some depth (T = 100), by standard training": everything_is_learned,
    "non-abelian groups need more layers than abelian ones": non_abelian_groups_need_more,
    "S5 needs the most layers": s5_needs_most,
    "semigroups without groups are the easiest": memories_are_easiest,
    "Q8 is harder than D8, which has as many elements": q8_is_harder_than_d8,
    "A4 needs more layers than A5": a4_needs_more_than_a5,
    "the best and the median replicate differ much": best_and_median_differ,
    "training is unstable": training_is_unstable,
    "dropout .1 helps D8 and Q8": dropout_helps_groups,
    "dropout .1 hurts Dyck and Grid": dropout_hurts_memories,
    "EMA helps, whatever its decay": averaging_helps,
    "more patience can help": patience_helps,
    "uniform heads in the first layer, boundary heads in the last, which need nothing before the "
    "boundary": heads_look_at_walls,
    "observations: at least 99.6% in every column; LSTM 100%": observations_suffice,
    "incomplete labels: GPT degrades on S5, not on C2; LSTM does not": labels_may_be_few,
    "GPT fails away from Pr[1] = .5, recurrent networks do not": other_coins_break_it,
    "GPT fails more at low counts of ones than at high ones": few_ones_are_harder,
    "shifted positions help at low counts": shifted_positions_help,
    "only LSTM and scratchpad + recency hold beyond the trained length": only_recurrences_hold,
    "a scratchpad without recency gains nothing at greater length": recency_is_necessary,
    "removing positions helps at greater length": no_positions_help,
    "linear positions lose less from T to 2T": linear_positions_extrapolate,
}


def judged(store: Store) -> dict[str, Verdict]:
    """Every claim with its verdict and its numbers."""
    records, verdicts = Records(store), {}
    for claim, judge in CLAIMS.items():
        try:
            verdicts[claim] = judge(records)
        except Missing:
            verdicts[claim] = NOT_REACHED, "not measured on test words"
    return verdicts


# Rules that were changed on 17 and 18 November with all results known; for the second a control was run.
CHANGED = (
    everything_is_learned,
    non_abelian_groups_need_more,
    s5_needs_most,
    memories_are_easiest,
    shifted_positions_help,
    few_ones_are_harder,
    no_positions_help,
    linear_positions_extrapolate,
    labels_may_be_few,
    observations_suffice,
    q8_is_harder_than_d8,
    a4_needs_more_than_a5,
    dropout_helps_groups,
    dropout_hurts_memories,
    averaging_helps,
    patience_helps,
    heads_look_at_walls,
)
VERDICTS = (REPRODUCED, PARTLY, CONTRADICTED, NOT_REACHED)
# Which claims an experiment decides: those of the map's depths first.
ABOUT: dict[str, tuple[Callable[[Records], Verdict], ...]] = {
    "depth": (
        everything_is_learned,
        non_abelian_groups_need_more,
        s5_needs_most,
        memories_are_easiest,
        q8_is_harder_than_d8,
        a4_needs_more_than_a5,
        best_and_median_differ,
    ),
    "curves": (training_is_unstable,),
    "stability": (dropout_helps_groups, dropout_hurts_memories, averaging_helps, patience_helps),
    "attention": (heads_look_at_walls,),
    "indirect": (observations_suffice,),
    "incomplete": (labels_may_be_few,),
    "ood": (other_coins_break_it, few_ones_are_harder, shifted_positions_help),
    "length": (only_recurrences_hold, recency_is_necessary, no_positions_help),
    "positions": (linear_positions_extrapolate,),
}


def verdict_of(experiment: str, verdicts: Mapping[str, Verdict]) -> str:
    """The verdicts on an experiment's claims: one word, or how many have each."""
    words = [verdicts[claim][0] for claim, rule in CLAIMS.items() if rule in ABOUT[experiment]]
    if len(set(words)) == 1:
        return words[0] if len(words) == 1 else f"all {len(words)} {words[0]}"
    return ", ".join(f"{words.count(word)} {word}" for word in VERDICTS if word in words)


def claims_by_verdict(store: Store) -> str:
    """A row for each verdict: how many claims have it, and which."""
    verdicts = judged(store)
    lines = ["| verdict | claims of the paper |", "| --- | --- |"]
    for word in VERDICTS:
        own = [claim for claim, (verdict, _) in verdicts.items() if verdict == word]
        lines.append(f"| **{word}** ({len(own)}) | {' · '.join(own)} |")
    return "\n".join(lines)


def claims_table(store: Store) -> str:
    """The table of the claims, and the number of each verdict."""
    verdicts = judged(store)
    lines = ["| claim of the paper | verdict | what was measured here |", "| --- | --- | --- |"]
    changed = {claim for claim, rule in CLAIMS.items() if rule in CHANGED}
    lines += [
        f"| {claim}{'*' if claim in changed else ''} | **{word}** | {text} |"
        for claim, (word, text) in verdicts.items()
    ]
    counts = [f"{sum(verdict == word for verdict, _ in verdicts.values())} {word}" for word in VERDICTS]
    lines += ["", f"Of the {len(verdicts)} claims: {', '.join(counts)}."]
    lines += [
        "",
        "Every rule was written after the first runs of its experiment had been seen (those of 15 November; "
        "the rules are of the 16th), so no verdict is the test of a prediction. Rules with * were changed on "
        f"the 17th and 18th, with the outcome known: one measure for all models, {COMPARISONS} comparisons "
        "corrected for (Bonferroni, Student's paired test), exact tests of replicates wherever least depths "
        "are compared and for shifted positions, a control with the same BOS token, heads weighed like the "
        "parts of other claims and in the layers that the claim names, few ones compared with as few zeros, "
        "no word on differences within the margin of a rule, and for the first claim a way to fail: an "
        "automaton counts against it if no recipe learns "
        f"it and each depth up to {max(DEPTHS[Scale.PAPER])} was run by `krohn reproduce depth --scale "
        "paper`. On the 19th two more, after a referee's remark: A4 against A5 is decided by the paper's "
        "optimiser alone, and that fewer labels do not teach counts only after a million words, for what "
        "most replicates learn from all labels. The exact test came last to the claims about all non-abelian "
        "groups, S5 and semigroups "
        "without groups. Without it S5 would be *reproduced*, since S4 passes with 7 layers in 2 of 6 "
        "replicates and S5 in none of 6; semigroups without groups would be *partly*, since by AdamW 1 of 6 "
        "passes on C2 and on C5 with one layer, and none on Grid9 and Dyck4,2; shifted positions would be "
        "*reproduced*, by the means of three replicates and eight.",
        "",
        "A claim of several parts is *reproduced* if all hold, *partly* if some do, *contradicted* if all "
        "were tested and none holds, and otherwise *not reached*. Two claims are decided by one automaton: "
        "that S5 needs the most layers, contradicted by one that needs at least as many, and that more "
        "patience can help, reproduced by one that it helps.",
    ]
    return "\n".join(lines)
