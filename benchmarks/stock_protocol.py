"""The protocol that papers use, on a GPU with flash-linear-attention: trained on 128 letters, tested on 512.

The unmodified models of flash-linear-attention, one block each, with their own kernels. Settings are those of
DeltaProduct's published command (github.com/automl/DeltaProduct: width 128, 8 heads of 32, AdamW at 10⁻³,
cosine, weight decay 10⁻⁶, every element of the group a letter, no convolution, no gates), but for fresh
words, two million of them in batches of 512, a warm-up, clipping and bfloat16 by autocast. A network is
*solved* at the first step with 99% of the validation words of 512 letters right from the first letter to
the last; training goes on to the end, and other words test it.

Run: python benchmarks/stock_protocol.py --out FILE.jsonl [--known FILE.jsonl] [--seconds 560] [--workers 4]
     python benchmarks/stock_protocol.py --controls --out FILE.jsonl

A line of JSON for each network as soon as it is done, so that a run can be cut off; what cannot be run is a
line with its message. Tuning fla's kernels takes minutes, so each takes one of its own configurations.
"""

import argparse
import json
import math
import multiprocessing as mp
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from krohn.automata.zoo import parse_spec
from krohn.lab.cards.control import AUTOMATA, KERNELS, control
from krohn.lab.cards.harness import first_wrong

TASKS = ("C2", "S3:all", "A5:all", "S5:all")
_PLAIN = {"use_short_conv": False, "allow_neg_eigval": True, "num_heads": 8, "head_dim": 32, "expand_v": 1}
_PRODUCT = _PLAIN | {"use_output_gate": False, "use_forget_gate": False}
LAYERS: dict[str, tuple[str, dict[str, Any]]] = {
    "DeltaProduct, 1 step (DeltaNet)": ("GatedDeltaProduct", _PRODUCT | {"num_householder": 1}),
    "DeltaProduct, 2 steps": ("GatedDeltaProduct", _PRODUCT | {"num_householder": 2}),
    "DeltaProduct, 4 steps": ("GatedDeltaProduct", _PRODUCT | {"num_householder": 4}),
    "RWKV-7": ("RWKV7", {"head_dim": 32}),
}
SETTINGS: dict[str, Any] = {
    **{"length": 128, "words": 2_000_000, "batch": 512, "width": 128, "lr": 1e-3, "warmup": 100},
    **{"weight_decay": 1e-6, "betas": [0.9, 0.999], "clip": 1.0, "every": 200, "tested": 2048},
}
DRAWN = 32
"""Batches drawn at once."""
PLACES = (16, 32, 64, 96, 128, 192, 256, 320, 384, 448, 512)
LONG_WORDS, LONG = 64, 16_384
PIECE = 1 << 19
"""Letters read at once, so that several networks fit into the memory."""


def one_configuration() -> None:
    """Each kernel takes one configuration: four warps and two stages if it has that, else the first."""
    from triton.runtime.autotuner import Autotuner

    plain = Autotuner.__init__

    def begin(self: Any, *given: Any, **named: Any) -> None:
        plain(self, *given, **named)
        wanted = [one for one in self.configs if (one.num_warps, one.num_stages) == (4, 2)]
        self.configs = (wanted or self.configs)[:1]

    Autotuner.__init__ = begin


