"""Networks of the suite in TransformerLens: its answers, and swaps at the places that carry its names."""

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from safetensors.torch import load_file

from krohn.network.gpt2.reading import ExportedNetwork, read_export

with warnings.catch_warnings():
    # Its dependencies use what Python and torch have since given up; nothing of ours is imported here.
    warnings.simplefilter("ignore")
    from transformer_lens.model_bridge import TransformerBridge


def tokens(export: ExportedNetwork, words: object) -> torch.Tensor:
    return torch.from_numpy(export.decoder.token_ids(np.array(words)))


def test_every_variable_can_be_swapped_at_its_place(folder: Path) -> None:
    bridge = TransformerBridge.boot_transformers(str(folder), device="cpu", dtype=torch.float64)
    export = read_export(folder)
    prompt, states = len(export.decoder.vocabulary.prompt), list(export.decoder.vocabulary.states)
    rows = pq.read_table(folder / "counterfactuals.parquet").to_pylist()
    places = set()
    for title, basis in load_file(folder / "subspaces.safetensors").items():
        variable, _, place = title.partition(" @ ")
        asked = [row for row in rows if row["variable"] == variable and row["split"] == "test"]
        base, source = (tokens(export, [row[side] for row in asked]) for side in ("base", "source"))
        at = torch.tensor([row["letter"] for row in asked]) + prompt
        with torch.no_grad():
            held = bridge.run_with_cache(source)[1][place][torch.arange(len(asked)), at]
            swap = partial(swapped, at=at, held=held, turn=(basis.T @ basis).double())
            after, before = bridge.run_with_hooks(base, fwd_hooks=[(place, swap)]), bridge(base)
        answers, own = (logits[:, prompt:, states].argmax(-1).tolist() for logits in (after, before))
        for row, answer, unchanged in zip(asked, answers, own, strict=True):
            assert unchanged == list(export.automaton.run(row["base"]))
            assert answer[row["letter"] :] == row["answers"][row["letter"] :]
        places.add(place.rpartition("_")[2])
    assert {"pre", "mid"} <= places  # transformers itself has no hook in the middle of a block


def swapped(
    stream: torch.Tensor, hook: object, at: torch.Tensor, held: torch.Tensor, turn: torch.Tensor
) -> torch.Tensor:
    changed, index = stream.clone(), torch.arange(len(stream))
    changed[index, at] += (held - stream[index, at]) @ turn
    return changed
