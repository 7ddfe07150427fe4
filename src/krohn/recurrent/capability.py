"""Whether this many layers of a family, with this many steps per letter, can track an automaton.

The answer is yes, no or open. ``verdicts`` lists what suffices; where a network has less, three facts decide.

- Diagonal layers on a group: the number of layers is minimal. The groups of one layer are subgroups of
  products of those of its channels, so elementary 2-groups or abelian ones; a group inside a cascade of k
  layers has a subnormal series of k such sections, and so have its subgroups and quotients.
- One layer with one step per letter that keeps finitely many points apart: the step is a reflection on them,
  so every letter has order at most two. A window of letters does not help: repeat one letter.
- One layer of contractions on two idempotents with one image: only with a shrinking margin.
"""

from functools import cache, lru_cache

from krohn.algebra.analysis import Algebra, algebra_of
from krohn.automata.quotients import reachable
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput
from krohn.recurrent.family_verdict import FamilyVerdict
from krohn.recurrent.verdicts import verdicts

Answer = tuple[bool | None, str]


@lru_cache(maxsize=8)
def _verdicts(spec: str | Semiautomaton) -> tuple[Semiautomaton, Algebra, dict[str, FamilyVerdict]]:
    """What is reachable, its analysis, and a verdict for each family: the same for all sizes of a network."""
    automaton = reachable(parse_spec(spec) if isinstance(spec, str) else spec)
    analysis = algebra_of(automaton)
    return automaton, analysis, {row.name.lower(): row for row in verdicts(automaton, analysis)}


@cache
def capability(spec: str | Semiautomaton, family: str, layers: int, steps: int) -> Answer:
    """Whether it can, and if not why; ``None`` if undecided, or possible only with a shrinking margin."""
    if min(layers, steps) < 1:
        raise InvalidInput(f"a network must have at least 1 layer and 1 step; got {layers} and {steps}")
    automaton, analysis, rows = _verdicts(spec)
    if family.lower() not in rows:
        names = "; ".join(row.name for row in rows.values())
        raise InvalidInput(f"family must be one of: {names}; got {family[:40]!r}")
    row = rows[family.lower()]
    if row.can is False:
        return False, row.reason
    turning = [
        name
        for name, letter in zip(automaton.letter_names, automaton.letters, strict=True)
        if any(letter[letter[state]] != state for state in letter)
    ]
    if analysis.is_group and row.name.startswith("Delta") and (layers, steps) == (1, 1) and turning:
        return False, f"one reflection has order two, but the letter {turning[0]} does not"
    if row.can is None or row.layers is None:
        return None, row.reason
    if layers >= row.layers and steps >= (row.steps or 1):
        return True, ""
    return _with_less(row, layers, steps, is_group=analysis.is_group)


def _with_less(row: FamilyVerdict, layers: int, steps: int, *, is_group: bool) -> Answer:
    """The answer for fewer layers or steps than suffice."""
    if row.name.startswith("diagonal") and is_group:
        return False, f"the group needs at least {row.layers} layers; here {layers}"
    law = row.reason.partition("; not one layer with a fixed margin: ")[2]
    if layers == 1 and law:
        return None, f"only with a margin that shrinks: {law}"
    enough, here = _size(row.layers or 1, row.steps or 1), _size(layers, steps)
    return None, f"known to suffice: {enough}; not decided here: {here}"


def _size(layers: int, steps: int) -> str:
    return f"{layers} layer{'s' * (layers > 1)} of {steps} step{'s' * (steps > 1)} a letter"
