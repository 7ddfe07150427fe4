"""Which kinds of Transformer can track an automaton: hard and soft attention, C-RASP, depths.

Each is a class of automata with a theorem. Masked hard attention without positions is star-free, with
positions that repeat quasi-aperiodic, soft attention of fixed precision R-trivial, C-RASP what balanced
counts decide. A position sees its own letter, so only what the letters do next must be known before it:
states that all letters lead to the same states count as one (``letter_seen``); hard attention does not care.
"""

from dataclasses import replace

from krohn.algebra.analysis import Algebra
from krohn.algebra.classes.balanced import counting_program, letter_seen
from krohn.algebra.classes.naming import MOST_PAIRS
from krohn.algebra.classes.pieces import r_trivial
from krohn.algebra.classes.recognizer import OPEN, Membership, Recognizer, Witness, pattern, recognizer
from krohn.algebra.classes.sided import counting
from krohn.algebra.classes.syntactic import Syntactic
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import LimitExceeded
from krohn.recurrent.family_verdict import FamilyVerdict, unable

YANG = "Yang, Chiang, Angluin 2024 (arXiv 2310.13897)"
LI = "Li and Cotterell 2025 (arXiv 2505.23623)"
KNEE = "proved in docs/length.md of the repository; C-RASP: Yang, Cadilhac, Chiang 2025 (arXiv 2506.16055)"
LIU = "Liu et al. 2023 (arXiv 2210.10749)"
MERRILL = "Merrill and Sabharwal 2025 (arXiv 2503.03961)"

HARD = "each head copies from one position, the last or first of the best, to the left alone; {}"
UNPLACED = "no positions, and one set of weights for words of every length"
FIXED = f"soft attention to earlier letters alone, everything rounded to a fixed precision; {UNPLACED}"
ROUNDED = (
    f"soft attention to the left, rounded to a fixed precision but inside attention; {UNPLACED}. "
    "Of 175 published languages, read after the word, 84 of 90 with a yes and 0 of 85 with a no kept 99% of "
    "the longest words (best run of a sweep; whether with positions is not said: docs/length.md of the "
    "repository)"
)
LOGARITHMIC = "weights and a precision of O(log T) bits that depend on the length T"
UNLESS = f"{LOGARITHMIC}; MLPs of fixed depth too"
LOOPED = "one block repeated about log T times, averaging hard attention, O(log T) bits; one set of weights"


def transformer_rows(
    automaton: Semiautomaton, analysis: Algebra, layers: int | None
) -> tuple[FamilyVerdict, ...]:
    """A row for each kind; ``layers`` of constant number are given, if known; all states are reachable."""
    states = recognizer(replace(automaton, observe=None, observation_names=()))
    return (
        _fixed_precision(automaton, states),
        _counting(automaton, states),
        _hard(automaton, analysis, states),
        _hard_with_periods(automaton, analysis),
        _fixed_depth(analysis, layers),
        FamilyVerdict(
            name="Transformer, log depth",
            can=True,
            reason="⌈log₂ T⌉ layers compose the maps of stretches twice as long each time",
            source=f"{LIU}, Theorem 1",
            assumptions=LOGARITHMIC,
        ),
        FamilyVerdict(
            name="Transformer, looped",
            can=True,
            reason="the block that composes two stretches, again and again",
            source=MERRILL,
            assumptions=LOOPED,
        ),
    )


def _fixed_precision(automaton: Semiautomaton, states: Recognizer) -> FamilyVerdict:
    """Past temporal logic equals partially ordered automata; a state may add the letter just read."""
    name = "Transformer, soft attention of fixed precision"
    seen = letter_seen(states)
    verdict = seen.spelled(r_trivial(seen))
    if verdict.holds:
        how = (
            "no word leads back to what it left, but for the letter just read: past temporal logic, R-trivial"
        )
        return FamilyVerdict(name=name, can=True, reason=how, source=LI, assumptions=FIXED)
    assert verdict.witness is not None
    witness = _with_a_last_letter(automaton, verdict.witness)
    text = witness.text(automaton.letter_names)
    how = f"words lead back to what was left; past temporal logic never returns: {text}"
    shown = witness.to_json(automaton.letter_names)
    return unable(name, how, LI, assumptions=FIXED, witness=shown)


