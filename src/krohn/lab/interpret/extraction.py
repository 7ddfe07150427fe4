"""The automaton that a network computes on all words up to a length.

The answers to all these words are run into a table, and the smallest automaton that gives them is read off
it; no longer word is asked. The empty word has no answer and counts as the start. A network that is wrong
here and there has no small automaton: then the best one within ``max_states`` is the answer, with the share
of words on which it agrees and the shortest on which it does not.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch

from krohn.automata.observed import with_target
from krohn.automata.quotients import difference_word
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.notebook import html_lines
from krohn.errors import InvalidInput, LimitExceeded, counted
from krohn.lab.interpret.findings import Share
from krohn.lab.interpret.smallest_machine import (
    Levels,
    Words,
    machine_within,
    share_of_words,
    smallest_machine,
)
from krohn.lab.interpret.stages import Stages, stages_of_decoder
from krohn.lab.interpret.stream_states import machine_by_states
from krohn.proving.by_position import GOOD, ByPosition, measure, percent
from krohn.proving.kinds import kind_for
from krohn.proving.word_search import in_blocks

MAX_WORDS = 1 << 22
"""Words of the longest level that a table may hold."""
COMPILED_WORDS = 1 << 16
"""The same for compiled networks and those of others, at effort 1."""
LONGEST = 1 << 12
"""Most letters of a word: with a single letter there is one word of each length."""
FRESH = 1024
"""Words that are drawn where there are too many to run all."""


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

    def reach(self, length: int) -> int:
        """The largest length up to this one of which all words may be run."""
        letters, most = self.automaton.num_letters, min(self.words, MAX_WORDS)
        fits = (n for n in range(min(length, LONGEST), 0, -1) if n * math.log(letters) <= math.log(most))
        reached = next(fits, 0)
        if not reached:
            raise LimitExceeded(
                f"all {letters:,} words of one letter are too many for this effort: raise --effort"
            )
        return reached

    def levels(self, length: int) -> Levels:
        """The answers to all words of 1, 2, … ``length`` letters, each after its last letter, in order."""
        letters = self.automaton.num_letters
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
"""A network that is wrong here and there has no small automaton: none larger than this is looked for."""


@dataclass(frozen=True)
class Extracted:
    """The smallest automaton, or the best of those that are small enough.

    Attributes:
        automaton: observations are the numbers of the network's answers.
        length: letters of the words that were asked for.
        agrees: length up to which it agrees with the network on all words.
        difference: a shortest word on which it disagrees, of those compared; none if it agrees on all.
        mistake: a shortest word, of any length, on which it differs from the automaton of the task.
        agreement: share of words of ``length`` letters after all of whose letters it answers as the network.
        compared: how many words these were; all that there are if ``exact``.
        exact: whether all words of ``length`` letters were compared; otherwise fresh random ones, and the
            agreement has an interval.
        by_position: how often the network agrees with the automaton of the task.
    """

    automaton: Semiautomaton
    length: int
    agrees: int
    difference: tuple[int, ...] | None
    mistake: tuple[int, ...] | None
    agreement: Share
    compared: int
    exact: bool
    by_position: ByPosition

    @property
    def equivalent(self) -> bool:
        """Whether it agrees with the network on all words that were asked for."""
        return self.exact and self.difference is None

    def to_json(self, out: Path | None = None) -> dict[str, Any]:
        """One JSON object; ``out`` is where the automaton was written."""
        return {
            "states": self.automaton.num_states,
            "equivalent": self.equivalent,
            "length": self.length,
            "agrees_to": self.agrees,
            "counterexample": self._name_letters(self.difference),
            "agreement": asdict(self.agreement) | {"words": self.compared, "exact": self.exact},
            "task": {"equivalent": self.mistake is None, "counterexample": self._name_letters(self.mistake)},
            "by_position": self.by_position.to_json(),
            "out": None if out is None else str(out),
        }

    def _repr_html_(self) -> str:
        return html_lines(self.text())

    def _name_letters(self, word: tuple[int, ...] | None) -> dict[str, Any] | None:
        names = self.automaton.letter_names
        return None if word is None else {"word": list(word), "letters": [names[letter] for letter in word]}

    def text(self) -> str:
        """A few lines."""
        payload = self.to_json()
        lines = [f"an automaton of {counted(payload['states'], 'state')}"]
        alike = f"it answers as the network does on all words of up to {counted(self.agrees, 'letter')}"
        if self.difference is not None:
            alike += f", but not on: {' '.join(payload['counterexample']['letters'])}"
        share, words = self.agreement, f"words of {counted(self.length, 'letter')}"
        if not self.exact:
            alike += (
                f"\nof {self.compared:,} fresh {words} it agrees on {percent(share.value)} "
                f"[{100 * share.low:.1f}–{100 * share.high:.1f}]: all are too many for this effort"
            )
        elif self.difference is not None:
            alike += f"\nof all {self.compared:,} {words} it agrees on {percent(share.value)}"
        mistake = payload["task"]["counterexample"]
        task = "it is the automaton of the task, on words of every length"
        if mistake is not None:
            task = f"it differs from the automaton of the task on: {' '.join(mistake['letters'])}"
        known = f"the network is right, in {self.by_position.words} random words: {self.by_position.text()}"
        return "\n".join([*lines, alike, task, known])


def extract(
    answers: Answers, length: int | None = None, max_states: int = MAX_STATES, by: str = "words"
) -> Extracted:
    """The smallest automaton that agrees with the network on all words up to ``length``.

    If it has more than ``max_states`` states, the one within that is right on most words of the table. The
    table has the words up to ``length``, or as many as effort allows; without ``length``, as many as the
    network has 99% right. By words only answers are asked; by states clusters of a GPT-2's stream are read.
    """
    if by not in WAYS:
        raise InvalidInput(f"an automaton is extracted by words or by states; got {by!r}")
    if by == "states" and answers.stages is None:
        raise InvalidInput("states are read from the stream of a GPT-2 of transformers: extract by words")
    if length is not None and length < 1:
        raise InvalidInput(f"--length must be at least 1; got {length}")
    if answers.longest is not None and length is not None and length > answers.longest:
        raise InvalidInput(
            f"--length must be at most {answers.longest}, as the network is built; got {length}"
        )
    curve = measure(answers.of, answers.automaton, length if answers.longest is None else answers.longest)
    asked = answers.reach(curve.reach(GOOD[0]) or curve.length) if length is None else length
    levels = answers.levels(answers.reach(asked))
    letters, start = answers.automaton.num_letters, answers.automaton.outputs[answers.automaton.start]
    if answers.stages is not None and by == "states":
        machine = machine_by_states(
            answers.stages, levels, letters, start, max_states, lambda one: agreement(one, levels)
        )
    else:
        machine = _by_words(levels, letters, start, max_states)
    named = name_states(machine, answers.automaton)
    mistake = separating_word(with_target(named, "observation"), answers.automaton)
    known = named, asked, agreement(machine, levels)
    difference = first_difference(machine, levels)
    if asked == len(levels):
        share = share_of_words(machine, levels)
        exact = Share(share, share, share), letters**asked, True
        return Extracted(*known, difference, mistake, *exact, curve)
    fresh = np.random.default_rng(len(levels)).integers(letters, size=(FRESH, asked))
    wrong = answers.of(fresh) != np.array(machine.observe)[machine.simulate(fresh)]
    bad = wrong.any(axis=1)
    if difference is None and bad.any():
        ends = np.where(bad, wrong.argmax(axis=1), asked)
        difference = tuple(int(letter) for letter in fresh[ends.argmin(), : ends.min() + 1])
    sampled = Share.of(int((~bad).sum()), FRESH), FRESH, False
    return Extracted(*known, difference, mistake, *sampled, curve)


def _by_words(levels: Levels, letters: int, start: int, most: int) -> Semiautomaton:
    machine = smallest_machine(levels, letters, start, most)
    if machine is None:
        within = machine_within(levels, letters, start, most)
        if within is None:
            least = len({start, *(int(answer) for level in levels for answer in np.unique(level))})
            raise InvalidInput(f"--max-states must be at least {least}, one for each answer; got {most}")
        machine = within[0]
    return machine


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
