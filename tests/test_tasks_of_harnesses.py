"""The tasks for other harnesses ask for the last state of a session, and its answer is the automaton's.

Neither harness is installed here: the templates are rendered, and the task is run on names that stand for
Inspect's.
"""

import json
import re
import runpy
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jinja2
import pytest
import yaml
from click.testing import CliRunner

import krohn
from krohn.cli.app import app

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TASKS = ("krohn_states.yaml", "inspect_states.py")


def data_of(task: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The rows that the command in the file writes, in this folder."""
    monkeypatch.chdir(folder)
    command = re.findall(r"^[# ]+krohn (sample .*)$", (EXAMPLES / task).read_text(), re.M)
    done = CliRunner().invoke(app, shlex.split(command[0]))
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in (folder / "states.jsonl").read_text().splitlines()]
    assert len(rows) == 500
    return rows


def assert_asks(asked: str, answer: str, row: dict[str, Any]) -> None:
    """The session ends with the question, and the answer is the state after all of its letters."""
    assert asked.endswith(">>> state")
    automaton = krohn.parse_spec(row["krohn"])
    letters = [name for name in re.findall(r"^>>> (.*)$", asked, re.M) if name != "state"]
    assert len(letters) == 64
    assert answer == automaton.state_names[automaton.run(letters)[-1]]


def test_a_task_for_lm_evaluation_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = data_of(TASKS[0], tmp_path, monkeypatch)
    task = yaml.safe_load((EXAMPLES / TASKS[0]).read_text())
    assert task["dataset_path"] == "json"
    assert task["dataset_kwargs"]["data_files"] == {task["test_split"]: "states.jsonl"}
    assert task["target_delimiter"] == ""
    templates = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    ask, answer = (templates.from_string(task[key]) for key in ("doc_to_text", "doc_to_target"))
    for row in rows:
        asked, right = ask.render(**row), answer.render(**row)
        assert f"{asked}{right}\n" == row["text"]
        assert_asks(asked.removesuffix("\n"), right, row)


def test_a_task_for_inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = data_of(TASKS[1], tmp_path, monkeypatch)
    names = {
        "inspect_ai": {"Task": dict, "task": lambda function: function},
        "inspect_ai.dataset": {
            "Sample": dict,
            "json_dataset": lambda file, one: [
                one(json.loads(line)) for line in Path(file).read_text().splitlines()
            ],
        },
        "inspect_ai.scorer": {"match": lambda *args, **options: (args, options)},
        "inspect_ai.solver": {"generate": lambda: "generate", "system_message": str},
    }
    for name, attributes in names.items():
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)
    task = runpy.run_path(str(EXAMPLES / TASKS[1]))["krohn_states"]()
    assert task["scorer"] == (("exact",), {"ignore_case": False})
    for row, sample in zip(rows, task["dataset"], strict=True):
        assert sample["metadata"] == {"automaton": "S3"}
        assert_asks(sample["input"], sample["target"], row)


def test_the_page_names_them() -> None:
    page = (EXAMPLES.parent / "docs" / "can-my-layer.md").read_text()
    for task in TASKS:
        assert f"`examples/{task}`" in page
