"""The automaton that a network computes, by active learning (L*, Angluin 1987; Rivest and Schapire 1993).

First the automaton with one state for each answer is tried. If it does not agree with the network, AALpy
learns one. Equivalence queries are exact up to a length: the answers to all words are in a table, and a
hypothesis is compared with every entry. The empty word has no answer and counts as the start.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from krohn.automata.observed import with_target
from krohn.automata.quotients import difference_word
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.extras import to_install
from krohn.errors import InvalidInput, LimitExceeded, MissingDependency, counted
from krohn.lab.interpret.stages import Stages, stages_of_decoder
from krohn.lab.interpret.stream_states import machine_by_states, renumber
from krohn.proving.kinds import kind_for
from krohn.proving.word_search import in_blocks

Words = npt.NDArray[np.int64]
Levels = list[Words]

MAX_WORDS = 1 << 22
"""Words of the longest level that a table may hold."""
COMPILED_WORDS = 1 << 16
"""The same for compiled networks and those of others, at effort 1."""
LONGEST = 1 << 12
"""Most letters of a word: with a single letter there is one word of each length."""


@dataclass(frozen=True, eq=False)
class Answers:
    """A network's answers.

    Attributes:
        of: words [batch, length] to answers of that shape.
        words: how many words of one length may be run.
        automaton: the one it was trained on or built for.
        longest: length of the longest word it reads; none if unbounded.
        stages: its stream between blocks, of a GPT-2.
        causal: whether an answer is known to depend on the letters before it alone.
    """

    of: Callable[[Words], Words]
    words: float
    automaton: Semiautomaton
    longest: int | None
    stages: Stages | None = None
    causal: bool = True

    def levels(self, length: int) -> Levels:
        """The answers to all words of 1, 2, … ``length`` letters, each after its last letter, in order."""
        letters = self.automaton.num_letters
        if length > LONGEST or letters**length > min(self.words, MAX_WORDS):
            raise LimitExceeded(
                f"all words of --length {length} are too many for this effort: lower --length or raise "
                "--effort"
            )
        got = self._all(length)
        if not self.causal:
            self._refuse_later_letters(got)
        # A shorter word is a prefix of many: of the first of them, in lexicographic order.
        return [got[:: letters ** (length - depth), depth - 1] for depth in range(1, length + 1)]

    def _all(self, length: int) -> Words:
        """The answers after each letter of all words of a length."""
        return np.concatenate([self.of(words) for words in in_blocks(self.automaton.num_letters, length)])

    def _refuse_later_letters(self, longest: Words) -> None:
        """A word and the same word before more letters must be answered alike: else it has two answers."""
        for depth in range(1, longest.shape[1]):
            alone = self._all(depth)
            if (np.repeat(alone, len(longest) // len(alone), axis=0) != longest[:, :depth]).any():
                raise InvalidInput(
                    "the network must be causal, as an automaton is: its answers to words of "
                    f"{counted(depth, 'letter')} change with the letters that follow"
                )


def answers_of(
    network: Any,
    effort: float = 1.0,
    automaton: Semiautomaton | None = None,
    tokens: Any = None,
    device: str = "cpu",
) -> Answers:
    """A network of krohn's; or a GPT-2, its directory or a callable, with the automaton it should compute.

    A token that stands for no output counts as one more answer.
    """
    kind = kind_for(network, "extract needs", "running")
    kind.refuse_idle(network, device=device)
    run = kind.running(network, automaton, tokens, device)
    other, most = len(run.automaton.output_names), COMPILED_WORDS * effort
    if run.reach is not None:
        most = run.automaton.num_letters ** run.reach(LONGEST, effort)
    stages = None if run.decoder is None else stages_of_decoder(run.decoder, torch.float32)

    def answers(words: Words) -> Words:
        states = run.of(words)
        return np.where(states < 0, other, states)

    return Answers(answers, most, run.automaton, run.longest, stages, run.causal)


WAYS = ("words", "states")
MAX_STATES = 100
"""A network that is wrong here and there has no small automaton: learning ends at a hypothesis this large."""


@dataclass(frozen=True)
class Extracted:
    """The last hypothesis.

    Attributes:
        automaton: observations are the numbers of the network's answers.
        agrees: length up to which it agrees with the network on all words.
        difference: a shortest word on which it disagrees; none if it agrees on all words compared.
        mistake: a shortest word, of any length, on which it differs from the automaton of the task.
    """

    automaton: Semiautomaton
    agrees: int
    difference: tuple[int, ...] | None
    mistake: tuple[int, ...] | None

    @property
    def equivalent(self) -> bool:
        """Whether it agrees with the network on all words that were compared."""
        return self.difference is None

    def to_json(self, length: int, out: Path | None = None) -> dict[str, Any]:
        """One JSON object; ``length`` is that of the longest words compared, ``out`` where it was written."""
        return {
            "states": self.automaton.num_states,
            "equivalent": self.equivalent,
            "length": length,
            "agrees_to": self.agrees,
            "counterexample": self._name_letters(self.difference),
            "task": {"equivalent": self.mistake is None, "counterexample": self._name_letters(self.mistake)},
            "out": None if out is None else str(out),
        }

    def _name_letters(self, word: tuple[int, ...] | None) -> dict[str, Any] | None:
        names = self.automaton.letter_names
        return None if word is None else {"word": list(word), "letters": [names[letter] for letter in word]}

    def text(self, length: int) -> str:
        """A few lines."""
        payload = self.to_json(length)
        lines = [f"an automaton of {counted(payload['states'], 'state')}"]
        if payload["equivalent"]:
            lines.append(f"it answers as the network does on all words of up to {payload['length']} letters")
        else:
            shown = " ".join(payload["counterexample"]["letters"])
            lines.append(
                f"it answers as the network does on all words of up to {payload['agrees_to']} letters, "
                f"but not on: {shown}"
            )
        mistake = payload["task"]["counterexample"]
        if mistake is None:
            lines.append("it is the automaton of the task, on words of every length")
        else:
            lines.append(f"it differs from the automaton of the task on: {' '.join(mistake['letters'])}")
        return "\n".join(lines)


def extract(answers: Answers, length: int, max_states: int = MAX_STATES, by: str = "words") -> Extracted:
    """Learns until the hypothesis agrees with the network on all words up to ``length``, or is too large.

    ``by`` words it asks for answers; by states it reads clusters of a GPT-2's stream, at most ``max_states``.
    """
    if by not in WAYS:
        raise InvalidInput(f"an automaton is extracted by words or by states; got {by!r}")
    if by == "states" and answers.stages is None:
        raise InvalidInput("states are read from the stream of a GPT-2 of transformers: extract by words")
    if length < 1:
        raise InvalidInput(f"--length must be at least 1; got {length}")
    if answers.longest is not None and length > answers.longest:
        raise InvalidInput(
            f"--length must be at most {answers.longest}, as the network is built; got {length}"
        )
    levels = answers.levels(length)
    machine = answering(answers, levels) if by == "words" else None
    if answers.stages is not None and by == "states":
        start, letters = answers.automaton.outputs[answers.automaton.start], answers.automaton.num_letters
        machine = machine_by_states(
            answers.stages, levels, letters, start, max_states, lambda one: agreement(one, levels)
        )
    elif machine is None or machine.num_states > max_states or first_difference(machine, levels):
        machine = _learn(answers, levels, max_states)
    named = name_states(machine, answers.automaton)
    mistake = separating_word(with_target(named, "observation"), answers.automaton)
    return Extracted(named, agreement(machine, levels), first_difference(machine, levels), mistake)


def answering(answers: Answers, levels: Levels) -> Semiautomaton | None:
    """The machine with one state for each answer, that of its first word; none if words are too short."""
    letters, start = answers.automaton.num_letters, answers.automaton.outputs[answers.automaton.start]
    first: dict[int, tuple[int, int]] = {start: (0, 0)}  # letters read, place among the words of that length
    moves: list[list[int]] = []
    order = [start]
    for answer in order:  # grows during iteration
        depth, place = first[answer]
        if depth == len(levels):
            return None
        row = levels[depth][place * letters : (place + 1) * letters].tolist()
        for letter, target in enumerate(row):
            if target not in first:
                first[target] = (depth + 1, place * letters + letter)
                order.append(target)
        moves.append(row)
    number = {answer: place for place, answer in enumerate(order)}
    table = [[number[target] for target in row] for row in moves]
    return Semiautomaton(np.array(table), observe=tuple(order))


def first_difference(machine: Semiautomaton, levels: Levels) -> tuple[int, ...] | None:
    """A shortest word on which the table disagrees with the machine."""
    answers, state, letters = np.array(machine.observe), np.array([machine.start]), machine.num_letters
    for depth, level in enumerate(levels, start=1):
        state = machine.table[state].reshape(-1)
        wrong = answers[state] != level
        if wrong.any():
            place = np.unravel_index(int(wrong.argmax()), (letters,) * depth)
            return tuple(int(letter) for letter in place)
    return None


def agreement(machine: Semiautomaton, levels: Levels) -> int:
    """The length up to which the machine agrees with the table on all words."""
    difference = first_difference(machine, levels)
    return len(levels) if difference is None else len(difference) - 1


def name_states(machine: Semiautomaton, task: Semiautomaton) -> Semiautomaton:
    """States are named after their answers; if several share an answer, a number is added."""
    outputs, names = (*task.output_names, "another token"), list[str]()
    for answer in machine.observe or ():
        name, taken = outputs[answer], {*names, *outputs}
        numbered = (f"{name}#{number}" for number in count(2))
        names.append(name if name not in names else next(one for one in numbered if one not in taken))
    return replace(machine, state_names=tuple(names), letter_names=task.letter_names)


def separating_word(one: Semiautomaton, other: Semiautomaton) -> tuple[int, ...] | None:
    """A shortest word, of any length, after which the outputs differ, in letters of the first.

    Letters go by their names; if these are not the same, the empty word separates them.
    """
    if set(one.letter_names) != set(other.letter_names):
        return ()
    return difference_word(one, other, one.outputs, other.outputs, empty=False)


def _learn(answers: Answers, levels: Levels, max_states: int) -> Semiautomaton:
    try:
        from aalpy import SUL, Oracle, run_Lstar
    except ImportError as error:
        raise MissingDependency(f"extraction needs AALpy: {to_install('extract')}") from error

    class Network(SUL):  # type: ignore[misc]
        """The network as the learner's membership oracle."""

        def query(self, word: tuple[int, ...]) -> list[int]:
            self.num_queries += 1
            return _answers_to(answers, levels, word)

        def pre(self) -> None: ...

        def post(self) -> None: ...

        def step(self, letter: int) -> int:
            raise AssertionError("only whole words are asked")

    class AllWords(Oracle):  # type: ignore[misc]
        """Equivalence oracle on every word up to the length; none if the hypothesis is too large."""

        def find_cex(self, hypothesis: Any) -> tuple[int, ...] | None:
            machine = read_machine(hypothesis)
            return None if machine.num_states > max_states else first_difference(machine, levels)

    letters, network = list(range(answers.automaton.num_letters)), Network()
    oracle = AllWords(letters, network)
    learned = run_Lstar(
        letters, network, oracle, automaton_type="moore", cache_and_non_det_check=False, print_level=0
    )
    return read_machine(learned)


def _answers_to(answers: Answers, levels: Levels, word: tuple[int, ...]) -> list[int]:
    """Answers after each letter of a word, from the table if it is short enough."""
    if not word:
        return [answers.automaton.outputs[answers.automaton.start]]
    if len(word) > len(levels):
        if answers.longest is not None and len(word) > answers.longest:
            raise InvalidInput(
                f"a query has {len(word)} letters and the network reads {answers.longest}: "
                "lower --length or build it longer"
            )
        return [int(state) for state in answers.of(np.array([word]))[0]]
    result, place = [], 0
    for depth, letter in enumerate(word):
        place = place * answers.automaton.num_letters + letter
        result.append(int(levels[depth][place]))
    return result


def read_machine(hypothesis: Any) -> Semiautomaton:
    """A Moore machine of AALpy's, its states in the order of their first words."""
    number = {id(state): place for place, state in enumerate(hypothesis.states)}
    letters = sorted(hypothesis.initial_state.transitions)
    table = [[number[id(state.transitions[letter])] for letter in letters] for state in hypothesis.states]
    shown = tuple(int(state.output) for state in hypothesis.states)
    return renumber(Semiautomaton(np.array(table), number[id(hypothesis.initial_state)], observe=shown))
