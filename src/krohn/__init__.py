"""krohn: finite automata, their Krohn–Rhodes cascades, and the shallow Transformers that simulate them.

Wherever an automaton is needed, an object, a name ("S4", "regex:(ab)*"), a file, a dictionary or a table is
accepted. Every command is a function of the same name. Results that are tables have ``to_frame()``: a
DataFrame, where pandas is installed.

Automata
    Semiautomaton     states, letters, a transition table; ``run`` gives the states of a word
    automaton         your own automaton, from a dictionary, a table, a name or a file
    zoo               the automaton of that name: ``zoo("S4")``; ``zoo()`` lists the names
    equal             whether two automata show the same after every word
    Equality          its result
    from_regex        the minimal automaton of a regular expression
    parse_spec        the automaton that a string stands for, as on the command line
    load_automaton    the automaton in a file: JSON, or JFLAP's .jff
    dump_automaton    writes an automaton to a file: JSON, or JFLAP's .jff
    simulate          the states of many words at once
    sample, Sample    random words with their states
Algebra
    analyze           semigroup, groups, and the circuit class of the word problem
    Analysis          its result
    decompose         the Krohn–Rhodes cascade, proved and shortened
    Decomposition     its result
    atlas             all small automata with their classes and the layers they need
    barrington        a Boolean formula as a word problem
    BarringtonProgram  that word problem
Networks
    compile           the explicit weights of a Transformer (or an LSTM, …) that simulates the automaton
    choices           the values that an option of ``compile`` may have
    CompiledNetwork   those weights: ``net("abab")``, ``states``, ``accepts``, ``save``, ``to_torch``
    save, load        a network, compiled or recurrent, to and from a directory
    run, explain      the states that a network outputs; what its registers and heads hold on a word
    Explanation       the result of ``explain``
    report            what ``krohn compile`` prints about a network
    verify            whether a network is proved right on every word, rounding included
    Verification      its result: what is proved, what is not
    export, Exported  a network for transformers or ONNX
    explore, Page     the page that runs networks in a browser
    circuit, Circuit  a network as threshold gates
Training
    train             trains networks on an automaton, several replicates at once
    TrainResult       its result
    train_many        the same for many automata in one run
    ManyResult        its result: a row for each network
    RunConfig         everything that decides a training run
    reproduce         an experiment of the paper: runs, table and figures
    Reproduction      its result
    results           stored runs: ``list``, ``show``, ``merge``, ``export``, ``import_``
    StoredRun         one of them
    card              what a layer, named or your own, can represent, what it learns, up to which length
    Card              its result
Understanding
    understand        which variables of the algebra a network uses in which layer, by interventions
    Report            its result
    extract           the automaton that a network computes
    Extracted         its result
    suite             networks whose algorithm is known, with circuits; scores hypotheses about them
Tables
    Rows              a list of results that is a table as well: ``krohn.zoo().to_frame()``
Installation
    doctor            what is installed here, and how to get what is missing
    Installation      its result
Errors
    KrohnError        the root of all errors; the message is one line

The names are imported on first use, so that ``import krohn`` stays instant.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# Public name -> "module:attribute". A module of the package never has one of these names.
_PUBLIC = {
    "Semiautomaton": "krohn.automata.semiautomaton:Semiautomaton",
    "zoo": "krohn.automata.zoo:zoo",
    "from_regex": "krohn.automata.regular:from_regex",
    "parse_spec": "krohn.automata.zoo:parse_spec",
    "load_automaton": "krohn.automata.files:load_automaton",
    "dump_automaton": "krohn.automata.files:dump_automaton",
    "simulate": "krohn.functions:simulate",
    "equal": "krohn.automata.equality:equal",
    "Equality": "krohn.automata.equality:Equality",
    "sample": "krohn.automata.sampling:sample",
    "analyze": "krohn.construct.analyzing:analyze",
    "decompose": "krohn.construct.decomposing:decompose",
    "compile": "krohn.construct.compiling:compile",
    "CompiledNetwork": "krohn.network.compiled:CompiledNetwork",
    "choices": "krohn.construct.request:choices",
    "load": "krohn.functions:load",
    "save": "krohn.functions:save",
    "verify": "krohn.proving.verification:verify",
    "export": "krohn.exporting.driver:export",
    "KrohnError": "krohn.errors:KrohnError",
    "RunConfig": "krohn.lab.training.config:RunConfig",
    "train": "krohn.lab.training.loop:train",
    "train_many": "krohn.lab.training.many_runs:train_many",
    "understand": "krohn.lab.interpret.understand:understand",
    "run": "krohn.functions:run",
    "explain": "krohn.functions:explain",
    "report": "krohn.functions:report",
    "circuit": "krohn.functions:circuit",
    "barrington": "krohn.functions:barrington",
    "atlas": "krohn.functions:atlas",
    "explore": "krohn.explorer.page_data:explore",
    "Page": "krohn.explorer.page_data:Page",
    "extract": "krohn.functions:extract",
    "reproduce": "krohn.functions:reproduce",
    "automaton": "krohn.automata.zoo:automaton",
    "Analysis": "krohn.construct.analyzing:Analysis",
    "Decomposition": "krohn.construct.decomposing:Decomposition",
    "Explanation": "krohn.network.explanation:Explanation",
    "Sample": "krohn.automata.sampling:Sample",
    "TrainResult": "krohn.lab.training.loop:TrainResult",
    "ManyResult": "krohn.lab.training.many_runs:ManyResult",
    "Verification": "krohn.proving.outcome:Verification",
    "BarringtonProgram": "krohn.paper.barrington:BarringtonProgram",
    "Circuit": "krohn.paper.gate_circuit:Circuit",
    "Exported": "krohn.exporting.exported:Exported",
    "Extracted": "krohn.lab.interpret.extraction:Extracted",
    "Installation": "krohn.installation:Installation",
    "Report": "krohn.lab.interpret.report:Report",
    "Reproduction": "krohn.lab.experiments.reproduction:Reproduction",
    "Rows": "krohn.base.notebook:Rows",
    "StoredRun": "krohn.lab.experiments.stored_runs:StoredRun",
    "doctor": "krohn.installation:doctor",
    "results": "krohn.lab.experiments.stored_runs:results",
    "suite": "krohn.lab.suite.public:suite",
    "card": "krohn.lab.cards.card:card",
    "Card": "krohn.lab.cards.card:Card",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        known = ", ".join(sorted(_PUBLIC))
        # With the module as obj, Python's traceback adds the nearest name.
        raise AttributeError(
            f"module 'krohn' has no attribute {name!r}; it has {known}",
            name=name,
            obj=import_module(__name__),
        )
    module, _, attribute = _PUBLIC[name].partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        known = import_module("krohn.base.extras").missing(error, f"krohn.{name}")
        raise known or error from error


def __dir__() -> list[str]:
    return list(__all__)
