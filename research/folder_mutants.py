"""Mutants of exports and of recurrent networks, judged by transformers and by torch.

    python research/folder_mutants.py [--count 4] [--seed 0] [--jobs 1] [--log FILE] [--out FILE]

`--out research/mutants.md` writes the second part of that page. The limit is 0, as for compiled
networks: no mutant that answers a word wrongly may be proved. The proof is asked alone, with the witness of
the network without the change and with a new search. An export is judged by the stock class
``GPT2LMHeadModel`` or, for TransformerLens, by its computation written out in torch; a recurrent network by
torch's own cells or by the training architecture.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import krohn
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.files.folders import Net
from krohn.check.ground import Refused
from krohn.check.rules import RULES, check_certificate, read_net, transformer_of
from krohn.errors import KrohnError
from krohn.proving.attempts import Goal, furthest
from krohn.proving.claims import claim_about
from krohn.proving.export import without_norms
from krohn.proving.word_search import all_words

sys.path[:0] = [str(Path(__file__).parents[1] / "tests"), str(Path(__file__).parent)]
from compiled_mutants import OTHERS, OUTCOMES, Row, read_log, table  # noqa: E402

EXPORTS = (("C2", 6), ("FlipFlop", 8), ("Grid4", 6), ("D6", 6), ("abab", 8))
RECURRENT = ("deltaproduct", "deltanet", "diagonal", "rankone", "lstm", "gru")
TRACKED = ("FlipFlop", "C2", "C3")
DTYPES = ("float32", "bfloat16")
Tensors = dict[str, np.ndarray]
Change = Callable[[Tensors, dict[str, Any], np.random.Generator], None]
SIZES = (1e-3, 1.0, 1e6, 1e30, 3e38)


def pick(tensors: Tensors, rng: np.random.Generator, *parts: str) -> np.ndarray:
    """One of the tensors whose name has one of these parts in it."""
    names = [name for name in sorted(tensors) if any(part in name for part in parts or ("",))]
    return tensors[names[int(rng.integers(len(names)))]]


def embedding(tensors: Tensors) -> np.ndarray:
    """A row for each token."""
    return tensors["transformer.wte.weight" if "transformer.wte.weight" in tensors else "embed.weight"]


def silent_entry(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """A weight that is 0 becomes large."""
    value = pick(w, rng, "weight", "bias")
    places = np.argwhere(value == 0)
    if len(places):
        value[tuple(rng.choice(places))] = rng.choice(SIZES)


def exponent_bit(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """One bit of an exponent is flipped."""
    _flip(pick(w, rng), int(rng.integers(23, 31)), rng)


def mantissa_bit(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """One of the leading bits of a significand is flipped."""
    _flip(pick(w, rng), int(rng.integers(14, 23)), rng)


def _flip(value: np.ndarray, bit: int, rng: np.random.Generator) -> None:
    bits = value.reshape(-1).view(np.uint32)
    bits[rng.integers(len(bits))] ^= np.uint32(1 << bit)


def cancelled_rows(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """Two rows of a matrix get the same large number with opposite signs."""
    value = pick(
        w, rng, "c_attn.weight", "c_fc.weight", "c_proj.weight", "lm_head", ".q.", ".in.", "unembed.w"
    )
    rows, size = (
        rng.choice(len(value), 2, replace=len(value) < 2),
        np.float32(rng.choice([2.0**20, 2.0**60, 2.0**127])),
    )
    value[rows[0]] += size
    value[rows[1]] -= size


def gain_scaled(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """The gains of one LayerNorm are scaled, or one of them."""
    value = pick(w, rng, "ln_1.weight", "ln_2.weight", "ln_f.weight")
    part = rng.choice([0, 1]) * rng.integers(len(value)), rng.choice([1, len(value)])
    value[part[0] :][: part[1]] *= np.float32(rng.choice([-1.0, 0.5, 3.0, 2.0**40]))


def silent_gain(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """A gain that is 0 becomes large."""
    value = pick(w, rng, "ln_1.weight", "ln_2.weight", "ln_f.weight")
    places = np.flatnonzero(value == 0)
    value[rng.choice(places) if len(places) else 0] = rng.choice(SIZES)


def late_position(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """The code of one of the last positions is scaled, or moved."""
    value = pick(w, rng, "wpe.weight", "pos_embed.weight")
    value[-int(rng.integers(1, 4))] *= np.float32(rng.choice([0.0, 0.99, 1.5, 2.0**100]))


def prompt_token(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """What is read before the letters is scaled."""
    value = embedding(w)
    value[rng.choice(about["tokens"]["prompt"])] *= np.float32(rng.choice([0.0, 0.5, 2.0, 2.0**100]))


def letter_token(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """A letter moves towards another."""
    value, (one, other) = embedding(w), rng.choice(about["tokens"]["letters"], 2)
    share = np.float32(rng.choice([0.01, 0.3, 1.0]))
    value[one] = (1 - share) * value[one] + share * value[other]


def other_token(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """The logit of a token that is no output becomes that of an output, a little more, or large."""
    value, outputs = pick(w, rng, "lm_head.weight", "unembed.weight"), about["tokens"]["states"]
    others = np.setdiff1d(np.arange(len(value)), outputs)
    value[rng.choice(others)] = value[rng.choice(outputs)] * np.float32(rng.choice([1.0, 1.001, 2.0**100]))


def tied_outputs(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """One output's row moves to another's."""
    value, (one, other) = (
        pick(w, rng, "lm_head.weight", "unembed.weight"),
        rng.choice(about["tokens"]["states"], 2),
    )
    share = np.float32(rng.choice([0.3, 0.9, 1.0]))
    value[one] = (1 - share) * value[one] + share * value[other]


def silent_head(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """Where an output matrix reads nothing, values become large."""
    written = pick(w, rng, "attn.c_proj.weight", "attn.o.weight")
    written[rng.integers(len(written))] = 0
    silent_entry({k: v for k, v in w.items() if "c_attn.weight" in k or ".v.weight" in k}, about, rng)


def unit_moved(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """The bias of a unit, or of what an MLP writes, is moved."""
    value = pick(w, rng, "mlp.c_fc.bias", "mlp.c_proj.bias", "mlp.in.bias", "mlp.out.bias")
    value[rng.integers(len(value))] += np.float32(rng.choice([1e-3, -0.5, 1.0, -100.0, 2.0**120]))


def matrix_scaled(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """A whole matrix is scaled by a power of two."""
    value = pick(w, rng, "weight")
    value *= np.float32(2.0 ** float(rng.choice([-100, -10, -1, 1, 10, 100])))


def small_variance(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """The largest channel of the embedding is scaled down: it steadies LayerNorm."""
    value = embedding(w)
    value[:, np.abs(value).max(axis=0).argmax()] *= np.float32(rng.choice([0.0, 2.0**-11, 0.5]))


def other_epsilon(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """Another epsilon of LayerNorm."""
    name = "layer_norm_epsilon" if "layer_norm_epsilon" in about else "eps"
    about[name] = float(rng.choice([1e-60, 1e-12, 1e-3, 0.5, 0.999]))


def other_heads(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """Another number of heads that divides the width."""
    if "n_head" in about:
        about["n_head"] = int(
            rng.choice([n for n in range(1, about["n_embd"] + 1) if about["n_embd"] % n == 0])
        )


def subnormal(w: Tensors, about: dict[str, Any], rng: np.random.Generator) -> None:
    """A row of a matrix becomes subnormal."""
    value = pick(w, rng, "c_fc.weight", "mlp.in.weight")
    value[rng.integers(len(value))] *= np.float32(2.0**-135)


CHANGES: dict[str, Change] = {
    change.__name__.replace("_", " "): change
    for change in (
        *(silent_entry, exponent_bit, mantissa_bit, cancelled_rows, gain_scaled, silent_gain, late_position),
        *(prompt_token, letter_token, other_token, tied_outputs, silent_head, unit_moved, matrix_scaled),
        *(small_variance, other_epsilon, other_heads, subnormal),
    )
}


@cache
def exported(spec: str, length: int, to: str) -> tuple[Net, Certificate]:
    """An export as it is written, and its certificate."""
    with tempfile.TemporaryDirectory() as place:
        krohn.export(krohn.compile(spec, length=length, dtype="float32"), to, Path(place) / "net")
        return read_net(Path(place) / "net"), read_certificate(Path(place) / "net" / "certificate.json")


def proved(net: Net, honest: Certificate, spec: str, length: int) -> bool:
    """Whether the old witness or a new search proves the claim about this network."""
    try:
        claim = claim_about(net, krohn.zoo(spec), length, "float32", "transformer")
        asked = replace(honest, claim=claim)
        if check_certificate(net, asked).certified:
            return True
        network, outputs = transformer_of(net, claim.automaton)
        record, failure, _ = furthest(Goal(network, without_norms(network), outputs, length, claim.dtype))
        result = Certificate(claim, asked.rules, RULES[asked.rules].version, record.witness)
        return failure is None and check_certificate(net, result).certified
    except (KrohnError, Refused):
        return False


def stock_logits(net: Net, ids: np.ndarray) -> Any:
    """Logits of an export for transformers, by its stock class."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    fields = ("n_layer", "n_head", "n_embd", "n_inner", "n_positions", "vocab_size", "layer_norm_epsilon")
    about = {name: net.configuration[name] for name in fields}
    fixed = {"activation_function": "relu", "tie_word_embeddings": False, "bos_token_id": 0}
    model = GPT2LMHeadModel(GPT2Config(**about, **fixed, eos_token_id=None)).eval()
    model.load_state_dict({name: torch.tensor(value) for name, value in net.tensors.items()}, strict=True)
    return model(torch.from_numpy(ids)).logits