class Network(nn.Module):
    """A causal language model of fla with one block, as a network from letters to states."""

    def __init__(self, layer: str, letters: int, states: int) -> None:
        super().__init__()
        from fla import models  # type: ignore[import-not-found]

        kind, options = LAYERS[layer]
        self.states, self.low = states, True
        config = getattr(models, f"{kind}Config")(
            **{"vocab_size": max(letters, states), "hidden_size": SETTINGS["width"], "use_cache": False},
            # RWKV-7 divides by its number of layers less one, so it gets two, of which the first is kept.
            **{"num_hidden_layers": 2 if kind == "RWKV7" else 1, "fuse_cross_entropy": False},
            **options,
        )
        self.model = getattr(models, f"{kind}ForCausalLM")(config)
        self.model.model.layers = self.model.model.layers[:1]

    def forward(self, words: Tensor) -> Tensor:
        """Logits of states, in float32; the network is computed in bfloat16 while ``low`` is set."""
        if not self.training and words.numel() > PIECE and len(words) > 1:
            return torch.cat([self(part) for part in words.split(max(1, PIECE // words.shape[1]))])
        with torch.autocast(words.device.type, torch.bfloat16, enabled=self.low):
            logits: Tensor = self.model(words, use_cache=False).logits
        return logits[..., : self.states].float()

    def as_float32(self) -> None:
        """From now on in float32; the chunked kernels refuse it, so letters are read one after the other."""
        self.low = False
        for block in self.model.model.layers:
            block.attn.mode = "fused_recurrent"


class Words:
    """Random words and the states after each letter, drawn on the device."""

    def __init__(self, table: Tensor, start: int, seed: int) -> None:
        self.table, self.letters, self.start = table, table.shape[1], start
        self.generator = torch.Generator(table.device).manual_seed(seed)

    def draw(self, count: int, length: int) -> tuple[Tensor, Tensor]:
        shape, device = (count, length), self.table.device
        words = torch.randint(self.letters, shape, generator=self.generator, device=device)
        state, states = torch.full((count,), self.start, device=device), torch.empty_like(words)
        for t in range(length):
            state = self.table[state, words[:, t]]
            states[:, t] = state
        return words, states

    def batches(self, count: int, length: int) -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            words, states = self.draw(DRAWN * count, length)
            yield from zip(words.split(count), states.split(count), strict=True)


class Training:
    """Steps of training; on a GPU as one graph after a few steps, so that the processor is not the limit."""

    def __init__(self, network: Network, steps: int, device: str) -> None:
        self.network, self.steps, self.done = network, steps, 0
        self.rate = torch.tensor(0.0, device=device)
        self.parameters = list(network.parameters())
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            **{"lr": self.rate, "betas": tuple(SETTINGS["betas"]), "weight_decay": SETTINGS["weight_decay"]},
            **{"fused": device == "cuda", "capturable": device == "cuda"},
        )
        shape = (SETTINGS["batch"], SETTINGS["length"])
        self.words, self.states = (torch.zeros(shape, dtype=torch.long, device=device) for _ in range(2))
        self.loss, self.right = torch.tensor(0.0), torch.tensor(0.0)
        self.graph: Any = None
        self.why_eager = "" if device == "cuda" else "no GPU"

    def step(self, words: Tensor, states: Tensor) -> None:
        """One step on a batch."""
        rate = SETTINGS["lr"] * min(1.0, (self.done + 1) / SETTINGS["warmup"])
        self.rate.fill_(rate * (1 + math.cos(math.pi * self.done / self.steps)) / 2)
        self.words.copy_(words)
        self.states.copy_(states)
        if self.done == 10 and not self.why_eager:
            self._capture()
        if self.graph is not None:
            self.graph.replay()
        else:
            self._work()
        self.done += 1

    def _work(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        logits = self.network(self.words)
        loss = functional.cross_entropy(logits.flatten(0, 1), self.states.flatten())
        self.loss, self.right = loss.detach(), (logits.argmax(-1) == self.states).float().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.parameters, SETTINGS["clip"], foreach=True)
        self.optimizer.step()

    def _capture(self) -> None:
        torch.cuda.synchronize()
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self._work()
        except Exception as error:  # then every step is launched by itself, as before
            self.why_eager = _line(error)
            torch.cuda.synchronize()
        else:
            self.graph = graph


@torch.no_grad()
def tested(network: Network, words: Words, length: int, count: int) -> dict[str, Any]:
    """Share of letters, of whole words, and of words right so far at some places."""
    right = []
    for _ in range(-(-count // 512)):
        given, states = words.draw(512, length)
        right.append(network(given).argmax(-1) == states)
    every = torch.cat(right)
    sofar = every.long().cumprod(1).double().mean(0)
    return {
        "letters": float(every.double().mean()),
        "words": float(sofar[-1]),
        "so_far": {str(place): round(float(sofar[place - 1]), 4) for place in PLACES if place <= length},
    }


@torch.no_grad()
def horizon(network: Network, words: Words) -> int | None:
    """The median first wrong letter of long random words; ``None`` if most have none."""
    given, states = words.draw(LONG_WORDS, LONG)
    wrong = network(given).argmax(-1) != states
    first = torch.where(wrong.any(1), wrong.int().argmax(1) + 1, LONG + 1).sort().values
    middle = int(first[LONG_WORDS // 2])
    return None if middle > LONG else middle


def network(layer: str, task: str, seed: int, end: float, device: str = "cuda") -> dict[str, Any]:
    """Trains one network and tests it in both types."""
    begin, automaton = time.monotonic(), parse_spec(task)
    table = torch.tensor(automaton.table.tolist(), device=device)
    torch.manual_seed(seed)
    module = Network(layer, automaton.num_letters, automaton.num_states).to(device).train()
    steps = SETTINGS["words"] // SETTINGS["batch"]
    training, curve = Training(module, steps, device), []
    checked = Words(table, automaton.start, 3_000_003 + seed)
    ended, solved = "all words read", None
    pairs = Words(table, automaton.start, seed).batches(SETTINGS["batch"], SETTINGS["length"])
    for step in range(steps):
        training.step(*next(pairs))
        if step % SETTINGS["every"] == SETTINGS["every"] - 1:
            loss = float(training.loss)
            curve.append([step + 1, round(float(training.right), 4), round(loss, 5)])
            module.eval()
            whole = tested(module, checked, 4 * SETTINGS["length"], 512)["words"]
            module.train()
            solved = step + 1 if solved is None and whole >= 0.99 else solved
            if not math.isfinite(loss) or time.monotonic() > end:
                ended = "out of time" if math.isfinite(loss) else "diverged"
                break
    if device == "cuda":
        torch.cuda.synchronize()
    seconds = time.monotonic() - begin
    training.graph = None
    module.eval()
    result = {
        "ended": ended,
        "steps": training.done,
        "solved": solved,
        "seconds": round(seconds, 1),
        "parameters": sum(p.numel() for p in module.parameters()),
        "eager": training.why_eager,
        "curve": curve,
        **{dtype: _in_type(module, task, table, seed, dtype) for dtype in ("bfloat16", "float32")},
    }
    if device == "cuda":
        torch.cuda.empty_cache()
    return result


def _in_type(module: Network, task: str, table: Tensor, seed: int, dtype: str) -> dict[str, Any]:
    """Accuracy at both lengths and how far beyond, in one type; or the message why not."""
    length, result = SETTINGS["length"], dict[str, Any]()
    if dtype == "float32":
        module.as_float32()
    fresh = Words(table, parse_spec(task).start, 1_000_003 + seed)
    try:
        for times in (1, 4):
            result[str(times * length)] = tested(module, fresh, times * length, SETTINGS["tested"])
        if result[str(length)]["letters"] >= 0.99:
            result["median_first_wrong"] = horizon(module, fresh)
            far = first_wrong(module, parse_spec(task), 100_000, str(table.device.type))
            result["first_wrong"] = {"letter": far.letter, "word": far.word, "tested": far.tested}
    except Exception as error:  # a kernel that does not run here is a message
        result["error"] = _line(error)
    return result


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"[:300]


def _cell(given: tuple[str, str, int, float, str]) -> dict[str, Any]:
    layer, task, seed, end, device = given
    about = {"layer": layer, "task": task, "seed": seed}
    settings = {**SETTINGS, "torch": torch.__version__, "options": dict(LAYERS[layer][1])}
    if time.monotonic() > end - 15:
        return about | {"error": "out of time"}
    try:
        return about | network(layer, task, seed, end, device) | {"settings": settings}
    except Exception as error:
        return about | {"error": _line(error), "settings": settings}


def _controls(out: Callable[[dict[str, Any]], None], device: str) -> None:
    for task in AUTOMATA:
        for dtype, kernel in (*KERNELS, ("float32", "chunk")):
            about = {"automaton": task, "dtype": dtype, "kernel": kernel}
            try:
                (row,) = control(automata=(task,), kernels=((dtype, kernel),), device=device)
                out(asdict(row))
            except Exception as error:  # a kernel that does not run here is a row with its message
                out(about | {"error": _line(error)})


def main() -> None:
    """The controls, or a network for each seed, automaton and layer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--known", type=Path, action="append", default=[])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--controls", action="store_true")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--set", nargs="*", default=[], help="NAME=NUMBER of the settings")
    asked = parser.parse_args()
    end = time.monotonic() + asked.seconds
    SETTINGS.update({name: json.loads(value) for name, _, value in (one.partition("=") for one in asked.set)})
    one_configuration()
    with asked.out.open("a", encoding="utf-8") as stream:

        def out(row: dict[str, Any]) -> None:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            stream.flush()

        if asked.controls:
            _controls(out, asked.device)
            return
        known = {
            (row["layer"], row["task"], row["seed"])
            for file in asked.known
            for row in map(json.loads, file.read_text(encoding="utf-8").splitlines())
            if row.get("ended") in ("all words read", "diverged")
        }
        cells = [
            (layer, task, seed, end, asked.device)
            for seed in range(asked.seeds)
            for task in TASKS
            for layer in LAYERS
            if (layer, task, seed) not in known
        ]
        context = mp.get_context("spawn")
        with context.Pool(asked.workers, initializer=_begin, initargs=(SETTINGS,)) as pool:
            for row in pool.imap_unordered(_cell, cells):
                out(row)


def _begin(settings: dict[str, Any]) -> None:
    SETTINGS.update(settings)
    torch.set_num_threads(1)
    one_configuration()


if __name__ == "__main__":
    main()
