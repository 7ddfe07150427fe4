"""C-RASP: what counting positions decides, by balanced counts (theorem and proof: docs/length.md).

In a strong component of the minimal automaton a *balanced count* gives each pair (class of the state before,
letter) a rational number so that every cycle inside has sum 0: then the sum since the component was entered
is a function of the state. States that some balanced count tells apart go to different classes, until
nothing changes. The language is in C-RASP, read after the word where no letter is seen, if and only if all
classes are single states.
"""

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from krohn.algebra.classes.pieces import one_idempotent
from krohn.algebra.classes.recognizer import OPEN, Membership, Recognizer, Witness, Word, pattern
from krohn.algebra.classes.sided import turning
from krohn.automata.graph import strong_components

MOST_LABELS = 1_500
"""Most pairs of a state and a letter in one component: elimination takes their number cubed at worst."""

Vector = dict[int, Fraction]


def letter_seen(language: Recognizer) -> Recognizer:
    """What must be known before a letter that is seen where the answer is read: the states after all letters.

    States with one row become one. The rows that are left tell all states of the result apart.
    """
    rows = list(zip(*language.letters, strict=True)) if language.letters else [()] * language.size
    number: dict[tuple[int, ...], int] = {}
    block = [number.setdefault(row, len(number)) for row in rows]
    letters = tuple(tuple(block[row[a]] for row in number) for a in range(len(language.letters)))
    distinct: dict[tuple[int, ...], int] = {}
    for letter, name in zip(letters, language.numbers, strict=True):
        distinct.setdefault(letter, name)
    shown = tuple(range(len(number)))
    return Recognizer(tuple(distinct), tuple(distinct.values()), block[language.start], shown, False)


def counting_program(language: Recognizer) -> Membership:
    """Whether counts decide the language, read after the word; the parameter is the number of rounds."""
    wrong = one_idempotent(language)
    if not wrong.holds:
        return wrong
    successors = list(zip(*language.letters, strict=True)) if language.letters else [()] * language.size
    rounds = 0
    for part in strong_components(successors):
        if len(part) < 2:
            continue
        inside = _Component(language, sorted(part))
        if len(inside.arcs) > MOST_LABELS:
            return OPEN
        classes, used = inside.refined()
        rounds = max(rounds, used)
        stuck = [pair for pair in combinations(inside.states, 2) if classes[pair[0]] == classes[pair[1]]]
        if stuck:
            return Membership(False, None, inside.witness(classes, *stuck[0]))
    return Membership(True, rounds)


