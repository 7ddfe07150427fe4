"""Public functions that combine several parts, named like the commands."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Word, Words
from krohn.automata.simulation import checked_words
from krohn.automata.small import require_listable, sampled_automata, small_automata
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.arguments import plainly
from krohn.base.folder import COMPILED, RECURRENT, TRAINED, Folder
from krohn.base.notebook import Rows
from krohn.construct.compiling import compile
from krohn.construct.depth_bounds import atlas as atlas_of
from krohn.errors import InvalidInput
from krohn.explorer.page_data import LENGTH, Page, build_machine, check_page, render_page
from krohn.network import storage
from krohn.network.compiled import CompiledNetwork
from krohn.network.explanation import Explanation
from krohn.network.forward import float_name
from krohn.paper import barrington as formulas
from krohn.paper.threshold_circuit import threshold_circuit
from krohn.paper.threshold_gates import Circuit
from krohn.recurrent import recurrent_network
from krohn.recurrent.recurrent_network import RecurrentNetwork

if TYPE_CHECKING:
    from krohn.lab.experiments.reproduction import Reproduction
    from krohn.lab.interpret.extraction import Extracted
    from krohn.lab.training.trained_network import TrainedNetwork

Network = CompiledNetwork | str | Path
"""A compiled network, or the directory that holds one."""
Forward = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]


def save(network: CompiledNetwork | RecurrentNetwork, directory: str | Path) -> None:
    """Writes a compiled Transformer or a recurrent network to a directory."""
    if isinstance(network, CompiledNetwork):
        storage.save(network, directory)
    else:
        recurrent_network.save(network, directory)


def load(directory: str | Path) -> "CompiledNetwork | RecurrentNetwork | TrainedNetwork":
    """The compiled, recurrent or trained network in a directory; nothing in it is executed.

    Of a training run it is the replicate with the highest validation accuracy.
    """
    kind = Folder(Path(directory)).require("load takes", COMPILED, RECURRENT, TRAINED)
    if kind == RECURRENT:
        return recurrent_network.load(directory)
    if kind == TRAINED:
        from krohn.lab.training.trained_network import read_run

        return read_run(Path(directory))
    return storage.load(directory)


@plainly
def run(
    network: CompiledNetwork | RecurrentNetwork | str | Path,
    words: Words,
    dtype: Any = "float64",
    device: str = "numpy",
    *,
    chunks: bool = False,
) -> npt.NDArray[np.int64]:
    """The number of the state after each letter, by a network or that of a directory, as ``krohn run``.

    A string or a list of letters is one word, a list of lists several. ``network(words)`` gives the names.
    With ``chunks`` a recurrent network on a torch device reads many letters at once, as in training.
    """
    reader = runnable(network)
    letters = np.asarray(checked_words(reader.automaton, words), dtype=np.int64)
    if not letters.size:
        return letters
    return forward_of(reader, dtype, device, chunks=chunks)(np.atleast_2d(letters)).reshape(letters.shape)


def runnable(network: CompiledNetwork | RecurrentNetwork | str | Path) -> CompiledNetwork | RecurrentNetwork:
    """A compiled or recurrent network, or the one in a directory."""
    if not isinstance(network, str | Path):
        return network
    kind = Folder(Path(network)).require("run needs", COMPILED, RECURRENT)
    return recurrent_network.load(network) if kind == RECURRENT else storage.load(network)


def forward_of(
    network: CompiledNetwork | RecurrentNetwork, dtype: Any, device: str, *, chunks: bool = False
) -> Forward:
    """From words ``[batch, length]`` to states: the pass in numpy, or the module on a torch device.

    A recurrent network runs in float32, one letter after the other; on a torch device it is the network that
    krohn train trains, which can also read in ``chunks``.
    """
    if chunks and (device == "numpy" or not isinstance(network, RecurrentNetwork)):
        raise InvalidInput("chunks are for a recurrent network on a torch device: --device cpu")
    if device == "numpy":
        return lambda words: network.forward(words, dtype)
    if isinstance(network, RecurrentNetwork):
        from krohn.lab.cards.recurrent_modules import states_in_training

        return states_in_training(network.cell, device, chunks=chunks)
    from krohn.lab.bridge import states_on_device

    return states_on_device(network, float_name(dtype), device)


@plainly
def explain(network: Network, word: Word) -> Explanation:
    """What registers and heads of a compiled network hold and see on a word."""
    return _loaded(network).explain(word)


@plainly
def circuit(network: AutomatonLike | CompiledNetwork, length: int | None = None) -> Circuit:
    """A compiled network, or that of an automaton, as threshold gates for words of one length."""
    if isinstance(network, CompiledNetwork):
        return threshold_circuit(network, length)
    if isinstance(network, str | Path) and Folder(Path(network)).kind == COMPILED:
        return threshold_circuit(storage.load(network), length)
    if length is None:
        raise InvalidInput("a circuit reads words of one length; choose it with length=")
    return threshold_circuit(compile(network, length), length)


def barrington(formula: str, automaton: AutomatonLike | None = None) -> formulas.BarringtonProgram:
    """A Boolean formula as a word problem over an automaton that is not solvable, A5 by default."""
    return formulas.barrington(formula, None if automaton is None else as_automaton(automaton))


@plainly
def atlas(
    states: int, letters: int, *, sample: int | None = None, seed: int = 0, effort: float = 1.0
) -> Rows[dict[str, Any]]:
    """All automata of 2 to ``states`` states up to isomorphism, or a sample: rows with class and depth.

    The rows are what ``krohn atlas --json`` lists; ``to_frame()`` makes a DataFrame of them.
    """
    if sample is not None:
        chosen = sampled_automata(states, letters, sample, seed)
    else:
        require_listable(states, letters)  # fail before the smaller ones are listed
        chosen = [automaton for count in range(2, states + 1) for automaton in small_automata(count, letters)]
    return Rows([entry.to_json() for entry in atlas_of(chosen, effort)])


@plainly
def explore(*automata: AutomatonLike, out: str | Path | None = None, length: int = LENGTH) -> Page:
    """The page that runs the compiled networks of automata in a browser; written to ``out`` if given.

    A notebook shows it in place; ``.html`` is its text, ``.save(F)`` writes it.
    """
    if out is not None:
        check_page(Path(out))  # fail before the work
    chosen = [as_automaton(each) for each in automata or ("S4",)]
    page = Page(render_page({"machines": [build_machine(each, length) for each in chosen]}))
    if out is not None:
        page.save(out)
    return page


@plainly
def extract(
    network: Any,
    length: int,
    *,
    automaton: AutomatonLike | None = None,
    tokens: Any = None,
    max_states: int = 100,
    effort: float = 1.0,
    device: str = "cpu",
) -> "Extracted":
    """The automaton that a network computes, compared on all words of up to ``length``.

    ``network`` is a directory; or a GPT-2 of ``transformers``, or any callable from tokens to logits, with
    the ``automaton`` it should compute, whose letters and states have these ``tokens`` (as for ``verify``).
    """
    from krohn.lab.interpret.extraction import answers_of
    from krohn.lab.interpret.extraction import extract as extract_automaton

    meant = None if automaton is None else as_automaton(automaton)
    return extract_automaton(answers_of(network, effort, device, meant, tokens), length, max_states)


def reproduce(
    name: str,
    scale: str = "smoke",
    *,
    store: str | Path = "runs/results.sqlite",
    figures: str | Path | None = None,
    show: bool = False,
    **options: Any,
) -> "Reproduction":
    """One experiment of the paper: runs what is missing in the store, then makes table and figures.

    With ``show`` nothing is run. ``options`` are those of ``krohn.lab.experiments.sweep.SweepOptions``.
    """
    from krohn.lab.experiments.reproduction import reproduce as run_experiment
    from krohn.lab.experiments.store import Store
    from krohn.lab.experiments.sweep import SweepOptions

    path = Path(store)
    with Store(path, writable=not show) as opened:
        place = Path(figures) if figures is not None else path.parent / "figures"
        return run_experiment(
            name, scale, opened, figures=place, options=None if show else SweepOptions(**options)
        )


def _loaded(network: Network) -> CompiledNetwork:
    return network if isinstance(network, CompiledNetwork) else storage.load(network)
