# ruff: noqa: D102 - the class Kind says once what each method is
"""The kinds of network: what each is called, how it is read, run, verified and studied.

``krohn.load``, ``run``, ``verify``, ``explain``, ``understand``, ``extract`` and ``export`` look a network,
given as an object or as its folder, up in ``KINDS``. What a kind does not define it cannot do, and the error
lists the kinds that can. To add a kind, add its class and its entry. What a method needs is imported on use,
since ``krohn.lab`` needs torch, and to run a network the search for proofs need not be loaded.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from krohn.automata.observed import with_target
from krohn.automata.reader import Reader
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import (
    CALLABLE,
    COMPILED,
    CONTENTS,
    EXPORT,
    LOOPED,
    MODEL_FILES,
    MODULE,
    RECURRENT,
    STOCK,
    TRAINED,
    Folder,
    path_of,
    refuse_network,
)
from krohn.base.portable import float_name
from krohn.errors import InvalidInput, Unsupported
from krohn.network.compiled import CompiledNetwork

if TYPE_CHECKING:
    from krohn.automata.words import Word
    from krohn.check.certificate import Certificate
    from krohn.check.claim import Claim
    from krohn.check.files.folders import Net
    from krohn.coq.stored import Stored
    from krohn.exporting.exported import Exported
    from krohn.lab.interpret.subject import Subject
    from krohn.network.explanation import Explanation
    from krohn.network.gpt2.decoder import Decoder
    from krohn.network.gpt2.reading import ExportedNetwork
    from krohn.network.meaning_view import MeaningView
    from krohn.proving.claims import Question
    from krohn.proving.evidence import Counterexample, SecondOpinion
    from krohn.proving.outcome import Verification
    from krohn.recurrent.looped_network import LoopedNetwork
    from krohn.recurrent.recurrent_network import RecurrentNetwork

Forward = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
Ran = tuple["SecondOpinion", "Counterexample | None"]
ONLY_FOR = {"chunks": "a recurrent network", "device": "the folder of a training run"}
"""Options that are for one kind alone."""
KERNEL_WORK = 1.2e10
"""Multiplications that running words may take beside a proof by Coq: about a second."""


@dataclass(frozen=True, eq=False)
class Running:
    """A network as a function of words.

    Attributes:
        of: words [batch, length] to states.
        automaton: what it should compute.
        longest: the longest word it reads; none if it reads all.
        decoder: the network as a GPT-2, where a stream can be read.
        causal: whether an answer is known to depend on the letters before it alone.
        reach: the longest length up to ``most`` of which all words may be run, for an effort; none: as for
            any network.
    """

    of: Forward
    automaton: Semiautomaton
    longest: int | None = None
    decoder: "Decoder | None" = None
    causal: bool = True
    reach: Callable[[int, float], int] | None = None


@dataclass(frozen=True, eq=False)
class ExportQuestion:
    """How an export is asked for.

    Attributes:
        dtype: the float type it will be loaded in.
        replicate: of a training run; by default the best.
        length: the longest words that a trained network will read; by default as trained.
        proof: whether to prove the files, which takes a second to minutes.
        announce: called with a description of slow steps.
    """

    dtype: str = "float32"
    replicate: int | None = None
    length: int | None = None
    proof: bool = True
    announce: Callable[[str], object] = str


class Kind:
    """One kind of network; methods that a kind does not define are what it cannot do."""

    name: str
    options: frozenset[str] = frozenset()
    """Of ``ONLY_FOR``, those that are for this kind."""
    names_itself = True
    """Whether its files name automaton, letters and states; otherwise the user must."""

    @property
    def called(self) -> str:
        """Its name in errors, with the article."""
        return CONTENTS[self.name]

    def holds(self, given: Any) -> bool:
        """Whether it is a network of this kind, or the folder of one."""
        if isinstance(given, str | Path):
            return Folder(path_of(given)).kind == self.name
        return self.holds_object(given)

    def holds_object(self, given: object) -> bool:
        """Whether the object is a network of this kind."""
        raise self._lacking("told apart from others")

    def does(self, method: str) -> bool:
        """Whether the kind defines this method."""
        return getattr(type(self), method) is not getattr(Kind, method)

    def _lacking(self, what: str) -> Unsupported:
        return Unsupported(f"{self.called} cannot be {what}")

    def read(self, folder: Path, device: str) -> Reader:
        """The network in a folder, ready to run; ``device`` is one of torch."""
        raise self._lacking("read")

    def forward(self, network: Reader, dtype: Any, device: str, *, chunks: bool) -> Forward:
        """The pass in numpy, or of the module on a torch device."""
        raise self._lacking("run")

    def verify(self, given: Any, question: "Question") -> "Verification":
        """The verdict on all words that the question asks for."""
        raise self._lacking("verified")

    def net(self, given: Any, certificate: "Certificate") -> "tuple[Net, Semiautomaton]":
        """The network as the checker reads it, and the automaton that its files name."""
        raise self._lacking("rechecked")

    def stored(self, folder: Path) -> "tuple[Stored, Callable[[Semiautomaton], Ran]]":
        """The network as Coq reads it, and a function that runs short words on it, independently."""
        raise self._lacking("proved by Coq")

    def running(self, given: Any, automaton: Semiautomaton | None, tokens: Any, device: str) -> Running:
        """The network as a function of words; ``automaton`` and ``tokens`` if it names none."""
        raise self._lacking("extracted from")

    def subject(self, given: Any, automaton: Semiautomaton | None, tokens: Any) -> "Subject":
        """The network with its stream between blocks open."""
        raise self._lacking("understood")

    def explain(self, given: Any, word: "Word | None") -> "Explanation | MeaningView":
        """What its registers and heads mean, or what they hold and see on a word."""
        raise self._lacking("explained")

    def export(self, given: Any, formats: Sequence[str], question: "ExportQuestion") -> "list[Exported]":
        """Its files in each format, tested and, where asked, proved."""
        raise self._lacking("exported")

    def refuse_idle(self, given: Any, *, chunks: bool = False, device: str = "cpu") -> None:
        """Refuses options that would change nothing."""
        on_folder = isinstance(given, str | Path)
        idle = {"chunks": chunks and "chunks" not in self.options}
        idle["device"] = device != "cpu" and not ("device" in self.options and on_folder)
        for option in (option for option, is_idle in idle.items() if is_idle):
            raise InvalidInput(f"--{option} is for {ONLY_FOR[option]}; this is {self.called}: leave it out")

    def refuse_names(self, automaton: Semiautomaton | None, tokens: Any) -> None:
        """Refuses other names than those that the network has."""
        if self.names_itself and (automaton is not None or tokens is not None):
            raise InvalidInput(
                f"--automaton and --tokens are for networks of others; {self.called} names its own"
            )


class _Own(Kind):
    """Networks that krohn wrote: a ``Reader`` once read."""

    def forward(self, network: Reader, dtype: Any, device: str, *, chunks: bool) -> Forward:
        self._refuse(dtype, chunks=chunks)
        return network.forward

    def running(self, given: Any, automaton: Semiautomaton | None, tokens: Any, device: str) -> Running:
        self.refuse_names(automaton, tokens)
        network = self.reader(given, device)
        return Running(network.forward, network.automaton, network.longest)

    def reader(self, given: Any, device: str = "cpu") -> Any:
        """The network itself, read if a folder is given."""
        return self.read(path_of(given), device) if isinstance(given, str | Path) else given

    def _refuse(self, dtype: Any, *, chunks: bool) -> None:
        if dtype is not None and float_name(dtype) != "float32":
            raise InvalidInput(f"only a compiled network runs in another type than float32; got {dtype}")
        if chunks:
            raise InvalidInput("chunks are for a recurrent network on a torch device: --device cpu")


class Compiled(_Own):
    """What ``krohn compile`` makes: matrices with the meaning of every part."""

    name = COMPILED

    def holds_object(self, given: object) -> bool:
        return isinstance(given, CompiledNetwork)

    def read(self, folder: Path, device: str) -> CompiledNetwork:
        from krohn.network.compiled import load

        return load(folder)

    def forward(self, network: Any, dtype: Any, device: str, *, chunks: bool) -> Forward:
        self._refuse(None, chunks=chunks)
        dtype = "float64" if dtype is None else dtype
        if device == "numpy":
            return lambda words: network.forward(words, dtype)
        from krohn.lab.bridge import states_on_device

        return states_on_device(network, float_name(dtype), device)

    def verify(self, given: Any, question: "Question") -> "Verification":
        from krohn.network.lowering.assembly import lowers_again
        from krohn.paper.theorem3 import builds_again
        from krohn.proving.compiled import verify_compiled

        network = self.reader(given)
        return verify_compiled(network, question, described=lowers_again(network) or builds_again(network))

    def net(self, given: Any, certificate: "Certificate") -> "tuple[Net, Semiautomaton]":
        from krohn.check.rules import read_net
        from krohn.proving.compiled import claim_of

        automaton = self.reader(given).automaton
        if isinstance(given, CompiledNetwork):
            return claim_of(given, automaton, "float64", 1)[0], automaton
        return read_net(given), automaton

    def stored(self, folder: Path) -> "tuple[Stored, Callable[[Semiautomaton], Ran]]":
        from krohn.coq.stored import stored_transformer
        from krohn.proving.word_search import exhaustive

        net = stored_transformer(folder)
        return net, lambda automaton: exhaustive(net.weights, automaton, "float32", net.length, KERNEL_WORK)

    def running(self, given: Any, automaton: Semiautomaton | None, tokens: Any, device: str) -> Running:
        from krohn.proving.word_search import runner

        self.refuse_names(automaton, tokens)
        network: CompiledNetwork = self.reader(given)
        return Running(runner(network.transformer, "float64"), network.automaton, network.longest)

    def subject(self, given: Any, automaton: Semiautomaton | None, tokens: Any) -> "Subject":
        from krohn.lab.interpret.subject import subject_of_compiled

        self.refuse_names(automaton, tokens)
        return subject_of_compiled(self.reader(given))

    def explain(self, given: Any, word: "Word | None") -> "Explanation | MeaningView":
        from krohn.network.explanation import explain_word
        from krohn.network.meaning_view import view

        network, name = self.reader(given), "" if isinstance(given, CompiledNetwork) else str(given)
        return view(network, name) if word is None else explain_word(network, word)

    def export(self, given: Any, formats: Sequence[str], question: "ExportQuestion") -> "list[Exported]":
        from krohn.exporting.network_files import export_compiled

        if question.replicate is not None or question.length is not None:
            raise InvalidInput("replicate and length are for training runs; this is a compiled network")
        return export_compiled(
            self.reader(given), formats, question.dtype, proof=question.proof, announce=question.announce
        )


class Recurrent(_Own):
    """Recurrent weights that ``krohn compile --architecture`` makes."""

    name = RECURRENT
    options = frozenset({"chunks"})

    def holds_object(self, given: object) -> bool:
        from krohn.recurrent.recurrent_network import RecurrentNetwork

        return isinstance(given, RecurrentNetwork)

    def read(self, folder: Path, device: str) -> "RecurrentNetwork":
        from krohn.recurrent.recurrent_network import load

        return load(folder)

    def forward(self, network: Any, dtype: Any, device: str, *, chunks: bool) -> Forward:
        self._refuse(dtype, chunks=chunks and device == "numpy")
        if device == "numpy":
            return super().forward(network, dtype, device, chunks=chunks)
        from krohn.lab.cards.recurrent_modules import states_in_training

        return states_in_training(network.cell, device, chunks=chunks)

    def verify(self, given: Any, question: "Question") -> "Verification":
        from krohn.proving.recurrent import verify_recurrent

        return verify_recurrent(given, question)

    def net(self, given: Any, certificate: "Certificate") -> "tuple[Net, Semiautomaton]":
        from krohn.check.rules import read_net
        from krohn.proving.recurrent import net_of

        net = read_net(given) if isinstance(given, str | Path) else net_of(given)
        return net, self.reader(given).automaton

    def stored(self, folder: Path) -> "tuple[Stored, Callable[[Semiautomaton], Ran]]":
        from krohn.coq.stored import stored_network
        from krohn.proving.recurrent import run_all

        cell = self.reader(folder).cell
        return stored_network(folder), lambda automaton: run_all(cell, automaton)


class Looped(_Own):
    """One block for all loops, with codes, that ``krohn compile --architecture looped`` makes."""

    name = LOOPED

    def holds_object(self, given: object) -> bool:
        from krohn.recurrent.looped_network import LoopedNetwork

        return isinstance(given, LoopedNetwork)

    def read(self, folder: Path, device: str) -> "LoopedNetwork":
        from krohn.recurrent.looped_network import load

        return load(folder)

    def verify(self, given: Any, question: "Question") -> "Verification":
        from krohn.proving.looped import verify_looped

        return verify_looped(given, question)

    def net(self, given: Any, certificate: "Certificate") -> "tuple[Net, Semiautomaton]":
        from krohn.check.rules import read_net

        network = self.reader(given)
        return read_net(given) if isinstance(given, str | Path) else network.net, network.automaton


class Export(_Own):
    """What ``krohn export`` wrote for ``transformers``."""

    name = EXPORT

    def holds_object(self, given: object) -> bool:
        from krohn.network.gpt2.reading import ExportedNetwork

        return isinstance(given, ExportedNetwork)

    def read(self, folder: Path, device: str) -> "ExportedNetwork":
        from krohn.network.gpt2.reading import read_export

        return read_export(folder)

    def forward(self, network: Reader, dtype: Any, device: str, *, chunks: bool) -> Forward:
        self._refuse(dtype, chunks=chunks)
        if device != "numpy":
            raise InvalidInput(f"an export runs in numpy here, and by transformers on a device; got {device}")
        return network.forward

    def verify(self, given: Any, question: "Question") -> "Verification":
        from krohn.proving.export import verify_export

        return verify_export(_folder(given), question)

    def net(self, given: Any, certificate: "Certificate") -> "tuple[Net, Semiautomaton]":
        from krohn.check.rules import read_net
        from krohn.proving.export import named_automaton

        return read_net(_folder(given)), named_automaton(_folder(given))

    def subject(self, given: Any, automaton: Semiautomaton | None, tokens: Any) -> "Subject":
        from krohn.lab.interpret.subject import subject_of_decoder

        self.refuse_names(automaton, tokens)
        network = self.reader(given)
        return subject_of_decoder(network.decoder, network.automaton, "GPT-2 export")


class Trained(_Own):
    """A training run; of its replicates the one with the highest validation accuracy."""

    name = TRAINED
    options = frozenset({"device"})

    def holds_object(self, given: object) -> bool:
        return isinstance(given, Reader)  # of krohn's the last: its class is in the lab, which loads torch

    def read(self, folder: Path, device: str) -> Reader:
        from krohn.lab.training.trained_network import read_run

        return read_run(folder, device)

    def verify(self, given: Any, question: "Question") -> "Verification":
        from krohn.lab.provable.trained import verify_trained

        return verify_trained(_folder(given), question)

    def net(self, given: Any, certificate: "Certificate") -> "tuple[Net, Semiautomaton]":
        from krohn.check.rules import read_net
        from krohn.lab.training.trained_network import read_run

        trained = read_run(_folder(given))  # the replicate that runs words, whatever the certificate says
        return read_net(_folder(given), trained.replicate), trained.automaton

    def stored(self, folder: Path) -> "tuple[Stored, Callable[[Semiautomaton], Ran]]":
        from krohn.coq.stored import stored_run
        from krohn.proving.recurrent import run_all

        run = stored_run(folder)
        return run, lambda automaton: run_all(run.cell, automaton)

    def running(self, given: Any, automaton: Semiautomaton | None, tokens: Any, device: str) -> Running:
        from krohn.lab.provable.exact import longest

        network = self.reader(given, device)
        run = super().running(network, automaton, tokens, device)
        return replace(run, reach=lambda most, effort: longest(network, most, effort))

    def subject(self, given: Any, automaton: Semiautomaton | None, tokens: Any) -> "Subject":
        from krohn.lab.interpret.subject import subject_of_run

        self.refuse_names(automaton, tokens)
        return subject_of_run(_folder(given))

    def export(self, given: Any, formats: Sequence[str], question: "ExportQuestion") -> "list[Exported]":
        from krohn.exporting.network_files import export_run

        if question.dtype != "float32":
            raise Unsupported("a trained network is exported in float32, the type it was compared in")
        run = _folder(given)
        return [export_run(run, to, replicate=question.replicate, length=question.length) for to in formats]


class Stock(Kind):
    """A GPT-2 that others made with ``transformers``: its folder, or the module."""

    name = STOCK
    names_itself = False

    def holds_object(self, given: object) -> bool:
        from krohn.proving.stock import is_gpt2

        return is_gpt2(given)

    def verify(self, given: Any, question: "Question") -> "Verification":
        from krohn.proving.stock import verify_stock

        if isinstance(given, str | Path):
            return verify_stock(given, question)
        from krohn.lab.provable.gpt2_modules import verify_gpt2

        return verify_gpt2(given, question)

    def net(self, given: Any, certificate: "Certificate") -> "tuple[Net, Semiautomaton]":
        from krohn.check.rules import read_net
        from krohn.network.gpt2.stock import net_of_module

        claim = certificate.claim
        tokens = claim.configuration.get("tokens")
        folder = isinstance(given, str | Path)
        if folder:
            net = read_net(given, tokens=tokens)
        else:
            from krohn.lab.provable.gpt2_modules import net_to_check

            net = net_to_check(given, claim, lambda: net_of_module(given, tokens))
        return net, _claimed(claim)

    def running(self, given: Any, automaton: Semiautomaton | None, tokens: Any, device: str) -> Running:
        from krohn.network.gpt2.reference import states_of
        from krohn.network.gpt2.stock import decoder_of_stock, stock_of
        from krohn.proving.stock import require_automaton

        meant = require_automaton(automaton, tokens)
        decoder = decoder_of_stock(stock_of(given, meant, tokens))
        return Running(states_of(decoder), meant, decoder.length, decoder)

    def subject(self, given: Any, automaton: Semiautomaton | None, tokens: Any) -> "Subject":
        from krohn.lab.interpret.subject import subject_of_stock

        return subject_of_stock(given, automaton, tokens)


class Module(Kind):
    """A module of torch that others wrote, or a file that holds one: the graph that runs."""

    name = MODULE
    called = "a module"
    names_itself = False

    def holds(self, given: Any) -> bool:
        if isinstance(given, str | Path):
            return ".py:" in str(given) or path_of(given).suffix in MODEL_FILES
        return self.holds_object(given)

    def holds_object(self, given: object) -> bool:
        return callable(given) and hasattr(given, "state_dict") and hasattr(given, "named_modules")

    def verify(self, given: Any, question: "Question") -> "Verification":
        from krohn.lab.provable.modules import verify_module

        return verify_module(given, question)

    def net(self, given: Any, certificate: "Certificate") -> "tuple[Net, Semiautomaton]":
        from krohn.lab.provable.modules import net_to_check

        return net_to_check(given, certificate.claim), _claimed(certificate.claim)

    def running(self, given: Any, automaton: Semiautomaton | None, tokens: Any, device: str) -> Running:
        from krohn.lab.provable.modules import module_of

        return Function().running(module_of(given), automaton, tokens, device)


class Function(Kind):
    """Any callable from tokens to logits; it has no folder, and nothing is proved of it."""

    name = CALLABLE
    called = "a callable"
    names_itself = False

    def holds_object(self, given: object) -> bool:
        return callable(given)

    def verify(self, given: Any, question: "Question") -> "Verification":
        from krohn.proving.stock import verify_callable

        return verify_callable(given, question)

    def running(self, given: Any, automaton: Semiautomaton | None, tokens: Any, device: str) -> Running:
        from krohn.network.gpt2.stock import tokens_for
        from krohn.proving.stock import require_automaton, runner_of

        meant = require_automaton(automaton, tokens)
        return Running(runner_of(given, tokens_for(meant, tokens)), meant, causal=False)


KINDS = (Compiled(), Recurrent(), Looped(), Export(), Trained(), Stock(), Module(), Function())
"""In the order in which they are tried."""


def kind_of(given: Any) -> Kind | None:
    """The kind of a network, or of that in a folder."""
    return next((kind for kind in KINDS if kind.holds(given)), None)


def kind_for(given: Any, purpose: str, method: str) -> Kind:
    """The kind of a network that a function takes; others are refused with those that define the method."""
    kind = kind_of(given)
    if kind is None or not kind.does(method):
        refuse_network(given, purpose, *_able(method))
    return kind


def read_network(folder: str | Path, purpose: str, device: str = "cpu") -> Any:
    """The network in a folder, on a torch device if that is where its kind runs."""
    if not isinstance(folder, str | Path):
        refuse_network(folder, purpose, *_able("read"))
    return kind_for(folder, purpose, "read").read(path_of(folder), device)


def _able(method: str) -> Iterator[str]:
    """The kinds of folder that define a method."""
    return (kind.name for kind in KINDS if kind.does(method) and kind.name in CONTENTS)


def _claimed(claim: "Claim") -> Semiautomaton:
    """The automaton of a claim: no file of such a network names one."""
    observe = None if claim.target == "state" else tuple(claim.automaton.shows.tolist())
    table, start = claim.automaton.table.astype(np.int32), int(claim.automaton.start)
    named = Semiautomaton(table, start, claim.states, claim.letters, observe=observe)
    return with_target(named, "state" if observe is None else "observation")


def _folder(given: Any) -> Path:
    if not isinstance(given, str | Path):
        raise InvalidInput("it takes the folder of an export or of a run, not what load read from it")
    return path_of(given)