def right_in_torch(net: Net, spec: str, length: int) -> bool:
    """Whether all short words, and many long ones, are answered rightly."""
    import torch

    torch.set_num_threads(1)
    automaton, rng = krohn.zoo(spec), np.random.default_rng(1)
    short = min(length, int(np.log(700) / np.log(automaton.num_letters)))
    all_short = np.pad(all_words(automaton.num_letters, short), ((0, 0), (0, length - short)), mode="wrap")
    words = np.concatenate([all_short, rng.integers(automaton.num_letters, size=(200, length))])
    marks = net.configuration["tokens"]
    prompt = np.broadcast_to(np.array(marks["prompt"], dtype=np.int64), (len(words), len(marks["prompt"])))
    ids = np.concatenate([prompt, np.array(marks["letters"])[words]], axis=1)
    try:
        with torch.no_grad():
            logits = stock_logits(net, ids)[:, prompt.shape[1] :]
    except (RuntimeError, ValueError):
        return False  # no network any more
    wanted = np.array(marks["states"])[krohn.simulate(automaton, words)]
    return bool(logits.isfinite().all() and (logits.argmax(-1).numpy() == wanted).all())


def of_exports(name: str, kind: str, seed: int, count: int) -> Row:
    """Some mutants of one kind of one export."""
    spec, to, length = name.split()[0], name.split()[1], int(name.split("=")[1])
    honest, own = exported(spec, length, to)
    tally, deceived, start = Counter[str](), [], time.process_time()
    for turn in range(count):
        rng = np.random.default_rng([seed, list(CHANGES).index(kind), len(name), turn])
        tensors = {key: value.copy() for key, value in honest.tensors.items()}
        about = json.loads(json.dumps(dict(honest.configuration)))
        with np.errstate(all="ignore"):
            CHANGES[kind](tensors, about, rng)
        if not all(np.isfinite(value).all() for value in tensors.values()):
            continue
        net = Net(honest.kind, about, tensors)
        outcome = _outcome(proved(net, own, spec, length), right_in_torch(net, spec, length))
        tally[outcome] += 1
        deceived += [turn] if outcome == OUTCOMES[-1] else []
    return _row(name, kind, tally, deceived, start)


