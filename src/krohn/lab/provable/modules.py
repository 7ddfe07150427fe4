"""A module of PyTorch that others wrote: the graph that runs is proved, and the object itself is run.

It may be given in memory, as an ``.onnx`` or ``.pt2`` file, or as ``module.py:NAME``, the user's own code,
where NAME is a module, or a function without arguments that makes one.
"""

import copy
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.progress import tell
from krohn.base.threads import one_thread
from krohn.check.certificate import Certificate
from krohn.check.claim import GRAPH, Claim
from krohn.check.files.folders import Net, short
from krohn.check.graph.columns import NEXT, Case, cases_of, checked_layout
from krohn.check.graph.graph import HALVES, Graph, graph_net, graphs_of, written
from krohn.check.graph.proof import type_of
from krohn.check.ground import Work
from krohn.check.rules import check_certificate
from krohn.errors import InvalidInput, KrohnError
from krohn.lab.provable.climbing import climbed
from krohn.lab.provable.exported_program import ProgramModule
from krohn.lab.provable.model_files import FileModule
from krohn.lab.provable.onnx_module import OnnxModule
from krohn.lab.provable.same_run import marks_of
from krohn.lab.provable.tracing import Refused, logits_of, read_graph
from krohn.proving.claims import Question, certificate_about, claim_about
from krohn.proving.evidence import Counterexample, SecondOpinion
from krohn.proving.graph_search import WORK, Found, OpenClass, find_proof, words_of
from krohn.proving.identity import Identity
from krohn.proving.inputs import Inputs, letters_of, read_edges, sampled
from krohn.proving.layout import layout_for, shown_by
from krohn.proving.outcome import Verification

RUN = 4_000
"""Inputs of each length that the object is run on, if there are more."""
EVERY = 20_000
"""All inputs are run if they are no more."""
BATCH = 512
DEFAULT_WORDS = 4_096
LONGEST = 16
READERS: dict[str, Callable[[Path], FileModule]] = {".onnx": OnnxModule, ".pt2": ProgramModule}
"""Files that are data."""
FILE = re.compile(r"(.+\.py):([A-Za-z_]\w*)$")


def module_of(given: Any) -> Any:
    """The object itself; ``module.py:NAME`` is run as Python runs a file that is imported."""
    if not isinstance(given, str | Path):
        return given
    if Path(given).suffix in READERS:
        return READERS[Path(given).suffix](Path(given))
    found = FILE.fullmatch(str(given))
    if found is None:
        raise InvalidInput(f"{short(given)} must be module.py:NAME")
    path, name = Path(found[1]), found[2]
    if not path.is_file():
        raise InvalidInput(f"{short(path)} must be a file of Python; there is none")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{short(path)} cannot be imported")
    held = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, held)
    sys.path.insert(0, os.fspath(path.parent.resolve()))
    try:
        spec.loader.exec_module(held)
        made = getattr(held, name, None)
        made = made if isinstance(made, nn.Module) or not callable(made) else made()
    except Exception as error:
        said = " ".join(str(error).split())[:160]
        raise InvalidInput(f"{short(path)}:{name} raised {type(error).__name__}: {said}") from error
    finally:
        sys.path.remove(os.fspath(path.parent.resolve()))
    made = made[0] if isinstance(made, tuple) and made else made
    if not isinstance(made, nn.Module):
        raise InvalidInput(
            f"{name} in {short(path)} must be a torch.nn.Module, or a function without arguments that "
            f"makes one; got {type(made).__name__}"
        )
    return made


def in_type(module: nn.Module, dtype: str | None) -> nn.Module:
    """The module as it is; a copy of it in another type if that was asked for by name."""
    tensors = [*module.parameters(), *module.buffers()]
    for tensor in tensors:
        if tensor.device.type != "cpu":
            raise InvalidInput(
                f"the module must be on the processor; it is on {tensor.device}: call .cpu() on it"
            )
    if dtype not in (None, "float32", *HALVES):
        raise InvalidInput(f"a module is proved in float32, bfloat16 or float16; not in {dtype}")
    own = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
    if dtype is None or own <= {getattr(torch, dtype)}:
        return module
    return copy.deepcopy(module).to(getattr(torch, dtype))


