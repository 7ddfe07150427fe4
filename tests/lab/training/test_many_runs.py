import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput, Unsupported
from krohn.lab import random_streams
from krohn.lab.tasks.many import ManyTask, task_of
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.config import EvaluationConfig
from krohn.lab.training.directory import read_config, read_weights
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.loop import train
from krohn.lab.training.many_runs import automata_of, train_many
from krohn.lab.training.trained_network import read_run
from lab.training.small_runs import LINE, small_run

CPU = torch.device("cpu")
FEW = tuple(parse_spec(name) for name in ("Grid4", "C3", "Dyck2,2", "FlipFlop"))
SETTINGS: dict[str, Any] = {
    "length": 5, "layers": 1, "dim": 16, "heads": 2, "mlp": 16, "lr": 1e-2, "warmup": 2, "batch": 4,
    "steps": 6, "eval_every": 3, "eval_sequences": 8, "device": "cpu",
}  # fmt: skip


@pytest.mark.parametrize("distribution", ["uniform", "auto"])
def test_each_replicate_reads_words_of_its_own_automaton(distribution: str) -> None:
    task = ManyTask(TaskConfig(spec="each:x", length=9, bos=True, distribution=distribution), FEW, CPU)
    keys = random_streams.replicate_keys(3, len(FEW))
    batch = task.batch(keys, torch.arange(2)[:, None], 6)
    assert batch.tokens.shape == (2, len(FEW), 6, 10)
    for row, automaton in enumerate(FEW):
        words, states = batch.tokens[:, row, :, 1:].flatten(0, 1), batch.targets[:, row, :, 1:].flatten(0, 1)
        assert set(words.flatten().tolist()) == set(range(automaton.num_letters))
        for word, path in zip(words.tolist(), states.tolist(), strict=True):
            state, expected = automaton.start, []
            for letter in word:
                state = int(automaton.table[state, letter])
                expected.append(state)
            assert path == expected
    if distribution == "auto":  # Dyck is read by legal moves: it never falls into its sink
        table = FEW[2].table
        (sink,) = [state for state in range(len(table)) if all(table[state] == state)]
        assert sink not in batch.targets[:, 2].flatten().tolist()


def test_the_words_of_some_rows_are_those_that_all_have_there() -> None:
    task = ManyTask(TaskConfig(spec="each:x", length=7), FEW, CPU)
    whole, part = HeldOut(task, seed=5, count=4), HeldOut(task, seed=5, count=4).of([2, 0])
    assert torch.equal(part.batch.tokens, whole.batch.tokens[[2, 0]])
    again, _ = task.of([2, 0]).held_out(5, 4)
    assert torch.equal(again, whole.words[[2, 0]])


def test_many_copies_of_one_automaton_are_trained_to_the_bits_of_one_run_of_it() -> None:
    config = small_run(replicates=3, steps=12)
    alone = train(config, device="cpu", automaton=LINE)
    many = train(config, device="cpu", automaton=(LINE,) * 3)
    for name, value in alone.weights.items():
        assert torch.equal(value[..., :3], many.weights[name][..., :3]), name
    assert many.curves == alone.curves


def test_classes_of_other_automata_have_probability_0_and_are_not_learned() -> None:
    config = replace(small_run(replicates=4, steps=10), task=TaskConfig(spec="each:x", length=6))
    result = train(config, device="cpu", automaton=FEW)
    chances = result.network.logits(result.weights, result.task.held_out(1, 4)[1].tokens).softmax(-1)
    first = train(replace(config, steps=1), device="cpu", automaton=FEW)
    for row, automaton in enumerate(FEW):
        assert float(chances[row, ..., automaton.num_states :].sum()) == 0.0
        absent = slice(automaton.num_states, result.task.classes)
        moved = (result.weights["head.weight"] - first.weights["head.weight"])[row]
        assert float(moved[:, : automaton.num_states].abs().max()) > 1e-4
        assert all(float(column.abs().max()) < 1e-6 for column in moved[:, absent].T)  # weight decay alone


def test_frozen_rows_leave_and_the_others_are_judged_on_their_own_words() -> None:
    latch = Semiautomaton.from_letters([(0, 1), (1, 1)], name="latch")
    hard = parse_spec("C5")
    config = replace(
        small_run(replicates=6, steps=60, evaluation=EvaluationConfig(every=10, sequences=16, stop_at=0.9)),
        task=TaskConfig(spec="each:x", length=6),
    )
    automata = (latch, latch, latch, latch, hard, LINE)
    result = train(config, device="cpu", automaton=automata)
    assert [entry["status"] for entry in result.replicates[:5]] == ["solved"] * 4 + ["finished"]
    held = HeldOut(result.task, seed=config.evaluation.seed, count=16)
    again = held.judge(result.network, result.weights).token.tolist()
    assert again == pytest.approx([entry["accuracy"] for entry in result.replicates])