@dataclass
class _Component:
    """A strong component: its arcs are triples (state, letter, target)."""

    language: Recognizer
    states: list[int]

    def __post_init__(self) -> None:
        inside = set(self.states)
        self.arcs = [
            (q, a, letter[q])
            for q in self.states
            for a, letter in enumerate(self.language.letters)
            if letter[q] in inside
        ]

    def refined(self) -> tuple[dict[int, int], int]:
        """The classes that no balanced count refines, and after how many rounds."""
        classes, count, rounds = dict.fromkeys(self.states, 0), 1, 0
        while True:
            labels = self._labels(classes)
            counts = self._counts(labels)
            span = _Span()
            for q, a, target in self.arcs:
                span.insert(_added(counts[q], {labels[q, a]: Fraction(1)}, counts[target]))
            forms: dict[object, int] = {}
            finer = {
                q: forms.setdefault((classes[q], tuple(sorted(span.reduced(counts[q]).items()))), len(forms))
                for q in self.states
            }
            if len(forms) == count:
                return classes, rounds
            classes, count, rounds = finer, len(forms), rounds + 1
            if count == len(self.states):
                return classes, rounds

    def _labels(self, classes: dict[int, int]) -> dict[tuple[int, int], int]:
        """The number of the label (class, letter) of each arc (state, letter)."""
        numbers: dict[tuple[int, int], int] = {}
        return {(q, a): numbers.setdefault((classes[q], a), len(numbers)) for q, a, _ in self.arcs}

    def _counts(self, labels: dict[tuple[int, int], int]) -> dict[int, Vector]:
        """The labels on a path from the first state to each."""
        after: dict[int, list[tuple[int, int]]] = {}
        for q, a, target in self.arcs:
            after.setdefault(q, []).append((a, target))
        counts: dict[int, Vector] = {self.states[0]: {}}
        queue = deque([self.states[0]])
        while queue:
            q = queue.popleft()
            for a, target in after[q]:
                if target not in counts:
                    counts[target] = _added(counts[q], {labels[q, a]: Fraction(1)}, {})
                    queue.append(target)
        return counts

    def witness(self, classes: dict[int, int], p: int, q: int) -> Witness:
        """A flip-flop or a word that counts, if there is one; else why no count tells p from q."""
        language = self.language
        word = self._turn(p, q)
        if word is not None:
            turns, state = 1, q
            while state != p:
                turns, state = turns + 1, language.run(state, word)
            return turning(language, p, q, word, turns)
        end = language.separating_word(p, q)
        words = pattern(language.words_to[p], end), pattern(language.words_to[q], end)
        return Witness(words, "differ", self._equation(classes, p, q))

    def _turn(self, p: int, q: int) -> Word | None:
        """A short word that takes p to q and, repeated, back to p."""
        return self.language.path((p, q), lambda node: node == (q, p))

    def _equation(self, classes: dict[int, int], p: int, q: int) -> str:
        """The counts on a path from p to q are a rational combination of those of loops."""
        language, labels = self.language, self._labels(classes)

        def counted(state: int, word: Word) -> Vector:
            vector: Vector = {}
            for a in word:
                vector = _added(vector, {labels[state, a]: Fraction(1)}, {})
                state = language.letters[a][state]
            return vector

        loops = sorted(
            ((state, (a, *self._route(target, state))) for state, a, target in self.arcs),
            key=lambda loop: (len(loop[1]), loop),
        )
        root = self.states[0]  # short loops first; those through one state span the rest
        loops += [
            (root, (*self._route(root, state), a, *self._route(target, root)))
            for state, a, target in self.arcs
        ]
        span, used, mixed = _Span(), list[Word](), dict[int, Vector]()
        for state, word in loops:
            vector, mix = span.traced(counted(state, word), mixed)
            if vector:
                mixed[min(vector)] = _added(mix, {len(used): Fraction(1)}, {})
                span.rows[min(vector)] = vector
                used.append(word)
        path = self._route(p, q)
        left, mix = span.traced(counted(p, path), mixed)
        assert not left, "a pair that stays together has no balanced count"
        names = [str(number) for number in language.numbers]
        terms = [f"{-value}·[{' '.join(names[a] for a in used[key])}]" for key, value in sorted(mix.items())]
        mixture = " + ".join(terms) or "0"
        return f"letters by number: [{' '.join(names[a] for a in path)}] = {mixture} in counts of loops"

    def _route(self, source: int, target: int) -> Word:
        """The shortest word inside the component."""
        parents: dict[int, tuple[int, int] | None] = {source: None}
        after: dict[int, list[tuple[int, int]]] = {}
        for q, a, following in self.arcs:
            after.setdefault(q, []).append((a, following))
        for state in (queue := [source]):
            for a, following in after[state]:
                if following not in parents:
                    parents[following] = (state, a)
                    queue.append(following)
        word, step = list[int](), parents[target]
        while step is not None:
            state, a = step
            word.append(a)
            step = parents[state]
        return tuple(reversed(word))


def _added(one: Vector, two: Vector, less: Vector) -> Vector:
    """one + two − less."""
    result = dict(one)
    for sign, other in ((1, two), (-1, less)):
        for key, value in other.items():
            total = result.get(key, Fraction(0)) + sign * value
            if total:
                result[key] = total
            else:
                result.pop(key, None)
    return result


class _Span:
    """Rational vectors in reduced echelon form: one for each pivot, its least key."""

    def __init__(self) -> None:
        self.rows: dict[int, Vector] = {}

    def reduced(self, vector: Vector) -> Vector:
        """What is left of a vector modulo the span."""
        for key in sorted(vector.keys() & self.rows.keys()):
            vector = _times(vector, self.rows[key], -vector[key])
        return vector

    def insert(self, vector: Vector) -> None:
        """Adds a vector, and keeps all rows reduced."""
        vector = self.reduced(vector)
        if not vector:
            return
        pivot = min(vector)
        scale = 1 / vector[pivot]
        vector = {key: value * scale for key, value in vector.items()}
        for key, row in self.rows.items():
            if pivot in row:
                self.rows[key] = _times(row, vector, -row[pivot])
        self.rows[pivot] = vector

    def traced(self, vector: Vector, mixed: dict[int, Vector]) -> tuple[Vector, Vector]:
        """What is left of a vector modulo rows in any order, and the combination that was added to it."""
        mix: Vector = {}
        while pivots := sorted(vector.keys() & self.rows.keys()):
            row = self.rows[pivots[0]]
            factor = -vector[pivots[0]] / row[pivots[0]]
            vector = _times(vector, row, factor)
            mix = _times(mix, mixed[pivots[0]], factor)
        return vector, mix


def _times(vector: Vector, row: Vector, factor: Fraction) -> Vector:
    return _added(vector, {key: value * factor for key, value in row.items()}, {})
