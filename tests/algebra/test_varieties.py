"""The classes of small automata against what they mean for words and states, not for idempotents."""

from itertools import product

from krohn.algebra.transformation import compose
from krohn.algebra.varieties import varieties
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import small_automata
from krohn.automata.zoo import zoo

Map = tuple[int, ...]


def maps_of_words(automaton: Semiautomaton) -> dict[Map, tuple[int, ...]]:
    """Every map that a word induces, with a shortest word, breadth first."""
    result: dict[Map, tuple[int, ...]] = {}
    waiting: list[tuple[Map, tuple[int, ...]]] = [(tuple(range(automaton.num_states)), ())]
    for images, word in waiting:
        for letter in range(automaton.num_letters):
            after = tuple(int(automaton.table[q, letter]) for q in images)
            if after not in result:
                result[after] = (*word, letter)
                waiting.append((after, result[after]))
    return result


def some_word_goes_round(automaton: Semiautomaton) -> bool:
    """A word that leads some state away from itself and, repeated, back to it."""
    for images in maps_of_words(automaton):
        for state in range(automaton.num_states):
            place = images[state]
            for _ in range(automaton.num_states):
                if place == state != images[state]:
                    return True
                place = images[place]
    return False


def some_prefix_comes_back(automaton: Semiautomaton) -> bool:
    """Two different maps, each of which is the other followed by a word: then it is not R-trivial."""
    maps = maps_of_words(automaton)
    after = {m: {tuple(word[q] for q in m) for word in maps} for m in maps}
    return any(m in after[other] for m in maps for other in after[m] - {m})


def windows_decide(automaton: Semiautomaton, width: int) -> bool:
    """Words with the same first and last letters and the same set of windows act alike."""
    acts: dict[object, Map] = {}
    for length in range(3 * width - 1, 3 * width + 2):
        for word in product(range(automaton.num_letters), repeat=length):
            images = tuple(automaton.run(word, q)[-1] for q in range(automaton.num_states))
            windows = frozenset(word[i : i + width] for i in range(length - width + 1))
            if acts.setdefault((word[: width - 1], word[len(word) - width + 1 :], windows), images) != images:
                return False
    return True


def test_classes_say_what_words_do() -> None:
    kinds = set()
    for automaton in small_automata(3, 2):
        result = varieties(automaton)
        kinds.add(result)
        assert ("aperiodic" in result) != some_word_goes_round(automaton)
        assert ("R-trivial" in result) != some_prefix_comes_back(automaton)
    assert len(kinds) >= 8


def test_where_windows_do_not_decide_an_automaton_is_not_locally_testable() -> None:
    """Windows of three letters suffice for every automaton tried that is locally testable."""
    for automaton in small_automata(3, 2)[::9]:
        assert ("locally testable" in varieties(automaton)) == windows_decide(automaton, 3)


def last_letters_decide(automaton: Semiautomaton, count: int) -> bool:
    """After the last ``count`` letters the state is known, whatever it was."""
    words = product(range(automaton.num_letters), repeat=count)
    return all(len({automaton.run(word, q)[-1] for q in range(automaton.num_states)}) == 1 for word in words)


def test_definite_means_that_the_last_letters_decide() -> None:
    """With n states n − 1 letters are enough if any number is (Perles, Rabin and Shamir)."""
    result = set()
    for automaton in small_automata(3, 2):
        decided = last_letters_decide(automaton, 2)
        assert ("definite" in varieties(automaton)) == decided
        assert last_letters_decide(automaton, 4) == decided
        result.add(decided)
    assert result == {True, False}


def test_groups_and_commutative_automata_are_those_whose_words_can_be_undone_or_sorted() -> None:
    for automaton in small_automata(3, 2):
        result = varieties(automaton)
        maps = maps_of_words(automaton)
        undone = all(any(compose(m, other) == (0, 1, 2) for other in maps) for m in maps)
        assert ("group" in result) == undone
        words = list(product(range(automaton.num_letters), repeat=3))
        sorts = all(
            automaton.run(w, q)[-1] == automaton.run(sorted(w), q)[-1] for w in words for q in range(3)
        )
        assert ("commutative" in result) == sorts


def test_a_semigroup_that_is_too_large_to_list_has_no_known_class() -> None:
    assert varieties(zoo("T5")) == ()  # 3,125 maps are listed, and it lies in none
    assert varieties(zoo("T6")) == ()  # 46,656 are not
    assert "group" in varieties(zoo("S4"))
