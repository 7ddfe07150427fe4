"""A stranger's first hour in six roles, from the words of README and the pages that it links to.

Every command is put together from such a page: its command and each of its options must stand there. Names
of files are the stranger's own.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"


def page(name: str) -> str:
    """A page that README links to."""
    assert f"({name}" in README.read_text(), f"README does not link to {name}"
    return (ROOT / name).read_text()


def code_of(text: str, marker: str) -> str:
    """The block of Python with this marker."""
    return next(block for block in re.findall(r"```python\n(.*?)```", text, re.S) if marker in block)


def krohn(text: str, command: str, folder: Path, *, status: int = 0) -> str:
    """What a command prints, if the text names it and all its options."""
    words = shlex.split(command)
    assert f"krohn {words[0]}" in text, f"the page does not name krohn {words[0]}"
    missing = [word for word in words if word.startswith("--") and word not in text]
    assert not missing, f"the page does not name {missing}"
    done = subprocess.run(
        [sys.executable, "-m", "krohn", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    assert done.returncode == status, (command, done.stdout[-2_000:], done.stderr[-2_000:])
    return done.stdout


def test_a_theorist_has_a_pattern(tmp_path: Path) -> None:
    """Is a(ba)* without a counter, and how deep is a network of it?"""
    text = README.read_text()
    out = krohn(text, "compile regex:a(ba)* --length 100 --out mine", tmp_path)
    assert "proved: right on every word of up to 100 letters in float32" in out
    assert "certified: regex:a(ba)*, every word of length ≤ 100" in krohn(text, "verify mine", tmp_path)
    program = 'import krohn; print(krohn.analyze("regex:a(ba)*").complexity)'
    assert "krohn.analyze(" in text
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("AC0")


def test_an_engineer_has_a_machine_of_another_package(tmp_path: Path) -> None:
    """A door that locks after two wrong codes, as LearnLib writes it; and a later version, with a mistake."""
    text = page("docs/machines.md")
    arrows = [
        ("a", "b", "bad/no"),
        ("b", "c", "bad/locked"),
        ("c", "c", "bad/locked"),
        ("a", "a", "good/open"),
    ]
    later = [*arrows, ("b", "a", "good/open"), ("c", "a", "good/open")]
    right = [*arrows, ("b", "a", "good/open"), ("c", "c", "good/locked")]
    for name, rows in (("door", right), ("later", later)):
        lines = "".join(f'{one} -> {two} [label="{label}"];\n' for one, two, label in rows)
        (tmp_path / f"{name}.dot").write_text(f"digraph {{ {lines} __start0 -> a }}")
    assert "not equal: after bad bad good" in krohn(text, "equal door.dot later.dot", tmp_path, status=1)
    krohn(text, "zoo door.dot --out door.att", tmp_path)
    assert "equal: they show the same" in krohn(text, "equal door.dot door.att", tmp_path)
    out = krohn(README.read_text(), "compile door.dot --length 50", tmp_path)
    assert "proved: right on every word of up to 50 letters in float32" in out


def test_a_verification_engineer_has_a_network(tmp_path: Path) -> None:
    """The module of the page in a file of her own, with a threshold that is right and one that is not."""
    text = page("docs/bring-a-network.md")
    module = code_of(text, "class Seen").split("seen = krohn")[0]
    for name, threshold in (("good", 0.03), ("bad", 0.09)):
        (tmp_path / f"{name}.py").write_text(f"{module}\nnet = Seen({threshold})\n")
    table = {"no": {"a": "no", "b": "yes"}, "yes": {"a": "yes", "b": "yes"}}
    spec = {"krohn": 1, "letters": ["a", "b"], "states": ["no", "yes"], "start": "no", "next": table}
    (tmp_path / "seen.json").write_text(json.dumps(spec))
    ask = "--spec seen.json --length 16"
    assert "proved: seen, on all 131,070 inputs, float32" in krohn(
        text, f"verify good.py:net {ask}", tmp_path
    )
    found = json.loads(
        krohn(README.read_text() + text, f"verify bad.py:net {ask} --json", tmp_path, status=1)
    )
    word = found["counterexample"]["word"]
    held: dict[str, object] = {}
    exec((tmp_path / "bad.py").read_text(), held)
    import torch

    letters = [letter if isinstance(letter, int) else "ab".index(letter) for letter in word]
    answers = held["net"](torch.tensor([letters])).argmax(-1)[0].tolist()  # type: ignore[operator]
    right, seen = [], 0
    for letter in letters:
        seen |= letter
        right.append(seen)
    assert answers != right


@pytest.mark.slow
def test_a_designer_has_a_layer(tmp_path: Path) -> None:
    """The layer of the page, which can count modulo two, does learn to."""
    text = page("docs/can-my-layer.md")
    (tmp_path / "my_layer.py").write_text(code_of(text, "class Signed"))
    krohn(text, "card my_layer:Signed --tasks C2 --seeds 1 --steps 400 --out signed", tmp_path)
    (row,) = json.loads((tmp_path / "signed" / "card.json").read_text())["rows"]
    assert (row["task"], row["can"]) == ("C2", "yes")
    assert row["learned"]


@pytest.mark.slow
def test_a_researcher_has_a_method(tmp_path: Path) -> None:
    """Edge attribution patching, as the example has it, against a circuit that is known."""
    text = page("docs/suite.md")
    krohn(text, "suite build --out suite --only c2-cascade-plain", tmp_path)
    example = ROOT / "examples" / "edge_attribution_patching.py"
    assert f"examples/{example.name}" in text
    subprocess.run(
        [sys.executable, str(example), "suite/c2-cascade-plain", "mine.json"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    out = krohn(text, "suite score suite/c2-cascade-plain --circuit mine.json", tmp_path)
    auroc = float(re.findall(r"AUROC ([0-9.]+)", out)[0])
    assert auroc > 0.85


def test_a_teacher_has_answers(tmp_path: Path) -> None:
    """Words that end in ab: one answer with a state too many, one that wants exactly one."""
    text = page("docs/machines.md")
    folder = tmp_path / "answers"
    folder.mkdir()
    for name, pattern in (("ada", "(a|b)*ab|(b|a)*(a)(b)"), ("bob", "b*a*ab")):
        krohn(text, f"zoo regex:{pattern} --out answers/{name}.att", tmp_path)
    out = krohn(text, "equal regex:(a|b)*ab answers", tmp_path, status=1)
    assert "ada.att: right" in out
    assert re.search(r"bob.att: wrong after [ab ]+: the solution shows 1, this 0", out)
    assert out.splitlines()[-1] == "1 of 2 right (50%)"