def alphabet_of(layout: dict[str, Any]) -> list[int]:
    """All tokens that inputs of a claim can have."""
    letters = [one for tokens in layout["letters"] for one in tokens]
    fixed = [token for _, token in layout["fixed"]]
    return sorted(
        {*letters, *fixed, *layout["prompt"], *(layout["states"] if layout["answers"] == NEXT else [])}
    )


def graphs_for(module: Any, lengths: list[int], alphabet: Sequence[int] = ()) -> list[Graph]:
    """The graph for each length, read twice; a graph that changes is refused."""
    if torch.get_float32_matmul_precision() != "highest":
        raise Refused(
            'products in TF32 or bfloat16 are allowed: torch.set_float32_matmul_precision("highest")'
        )
    graphs, again = ([read_graph(module, one, alphabet=alphabet) for one in lengths] for _ in range(2))
    if graph_net(*written(graphs), None).digest != graph_net(*written(again), None).digest:
        raise Refused("the module runs another graph the second time: it must keep no state between runs")
    if isinstance(module, FileModule) and module.sizes[0] is not None:
        return graphs  # for this many words at once alone
    double = read_graph(module, lengths[-1], 2, alphabet)
    alone = marks_of(graphs[-1])
    if not all(np.array_equal(marks_of(double, 2, word), alone) for word in (0, 1)):
        raise Refused("the module runs another graph for two words at once than for one")
    return graphs


def net_of(module: Any, layout: dict[str, Any], cases: list[Case]) -> Net:
    """The traced network with what its tokens mean."""
    return graph_net(
        *written(graphs_for(module, [case.length for case in cases], alphabet_of(layout))), layout
    )


def net_to_check(given: Any, claim: Claim) -> Net:
    """The module as a claim about a graph has it: read again, for the lengths and tokens that it names."""
    layout = checked_layout(claim)
    return net_of(in_type(module_of(given), claim.dtype), layout, cases_of(claim))


