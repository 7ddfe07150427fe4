"""Somebody who has never seen krohn proves her module by one command, which finds her mistake, too."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

HERS = '''
"""A switch that is turned on and off, read by one head that looks for the latest turn."""

import torch
from torch import nn


class RMS(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * self.gain


class Latest(nn.Module):
    """The latest of "on" and "off" decides; "wait" changes nothing."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(3, 2)
        self.norm = RMS(2)
        self.out = nn.Linear(2, 2)
        with torch.no_grad():
            self.table.weight.copy_(torch.tensor([[0.0, 1e-3], [1.0, 0.0], [-1.0, 0.0]]))
            self.out.weight.copy_(torch.tensor([[-9.0, 0.0], [9.0, 0.0]]))
            self.out.bias.copy_(torch.tensor([0.5, -0.5]))

    def forward(self, tokens):
        assert tokens.max() < 3, "tokens are 0, 1, 2"
        length = tokens.shape[1]
        x = self.norm(self.table(tokens))
        place = torch.arange(length, dtype=torch.float32)
        score = 3.0 * x[..., 0].abs().unsqueeze(1) * (1 + place) + torch.zeros(length, 1)
        later = torch.ones(length, length).triu(1).bool()
        weights = score.masked_fill(later, float("-inf")).softmax(-1)
        return self.out(weights @ x)


net = Latest().eval()
'''
SWITCH: dict[str, Any] = {
    "krohn": 1,
    "letters": ["wait", "on", "off"],
    "states": ["dark", "lit"],
    "start": "dark",
    "next": {
        "dark": {"wait": "dark", "on": "lit", "off": "dark"},
        "lit": {"wait": "lit", "on": "lit", "off": "dark"},
    },
}


def answer(folder: Path) -> tuple[int, str]:
    """The one command."""
    command = [sys.executable, "-m", "krohn", "verify", "hers.py:net", "--spec", "switch.json"]
    done = subprocess.run(
        [*command, "--length", "6", "--json"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_her_module_is_proved_and_her_mistake_is_found(tmp_path: Path) -> None:
    (tmp_path / "hers.py").write_text(HERS)
    (tmp_path / "switch.json").write_text(json.dumps(SWITCH))
    status, said = answer(tmp_path)
    assert status == 0, said
    verdict = json.loads(said)
    assert verdict["certified"]
    assert verdict["inputs"] == str(sum(3**length for length in range(1, 7)))

    # Her mistake: the mask lets each position see the next letter.
    (tmp_path / "hers.py").write_text(HERS.replace("triu(1)", "triu(2)"))
    status, said = answer(tmp_path)
    assert status == 1
    found = json.loads(said)["counterexample"]
    held: dict[str, Any] = {}
    exec((tmp_path / "hers.py").read_text(), held)
    with torch.no_grad():
        got = held["net"](torch.tensor([found["word"]]))[0].argmax(-1).tolist()
    lit, right = 0, []
    for letter in found["word"]:
        lit = lit if letter == 0 else 2 - letter
        right.append(lit)
    at = found["at"] - 1  # she looked ahead: not the last letter
    assert got[at] != right[at]
    assert SWITCH["states"][right[at]] == found["expected"]
    assert SWITCH["states"][got[at]] == found["got"]
