"""What program and layout say about a network of the paper is what its channels hold."""

from every import every
from krohn.automata.zoo import parse_spec
from krohn.paper.theorem1 import build_scan
from krohn.paper.theorem2 import build_paper
from krohn.paper.theorem3 import VARIANTS, build_grid
from krohn.proving.checks import ProofRecord
from krohn.proving.description import check_hints
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
    net, record = NETWORKS[name](), ProofRecord()
    check_hints(net, net.length, record)
    assert record.checks[-1].passed
    assert all(head.text for heads in net.layout.heads for head in heads)
