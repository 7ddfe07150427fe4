"""One network of the suite as a folder: a stock GPT-2, its circuit, its causal model, and their evidence."""

import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.files import automaton_payload
from krohn.base.extras import to_install
from krohn.base.files import json_bytes, path_of, read_json
from krohn.base.notebook import Rows
from krohn.construct import compiling
from krohn.errors import InvalidInput, MissingDependency
from krohn.exporting.hugging_face import hugging_face_files, tokens_of
from krohn.exporting.network_files import export_decoder
from krohn.lab.suite.catalogue import Entry, entries
from krohn.lab.suite.causal import Counterfactual, causal_model, counterfactuals
from krohn.lab.suite.disguise import DECOY_UNITS, NONE, ROTATED, Disguised, disguise
from krohn.lab.suite.graph import Circuit, Graph, circuit_of
from krohn.lab.suite.paper_program import with_program
from krohn.lab.suite.taught import circuit_in, establish, judge, load, looks
from krohn.lab.suite.truth import CircuitSearch, Truth, search, truth_of
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.decoder import Files, tensor_file, write_files

SUITE = "suite.json"
"""Written last: a folder without it is not finished."""
CIRCUIT, TRUTH, CAUSAL = "circuit.json", "truth.json", "causal_model.json"
PAIRS, SUBSPACES, TOKENS = "counterfactuals.parquet", "subspaces.safetensors", "tokens.json"
"""After the name of a subspace whose directions are not orthonormal: rows that read its coordinates."""
SCORING_SEED = 1_000_003
"""Added to a network's seed: words that score a circuit are not those that found the true one."""


@dataclass(frozen=True)
class Built:
    """A folder of the suite and its facts for a table."""

    name: str
    folder: Path
    facts: dict[str, Any]
    new: bool

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**self.facts, "folder": str(self.folder), "new": self.new}

    def cells(self) -> dict[str, object]:
        """What a table for people has."""
        columns = {
            "blocks": "layers",
            "heads": "heads",
            "width": "dim",
            "edges": "edges",
            "in graph": "in_graph",
        }
        sizes = {name: self.facts[key] for name, key in columns.items()}
        proved = "proved" if self.facts.get("proof", "").startswith("proved") else "tested"
        return {"name": self.name, **sizes, "variables": len(self.facts["variables"]), "proof": proved}


def build(
    out: str | Path, only: str | Sequence[str] = (), progress: Callable[[str, int, int], None] | None = None
) -> Rows[Built]:
    """Builds networks of the suite into folders of ``out``; finished ones are kept."""
    base, wanted, done = path_of(out), entries(only), []
    if base.exists() and not base.is_dir():
        raise InvalidInput(f"a suite needs a directory; {base} is a file: choose another name")
    _require_parquet()
    base.mkdir(parents=True, exist_ok=True)  # fail before the work
    for number, entry in enumerate(wanted):
        if progress is not None:
            progress(entry.name, number, len(wanted))
        folder = base / entry.name
        facts, new = _read_finished(folder, entry), False
        if facts is None:
            _refuse_foreign(folder)
            files, facts = files_of(entry)
            write_files(folder, files)
            new = True
        done.append(Built(entry.name, folder, facts, new))
    return Rows(done, Built.to_json, Built.cells)


def _read_finished(folder: Path, entry: Entry) -> dict[str, Any] | None:
    """The facts of a folder that holds the network as it is now."""
    path = folder / SUITE
    if not path.exists():
        return None
    facts = read_json(path)
    wanted = {"krohn_suite": entry.version, "name": entry.name}
    return facts if isinstance(facts, dict) and wanted.items() <= facts.items() else None


def _refuse_foreign(folder: Path) -> None:
    ours = folder / SUITE
    if folder.exists() and any(folder.iterdir()) and not ours.exists():
        raise InvalidInput(f"{folder} must be empty or a network of the suite; it holds other files")


