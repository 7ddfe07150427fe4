"""What long words cost is said before, and what cannot be afforded is refused before anything is built."""

import pytest

import krohn
from krohn.cli.app import run
from krohn.errors import LimitExceeded
from krohn.proving.scan_cost import LONG, LONGEST, cost_of_scan


def test_a_length_that_no_proof_affords_is_refused_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "C2", "--length", "200000"]) == 2
    captured = capsys.readouterr().err.splitlines()
    assert captured[0].startswith("if no network of a fixed depth is proved, a scan is: about ")
    assert captured[-1].startswith("error: a scan is proved for words of at most 110,000 letters")
    assert "--unproved" in captured[-1]
    with pytest.raises(LimitExceeded, match="unproved=True"):
        krohn.compile("S5", LONGEST + 1)


def test_what_needs_no_scan_is_proved_however_long_it_is() -> None:
    assert krohn.compile("regex:(aa)*", 200_000).proved == "float32"


def test_a_scan_of_some_thousand_letters_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "S5", "--length", str(LONG + 1)]) == 0
    shown = capsys.readouterr()
    assert "about" in shown.err
    assert "proved: right on every word of up to 4,097 letters in float32" in shown.out


def test_the_estimate_grows_as_it_was_measured() -> None:
    assert 4 < cost_of_scan(10_000).seconds < 13
    assert 100 < cost_of_scan(100_000).seconds < 140
    assert 1.7e8 < cost_of_scan(100_000).bytes < 2.7e8
