"""The smallest machine that answers like a network on all words up to a length, from these answers alone.

The method is that of Trakhtenbrot and Barzdin (1973): where the answers to *all* words up to a length are
known, a smallest machine is found without search. Words are visited from short to long, in lexicographic
order. A word goes to the first state whose own word has the same answers after all continuations that stay
within the length; if there is none, it becomes a state. Any two states then differ after some continuation
within the length, so no machine with these answers has fewer; and by induction along the same order the
machine gives every answer of the table, since a word's continuations are answered as those of an earlier
word that is no longer.
"""

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton

Words = npt.NDArray[np.int64]
Levels = list[Words]
"""Answers to all words of 1, 2, … letters, in lexicographic order."""
Word = tuple[int, int]
"""Its letters, counted, and its place among the words of this length."""


def smallest_machine(
    levels: Levels, letters: int, start: int, most: int, ahead: int | None = None
) -> Semiautomaton | None:
    """The machine, with the answer ``start`` to the empty word; none if it has more than ``most`` states.

    With ``ahead`` only continuations of so many letters are compared: then there are fewer states, and a
    network that is wrong here and there is not followed into its mistakes. Where a state is a word of the
    whole length, no longer one was asked, and it is left by no letter.
    """
    tree, depth = [np.array([start]), *levels], len(levels)
    states: list[Word] = [(0, 0)]
    of_answer: defaultdict[int, list[int]] = defaultdict(list, {start: [0]})
    table: list[list[int]] = []
    for number, (read, place) in enumerate(states):  # grows during iteration
        row = [number] * letters
        for letter in range(letters if read < depth else 0):
            word = read + 1, place * letters + letter
            look = depth - word[0] if ahead is None else min(ahead, depth - word[0])
            alike = of_answer[int(tree[word[0]][word[1]])]
            same = (one for one in alike if _alike(tree, letters, states[one], word, look))
            row[letter] = next(same, len(states))
            if row[letter] == len(states):
                if len(states) == most:
                    return None
                alike.append(len(states))
                states.append(word)
        table.append(row)
    return Semiautomaton(np.array(table), observe=tuple(int(tree[read][place]) for read, place in states))


def _alike(tree: Levels, letters: int, one: Word, other: Word, look: int) -> bool:
    """Whether the answers after all continuations of up to ``look`` letters are the same."""
    return all(
        np.array_equal(_after(tree, letters, one, more), _after(tree, letters, other, more))
        for more in range(look + 1)
    )


def _after(tree: Levels, letters: int, word: Word, more: int) -> Words:
    """The answers to the word's continuations by ``more`` letters."""
    read, place = word
    return tree[read + more][place * letters**more : (place + 1) * letters**more]


def machine_within(levels: Levels, letters: int, start: int, most: int) -> tuple[Semiautomaton, float] | None:
    """Of the machines with at most ``most`` states the one that is right on most words, and their share.

    Compared are continuations of 0, 1, 2, … letters, as far as these give no more states; none if already
    the answers need more.
    """
    best: tuple[Semiautomaton, float] | None = None
    for ahead in range(len(levels)):
        machine = smallest_machine(levels, letters, start, most, ahead)
        if machine is None:
            break
        share = share_of_words(machine, levels)
        if best is None or share > best[1]:
            best = machine, share
    return best


def share_of_words(machine: Semiautomaton, levels: Levels) -> float:
    """The share of words of the whole length after all of whose letters the machine answers as they do."""
    answers, state, right = np.array(machine.observe), np.array([machine.start]), np.array([True])
    for level in levels:
        state = machine.table[state].reshape(-1)
        right = np.repeat(right, machine.num_letters) & (answers[state] == level)
    return float(right.mean())
