"""The table of results/kernel.md: networks, and whether Coq accepts their certificates.

Run: python tools/kernel_table.py [--write] [--only S4-deltanet:C2-diagonal]
Transformers are built for words of 100 letters; ``cascade`` is one by that method, where the usual one is not
covered. Every row is one run of coqc on this machine; --write puts
the rows into the page and keeps the others there.
"""

import argparse
import tempfile
from pathlib import Path

import krohn
from krohn.automata.zoo import parse_spec
from krohn.coq.coqc import development
from krohn.coq.stored import stored_network, stored_transformer
from krohn.errors import KrohnError
from krohn.network.compiled import save as save_compiled
from krohn.proving.kernel import kernel_verdict
from krohn.recurrent.recurrent_network import RecurrentNetwork, save
from krohn.recurrent.recurrent_weights import WEIGHTS

PAGE = Path(__file__).parents[1] / "results" / "kernel.md"
MARKS = ("<!-- accepted -->\n", "<!-- end accepted -->")
NAMES = (
    *(f"C{n}" for n in range(2, 9)),
    *("C2xC2", "C2xC2xC2", "D6", "D8", "Q8", "A4", "S4", "A5", "S5", "Grid4", "Grid9", "Dyck4,2"),
    *("S3", "T3", "FlipFlop", "Dyck3,2", "abab"),
)
METHODS = {"transformer": "auto", "cascade": "cascade"}
ARCHITECTURES = ("deltaproduct", "deltanet", "diagonal", "rankone", *METHODS)
ROWS = [(n, kind) for n in NAMES for kind in ARCHITECTURES if kind != "cascade" or n == "D8"]
HEAD = (
    "| network | numbers | pairs | order of sums | seconds | MB | axioms | verdict |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
)


def row(name: str, architecture: str) -> str:
    """One line of the table; if Coq does not accept it, the last column says why."""
    automaton, numbers = parse_spec(name), ""
    title = f"{name} {architecture}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            if architecture in METHODS:
                method = METHODS[architecture]
                save_compiled(krohn.compile(automaton, length=100, dtype="float32", method=method), folder)
                tensors = stored_transformer(Path(folder)).tensors
            else:
                save(RecurrentNetwork(WEIGHTS[architecture](automaton), automaton), folder)
                tensors = stored_network(Path(folder)).tensors
            numbers = f"{sum(tensor.words.size for tensor in tensors):,}"
            verdict = kernel_verdict(folder)
        except KrohnError as error:
            return f"| {title} | {numbers} | | | | | | {error} |"
    kernel = verdict.more["kernel"]
    if not kernel["accepted"]:
        return f"| {title} | {numbers} | | | | | | {verdict.reason} |"
    order = "any" if verdict.certified else "left to right"
    cost = f"{kernel['processor_seconds']:.0f} | {kernel['megabytes']} | {len(kernel['assumptions'])}"
    return f"| {title} | {numbers} | {kernel['pairs']} | {order} | {cost} | accepted |"


def written(rows: dict[str, str]) -> None:
    """Puts rows into the page; rows of other networks stay."""
    text = PAGE.read_text()
    before, rest = text.split(MARKS[0])
    old, after = rest.split(MARKS[1])
    others = {_title(line): line for line in old.splitlines()[2:] if line.startswith("| ")}
    titles = [" ".join(row) for row in ROWS]
    both = others | rows
    lines = "".join(f"{both[title]}\n" for title in titles if title in both)
    PAGE.write_text(before + MARKS[0] + HEAD + lines + MARKS[1] + after)


def _title(line: str) -> str:
    return line.split(" | ")[0].removeprefix("| ")


def main() -> None:
    """Prints each row as soon as it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    development()
    wanted = [tuple(part.rsplit("-", 1)) for part in asked.only.split(":") if part]
    for name, architecture in wanted or ROWS:
        line = row(name, architecture)
        print(line, flush=True)
        if asked.write:
            written({_title(line): line})


if __name__ == "__main__":
    main()
