"""The page: one compiled network as plain JSON, and the file around it.

The JSON has weights, meaning, diagram, sizes and certificate; the file has markup, style, scripts and data in
one string, and no address in it.
"""

import base64
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from krohn.algebra.analysis import algebra_of
from krohn.automata.diagram import MAX_DRAWN, accepting, diagram
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike, about, as_automaton
from krohn.base.files import check_output, path_of, short, write_text
from krohn.base.typed import plainly
from krohn.construct.compiling import compile
from krohn.construct.decomposing import decompose
from krohn.errors import InvalidInput, KrohnError, LimitExceeded, Unsupported
from krohn.explorer.trained_results import GALLERY, results_view
from krohn.network.compiled import CompiledNetwork
from krohn.network.plain_words import head_words, register_words
from krohn.paper.best import paper_best
from krohn.proving.outcome import Verification
from krohn.proving.verification import verify

SCRIPTS = (
    "network.js",
    "search.js",
    "dom.js",
    "diagram.js",
    "word.js",
    "score.js",
    "inside.js",
    "facts.js",
    "breaking.js",
    "patterns.js",
    "build.js",
    "draw.js",
    "link.js",
    "trained.js",
    "story.js",
    "results.js",
    "explorer.js",
)


@dataclass(frozen=True, repr=False)
class Page:
    """A page of its own: ``html`` is the whole file, which needs nothing but a browser."""

    html: str
    names: tuple[str, ...] = ()

    def save(self, path: str | Path) -> None:
        """Writes it to a file in a folder that exists."""
        check_page(path_of(path))
        write_text(Path(path), self.html)

    def __repr__(self) -> str:
        return f"<Page: {len(self.html.encode()):,} bytes of HTML; save it with .save('page.html')>"

    def _repr_html_(self) -> str:
        """A frame, in which a notebook shows the page."""
        style = "width:100%;height:720px;border:1px solid #ccc;border-radius:8px"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}" title="krohn"></iframe>'


def check_page(path: Path) -> None:
    """Refuses a place where no page can be written, before it is made."""
    check_output(path, ".html")
    if not path.parent.is_dir():
        raise InvalidInput(f"the folder of --out must exist; there is no {str(path.parent)[-80:]}")


def render_page(payload: dict[str, Any]) -> str:
    """The page that shows ``payload``: ``machines``, and if wanted ``results``."""
    page = _asset("page.html")
    data = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    parts = {
        "/* style */": _asset("page.css"),
        "/* small */": small_text(),
        "/* stories */": _asset("story.txt"),
        "/* gpt */": _asset("gpt.json"),
        "/* scripts */": "\n".join(_asset(name) for name in SCRIPTS),
        "{/* data */}": data.replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029"),
    }
    machines = payload.get("machines", [])
    title = ", ".join(machine["name"] for machine in machines[:3]) or "automata"
    if payload.get("gallery"):
        title = f"Gallery of {len(machines)} automata"
    parts["<!-- title -->"] = escape(f"{title} · krohn", quote=False)
    for mark, text in parts.items():
        before, _, after = page.partition(mark)
        page = f"{before}{text}{after}"
    return page


def small_text() -> str:
    """The compiled and proved networks of all small automata (``tools/small_machines.py``)."""
    return _asset("small.txt")


def _asset(name: str) -> str:
    return (files("krohn.explorer") / "assets" / name).read_text(encoding="utf-8")


LENGTH, LONGEST = 64, 512
"""Letters of a page's longest word, by default and at most: long enough to see, short enough to draw."""

MAX_PARAMETERS = 400_000
"""Of a network in a page, which holds every weight: more makes a page too heavy to send and to run."""

QUANTITIES = ("depth", "blocks", "dim", "heads", "mlp_width", "num_parameters", "max_weight")


def build_machine(automaton: Semiautomaton, length: int = LENGTH) -> dict[str, Any]:
    """Compiles, certifies and describes an automaton for a page."""
    network = compile(automaton, length)
    count, name = network.transformer.num_parameters, automaton.name or "this automaton"
    if count > MAX_PARAMETERS:
        raise LimitExceeded(
            f"a page holds networks of at most {MAX_PARAMETERS:,} parameters; {name:.60} at "
            f"--length {length} has {count:,}: choose a smaller --length or automaton, or use krohn compile"
        )
    return describe(network, verify(network, dtype=network.proved or "float64"))


def describe(network: CompiledNetwork, certificate: Verification | None) -> dict[str, Any]:
    """Everything a page shows of one network."""
    automaton = network.automaton
    if automaton.target != "state":
        raise Unsupported("the page shows states; compile the network with --target state")
    return {
        "name": automaton.name or f"{automaton.num_states} states",
        "about": about(automaton),
        "automaton": _automaton(automaton),
        "diagram": diagram(automaton) if automaton.num_states <= MAX_DRAWN else None,
        "algebra": _algebra(automaton),
        "plan": _plan(network),
        "network": _network(network),
        "meaning": _meaning(network),
        "sizes": _sizes(network),
        "certificate": None if certificate is None else _certificate(certificate),
    }


def _automaton(automaton: Semiautomaton) -> dict[str, Any]:
    return {
        "states": list(automaton.state_names),
        "letters": list(automaton.letter_names),
        "start": automaton.start,
        "table": automaton.table.tolist(),
        "observe": None if automaton.observe is None else list(automaton.observe),
        **({"observed": list(automaton.observed)} if automaton.observation_names else {}),
        "accepting": sorted(accepting(automaton)),
    }


