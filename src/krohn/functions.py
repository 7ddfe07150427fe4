"""Public functions that combine several parts, named like the commands."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from krohn.automata.reader import Reader
from krohn.automata.semiautomaton import check_words
from krohn.automata.words import Word, Words
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.files import COMPILED, Folder, path_of, require
from krohn.base.typed import plainly
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.compiled import load as load_compiled
from krohn.paper.gate_circuit import Circuit
from krohn.paper.threshold_circuit import threshold_circuit
from krohn.proving.kinds import Forward, kind_for, read_network
from krohn.recurrent.looped_network import LoopedNetwork, LoopedReport
from krohn.recurrent.recurrent_network import RecurrentNetwork, RecurrentReport

if TYPE_CHECKING:
    from krohn.construct.compile_report import CompileReport
    from krohn.construct.learnability import Networks
    from krohn.construct.small_atlas import Atlas
    from krohn.lab.experiments.atlas import AtlasResult
    from krohn.lab.experiments.reproduction import Reproduction
    from krohn.lab.interpret.extraction import Extracted
    from krohn.lab.training.trained_network import TrainedNetwork
    from krohn.network.explanation import Explanation
    from krohn.network.gpt2.reading import ExportedNetwork
    from krohn.network.meaning_view import MeaningView
    from krohn.paper.barrington import BarringtonProgram

    Loaded: TypeAlias = CompiledNetwork | RecurrentNetwork | LoopedNetwork | ExportedNetwork | TrainedNetwork

Network = CompiledNetwork | str | Path
"""A compiled network, or the directory that holds one."""


@plainly
def save(network: CompiledNetwork | RecurrentNetwork | LoopedNetwork, directory: str | Path) -> None:
    """Writes a compiled Transformer, a recurrent or a looped network to a directory."""
    if not isinstance(network, CompiledNetwork | RecurrentNetwork | LoopedNetwork):
        raise InvalidInput(
            f"save writes a compiled, a recurrent or a looped network; got {type(network).__name__}"
        )
    network.save(directory)


@plainly
def load(directory: str | Path) -> "Loaded":
    """The compiled, recurrent, exported or trained network in a directory; nothing in it is executed.

    Of a training run it is the replicate with the highest validation accuracy.
    """
    network: Loaded = read_network(directory, "load takes")
    return network


@plainly
def simulate(
    automaton: AutomatonLike, words: Words, start: int | None = None
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The state after each letter of a word, or of several words of one length.

    A string or a list of letters (numbers or names) is one word, a list of lists is several.

    Example:
        >>> krohn.simulate(krohn.zoo("Parity"), [[1, 0, 1], [1, 1, 1]]).tolist()
        [[1, 1, 0], [1, 0, 1]]
        >>> krohn.simulate("abab", "abba").tolist()
        [0, 1, 4, 4]
    """
    return as_automaton(automaton).simulate(words, start)


@plainly
def run(
    network: Reader | str | Path,
    words: Words,
    dtype: Any = None,
    device: str = "numpy",
    *,
    chunks: bool = False,
) -> npt.NDArray[np.int64]:
    """The number of the state after each letter, by a network or that of a directory, as ``krohn run``.

    A string or a list of letters is one word, a list of lists several. ``network(words)`` gives the names.
    A compiled network runs in ``dtype``, by default float64; all others run in float32 alone.
    With ``chunks`` a recurrent network on a torch device reads many letters at once, as in training.
    """
    reader = runnable(network, device)
    letters = np.asarray(check_words(reader.automaton, words), dtype=np.int64)
    if not letters.size:
        return letters
    return forward_of(reader, dtype, device, chunks=chunks)(np.atleast_2d(letters)).reshape(letters.shape)


def runnable(network: Reader | str | Path, device: str = "numpy") -> Reader:
    """A network, or the one in a directory: of a run on the device, if that is one of torch."""
    if isinstance(network, Reader):
        return network
    read: Reader = read_network(network, "run needs", "cpu" if device == "numpy" else device)
    return read