def of_recurrent(name: str, kind: str, seed: int, count: int) -> Row:
    """Some mutants of one kind of one recurrent network, in both float types."""
    from krohn.check.recurrent.cells import Gated
    from krohn.proving.recurrent import close
    from krohn.recurrent.recurrent_weights import WEIGHTS
    from recurrent.judge import gated_logits, right, stack_logits
    from recurrent.test_lacking import KINDS_OF_MUTANTS, with_more

    spec, architecture = name.split()[:2]
    automaton, tally, deceived, start = krohn.zoo(spec), Counter[str](), [], time.process_time()
    cell = WEIGHTS[architecture](automaton)
    for turn in range(count):
        rng = np.random.default_rng([seed, list(KINDS_OF_MUTANTS).index(kind), len(name), turn])
        tensors = with_more(cell)
        with np.errstate(all="ignore"):
            KINDS_OF_MUTANTS[kind](tensors, rng)
        if not all(np.isfinite(value).all() for value in tensors.values()):
            continue
        mutant = type(cell).of(tensors, cell.options)
        words = rng.integers(automaton.num_letters, size=(4, 100)).tolist()
        words += [[letter] * 60 for letter in range(automaton.num_letters)]
        for dtype in DTYPES:
            one = close(mutant, automaton, limit=500, dtype=dtype).every_length
            logits = (
                gated_logits(cell.kind, tensors, word, dtype)
                if isinstance(cell, Gated)
                else stack_logits(mutant, word, dtype)
                for word in words
            )
            good = all(right(result, automaton, word) for result, word in zip(logits, words, strict=True))
            outcome = _outcome(one, good)
            tally[outcome] += 1
            deceived += [[turn, dtype]] if outcome == OUTCOMES[-1] else []
    return _row(name, kind, tally, deceived, start)


