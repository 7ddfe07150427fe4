"""What a page holds of a network, without a browser."""

from krohn.automata.zoo import parse_spec
from krohn.explorer.page_data import build_machine


def test_a_page_shows_the_proof_in_the_format_of_the_compiler() -> None:
    machine = build_machine(parse_spec("C2"), 8)
    assert machine["certificate"]["certified"]
    assert machine["certificate"]["dtype"] == "float32"
