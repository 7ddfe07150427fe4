"""Small trained networks, one for each way of reading a word."""

from pathlib import Path

import pytest

from krohn.cli.app import run

SMALL = ["--steps", "30", "--batch", "8", "--warmup", "1", "--lr", "1e-2", "--eval-sequences", "16"]
GPT = ["--layers", "2", "--dim", "16", "--heads", "2", "--mlp", "16"]
KINDS = {
    "gpt": ["Grid4", *GPT],
    "bos": ["Grid4", *GPT, "--bos", "--recency"],
    "scratchpad": ["Grid4", *GPT, "--scratchpad"],
    "lstm": ["C3", "--model", "lstm", "--embedding", "4", "--hidden", "8"],
    "feasible": ["Dyck2,1", "--model", "lstm", "--embedding", "4", "--hidden", "8"],
    "observing": ["regex:(ab)*", "--target", "observation", *GPT],
}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Kind -> run directory; none of the networks is perfect."""
    folder = tmp_path_factory.mktemp("runs")
    for kind, options in KINDS.items():
        assert run(["train", *options, "--length", "6", *SMALL, "--out", str(folder / kind)]) == 0
    return {kind: folder / kind for kind in KINDS}