def _with_a_last_letter(automaton: Semiautomaton, witness: Witness) -> Witness:
    """Both words followed by one letter that still leads to two states."""
    words = [each.word(1) for each in witness.patterns]
    p, q = (automaton.run(word)[-1] if word else automaton.start for word in words)
    letters = range(automaton.num_letters)
    last = next((a for a in letters if automaton.step(p, a) != automaton.step(q, a)), None)
    end = pattern(() if last is None else (last,)).parts
    return replace(
        witness, patterns=tuple(replace(each, parts=each.parts + end) for each in witness.patterns)
    )


def _counting(automaton: Semiautomaton, states: Recognizer) -> FamilyVerdict:
    """C-RASP, with the letter seen where the state is read; the reason says where not seeing it differs."""
    name = "C-RASP (will it generalise in length)"
    seen = letter_seen(states)
    verdict, after = _program(seen), _program(states)
    other = "; read after the word, where no letter is seen: no" if after.holds is False else ""
    if verdict.holds is None:
        how = "too many states for the test"
        return FamilyVerdict(name=name, can=None, reason=how, source=KNEE, assumptions=ROUNDED)
    if verdict.holds:
        how = f"counts of letters decide the states of every strong component{other}"
        return FamilyVerdict(name=name, can=True, reason=how, source=KNEE, assumptions=ROUNDED)
    witness = seen.spelled(verdict).witness
    assert witness is not None
    witness = _with_a_last_letter(automaton, witness)
    how = f"no balanced count tells states apart: {witness.text(automaton.letter_names)}"
    shown = witness.to_json(automaton.letter_names)
    return unable(name, how, KNEE, assumptions=ROUNDED, witness=shown)


def _program(states: Recognizer) -> Membership:
    if states.size**2 * len(states.letters) > MOST_PAIRS:
        return OPEN
    return counting_program(states)


def _hard(automaton: Semiautomaton, analysis: Algebra, states: Recognizer) -> FamilyVerdict:
    """Star-free."""
    name, assumed = "Transformer, hard attention", HARD.format(UNPLACED)
    if analysis.is_aperiodic:
        how = "no word counts modulo a number: star-free, first-order logic of the order"
        return FamilyVerdict(name=name, can=True, reason=how, source=YANG, assumptions=assumed)
    how, shown = "a word is counted modulo a number", None
    try:
        witness = states.spelled(Membership(False, None, counting(Syntactic(states)))).witness
        if witness is not None:
            how, shown = witness.text(automaton.letter_names), witness.to_json(automaton.letter_names)
    except LimitExceeded:
        pass
    return unable(name, how, YANG, assumptions=assumed, witness=shown)


def _hard_with_periods(automaton: Semiautomaton, analysis: Algebra) -> FamilyVerdict:
    """Regular and in AC⁰."""
    name = "Transformer, hard attention and periodic positions"
    assumed = HARD.format("positions are known modulo a number; one set of weights for words of every length")
    source = f"{YANG}; Barrington, Compton, Straubing, Thérien 1992"
    words = analysis.one_length
    if words is None:
        how = "only the length is counted modulo a number: quasi-aperiodic, regular and in AC⁰"
        return FamilyVerdict(name=name, can=True, reason=how, source=source, assumptions=assumed)
    shown = words.to_json(automaton.letter_names, [str(q) for q in range(1 + max(words.states))])
    order = len(words.words)
    length = "one length" if words.length is None else f"{words.length} letters"
    how = f"words of {length} form {f'the group C{order}' if order else 'a group'}"
    return unable(name, how, source, assumptions=assumed, witness=shown)


def _fixed_depth(analysis: Algebra, layers: int | None) -> FamilyVerdict:
    """Every group solvable; else not unless TC⁰ = NC¹."""
    name = "Transformer, fixed depth"
    group = next((group.name for group in analysis.groups if not group.is_solvable), None)
    if group is None:
        how = "every group inside is solvable"
        return FamilyVerdict(
            name=name,
            can=True,
            layers=layers,
            reason=how,
            source=f"{LIU}, Theorem 2",
            assumptions=LOGARITHMIC,
        )
    why = f"the group {group} inside is not solvable: as hard as all of NC¹"
    source = f"{LIU}, Theorem 4; Barrington 1989; Merrill and Sabharwal 2023 (arXiv 2207.00729)"
    return unable(name, why, source, assumptions=UNLESS, unless="TC⁰ = NC¹")
