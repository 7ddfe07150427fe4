"""Each claim of the paper beside what was measured: the numbers from the records, the verdicts by rules.

Every claim is a function of the records in results/. It gives a verdict and one sentence with the numbers
that decide it; a claim whose runs are not there is "not reached".
`python benchmarks/published_tables.py` writes the table into docs/findings.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from krohn.experiments.all_experiments import EXPERIMENTS
from krohn.experiments.experiment import Cell, Row, cells_of
from krohn.experiments.recipes import stability
from krohn.experiments.recipes.depth import NON_ABELIAN
from krohn.experiments.recipes.indirect import COLUMNS, HARD
from krohn.experiments.recipes.variants import GPT, LSTM, NO_POSITIONS_BOS, RECENCY, SHIFTED_BOS
from krohn.experiments.scale import Scale
from krohn.experiments.settings import TASKS
from krohn.experiments.store import Store
from krohn.experiments.summary import SOLVED, mean_and_error

REPRODUCED, PARTLY, CONTRADICTED, NOT_REACHED = "reproduced", "partly", "contradicted", "not reached"
ABELIAN = tuple(task for task in TASKS if task.startswith("C"))
MEMORIES = ("Dyck4,2", "Grid9")


class Missing(Exception):
    """A run that a claim hangs on is not among the records."""


@dataclass
class Records:
    """The published records, as the rows and cells of the experiments."""

    store: Store
    _cells: dict[str, list[Cell]] = field(default_factory=dict)

    def rows(self, name: str) -> list[Row]:
        return EXPERIMENTS[name].table(self.cells(name))

    def cells(self, name: str) -> list[Cell]:
        if name not in self._cells:
            self._cells[name] = cells_of(self.store, name, Scale.SMALL)
        return self._cells[name]

    def row(self, name: str, **where: object) -> Row:
        for row in self.rows(name):
            if all(row.get(key) == value for key, value in where.items()):
                return row
        raise Missing(f"{name} {where}")

    @cached_property
    def maps(self) -> list[Row]:
        """Cells at 100 letters on whole words, of both depth maps."""
        rows = [row for name in ("depth", "uniform") for row in self.rows(name) if row["length"] == 100]
        return [row for row in rows if not row.get("curriculum") and row.get("sheet") != "curriculum"]

    def gain(self, task: str, factor: str, value: float | str) -> "Gain":
        """What a factor of `stability` changes, paired, in points."""
        found = {(cell.label["task"], cell.label["factor"], cell.label["value"]): cell for cell in
                 self.cells("stability")}  # fmt: skip
        try:
            cell, without = found[task, factor, value], found[task, factor, stability.OFF[factor]]
        except KeyError as error:
            raise Missing(f"stability {error}") from None
        points = stability.gains(cell, without)
        mean, error = mean_and_error(points)
        return Gain(task, mean, error, sum(one > 0 for one in points), len(points))


@dataclass(frozen=True)
class Gain:
    """A paired difference; it counts when it is more than two standard errors from zero."""

    task: str
    mean: float
    error: float
    better: int
    count: int

    def __str__(self) -> str:
        digits = 1 if abs(self.mean) >= 1 else 2
        size = f"{self.mean:+.{digits}f} ± {self.error:.{digits}f}".replace("-", "−")
        return f"{self.task} {size} ({self.better} of {self.count} gain)"

    @property
    def helps(self) -> bool:
        return self.mean > 2 * self.error

    @property
    def hurts(self) -> bool:
        return -self.mean > 2 * self.error


def per_cent(share: float) -> str:
    return f"{100 * share:.{2 if share > 0.99 else 1}f}%"


def among(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def all_or_some(count: int, total: int) -> str:
    return REPRODUCED if count == total else PARTLY if count else CONTRADICTED


Verdict = tuple[str, str]


def everything_is_learned(found: Records) -> Verdict:
    least: dict[str, int] = {}
    if not any(row["solved"] for row in found.maps):
        raise Missing("depth")
    for row in found.maps:
        if row["solved"]:
            least[row["task"]] = min(row["depth"], least.get(row["task"], 99))
    by_depth = [(depth, [task for task in TASKS if least.get(task) == depth]) for depth in range(1, 17)]
    learned = "; ".join(f"{among(tasks)} with {depth}" for depth, tasks in by_depth if tasks)
    best = [
        max((row for row in found.maps if row["task"] == task), key=lambda row: float(row["max_accuracy"]))
        for task in TASKS
        if task not in least and any(row["task"] == task for row in found.maps)
    ]
    rest = ", ".join(
        f"{row['task']} {per_cent(row['max_accuracy'])} with {row['depth']} after {row['sequences']:,} words"
        for row in best
    )
    words = [row["word_accuracy"] for row in found.maps if row["solved"]]
    text = f"{len(least)} of 19 on whole words (layers: {learned}). "
    text += f"Not at 99%: {rest}. " if rest else ""
    tried = {row["task"] for row in found.maps}
    text += "".join(f"{task} was not tried. " for task in TASKS if task not in tried)
    text += (
        f"Networks that pass have {100 * min(words):.0f} to {100 * max(words):.0f}% of the words all right"
    )
    return REPRODUCED if len(least) == len(TASKS) else PARTLY, text


def non_abelian_groups_need_more(found: Records) -> Verdict:
    rows = [row for row in found.maps if row.get("sheet") == "whole words"]
    solved = {(row["task"], row["depth"]) for row in rows if row["solved"]}
    most = max(min((d for t, d in solved if t == task), default=99) for task in ABELIAN)
    tried = {row["task"] for row in rows if row["task"] in NON_ABELIAN and row["depth"] >= most}
    if most == 99 or len(tried) < 2:
        raise Missing("depth of groups")
    shallow = [task for task, depth in solved if task in NON_ABELIAN and depth <= most]
    failed = [row for row in rows if row["task"] in tried and row["depth"] >= most and not row["solved"]]
    told = ", ".join(f"{row['task']} {per_cent(row['max_accuracy'])} with {row['depth']}" for row in failed)
    count = len({row["task"] for row in failed})
    which = "All seven others" if count == len(NON_ABELIAN) else f"Of the seven others {count}"
    text = f"one recipe for all: the nine abelian groups pass with at most {most} layers. "
    text += f"{which} fail with {most} layers or with more ({told})"
    rest = [task for task in NON_ABELIAN if task not in tried]
    text += f"; not tried: {among(rest)}" if rest else ""
    return CONTRADICTED if shallow else REPRODUCED, text


def s5_needs_most(found: Records) -> Verdict:
    rows = [row for row in found.maps if row["task"] == "S5"]
    if not rows:
        raise Missing("S5")
    told = ", ".join(f"{per_cent(row['max_accuracy'])} with {row['depth']}" for row in rows)
    return NOT_REACHED, f"S5 on whole words: {told} layers, after at most {rows[-1]['sequences']:,} words"


def training_is_unstable(found: Records) -> Verdict:
    drops = {row["task"]: row["largest_drop"] for row in found.rows("curves")}
    if "C2" not in drops:
        raise Missing("curves")
    told = [f"{task} {100 * drop:.1f}" for task, drop in drops.items()]
    text = (
        f"the most that a replicate loses again, in points of held-out accuracy: {', '.join(told)}. C2 at a "
    )
    text += "constant rate, the others on a falling one"
    return all_or_some(sum(drops.get(task, 0.0) > 0.1 for task in ("C2", "S5")), 2), text


def dropout_helps_groups(found: Records) -> Verdict:
    gains = [found.gain(task, "long training", "residual and attention .1") for task in ("D8", "Q8")]
    without = found.gain("D8", "long training", "residual .1")
    text = f"GPT-2's dropout, attention included, after 1,000,000 words at T = 40: {gains[0]}, {gains[1]}; "
    text += f"on the residual stream alone {without}"
    return all_or_some(sum(gain.helps for gain in gains), 2), text


def dropout_hurts_memories(found: Records) -> Verdict:
    gains = [found.gain(task, "dropout", 0.1) for task in MEMORIES]
    return all_or_some(sum(gain.hurts for gain in gains), 2), ", ".join(map(str, gains))


def averaging_helps(found: Records) -> Verdict:
    tasks = ("D8", "Q8", "Grid9")
    gains = {decay: [found.gain(task, "EMA", decay) for task in tasks] for decay in stability.EMA}
    text = "; ".join(f"decay {decay}: {', '.join(map(str, own))}" for decay, own in gains.items())
    helped = [gain.helps for own in gains.values() for gain in own]
    return all_or_some(sum(helped), len(helped)), text


def patience_helps(found: Records) -> Verdict:
    gains = [found.gain(task, "patience", 2) for task in ("D8", "Q8", "Grid9")]
    text = f"patience 2 against 32: {', '.join(map(str, gains))}"
    if any(gain.hurts for gain in gains):
        return REPRODUCED, text
    return (
        CONTRADICTED if any(gain.helps for gain in gains) else NOT_REACHED
    ), text + ", within 80,000 words"


def heads_look_at_walls(found: Records) -> Verdict:
    rows = found.rows("attention")
    if not rows:
        raise Missing("attention")
    uniform = min(row["uniform_score"] for row in rows)
    first = sum(row["uniform"].startswith("1.") for row in rows)
    walls = min(row[f"{side}_score"] for row in rows for side in ("left", "right"))
    both = [row["both_heads"] for row in rows]
    shares = [float(end) for row in rows for end in row["before_the_wall"].split("–")]
    text = f"in each of {len(rows)} networks a head attends uniformly (score at least {uniform:.2f}, "
    text += f"in the first layer in {first} of them) and "
    text += (
        f"others to the last wall (at least {walls:.2f}); but {min(both)} to {max(both)} detectors follow "
    )
    text += f"either wall, and a detector puts {100 * min(shares):.0f} to {100 * max(shares):.0f}% of its "
    text += "attention before it, which Theorem 3 would forget"
    return (PARTLY if min(shares) > 0.05 else REPRODUCED) if min(uniform, walls) > 0.5 else CONTRADICTED, text


def observations_suffice(found: Records) -> Verdict:
    rows = {(row["task"], row["model"]): row for row in found.rows("indirect")}
    gpt = {column.name: rows.get((column.name, GPT)) for column in COLUMNS}
    if not rows:
        raise Missing("indirect")
    lstm = min(rows[column.name, LSTM]["max_accuracy"] for column in COLUMNS)
    reached = {name: row for name, row in gpt.items() if row is not None}
    good = [name for name, row in reached.items() if row["max_accuracy"] >= 0.996]
    told = ", ".join(f"{name} {per_cent(row['max_accuracy'])}" for name, row in reached.items())
    missing = [name for name in gpt if name not in reached]
    text = f"at least 99.6% in {len(good)} of 7 columns: {told}. LSTM at least {per_cent(lstm)} in all seven"
    text += f". By curriculum: {among(hard)}" if (hard := [name for name in reached if name in HARD]) else ""
    text += f". Not measured on test words: {among(missing)}" if missing else ""
    return all_or_some(len(good), len(COLUMNS)), text


def labels_may_be_few(found: Records) -> Verdict:
    def of(task: str, model: str) -> list[Row]:
        return [row for row in found.rows("incomplete") if (row["task"], row["model"]) == (task, model)]

    def told(rows: list[Row]) -> str:
        return ", ".join(f"{per_cent(row['max_accuracy'])} from {row['reveal']:g}" for row in rows)

    s5, c2, lstm_s5, lstm_c2 = of("S5", GPT), of("C2", GPT), of("S5", LSTM), of("C2", LSTM)
    if len(s5) < 2 or len(c2) < 2:
        raise Missing("incomplete")
    holds = [
        s5[-1]["max_accuracy"] < s5[0]["max_accuracy"] - 0.1,
        c2[-1]["max_accuracy"] > SOLVED,
        min(row["max_accuracy"] for row in (*lstm_s5, *lstm_c2)) > SOLVED,
    ]
    words = [REPRODUCED if hold else CONTRADICTED for hold in holds]
    text = f"share of labels shown; GPT on S5 (T = 40, by curriculum): {told(s5)}: {words[0]}. "
    text += f"GPT on C2 (T = 100): {told(c2)}: {words[1]} after {c2[-1]['sequences']:,} words. "
    text += "LSTM on C2: at least "
    text += f"{per_cent(min(row['max_accuracy'] for row in lstm_c2))}; on S5 {told(lstm_s5)} in "
    text += f"{lstm_s5[0]['sequences']:,} words: {words[2]}"
    return all_or_some(sum(holds), 3), text


def other_coins_break_it(found: Records) -> Verdict:
    gpt, *recurrent = (found.row("ood", model=name) for name in (GPT, LSTM, RECENCY))
    worst = min(row["worst_by_probability"] for row in recurrent)
    text = f"means over replicates: GPT {per_cent(gpt['mean_accuracy'])} at .5 and "
    text += f"{per_cent(gpt['worst_by_probability'])} at {gpt['at_probability']}; "
    text += f"LSTM and scratchpad + recency at least {per_cent(worst)}"
    fails = gpt["worst_by_probability"] < gpt["mean_accuracy"] - 0.1
    return all_or_some(fails + (worst > SOLVED), 2), text


def few_ones_are_harder(found: Records) -> Verdict:
    row = found.row("ood", model=GPT)
    text = f"the {row['reached']} of {row['replicates']} replicates that solve C2 have "
    text += f"{per_cent(row['solved_at_2'])} at 2 ones and {per_cent(row['solved_at_40'])} at 40"
    return REPRODUCED if row["solved_at_2"] < row["solved_at_40"] else CONTRADICTED, text


def shifted_positions_help(found: Records) -> Verdict:
    shifted, gpt = (found.row("ood", model=name) for name in (SHIFTED_BOS, GPT))
    pairs = [(place, shifted[f"solved_at_{place}"], gpt[f"solved_at_{place}"]) for place in (2, 4, 8)]
    text = f"with a BOS token: the {shifted['reached']} of {shifted['replicates']} replicates that solve C2, "
    text += f"against GPT's {gpt['reached']}: "
    text += ", ".join(
        f"{per_cent(one)} against {per_cent(other)} at {place} ones" for place, one, other in pairs
    )
    return all_or_some(sum(one > other for _, one, other in pairs), 3), text


def only_recurrences_hold(found: Records) -> Verdict:
    rows = found.rows("length")
    recurrent = [row for row in rows if row["model"] in (LSTM, RECENCY)]
    others = [row for row in rows if row["model"] not in (LSTM, RECENCY)]
    if len(recurrent) < 4 or not others:
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
    return all_or_some((worst > SOLVED) + (max(best.values()) < SOLVED), 2), text


def no_positions_help(found: Records) -> Verdict:
    words, better = [], 0
    for task in ("Dyck4,2", "C2"):
        without, gpt = (found.row("length", task=task, model=name) for name in (NO_POSITIONS_BOS, GPT))
        better += without["mean_at_128"] > gpt["mean_at_128"] + 0.05
        words.append(
            f"{task} {per_cent(without['mean_at_80'])} and {per_cent(without['mean_at_128'])} "
            f"at 80 and 128 letters against {per_cent(gpt['mean_at_80'])} and {per_cent(gpt['mean_at_128'])}"
        )
    return all_or_some(
        better, 2
    ), f"no positions with a BOS token, against sinusoidal ones: {'; '.join(words)}"


def linear_positions_extrapolate(found: Records) -> Verdict:
    words, better = [], 0
    for task in ("Grid9", "abab accept"):
        linear, waves = (
            found.row("positions", task=task, positions=name) for name in ("linear", "sinusoidal")
        )
        lost = [row["mean_at_T"] - row["mean_at_2T"] for row in (linear, waves)]
        better += lost[0] < lost[1] - 0.02
        words.append(
            f"{task} {per_cent(linear['mean_at_T'])} and {per_cent(linear['mean_at_2T'])} at T and 2T "
            f"against {per_cent(waves['mean_at_T'])} and {per_cent(waves['mean_at_2T'])}"
        )
    return all_or_some(better, 2), f"linear against sinusoidal: {'; '.join(words)}"


CLAIMS: dict[str, Callable[[Records], Verdict]] = {
    "all 19 automata pass 99% at some depth (T = 100), by standard training": everything_is_learned,
    "non-abelian groups need more layers than abelian ones": non_abelian_groups_need_more,
    "S5 needs the most layers": s5_needs_most,
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
    "removing positions helps at greater length": no_positions_help,
    "linear positions extrapolate better to 2T": linear_positions_extrapolate,
}


def judged(store: Store) -> dict[str, Verdict]:
    """Every claim with its verdict and its numbers."""
    found, verdicts = Records(store), {}
    for claim, judge in CLAIMS.items():
        try:
            verdicts[claim] = judge(found)
        except Missing:
            verdicts[claim] = NOT_REACHED, "not measured on test words"
    return verdicts


def claims_table(store: Store) -> str:
    """The table of the claims, and how many there are of each verdict."""
    verdicts = judged(store)
    lines = ["| claim of the paper | verdict | what was measured here |", "| --- | --- | --- |"]
    lines += [f"| {claim} | **{word}** | {text} |" for claim, (word, text) in verdicts.items()]
    counts = [
        f"{sum(verdict == word for verdict, _ in verdicts.values())} {word}"
        for word in (REPRODUCED, PARTLY, CONTRADICTED, NOT_REACHED)
    ]
    lines += ["", f"Of the {len(verdicts)} claims: {', '.join(counts)}."]
    return "\n".join(lines)