def forward_of(network: Reader, dtype: Any, device: str, *, chunks: bool = False) -> Forward:
    """From words ``[batch, length]`` to states: the pass in numpy, or the module on a torch device.

    A recurrent network runs in float32, one letter after the other; on a torch device it is the network that
    krohn train trains, which can also read in ``chunks``. A trained one runs where it was loaded.
    """
    return kind_for(network, "run needs", "forward").forward(network, dtype, device, chunks=chunks)


@overload
def explain(network: Network) -> "MeaningView": ...
@overload
def explain(network: Network, word: Word) -> "Explanation": ...
@plainly
def explain(network: Network, word: Word | None = None) -> "Explanation | MeaningView":
    """What registers and heads of a compiled network mean, or what they hold and see on a word."""
    explained: Explanation | MeaningView = kind_for(network, "explain needs", "explain").explain(
        network, word
    )
    return explained


def report(
    network: CompiledNetwork | RecurrentNetwork | LoopedNetwork,
    dtype: str | None = None,
    architecture: str | None = None,
) -> "CompileReport | RecurrentReport | LoopedReport":
    """What ``krohn compile`` prints about a network: ``text()``, ``to_json()`` and ``notes``.

    Bounds on the depth of a Transformer are for ``dtype``; ``architecture`` is what a recurrent network was
    asked for as, if that is another name.
    """
    if isinstance(network, LoopedNetwork):
        return LoopedReport(network)
    if isinstance(network, RecurrentNetwork):
        return RecurrentReport(network, architecture or network.cell.kind)
    from krohn.construct.compile_report import CompileReport
    from krohn.exporting.sizes import exported_sizes

    return CompileReport(network, dtype, exported_sizes(network))


@plainly
def circuit(network: AutomatonLike | CompiledNetwork, length: int | None = None) -> Circuit:
    """A compiled network, or that of an automaton, as threshold gates for words of one length."""
    if isinstance(network, CompiledNetwork):
        return threshold_circuit(network, length)
    if isinstance(network, str | Path) and Folder(path_of(network)).kind is not None:
        require(network, "circuit needs", COMPILED)
        return threshold_circuit(load_compiled(network), length)
    if isinstance(network, Reader):
        kind = type(network).__name__
        raise InvalidInput(f"circuit needs a compiled network or an automaton; got {kind}")
    if length is None:
        raise InvalidInput("a circuit reads words of one length; choose it with length=")
    from krohn.construct.compiling import compile

    return threshold_circuit(compile(network, length, unproved=True), length)


@plainly
def barrington(formula: str, automaton: AutomatonLike | None = None) -> "BarringtonProgram":
    """A Boolean formula as a word problem over an automaton that is not solvable, A5 by default."""
    from krohn.paper import barrington as formulas

    return formulas.barrington(formula, None if automaton is None else as_automaton(automaton))


