"""What program and layout say about a network of the paper is what its channels hold."""

from dataclasses import replace

import pytest

from every import every
from krohn.automata.zoo import parse_spec
from krohn.paper.theorem1 import build_scan
from krohn.paper.theorem2 import build_paper
from krohn.paper.theorem3 import VARIANTS, build_grid, builds_again
from krohn.proving.verification import verify
from paper.descriptions_on_words import Differs, check_on_words
from paper.lemma_networks import build_counter, build_memory
from paper.test_grid_recognition import CASES, renamed_grid

NETWORKS = {
    "scan on a circle": lambda: build_scan(parse_spec("Q8"), 20),
    "scan of few states": lambda: build_scan(parse_spec("abab"), 20),
    "counter": lambda: build_counter(6, 20, 2),
    "counter by sines": lambda: build_counter(5, 20, 1, "sin"),
    "memory": lambda: build_memory(24, 20, 3),
    "paper": lambda: build_paper(parse_spec("T3"), 20),
    **{f"grid {v}": (lambda v=v: build_grid(parse_spec("Grid4"), 20, v)) for v in VARIANTS},
    **{f"box {i}": (lambda i=i: build_grid(renamed_grid(*CASES[i], 1), 20)) for i in range(len(CASES))},
}


@every("name", NETWORKS)
def test_program_and_layout_agree_with_the_weights(name) -> None:
    net = NETWORKS[name]()
    check_on_words(net)
    assert net.method not in ("scan", "grid") or net.program is None or builds_again(net)
    assert all(head.text for heads in net.layout.heads for head in heads)


@pytest.mark.parametrize("name", ["scan on a circle", "grid mod"])
def test_a_forged_description_is_found_on_words_and_by_building_again(name: str) -> None:
    net = NETWORKS[name]()
    moments = list(net.layout.moments)
    number = next(n for n, channel in enumerate(moments[-1]) if channel.register)
    forged = replace(moments[-1][number], scale=2 * moments[-1][number].scale)
    moments[-1] = (*moments[-1][:number], forged, *moments[-1][number + 1 :])
    other = replace(net, layout=replace(net.layout, moments=tuple(moments)))
    assert builds_again(net)
    assert not builds_again(other)
    assert not verify(other, second_opinion=False).certified
    with pytest.raises(Differs):
        check_on_words(other)
