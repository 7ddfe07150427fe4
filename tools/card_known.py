"""The stored runs that a card shows its layer beside: five known layers from the table of stock layers.

Run: python tools/card_known.py   (writes src/krohn/lab/cards/known.json from results/cards/cards.jsonl)
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "cards" / "cards.jsonl"
KNOWN = ROOT / "src" / "krohn" / "lab" / "cards" / "known.json"
LAYERS = {
    "lstm": "LSTM",
    "gru": "GRU",
    "stock_layers:mamba2": "Mamba-2",
    "stock_layers:gated_deltanet_negative": "Gated DeltaNet, β ≤ 2",
    "stock_layers:gated_deltaproduct2": "Gated DeltaProduct, 2 steps",
}
PROTOCOL = ("length", "steps", "batch", "lr", "width", "optimizer")


def known(lines: list[str]) -> dict[str, Any]:
    """The protocol that the rows share, and a row for each layer and automaton."""
    rows, protocols = [], []
    for row in map(json.loads, lines):
        if row["layer"] not in LAYERS or row["optimizer"] != "adamw":
            continue
        protocols.append({key: row["settings"][key] for key in PROTOCOL})
        held = sorted(one["letters"] for one in row["holds"] if one is not None)
        short = {key: row[key] for key in ("task", "can", "learned", "seeds", "parameters")}
        rows.append({"layer": LAYERS[row["layer"]], **short, "holds": held[len(held) // 2] if held else None})
    assert all(protocol == protocols[0] for protocol in protocols)
    rows.sort(key=lambda row: (list(LAYERS.values()).index(row["layer"]), row["task"]))
    return {"protocol": protocols[0], "rows": rows}


if __name__ == "__main__":
    result = known(RESULTS.read_text(encoding="utf-8").splitlines())
    KNOWN.write_text(json.dumps(result, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
