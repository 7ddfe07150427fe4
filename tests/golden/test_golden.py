"""Every file that is promised byte for byte has the bytes it had when its digest was kept."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from golden import portable
from golden.digests import KEPT, KINDS, differences, digests
from golden.other_machine import moved, product, reduced

ROOT = Path(__file__).parents[2]
EVERY = {"exports": 3, "certificates": 5}
"""Proofs take longer: here each third or fifth, all of them in ``make portable``."""


def chosen(kind: str, lines: list[str]) -> list[str]:
    """Of networks the first and the last of each method and option."""
    if kind != "networks":
        return lines[:: EVERY.get(kind, 1)]
    alike: dict[str, list[str]] = {}
    for line in lines:
        alike.setdefault(line.split(maxsplit=2)[2], []).append(line)
    return [line for group in alike.values() for line in dict.fromkeys((group[0], group[-1]))]


@pytest.mark.parametrize("kind", KINDS)
def test_files_have_the_kept_bytes(kind: str) -> None:
    """Python hashes strings differently in every process: no network depends on the order of a set."""
    stored, lines = json.loads(KEPT.read_text())[kind], list(KINDS[kind]())
    assert lines == list(stored)
    result = {line: digests(line) for line in chosen(kind, lines)}
    assert differences(result, stored) == []
    assert all(result.values())


def test_another_byte_a_missing_file_and_a_new_one_are_named() -> None:
    stored = {"a": {"net": "1", "gone": "2"}, "b": {"net": "3"}}
    result = {"a": {"net": "0", "more": "2"}, "b": {"net": "3"}, "c": {"net": "4"}}
    assert differences(result, stored) == [
        "gone is missing: krohn a",
        "more is not kept: krohn a",
        "net differs: krohn a",
        "net is not kept: krohn c",
    ]
    assert differences(stored, stored) == []


def test_only_what_the_last_command_wrote_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").write_text("not of the commands")
    line = "sample C2 --length 2 --count 1 --out a.jsonl && sample C3 --length 2 --count 1 --out b.jsonl"
    assert list(digests(line)) == ["b.jsonl"]
    with pytest.raises(SystemExit, match="krohn compile nothing: error: "):
        digests("compile nothing")


def test_the_other_machine_rounds_differently_where_it_may() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(40, 50)), rng.normal(size=(50, 30))
    assert not np.array_equal(product(left, right), left @ right)
    assert np.allclose(product(left, right), left @ right, rtol=1e-12)
    assert np.array_equal(product(np.eye(50), right), right)  # one term each: nothing to round
    assert np.array_equal(product(left[0], right[:, 0]), left[0, ::-1] @ right[::-1, 0])
    assert not np.array_equal(reduced("sum", left, axis=1), left.sum(axis=1))
    assert np.allclose(reduced("sum", left, axis=1), left.sum(axis=1), rtol=1e-12)
    assert moved(np.exp)(1.0) == np.nextafter(np.exp(1.0), 9)
    assert moved(np.exp)(np.zeros(2)).tolist() == [1.0, 1.0]  # what every machine knows
    assert np.shares_memory(moved(np.exp)(left, out=left), left)


def test_modules_of_krohn_are_summed_backwards_on_the_other_machine(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import krohn.network.transformer as it, numpy as np\n"
        "print(it.__reduced__.__name__, it.__product__.__name__, np.exp(1.0) > 2.7182818284590452)\n"
    )
    command = [sys.executable, str(ROOT / "tests/golden/other_machine.py"), str(tmp_path / "script.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["reduced", "product", "True"]


def test_the_report_of_a_proof_is_the_same_on_the_other_machine(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import krohn, json\n"
        "for name, method in (('C2', 'auto'), ('C3', 'scan')):\n"
        "    found = krohn.verify(krohn.compile(name, length=12, method=method, dtype='float32'))\n"
        "    print(json.dumps(found.to_json()), found.margin)\n"
    )
    other = str(ROOT / "tests/golden/other_machine.py")
    reports = [
        subprocess.run(
            [sys.executable, *first, str(script)], capture_output=True, text=True, check=True
        ).stdout
        for first in ([], [other])
    ]
    here, there = ([line.rsplit(" ", 1) for line in report.splitlines()] for report in reports)
    assert [report for report, _ in here] == [report for report, _ in there]
    assert [margin for _, margin in here] != [margin for _, margin in there]  # rounded before it is written


def test_every_setting_changes_something_and_is_named_once() -> None:
    result = list(portable.settings())
    assert len({setting.name for setting in result}) == len(result)
    assert all(setting.variables or setting.other or setting.odd for setting in result[1:])
    assert {"PYTHONHASHSEED", "LC_ALL", "TZ", "HOME", "ATEN_CPU_CAPABILITY"} <= {
        name for setting in result for name in setting.variables
    }


def test_a_setting_in_which_bytes_differ_is_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = portable.odd_copy(tmp_path)
    stored = copy / "tests" / "golden" / "digests.json"
    stored.write_text(stored.read_text().replace('": "', '": "0'))
    monkeypatch.setattr(portable, "ROOT", copy)
    good, printed, _ = portable.run(portable.Setting("spoiled"), 200, tmp_path)
    assert not good
    assert "differs: krohn " in printed


def test_the_tests_that_are_run_under_other_settings_exist() -> None:
    for test in portable.TESTS:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text()
