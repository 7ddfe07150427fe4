"""One pipeline for plans: the plan that decompose reports is the one that compile builds."""

import json

import pytest

import krohn
from krohn.cli.app import run


@pytest.mark.parametrize("spec", ["abab", "D6", "Grid4", "regex:(a|b)*a(a|b)", "A5", "FlipFlop"])
def test_decompose_names_the_plan_that_compile_takes(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decompose", spec, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["compiled"]
    network = krohn.compile(spec, length=40)
    assert report["method"] == network.method
    assert report["layers"] == (None if network.method == "scan" else network.transformer.depth)