@plainly
def atlas(
    states: int | None = None,
    letters: int | None = None,
    *,
    class_: str = "",
    kind: str = "",
    positions: str = "",
    sample: int | None = None,
    seed: int = 0,
    effort: float = 1.0,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> "Atlas | Networks":
    """What trained networks made of 3,382 automata: rows of a class, a kind of automata, a kind of positions.

    With ``states`` and ``letters`` instead all automata of 2 to ``states`` states up to isomorphism, or a
    sample: rows with class and depth. ``to_frame()`` makes a DataFrame of either; ``progress`` is called with
    how many small automata are done, and of how many.
    """
    if states is None and letters is None:
        if sample is not None:
            raise InvalidInput("a sample must have numbers of states and letters; got neither")
        from krohn.construct.learnability import chosen_networks

        return chosen_networks(class_, kind, positions)
    if states is None or letters is None:
        raise InvalidInput("small automata must be listed by states and letters; got only one of them")
    if class_ or kind or positions:
        raise InvalidInput("class, kind and positions choose trained networks: leave out states and letters")
    from krohn.construct.small_atlas import small_atlas

    return small_atlas(states, letters, sample, seed, effort, progress)


@plainly
def extract(
    network: Any,
    length: int | None = None,
    *,
    automaton: AutomatonLike | None = None,
    tokens: Any = None,
    max_states: int = 100,
    effort: float = 1.0,
    device: str = "cpu",
    by: str = "words",
) -> "Extracted":
    """The smallest automaton that answers as a network does on all words of up to ``length``.

    ``network`` is one of krohn's, or its directory; or a GPT-2 of ``transformers``, or any callable from
    tokens to logits, with the ``automaton`` it should compute, whose letters and states have these ``tokens``
    (as for ``verify``). If more than ``max_states`` states are needed, the best automaton within them is
    returned, with the share of words on which it agrees (``agreement``). Without ``length``: the longest with
    99% of the letters right, of which all words can be run.
    ``by="states"`` reads the stream of a GPT-2 instead of asking for answers.
    """
    from krohn.lab.interpret.extraction import answers_of
    from krohn.lab.interpret.extraction import extract as extract_automaton

    meant = None if automaton is None else as_automaton(automaton)
    return extract_automaton(answers_of(network, effort, meant, tokens, device), length, max_states, by)


def reproduce(
    name: str,
    scale: str = "smoke",
    *,
    store: str | Path | None = None,
    figures: str | Path | None = None,
    show: bool = False,
    only: str | Sequence[str] = "",
    where: str | Sequence[str] = (),
    sequences: int | None = None,
    say: Callable[[str], None] = lambda line: None,
    must_draw: bool = True,
    also: str | Path | None = None,
    **options: Any,
) -> "Reproduction | AtlasResult":
    """One experiment of the paper: runs what is missing in the store, then makes table and figures.

    With ``show`` nothing is run; without a store it shows what is committed in ``results``. ``only`` names
    tasks and ``where`` settings such as ``depth=4,8``; ``sequences`` trains on that many instead. ``say`` is
    called with remarks; without ``must_draw`` a folder that cannot be written costs the figures alone. The
    other options are those of ``krohn.lab.experiments.sweep.SweepOptions``. For ``atlas`` the store is a
    folder of rows, and ``also`` a folder of automata beside those that krohn generates.
    """
    from krohn.lab.experiments import names

    if name == names.ATLAS:
        if only or where or sequences:
            raise InvalidInput("the atlas trains every automaton: leave out only, where and sequences")
        return _reproduce_atlas(scale, store, figures, also, options, show=show, say=say)
    if also is not None:
        raise InvalidInput(f"only the atlas takes a folder of automata (also); {name} does not")
    names.check_experiment(name)  # before torch is loaded, which takes seconds
    names.check_engine(options.get("engine", "local"))
    names.parse_scale(scale)
    if show and (only or where or sequences):
        raise InvalidInput("--show prints what is stored: give --only, --where and --sequences without it")
    from krohn.lab.experiments import reproduction
    from krohn.lab.experiments.store import Store
    from krohn.lab.experiments.sweep import SweepOptions

    path = path_of("runs/results" if store is None else store)
    place = None if figures is None else path_of(figures)
    if show and store is None and not path.exists():
        return reproduction.show_committed(name, scale, path, place, say)
    chosen = None
    if not show:
        chosen = SweepOptions(
            **{"selection": reproduction.selection(name, scale, only, where, sequences), **options}
        )
    with Store(path, writable=not show) as opened:
        drawn = place or path.parent / "figures"
        return reproduction.reproduce(
            name, scale, opened, figures=drawn, options=chosen, say=say, must_draw=must_draw
        )


def _reproduce_atlas(
    scale: str,
    store: str | Path | None,
    figures: str | Path | None,
    also: str | Path | None,
    options: dict[str, Any],
    *,
    show: bool,
    say: Callable[[str], None],
) -> "AtlasResult":
    from krohn.lab.experiments.atlas import ROWS, reproduce_atlas
    from krohn.lab.experiments.stored_runs import FOLDERS

    folder = path_of("runs/atlas" if store is None else store)
    if show and store is None:
        folder = next(
            (place for place in (folder, *(place / "atlas" for place in FOLDERS)) if (place / ROWS).exists()),
            folder,
        )
    return reproduce_atlas(
        scale,
        folder,
        also=None if also is None else path_of(also),
        run=not show,
        device=options.get("device"),
        time_limit=options.get("time_limit"),
        figures=None if figures is None else path_of(figures),
        say=say,
    )