def _outcome(certified: bool, right: bool) -> str:
    return f"{'certified' if certified else 'refused'}, {'right' if right else 'wrong'}"


def _row(name: str, kind: str, tally: Counter[str], deceived: list[Any], start: float) -> Row:
    seconds = round(time.process_time() - start, 2)
    return {"network": name, "kind": kind, "outcomes": dict(tally), "deceived": deceived, "seconds": seconds}


def cases() -> Iterator[tuple[str, str]]:
    from recurrent.test_lacking import KINDS_OF_MUTANTS

    for kind in CHANGES:
        yield from ((f"{spec} hf T={length}", kind) for spec, length in EXPORTS)
    for kind in KINDS_OF_MUTANTS:
        yield from ((f"{spec} {architecture}", kind) for spec in TRACKED for architecture in RECURRENT)


def judged(case: tuple[str, str], seed: int, count: int) -> Row:
    return (of_exports if "T=" in case[0] else of_recurrent)(*case, seed, count)


def report(rows: list[Row]) -> str:
    """What was done, then tables by kind and by network."""
    tables: dict[str, dict[str, Counter[str]]] = {"change": {}, "network": {}}
    for row in rows:
        for name, label in (("change", row["kind"].replace("_", " ")), ("network", row["network"])):
            tables[name].setdefault(label, Counter()).update(row["outcomes"])
    total = sum(sum(row["outcomes"].values()) for row in rows)
    minutes = sum(row["seconds"] for row in rows) / 60
    head = (
        f"{OTHERS}\n\nWritten by `research/folder_mutants.py`: {total:,} mutants in {minutes:.0f} minutes of "
        "processor time. Exports\nare judged by the stock class of `transformers`, "
        "recurrent networks by torch's cells or by\nthe training architecture, in "
        "float32 and bfloat16. What is no network any more counts as wrong. The last column must be 0."
    )
    return "\n\n".join([head, *(table(name, counted) for name, counted in tables.items())])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=4, help="mutants of each kind and network")
    parser.add_argument("--only", default="", help="networks whose name contains this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--log", type=Path, help="a line per network and kind; what is there is not run again"
    )
    parser.add_argument("--out", type=Path, help="put the tables at the end of this page")
    options = parser.parse_args()
    known = read_log(options.log)
    asked = [case for case in cases() if case not in known and options.only in case[0]]
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in pool.map(judged, asked, [options.seed] * len(asked), [options.count] * len(asked)):
            known[row["network"], row["kind"]] = row
            if options.log:
                with options.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(row) + "\n")
    text = report(list(known.values()))
    print(text)
    if options.out:
        first = options.out.read_text(encoding="utf-8").partition(f"\n{OTHERS}")[0].rstrip()
        options.out.write_text(f"{first}\n\n{text}\n", encoding="utf-8")
    return int(any(row["deceived"] for row in known.values()))


if __name__ == "__main__":
    sys.exit(main())
