"""Sizes of networks as stock GPT-2s, each run by transformers itself; writes the table of results/exports.md.

python tools/export_table.py            # T = 128, the 19 automata of the paper and a few more
python tools/export_table.py --readers  # also by TransformerLens and onnxruntime, if they are installed
python tools/export_table.py --proofs   # which exports of the 19 are proved at T = 64, both ways
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from certify_all import PAPER
from published_tables import markdown

import krohn
from krohn.exporting.driver import FORMATS
from krohn.exporting.from_compiled import check, check_rounding, decoder_of_compiled
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.decoder import Decoder, write_files
from krohn.proving.export import prove

PAGE = Path(__file__).parents[1] / "results" / "exports.md"
LENGTH = 128
NAMES = [*PAPER, "FlipFlop", "abab", "Grid3x4"]
HEADER = ["automaton", "blocks", "width", "heads", "hidden units", "parameters", "largest weight", "words"]
HEADER += ["wrong", "least lead", "with twice the rounding", "blocks, width by default"]

PROVED = 64
PROOFS = [
    "automaton",
    *(f"{form}: {what}" for form in ("GPT-2", "without LayerNorm") for what in ("T", "margin", "CPU s")),
]
PROOFS += ["where it is less than T = 64"]

Words = npt.NDArray[np.int64]
Reader = Callable[[Path, Decoder, Words], Words]


def by_transformers(folder: Path, decoder: Decoder, words: Words) -> Words:
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        return model(torch.tensor(decoder.token_ids(words))).logits.argmax(-1).numpy()


def by_onnxruntime(folder: Path, decoder: Decoder, words: Words) -> Words:
    import onnxruntime

    session = onnxruntime.InferenceSession(folder / "model.onnx")
    return np.array(decoder.vocabulary.states)[session.run(["states"], {"letters": words})[0]]


READERS: dict[str, Reader] = {
    "hf": by_transformers,
    "onnx": by_onnxruntime,
}


def wrong_words(network: CompiledNetwork, to: str, words: Words) -> int:
    """The number of wrong words in a third-party reader of that format."""
    decoder = decoder_of_compiled(network, normalized=FORMATS[to].needs_layer_norm)
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), FORMATS[to].files(decoder, {}))
        got = READERS[to](Path(folder), decoder, words)[:, -words.shape[1] :]
    right = np.array(decoder.vocabulary.states)[krohn.simulate(network.automaton, words)]
    return int((got != right).any(axis=1).sum())


def row(name: str) -> list[str]:
    """One automaton: few wide blocks (``--dtype float64``), then blocks and width of the default."""
    network = krohn.compile(krohn.zoo(name), length=LENGTH, dtype="float64")
    decoder = decoder_of_compiled(network, normalized=True)
    checked, rounded = check(decoder, network), check_rounding(decoder, network)
    words = np.random.default_rng(0).integers(network.automaton.num_letters, size=(200, LENGTH))
    wrong = checked.wrong + rounded.wrong + wrong_words(network, "hf", words)
    default = decoder_of_compiled(krohn.compile(krohn.zoo(name), length=LENGTH), normalized=True)
    sizes = decoder.sizes()
    shown = [
        f"{sizes[key]:,.0f}" for key in ("blocks", "dim", "heads", "inner", "num_parameters", "max_weight")
    ]
    leads = [f"{np.floor(100 * each.least_lead) / 100}" for each in (checked, rounded)]
    counts = [f"{checked.words + rounded.words + len(words):,}", str(wrong), *leads]
    return [name, *shown, *counts, f"{default.layers}, {default.dim}"]


def read_by_others() -> None:
    """Checks every format with its third-party reader, on some automata."""
    for name in ("S4", "S5", "Grid9", "Dyck4,2"):
        network = krohn.compile(krohn.zoo(name), length=LENGTH, dtype="float64")
        words = np.random.default_rng(0).integers(network.automaton.num_letters, size=(200, LENGTH))
        for to in FORMATS:
            print(f"{name} {to}: {wrong_words(network, to, words)} of {len(words)} words wrong", flush=True)


def proofs(names: list[str]) -> None:
    """Proofs in float32 with and without LayerNorm: the largest length, or why there is none."""
    for name in names:
        network = krohn.compile(krohn.zoo(name), length=PROVED)
        shown, reasons = [name], []
        for normalized in (True, False):
            begin = time.process_time()
            proof = prove(decoder_of_compiled(network, normalized=normalized), network)
            margin = np.floor(100 * proof.margin) / 100
            shown += [f"{proof.largest}", f"{margin}", f"{time.process_time() - begin:.1f}"]
            reasons += [proof.reason] if proof.reason else []
        rows = {line.split(" | ")[0][2:]: line for line in lines_of("proofs")[2:]}
        rows[name] = f"| {' | '.join([*shown, '; '.join(dict.fromkeys(reasons))])} |"
        print(rows[name], flush=True)
        head = markdown(PROOFS, []).splitlines()[:2]
        write("proofs", "\n".join([*head, *(rows[each] for each in PAPER if each in rows)]))


def lines_of(part: str) -> list[str]:
    """The current lines of one table of the page."""
    text = PAGE.read_text()
    start = text.index(f"<!-- {part} -->\n")
    return text[start : text.index("<!-- end -->", start)].splitlines()[1:]


def write(part: str, table: str) -> None:
    """Replaces one table of the page."""
    text, mark = PAGE.read_text(), f"<!-- {part} -->\n"
    start = text.index(mark)
    PAGE.write_text(f"{text[:start]}{mark}{table}\n{text[text.index('<!-- end -->', start) :]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", action="store_true")
    parser.add_argument("--proofs", nargs="*", metavar="AUTOMATON")
    arguments = parser.parse_args()
    if arguments.readers:
        read_by_others()
        return
    if arguments.proofs is not None:
        proofs(arguments.proofs or list(PAPER))
        return
    write("exported", markdown(HEADER, [row(name) for name in NAMES]))


if __name__ == "__main__":
    main()
