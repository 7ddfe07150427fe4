"""Words of a cascade act on the states as documented, letter by letter."""

from itertools import product

from cascade.random_automata import golden, random_automaton
from every import every
from krohn.algebra.packed import product_of_word
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.skeleton import Skeleton, skeleton
from krohn.cascade.words_of_maps import generator_word, return_word, spell, transport_word


def carried(frame: Skeleton, number: int, word: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted({product_of_word(frame.automaton.letters, word)[q] for q in frame.states(number)}))


@every("seed", range(25))
def test_transports_carry_tile_to_tile_and_the_way_back_undoes_them(seed: int) -> None:
    frame = skeleton(random_automaton(seed))
    for part in frame.classes:
        for member in part.members:
            word = transport_word(frame, member)
            for tile, moved in zip(part.tiles, frame.tiles[member], strict=True):
                assert carried(frame, tile, word) == frame.states(moved)
            states = frame.states(part.representative)
            images = product_of_word(frame.automaton.letters, word + return_word(frame, member))
            assert [images[q] for q in states] == list(states)


@every("seed", range(25))
def test_generator_words_permute_the_tiles_as_they_say(seed: int) -> None:
    frame = skeleton(random_automaton(seed))
    for part in frame.classes:
        for generator in part.generators:
            word = generator_word(frame, part, generator)
            assert carried(frame, part.representative, word) == frame.states(part.representative)
            for place, image in enumerate(generator):
                assert carried(frame, part.tiles[place], word) == frame.states(part.tiles[image])


def test_generator_words_are_shortest_where_the_search_is_short() -> None:
    frame = skeleton(golden("T3"))
    for part in frame.classes:
        for generator in part.generators:
            goal = [frame.states(part.tiles[image]) for image in generator]
            shortest = next(
                length
                for length in range(1, 9)
                if any(
                    [carried(frame, tile, word) for tile in part.tiles] == goal
                    for word in product(range(3), repeat=length)
                )
            )
            assert len(generator_word(frame, part, generator)) == shortest


def test_long_groups_still_have_words() -> None:
    frame = skeleton(golden("T8"))
    part = frame.classes[0]
    for generator in part.generators:
        word = generator_word(frame, part, generator)
        for place, image in enumerate(generator):
            assert carried(frame, part.tiles[place], word) == frame.states(part.tiles[image])


def test_words_are_spelled_in_letter_names() -> None:
    frame = skeleton(Semiautomaton.from_letters([(1, 0), (0, 0)], letter_names=("flip", "0")))
    assert spell(frame, (0, 1)) == "flip 0"
    assert spell(frame, (1, 1)) == "00"
    assert spell(frame, ()) == "ε"