def _algebra(automaton: Semiautomaton) -> dict[str, Any] | None:
    """The algebraic analysis; ``None`` if the limits are too small."""
    try:
        report = algebra_of(automaton)
    except KrohnError:
        return None
    known = ("complexity", "is_group", "is_aperiodic", "is_solvable", "semigroup_size", "reason")
    return {key: getattr(report, key) for key in known}


def _plan(network: CompiledNetwork) -> dict[str, Any]:
    """The origin of this network's depth: the cascade it was built from, or what its heads look for."""
    automaton = network.automaton
    try:
        result = decompose(automaton) if network.method == "cascade" else None
    except KrohnError:
        result = None
    if result is None:
        return {"method": network.method, "levels": 0, "components": [], "heads": head_words(network)}
    return {
        "method": network.method,
        "heads": [],
        "levels": result.levels,
        "components": [
            {
                "level": part.level,
                "tiles": part.tiles,
                "group": part.group if part.group_order > 1 else "",
                "factors": list(part.factors),
                "kind": part.kind,
            }
            for part in result.components
        ],
    }


def _network(network: CompiledNetwork) -> dict[str, Any]:
    """Every matrix by its name in the file, as the bytes of its float64 numbers in base64."""
    built = network.transformer
    return {
        "method": network.method,
        "length": built.max_length,
        "padding": built.num_padding,
        "shape": [[len(layer.heads), len(layer.mlp.weights)] for layer in built.layers],
        "tensors": {
            name: {
                "shape": list(matrix.shape),
                "data": base64.b64encode(matrix.astype("<f8").tobytes()).decode(),
            }
            for name, matrix in built.tensors().items()
        },
    }


def _meaning(network: CompiledNetwork) -> dict[str, Any]:
    """What channels hold at every moment, what heads and MLPs do, and which registers name the state."""
    program = network.program
    return {
        "moments": [
            [
                {key: getattr(channel, key) for key in ("name", "register", "scale", "part")}
                for channel in moment
            ]
            for moment in network.layout.moments
        ],
        "heads": [[head.text for head in layer] for layer in network.layout.heads],
        "maps": [] if program is None else [[m.describe() for m in layer.maps] for layer in program.layers],
        "registers": {}
        if program is None
        else {r.name: {"low": r.low, "high": r.high, "kind": r.kind} for r in program.registers},
        "words": register_words(network),
        "head_words": head_words(network),
        "coordinates": [] if program is None else list(program.readout.registers),
        "codes": [] if program is None else [None if c is None else list(c) for c in program.readout.codes],
    }


def _sizes(network: CompiledNetwork) -> dict[str, Any]:
    """The built quantities beside those of the paper's best construction; ``None`` if it states none."""
    paper = paper_best(network.automaton, network.length)
    built = network.sizes()
    return {
        "theorem": paper.source,
        "rows": [
            {"name": key, "built": _plain(built[key]), "recipe": getattr(paper, key, None)}
            for key in QUANTITIES
        ],
    }


def _plain(value: float) -> float | str:
    """Numbers that a browser can represent; larger ones as text."""
    exact = abs(value) <= 2**53 if isinstance(value, int) else math.isfinite(value)
    return value if exact else str(value)


def _certificate(certificate: Verification) -> dict[str, Any]:
    payload = certificate.to_json()
    keys = ("certified", "length", "dtype", "margin", "reason", "network", "exhaustive", "counterexample")
    checks = [{key: each[key] for key in ("name", "layer", "text", "passed")} for each in payload["checks"]]
    return {**{key: payload[key] for key in keys}, "checks": checks}


@plainly
def explore(
    *automata: AutomatonLike,
    out: str | Path | None = None,
    length: int = LENGTH,
    gallery: bool = False,
    results: str | Path | Sequence[str | Path] = (),
    tell: Callable[[str], object] = lambda line: None,
) -> Page:
    """The page that runs the compiled networks of automata in a browser; written to ``out`` if given.

    A notebook shows it in place; ``.html`` is its text, ``.save(F)`` writes it. ``gallery`` adds the 19
    automata of the paper, ``results`` trained networks from files that ``results.export`` wrote;
    ``tell`` is called with a line for each network.
    """
    if out is not None:
        check_page(path_of(out))  # fail before the work
    if isinstance(length, int) and length > LONGEST:
        raise InvalidInput(f"a page shows words of at most {LONGEST} letters; got {length}: choose fewer")
    wanted = (*automata, *(GALLERY if gallery else ())) or ("S4",)
    chosen = [(_name_of(each), as_automaton(each)) for each in wanted]
    files = [results] if isinstance(results, str | Path) else results
    trained = _read_trained([Path(each) for each in files])
    machines = []
    for place, (name, automaton) in enumerate(chosen, start=1):
        tell(f"compiling and proving {name}" + (f" ({place} of {len(chosen)})" if len(chosen) > 1 else ""))
        machines.append(build_machine(automaton, length))
    payload = {"machines": machines, "gallery": gallery, **trained}
    page = Page(render_page(payload), tuple(name for name, _ in chosen))
    if out is not None:
        page.save(out)
    return page


def _name_of(automaton: AutomatonLike) -> str:
    if not isinstance(automaton, str | Path):
        return getattr(automaton, "name", "") or "an automaton"
    return str(automaton) if str(automaton).isprintable() else short(str(automaton))


def _read_trained(paths: list[Path]) -> dict[str, Any]:
    """The data of trained networks for the page, if there are any."""
    if not paths:
        return {}
    from krohn.lab.experiments.store import Store

    stores = [Store(path, writable=False) for path in paths]
    records = [record for store in stores for record in store.records()]
    if not records:
        raise InvalidInput(f"--results must name files that krohn results export wrote; none in {paths[0]}")
    return {"results": results_view(records, [member for store in stores for member in store.members()])}
