"""krohn: finite automata, their Krohn–Rhodes cascades, and the shallow Transformers that simulate them.

Wherever an automaton is needed, an object, a name ("S4", "regex:(ab)*") or a file is accepted.

Automata
    Semiautomaton     states, letters, a transition table; ``run`` gives the states of a word
    zoo               the automaton of that name: ``zoo("S4")``
    from_regex        the minimal automaton of a regular expression
    from_dfa, to_dfa  from and to the DFA objects of automata-lib
    parse_spec        the automaton that a string stands for, as on the command line
    load_automaton    the automaton in a JSON file
    dump_automaton    writes an automaton to a JSON file
    simulate          the states of many words at once
    sample            random words with their states
Algebra
    analyze           semigroup, groups, and the circuit class of the word problem
    decompose         the Krohn–Rhodes cascade, proved and shortened
Networks
    compile           the explicit weights of a Transformer (or an LSTM, …) that simulates the automaton
    CompiledNetwork   those weights and what they mean: ``run``, ``explain``, ``sizes``
    save, load        a compiled network to and from a directory
    verify            whether any network is proved right on every word, rounding included
    export            a network for transformers, TransformerLens or ONNX
Training
    train             trains networks on an automaton, several replicates at once
    RunConfig         everything that decides a training run
    state_tracking    a torch module of your own on automata: can it, did it learn, how far
Understanding
    understand        which variables of the algebra a network uses in which layer, by interventions
    suite             networks whose algorithm is known, with circuits; scores hypotheses about them
Errors
    KrohnError        the root of all errors; the message is one line

The names are imported on first use, so that ``import krohn`` stays instant.
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
    "parse_spec": "krohn.automata.zoo:parse_spec",
    "load_automaton": "krohn.automata.files:load_automaton",
    "dump_automaton": "krohn.automata.files:dump_automaton",
    "simulate": "krohn.automata.simulation:simulate",
    "sample": "krohn.automata.sampling:sample",
    "analyze": "krohn.algebra.analysis:analyze",
    "decompose": "krohn.construct.decomposing:decompose",
    "compile": "krohn.compilation:compile",
    "CompiledNetwork": "krohn.network.compiled:CompiledNetwork",
    "load": "krohn.network.storage:load",
    "save": "krohn.network.storage:save",
    "verify": "krohn.verification:verify",
    "export": "krohn.exporting.driver:export",
    "KrohnError": "krohn.errors:KrohnError",
    "RunConfig": "krohn.training.config:RunConfig",
    "train": "krohn.training.loop:train",
    "understand": "krohn.understanding.understand:understand",
    "suite": "krohn.testbed.public:suite",
    "state_tracking": "krohn.evaluate.harness:state_tracking",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'krohn' has no attribute {name!r}; it has {', '.join(sorted(_PUBLIC))}")
    module, _, attribute = _PUBLIC[name].partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        known = import_module("krohn.errors").missing(error, f"krohn.{name}")
        raise known or error from error


def __dir__() -> list[str]:
    return list(__all__)