def test_rows_are_the_same_after_a_pause_and_in_the_folder(tmp_path: Path) -> None:
    names = ["Grid4", "C3", "FlipFlop"]
    whole = train_many(names, together=2, **SETTINGS)
    train_many(names, together=2, directory=tmp_path / "run", deadline=0.0, **SETTINGS)
    assert not (tmp_path / "run").exists() or not list((tmp_path / "run").glob("rows*"))
    kept = train_many(names, together=2, directory=tmp_path / "run", **SETTINGS)
    again = train_many(names, together=2, directory=tmp_path / "run", **SETTINGS)
    assert whole.rows == kept.rows == again.rows
    assert [row["automaton"] for row in whole.rows] == names
    assert set(whole.rows[0]["longer"]) == {"10", "20"}
    lines = (tmp_path / "run" / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == whole.rows


def test_replicates_of_one_automaton_differ() -> None:
    result = train_many(["Grid4"], replicates=2, **SETTINGS | {"steps": 60, "eval_sequences": 64})
    assert [row["replicate"] for row in result.rows] == [0, 1]
    assert result.rows[0]["longer"] != result.rows[1]["longer"]


def test_a_file_has_an_automaton_in_each_line(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text('"C2"\n\n{"automaton": "latch", "table": [[0, 1], [1, 1]], "start": 1}\n')
    automata = automata_of(file)
    assert [one.name for one in automata] == ["C2", "latch"]
    assert automata[1].start == 1
    file.write_text('"C2"\n{"automaton": "latch", "tabel": []}\n')
    with pytest.raises(InvalidInput, match="line 2"):
        automata_of(file)


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("at least one automaton", {"automata": []}),
        ("must be at least 1", {"together": 0}),
        ("without a scratchpad", {"scratchpad": True}),
        ("hints are about one automaton", {"teach": "doubling", "layers": 3}),
        ("needs an observation map|observation", {"target": "observation", "automata": ["C2", "Grid4"]}),
    ],
)
def test_what_cannot_be_trained_so_is_refused(message: str, changes: dict[str, Any]) -> None:
    given = {"automata": ["C2", "Grid4"]} | SETTINGS | changes
    with pytest.raises((InvalidInput, Unsupported), match=message):
        train_many(given.pop("automata"), **given)


GPT_ALONE = ("layers", "dim", "heads", "mlp")
OWN = ("C2", "Grid4", krohn.automaton([[1, 0, 1], [1, 1, 0], [2, 0, 1]], name="../mine, too"))


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_a_network_of_a_stack_is_a_run_that_answers_as_it_did_there(tmp_path: Path, kind: str) -> None:
    few = [one if isinstance(one, Semiautomaton) else parse_spec(one) for one in OWN]
    sizes = {name: SETTINGS[name] for name in GPT_ALONE} if kind == "gpt" else {}
    settings = {
        name: value for name, value in SETTINGS.items() if name not in ("layers", "dim", "heads", "mlp")
    }
    bos = {"bos": True} if kind == "gpt" else {}
    given = settings | sizes | bos | {"model": kind}
    result = train_many(few, directory=tmp_path / "runs", together=2, **given)
    stacks = [read_config(tmp_path / "runs" / f"stack-{number}") for number in (1, 2)]
    folders = sorted(path for path in (tmp_path / "runs").iterdir() if path.name.startswith("0"))
    assert [path.name[:6] for path in folders] == ["00001-", "00002-", "00003-"]
    assert [path.name[6:] for path in folders[:2]] == [row["automaton"] for row in result.rows[:2]]
    for number, (one, folder) in enumerate(zip(few, folders, strict=True)):
        stack, place = divmod(number, 2)
        trained = read_run(folder)
        assert (trained.automaton.table == one.table).all()
        words = np.array(list(product(range(one.num_letters), repeat=5)))
        states, leads = trained.decide(words)
        together = task_of(stacks[stack].task, tuple(few[2 * stack : 2 * stack + 2]), CPU)
        network = stacks[stack].model.build(together.vocabulary, together.classes)
        weights = read_weights(tmp_path / "runs" / f"stack-{stack + 1}", place, network.layout)
        read = together.begun(torch.from_numpy(words)[None])
        logits = network.logits({name: value[None] for name, value in weights.items()}, read)[0, :, -5:]
        assert (logits.argmax(-1).numpy() == states).all()
        best = logits[..., : one.num_states].topk(2).values
        np.testing.assert_allclose(leads, (best[..., 0] - best[..., 1]).detach(), atol=1e-5)


def test_networks_of_a_stack_are_verified_and_understood_by_name(tmp_path: Path) -> None:
    steps = SETTINGS | {"steps": 300, "eval_every": 100, "lr": 1e-2, "batch": 16}
    train_many(["FlipFlop", "Grid4"], directory=tmp_path / "runs", **steps)
    folder = tmp_path / "runs" / "00001-FlipFlop"
    judged = krohn.verify(folder)
    assert judged.to_json()["automaton"] is not None
    report = krohn.understand(folder, effort=0.1)
    assert "FlipFlop, trained" in report.text()