def files_of(entry: Entry) -> tuple[Files, dict[str, Any]]:
    """Everything that the folder of a network holds, and the facts about it."""
    return (_files_of_taught if entry.tier == "taught" else _files_of_compiled)(entry)


def _files_of_compiled(entry: Entry) -> tuple[Files, dict[str, Any]]:
    network = _compile(entry)
    shown = disguise(network, entry.disguise, entry.seed, units=DECOY_UNITS)
    truth = truth_of(shown.plain, shown.decoder, search_for(entry.automaton, entry.algorithm))
    exported = export_decoder(shown.decoder, network, proof=entry.disguise == NONE)
    wrong = exported.findings.get("counterexample")
    assert wrong is None, f"{entry.name} must be right in float32; it fails on {wrong}"
    proof = _proof(entry, exported.findings["certificate"]["certified"])
    files, facts = _known(entry, network, shown, truth, proof)
    page = _page(entry, facts, exported.files["README.md"].decode())
    return {**exported.files, "README.md": page.encode(), **files}, facts


def _files_of_taught(entry: Entry) -> tuple[Files, dict[str, Any]]:
    decoder, automaton = load(entry)
    rows, pairs, bases = establish(decoder, automaton, entry.seed)
    variables = [{key: row[key] for key in ("name", "place", "dimension")} for row in rows]
    circuit, faithful = circuit_in(entry.name, Graph(decoder.layers, decoder.heads, decoder.dim))
    heads = [[round(share, 4) for share in block] for block in looks(decoder, automaton, entry.seed)]
    about = {
        "tokens": tokens_of(decoder),
        "length": decoder.length,
        "target": "state",
        "automaton": automaton.name,
    }
    mechanism = "after block l the product of the last 2^l letters, composed from two of half the length"
    files, facts = _evidence(
        entry,
        circuit,
        truth={"interventions": rows, "faithful": faithful, "attention": heads},
        causal={"variables": variables, "mechanism": mechanism},
        variables=variables,
        pairs=pairs,
        spaces=bases,
        more=judge(decoder, automaton, entry.seed),
    )
    return {
        **hugging_face_files(decoder, {}),
        "automaton.json": json_bytes(automaton_payload(automaton)),
        "export.json": json_bytes(about),
        **files,
    }, facts


def _known(
    entry: Entry,
    network: CompiledNetwork,
    shown: Disguised,
    truth: Truth,
    proof: str,
) -> tuple[Files, dict[str, Any]]:
    """What is known of a compiled network, and how."""
    explained = with_program(network)
    variables, pairs = counterfactuals(explained, shown.turn, seed=entry.seed)
    spaces = {f"{v.name} @ {v.place}": v.basis.astype(np.float32) for v in variables}
    return _evidence(
        entry,
        circuit_of(truth.graph, truth.kept),
        truth=_truth(truth),
        causal=causal_model(explained, variables),
        variables=[{"name": v.name, "place": v.place, "dimension": len(v.basis)} for v in variables],
        pairs=pairs,
        spaces=spaces,
        more={"constant": len(truth.constant), "proof": proof},
    )


def _evidence(
    entry: Entry,
    circuit: Circuit,
    *,
    truth: dict[str, Any],
    causal: dict[str, Any],
    variables: list[dict[str, Any]],
    pairs: list[Counterfactual],
    spaces: dict[str, npt.NDArray[np.float32]],
    more: dict[str, Any],
) -> tuple[Files, dict[str, Any]]:
    """The files that every tier has, and the facts."""
    graph = circuit.graph
    facts = {
        "krohn_suite": entry.version,
        **entry.to_json(),
        "layers": graph.layers,
        "heads": graph.heads,
        "dim": graph.dim,
        "edges": len(graph.edges),
        "in_graph": int(circuit.kept.sum()),
        "variables": variables,
        "counterfactuals": len(pairs),
        **more,
        "seed": entry.seed,
    }
    return {
        CIRCUIT: json_bytes(circuit.to_json()),
        TRUTH: json_bytes(truth),
        CAUSAL: json_bytes(causal),
        PAIRS: parquet_of(pairs),
        SUBSPACES: tensor_file(spaces, {}),
        SUITE: json_bytes(facts),
    }, facts


