"""krohn: finite automata, their Krohn–Rhodes cascades, and the shallow Transformers that simulate them.

The public names below are imported on first use, so that ``import krohn`` stays instant.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> "module:attribute". A module of the package never has one of these names.
_PUBLIC = {
    "Semiautomaton": "krohn.automata.semiautomaton:Semiautomaton",
    "zoo": "krohn.automata.zoo:zoo",
    "from_regex": "krohn.automata.regular:from_regex",
    "from_dfa": "krohn.automata.dfa:from_dfa",
    "to_dfa": "krohn.automata.dfa:to_dfa",
    "parse_spec": "krohn.automata.spec:parse_spec",
    "load_automaton": "krohn.automata.files:load_automaton",
    "dump_automaton": "krohn.automata.files:dump_automaton",
    "simulate": "krohn.automata.simulation:simulate",
    "sample": "krohn.automata.sampling:sample",
    "analyze": "krohn.algebra.analysis:analyze",
    "decompose": "krohn.construct.decomposing:decompose",
    "compile": "krohn.construct.compiling:compile",
    "CompiledNetwork": "krohn.network.compiled:CompiledNetwork",
    "load": "krohn.network.storage:load",
    "verify": "krohn.certify.verification:verify",
    "export": "krohn.exporting.export:export",
    "KrohnError": "krohn.errors:KrohnError",
    "RunConfig": "krohn.training.config:RunConfig",
    "train": "krohn.training.loop:train",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'krohn' has no attribute {name!r}; it has {', '.join(sorted(_PUBLIC))}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return list(__all__)