class Answers:
    """The object, run twice on tokens; the largest logit at each position."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.ran = 0
        self.one = isinstance(module, FileModule) and module.sizes[0] is not None
        self.outside = module.outside if isinstance(module, FileModule) else None

    def fits(self, tokens: int) -> bool:
        """Whether words of so many tokens are read."""
        return not isinstance(self.module, FileModule) or self.module.sizes[1] in (None, tokens)

    def __call__(self, words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Words [word, position] to tokens [word, position]."""
        size = 1 if self.one else BATCH
        out = [self._once(words[at : at + size]) for at in range(0, len(words), size)]
        return np.concatenate(out)

    def leads(
        self, words: npt.NDArray[np.int64], right: npt.NDArray[np.int64], place: int
    ) -> npt.NDArray[np.float64]:
        """By how much the right logit leads at a position, run once."""
        size = 1 if self.one else BATCH
        found = []
        for at in range(0, len(words), size):
            with torch.no_grad():
                logits = self._logits(words[at : at + size])[:, place].double()
            want = torch.from_numpy(right[at : at + size])[:, None]
            own = logits.gather(1, want)[:, 0]
            found.append((own - logits.scatter(1, want, -torch.inf).max(dim=1).values).nan_to_num(-torch.inf))
        self.ran += len(words)
        return np.asarray(torch.cat(found).numpy())

    def _logits(self, words: npt.NDArray[np.int64]) -> torch.Tensor:
        if self.outside is not None:
            return torch.from_numpy(self.outside[1](words))
        out: torch.Tensor = logits_of(self.module(torch.from_numpy(words)))
        return out

    def _once(self, words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        with torch.no_grad():
            first, second = (self._logits(words) for _ in range(2))
        if not torch.equal(first.nan_to_num(), second.nan_to_num()):
            raise Refused("the module answers otherwise when it is run again: it keeps state, or is random")
        self.ran += len(words)
        return np.asarray(first.argmax(dim=-1).numpy(), dtype=np.int64)


def wrong_in(
    run: Answers, case: Case, inputs: Inputs, layout: dict[str, Any]
) -> tuple[Counterexample | None, int]:
    """The first wrong answer, and how many inputs have one."""
    words, right = inputs
    got = run(words)
    found, wrong = None, np.zeros(len(words), dtype=bool)
    for place, column in case.asked:
        bad = got[:, place] != right[:, column]
        wrong |= bad
        if bad.any() and (found is None or column < found[1]):
            found = int(np.flatnonzero(bad)[0]), column, place
    if found is None:
        return None, 0
    row, column, place = found
    names = {token: number for number, token in enumerate(layout["states"])}
    expected, had = (names.get(int(token), -1) for token in (right[row, column], got[row, place]))
    last, at = len(case.columns) - 1, None
    if not layout["reads"] and column < last:
        # The beginning alone is the shorter word, unless the network looks ahead.
        alone = run.fits(place + 1) and run(words[row : row + 1, : place + 1])[0, place] == got[row, place]
        last, at = (column, None) if alone else (last, column + 1)
    word = letters_of(case, words[row].tolist(), layout, last)
    return Counterexample(word, expected, had, at), int(wrong.sum())


def verify_module(given: Any, question: Question, log: Callable[[str], None] | None = None) -> Verification:
    """Proves a module on all inputs, or finds one that it gets wrong, or says how much stays open."""
    if question.automaton is None:
        raise InvalidInput("a module needs the automaton of right answers: --spec SPEC (or --automaton SPEC)")
    module = in_type(module_of(given), question.dtype)
    automaton = shown_by(question.automaton, question.tokens)
    layout = layout_for(automaton, question.tokens, question.input)
    identity = Identity(automaton, by_user=True)
    length = _length(module, layout, question, automaton)
    claim = replace(
        claim_about(Net(GRAPH, {"tokens": layout}, {}), automaton, length, "float32", None), network=""
    )
    checked_layout(claim)
    cases = cases_of(claim)
    if not cases or not any(case.count for case in cases):
        raise InvalidInput(
            "there is no input: the automaton of --input accepts none of the lengths asked for"
        )
    net = net_of(module, layout, cases)
    dtype = type_of(graphs_of(net).values())
    claim = claim_about(net, automaton, length, dtype, "graph")
    count = sum(case.count for case in cases) if layout["reads"] is None else cases[0].count
    run, dice = Answers(module), np.random.default_rng(0)
    wrong, errors = None, 0
    for case in cases:
        every = case.count <= EVERY
        inputs = words_of(case, EVERY) if every else sampled(case, RUN, dice)
        wrong, errors = wrong_in(run, case, inputs, layout)
        if wrong is not None:
            break
    opinion = SecondOpinion(0, run.ran, errors, dtype, f"{RUN:,} inputs of each length")
    more: dict[str, Any] = {"inputs": str(count), "covered": 0.0, "ran": run.ran}
    more |= {"ran_by": run.outside[0]} if run.outside else {}
    if wrong is not None:
        return _verdict(claim, identity, "an input is answered wrong", more, opinion, wrong)
    with one_thread():
        found = _search(net, cases, question, run, layout, log)
        reason = found.reason
        if found.wrong is None and not found.opened and not reason:
            certificate = certificate_about(claim, "graph", found.proofs)
            verdict = check_certificate(net, certificate, question.effort)
            if verdict.certified:
                done = more | {"covered": 1.0, "ran": run.ran}
                margin = verdict.margin
                return _verdict(claim, identity, "", done, opinion, None, certificate, margin, net)
            reason = verdict.reason
    more |= {"ran": run.ran}
    if found.wrong is not None:
        opinion = replace(opinion, wrong=1)
        return _verdict(claim, identity, "an input is answered wrong", more, opinion, found.wrong)
    more |= {"covered": found.share, "open": len(found.opened)}
    if found.opened:
        hardest = min(found.opened, key=lambda one: one.lead)
        reason = (
            f"{len(found.opened):,} classes of inputs stay open; the hardest: {_named(hardest, automaton)}"
        )
    return _verdict(claim, identity, reason, more, opinion, None)


def _length(module: Any, layout: dict[str, Any], question: Question, automaton: Semiautomaton) -> int:
    """Letters of the longest inputs."""
    if layout["reads"] is not None:
        if not isinstance(layout["reads"], list) or not layout["reads"]:
            raise InvalidInput("tokens: reads must list the positions of each letter's tokens")
        if question.length not in (None, len(layout["reads"])):
            raise InvalidInput(f"reads has {len(layout['reads'])} letters; leave --length out")
        return len(layout["reads"])
    if question.length is not None:
        return question.length
    length = 1
    read_graph(
        module, len(layout["prompt"]) + 1, alphabet=alphabet_of(layout)
    )  # what cannot be read is refused at once
    while length < LONGEST and automaton.num_letters ** (length + 1) <= DEFAULT_WORDS:
        length += 1
    while length > 1:
        try:
            read_graph(module, len(layout["prompt"]) + length, alphabet=alphabet_of(layout))
        except KrohnError:
            length -= 1
        else:
            break
    return length


def _named(one: OpenClass, automaton: Semiautomaton) -> str:
    """Which inputs a class has."""
    place, column = one.asked
    edges = one.case.columns[column]
    some = np.flatnonzero(one.sums.classes.edges[0])
    letters = [automaton.letter_names[number] for number in np.unique(edges.letter[some]).tolist()]
    more = f" or one of {len(letters) - 3} others" if len(letters) > 3 else ""
    return (
        f"letter {column + 1} is {', '.join(letters[:3])}{more}, token {one.pivot} at position {place}, "
        f"where token {int(one.sums.classes.right[0])} leads by {one.lead:.3g} at least"
    )


@dataclass
class Search:
    """Proofs of all cases, or classes that stay open, or a wrong input."""

    proofs: list[Any] = field(default_factory=list)
    opened: list[OpenClass] = field(default_factory=list)
    reason: str = ""
    classes: int = 0
    left: int = 0
    wrong: Counterexample | None = None

    @property
    def share(self) -> float:
        """Of the classes that were looked at, how many are proved."""
        return 0.0 if self.reason else 1 - self.left / max(1, self.classes)


def _search(
    net: Net,
    cases: list[Case],
    question: Question,
    run: Answers,
    layout: dict[str, Any],
    log: Callable[[str], None] | None,
) -> Search:
    graphs, out, dice = graphs_of(net), Search(), np.random.default_rng(1)
    for number, case in enumerate(cases):
        tell(number, len(cases))
        budget = Work(WORK * question.effort)
        found: Found = find_proof(graphs[case.length], case, budget, question.effort, log)
        out.proofs.append(found.proof)
        out.opened += found.open
        out.classes += max(found.classes, 1)
        out.left += found.left
        out.reason = out.reason or ("" if found.open else found.reason)
        if found.open or found.reason:
            out.wrong = _wrong_near(run, case, found, layout, dice)
        if out.wrong is not None or out.reason:
            break
    return out


def _wrong_near(
    run: Answers, case: Case, found: Found, layout: dict[str, Any], dice: np.random.Generator
) -> Counterexample | None:
    """An input that the object gets wrong, looked for at each answer that is not proved."""
    for asked in case.asked:
        here = [one for one in found.open if one.asked == asked]
        if found.open and not here:
            continue
        for path in climbed(run.leads, case, asked, here, dice):
            wrong, _ = wrong_in(run, case, read_edges(case, path[None]), layout)
            if wrong is not None:
                return wrong
    return None


def _verdict(
    claim: Claim,
    identity: Identity,
    reason: str,
    more: dict[str, Any],
    opinion: SecondOpinion,
    wrong: Counterexample | None,
    certificate: Certificate | None = None,
    margin: float = 0.0,
    net: Net | None = None,
) -> Verification:
    count, ran = int(more["inputs"]), more["ran"]
    said = f"{count:,} inputs" if count < 10**7 else f"{count:,} inputs (about {float(count):.0e})"
    name = identity.automaton.name or f"an automaton of {identity.automaton.num_states} states"
    if certificate is not None:
        wording = "\n".join(
            [
                f"proved: {name}, on all {said}, {claim.dtype}, sums added in any order",
                f"assumed: {', '.join(claim.assumptions)}; python -I -m krohn.check spells them out",
                f"logit margin {margin:.3g} after all errors",
            ]
        )
    elif wrong is not None:
        wording = f"wrong: {name}, one of {said}"
    else:
        share = f"covered {100 * more['covered']:.1f}% of the classes, no input found wrong"
        wording = f"open: {name}, {said}: {reason}; {share}"
    by = f"{more['ran_by']} ran the file itself" if "ran_by" in more else "the object itself was run"
    wording += f"\n{by} on {ran:,} inputs, twice: {opinion.wrong:,} wrong"
    return Verification(
        certified=certificate is not None,
        claim=claim,
        identity=identity,
        reason=reason,
        margin=margin,
        counterexample=wrong,
        largest=(claim.up_to or 0) if certificate is not None else 0,
        second_opinion=opinion,
        certificate=certificate,
        more=more,
        wording=wording,
        graph=net,
    )