def _compile(entry: Entry) -> CompiledNetwork:
    return compiling.build(compiling.make_request(entry.automaton, entry.length, **entry.options))


@lru_cache(maxsize=1)  # cached: disguises of one network are consecutive
def search_for(automaton: str, algorithm: str) -> CircuitSearch:
    """The circuit of a network without its disguise."""
    wanted = automaton, algorithm, NONE
    (entry,) = (e for e in entries() if (e.automaton, e.algorithm, e.disguise) == wanted)
    network = _compile(entry)
    return search(disguise(network, NONE, entry.seed).plain, network.automaton, seed=entry.seed)


def _proof(entry: Entry, proved: bool) -> str:
    if proved:
        return f"proved in float32 for every word of at most {entry.length} letters"
    if entry.disguise == NONE:
        return "tested, not proved"
    plain = replace(entry, disguise=NONE).name
    return f"tested, not proved; {plain} is the same network without its disguise"


def _truth(truth: Truth) -> dict[str, Any]:
    """Evidence for the circuit: a pair of words for every edge, and the tests; docs/suite.md has the keys."""
    shared, kept = (set(truth.graph.names_of(flags)) for flags in (truth.shared, truth.kept))
    return {
        "edges": {one.edge: {k: v for k, v in asdict(one).items() if k != "edge"} for one in truth.proofs},
        "constant": list(truth.constant),
        "shared": sorted(shared - kept - set(truth.constant)),
        "apart": len(truth.graph.edges) - len(shared),
        "pairs": truth.pairs,
        "drift": _few_digits(truth.drift),
    }


def _few_digits(value: float) -> float:
    """Rounded up to two digits, independent of the last bits of any library."""
    if not value:
        return 0.0
    scale = 10.0 ** (1 - int(np.floor(np.log10(value))))
    return float(f"{np.ceil(value * scale) / scale:.1e}")


def _require_parquet() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingDependency(f"counterfactuals are Parquet files: {to_install('parquet')}") from error


def parquet_of(pairs: list[Counterfactual]) -> bytes:
    """Counterfactuals as a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [asdict(one) for one in pairs]
    kind = pa.list_(pa.int32())
    schema = pa.schema(
        [
            ("variable", pa.string()),
            ("base", kind),
            ("source", kind),
            ("letter", pa.int32()),
            ("answers", kind),
            ("telling", pa.bool_()),
            ("split", pa.string()),
        ]
    )
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), stream, compression="NONE")
    return stream.getvalue()


def _page(entry: Entry, facts: dict[str, Any], card: str) -> str:
    """The model card, with the suite's additions."""
    head, _, rest = card.partition("\n## ")
    return f"{head}\n{_about(entry, facts).lstrip()}## {rest}"


def _about(entry: Entry, facts: dict[str, Any]) -> str:
    hidden = {
        ROTATED: "Decoy heads and units and a rotation of the residual stream hide what its channels mean.",
        NONE: "Every channel of its residual stream has a meaning.",
    }.get(entry.disguise, "Decoy heads and units write what nothing reads.")
    return f"""
## What is known about it

The algorithm is known: *{entry.algorithm}*, for {entry.automaton}. {hidden}

- `{CIRCUIT}`: {facts["in_graph"]} of {facts["edges"]} edges, in the format of MIB's circuit track.
- `{TRUTH}`: for each of these edges a pair of words on which patching it changes an answer. Patching all
  other edges at once changed no answer on the words tried.
- `{CAUSAL}`: the variables, their parents and mechanisms. `{SUBSPACES}`: where each lies.
- `{PAIRS}`: {facts["counterfactuals"]} pairs of words, each with the answers after one variable is swapped.
- {facts["proof"]}.

```console
$ krohn suite score {entry.name} --circuit my-circuit.json
```

"""
