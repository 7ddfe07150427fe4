"""The rule sets by name, and the one entry point: does a certificate prove its claim?

And the folders that networks are kept in, each kind by the file that only it has.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from krohn.check.certificate import RENEW, Certificate
from krohn.check.claim import ALL, ANY, GRAPH, ORDERS, Claim
from krohn.check.files.folders import (
    COMPILED,
    LOOPED,
    MODEL,
    RECURRENT,
    STOCK,
    TRAINED,
    Net,
    read_compiled,
    read_looped,
    read_recurrent,
    read_trained,
    short,
    shown,
)
from krohn.check.files.reader import Automaton, Network, network_of
from krohn.check.ground import Refused, Verdict, refusal_of, require
from krohn.errors import InvalidFile, LimitExceeded


class Choice(NamedTuple):
    """What a folder may leave open: a replicate of a training run; tokens where krohn wrote none."""

    replicate: int
    tokens: Mapping[str, Any] | None


def read_net(directory: str | Path, replicate: int = 0, tokens: Mapping[str, Any] | None = None) -> Net:
    """The network in a folder of any kind; ``replicate`` chooses one of a training run.

    ``tokens`` are those of prompt, letters and states, for a folder that krohn did not write.
    """
    folder = Path(directory)
    for name, read in READERS.items():
        if (folder / name).exists():
            try:
                return read(folder, Choice(replicate, tokens))
            except InvalidFile as error:
                text = str(error)
                own = text.startswith(short(folder))
                raise InvalidFile(text if own else f"{short(folder)}: {text}") from error
    raise InvalidFile(
        f"{short(folder)} must be a folder with one of {', '.join(READERS)}; it has none of them"
    )


@dataclass(frozen=True)
class RuleSet:
    """One way to prove claims.

    Attributes:
        version: of rules and witness; a certificate of another version is refused.
        kinds: of networks that it can prove.
        assumptions: what it assumes beyond IEEE arithmetic, for a claim.
        prove: network, claim, witness and a budget of work to a verdict.
        work: that budget where the claim alone decides what a check takes, however small its files are:
            twenty seconds, and more for who asks for more. None: the rules have their own.
    """

    version: int
    kinds: tuple[str, ...]
    assumptions: Callable[[Net, Claim], tuple[str, ...]]
    prove: Callable[[Net, Claim, object, float | None], Verdict]
    work: float | None = None


def check_certificate(net: Net, certificate: Certificate, effort: float = 1.0) -> Verdict:
    """Whether the certificate proves its claim about this very network.

    With more ``effort`` words are run that take so many times as long; other rules have one budget for all.
    """
    try:
        with np.errstate(all="ignore"):
            rules = fitting_rules(net, certificate)
            work = None if rules.work is None else rules.work * effort
            return rules.prove(net, certificate.claim, certificate.witness, work)
    except LimitExceeded:
        raise
    except Exception as error:  # whatever a certificate provokes is a refusal
        return refusal_of(error)


def fitting_rules(net: Net, certificate: Certificate) -> RuleSet:
    """The rule set, if it is one for this network and the claim is about it; raises ``Refused``."""
    claim, rules = certificate.claim, RULES.get(certificate.rules)
    if rules is None:
        raise Refused(
            f"there is no rule set {shown(certificate.rules)}", f"it must be one of {', '.join(RULES)}"
        )
    require(
        certificate.version == rules.version,
        f"the witness is for version {certificate.version} of the rules, which are {rules.version} now",
        RENEW,
    )
    require(claim.words == ALL, "the claim is about fewer words than all")
    require(claim.kind == net.kind, f"the claim is about a {claim.kind} network; this one is {net.kind}")
    require(net.kind in rules.kinds, f"the rules {certificate.rules} are not for {net.kind} networks")
    # As JSON: in Python True is 1, and 1.0 too, so claims about other configurations would be equal to it.
    mine, theirs = (json.dumps(dict(one), sort_keys=True) for one in (net.configuration, claim.configuration))
    differing = [key for key in net.configuration if net.configuration[key] != claim.configuration.get(key)]
    require(
        mine == theirs, f"the claim is about another configuration: {', '.join(differing) or 'a field more'}"
    )
    require(claim.network == net.digest, "the claim is about other tensors than these")
    # A claim has names twice, in its configuration and beside its automaton: its sentence has the latter.
    for name, own in (("letters", claim.letters), ("states", claim.states)):
        held = net.configuration.get(name, list(own))
        require(held == list(own), f"the claim has other names of {name} than the network")
    require(
        net.configuration.get("target", claim.target) == claim.target,
        f"the claim is about a {claim.target}; the network outputs another target",
    )
    require(
        claim.assumptions == rules.assumptions(net, claim),
        "the claim must name the assumptions of its rules: " + ", ".join(rules.assumptions(net, claim)),
        RENEW,
    )
    return rules


def unanswered(
    net: Net,
    claim: Claim,
    dtype: str | None = None,
    length: int | None = None,
    *,
    order: str | None = None,
    chunks: bool = False,
    as_claimed: bool = False,
) -> str:
    """What was asked and is not claimed; empty if the claim answers the question.

    Asked are words up to ``length`` or as long as the network reads, with sums added in any order or in the
    ``order`` of this name, one letter after the other or, with ``chunks``, in chunks too. ``as_claimed`` asks
    for words as long as the claim names.
    """
    if dtype not in (None, claim.dtype):
        return f"question: the certificate is about {claim.dtype}; {dtype} was asked for"
    if chunks and "chunks" not in claim.assumptions:
        return "question: the certificate is about one letter after the other; chunks were asked for"
    named = next((name for name, text in ORDERS.items() if text == claim.order), None)
    if named is not None and named != order:  # rules refuse orders that they do not know
        return (
            f"question: the certificate is about sums added {claim.order}; a device may add them in any "
            f"order; --order {named} asks for that"
        )
    if as_claimed:
        return ""
    wanted = length or longest(net)
    if claim.up_to is not None and (wanted is None or claim.up_to < wanted):
        which = "words of every length" if wanted is None else f"{wanted:,}"
        return (
            f"question: the certificate is about words of at most {claim.up_to:,} letters; {which} were "
            f"asked for; --length {claim.up_to} asks for these"
        )
    return ""


def longest(net: Net) -> int | None:
    """The length of the longest words that the network reads; ``None`` if it reads words of every length."""
    if net.kind in (RECURRENT, LOOPED, TRAINED):
        return None
    if net.kind in (STOCK, GRAPH):  # built for no length: its words are listed as far as the claim says
        return 1
    name = "positions" if net.kind == COMPILED else "transformer.wpe.weight"
    table = net.tensors.get(name, np.zeros(0))
    start = net.tensors.get("padding", ()) if net.kind == COMPILED else net.configuration["tokens"]["prompt"]
    return max(1, sum(table.shape[:1]) - len(start))


def _transformer(net: Net, claim: Claim, witness: object, work: float | None) -> Verdict:
    from krohn.check.transformer.checker import SCAN_WORK, check

    require(claim.up_to is not None, "a Transformer has positions for words up to a length, not for all")
    require(claim.order == ANY, "these rules hold for any order of sums; the claim must say so")
    # Readers compute half types in their own ways: some multiply queries and keys in the half type itself,
    # where scores can overflow.
    require(net.kind == COMPILED or claim.dtype not in HALF, WIDE_ONLY)
    network, automaton = transformer_of(net, claim.automaton)
    return check(network, automaton, claim.dtype, claim.up_to or 0, witness, work or SCAN_WORK)


def transformer_of(net: Net, automaton: Automaton) -> tuple[Network, Automaton]:
    """The network as the rules read it, and the automaton with the outputs it must show."""
    if net.kind == COMPILED:
        return network_of(net.tensors, net.configuration["shape"], net.configuration["mask"]), automaton
    from krohn.check.transformer.gpt2 import export_network  # lazy import: only needed for exports

    return export_network(net, automaton)


def _of_transformers(net: Net, claim: Claim) -> tuple[str, ...]:
    waves = any(name.endswith(".activation") and tensor.any() for name, tensor in net.tensors.items())
    only = {"half": claim.dtype in HALF, "sine": waves, "root": net.kind != COMPILED}
    only["layer-norm"] = only["tokens"] = net.kind != COMPILED
    only["loaded"] = net.kind != COMPILED and loaded_in(net) != claim.dtype
    used = ("rounding", "sum", "exp", "softmax", "softmax-kernel")
    return (*used, *(name for name, applies in only.items() if applies))


HALF = ("bfloat16", "float16")
WIDE_ONLY = "exports are proved in float32 and float64 only: their readers compute half types otherwise"


def loaded_in(net: Net) -> str | None:
    """The float type in which readers of an export load it, if its configuration names exactly one."""
    named = {net.configuration["dtype"], net.configuration["torch_dtype"]} - {None}
    return named.pop() if len(named) == 1 else None


def _recurrent(name: str) -> RuleSet:
    """A rule set for recurrent networks, loaded on first use."""

    def assumptions(net: Net, claim: Claim) -> tuple[str, ...]:
        from krohn.check.recurrent.rules import assumed

        return assumed(net, claim)

    def prove(net: Net, claim: Claim, witness: object, work: float | None) -> Verdict:
        from krohn.check.recurrent.rules import PROOFS

        return PROOFS[name](net, claim, witness, work)

    version = 2 if name == "closure" else 1  # since 2 the claim has the size of a chunk
    return RuleSet(version, (RECURRENT, TRAINED) if name == "boxes" else (RECURRENT,), assumptions, prove)


def _codes(net: Net, claim: Claim, witness: object, work: float | None) -> Verdict:
    from krohn.check.looped.rules import prove  # lazy import: only needed for these

    return prove(net, claim, witness, work)


def _of_codes(net: Net, claim: Claim) -> tuple[str, ...]:
    from krohn.check.looped.rules import assumed

    return assumed(claim)


def _words(net: Net, claim: Claim, witness: object, work: float | None) -> Verdict:
    from krohn.check.transformer.words import prove_words  # lazy import: only needed for these

    return prove_words(net, claim, witness, work or RUN_AGAIN)


def _of_words(net: Net, claim: Claim) -> tuple[str, ...]:
    bent = {"relu": (), "gelu": ("gelu",)}.get(net.configuration["activation_function"], ("tanh", "gelu"))
    loaded = () if loaded_in(net) == claim.dtype else ("loaded",)
    return ("rounding", "sum", "exp", "softmax", "root", "layer-norm", *bent, "tokens", *loaded)


RUN_AGAIN = 6e10
"""Multiplications of all words, which take about twenty seconds of one core."""


def _graph(net: Net, claim: Claim, witness: object, work: float | None) -> Verdict:
    from krohn.check.graph.proof import prove  # lazy import: only needed for these

    return prove(net, claim, witness, work)


def _of_graph(net: Net, claim: Claim) -> tuple[str, ...]:
    from krohn.check.graph.proof import assumed

    return assumed(net)


RULES: dict[str, RuleSet] = {
    "transformer": RuleSet(1, (COMPILED, "gpt2"), _of_transformers, _transformer),
    "words": RuleSet(1, (STOCK, "gpt2"), _of_words, _words, RUN_AGAIN),
    **{name: _recurrent(name) for name in ("closure", "balls", "boxes")},
    "codes": RuleSet(1, (LOOPED, TRAINED), _of_codes, _codes),
    "graph": RuleSet(1, (GRAPH,), _of_graph, _graph, RUN_AGAIN),
}
"""Rule sets, by their names in certificates."""


def _read_export(folder: Path) -> Net:
    from krohn.check.transformer.gpt2 import read_export  # lazy import: only needed for exports

    return read_export(folder)


def _read_stock(folder: Path, tokens: Mapping[str, Any] | None) -> Net:
    from krohn.check.transformer.words import read_stock  # lazy import: only needed for these

    return read_stock(folder, tokens)


def _read_graph(folder: Path, tokens: Mapping[str, Any] | None) -> Net:
    from krohn.check.graph.graph import read_graph  # lazy import: only needed for these

    return read_graph(folder, tokens)


READERS: dict[str, Callable[[Path, Choice], Net]] = {
    "krohn.json": lambda folder, _: read_compiled(folder),
    "recurrent.json": lambda folder, _: read_recurrent(folder),
    "looped.json": lambda folder, _: read_looped(folder),
    "export.json": lambda folder, _: _read_export(folder),
    "weights.safetensors": lambda folder, choice: read_trained(folder, choice.replicate),
    "graph.json": lambda folder, choice: _read_graph(folder, choice.tokens),
    MODEL: lambda folder, choice: _read_stock(folder, choice.tokens),
}
"""Readers, by the file that identifies a kind of folder; the last is for what ``transformers`` saved.

A folder of two kinds is read as the first, which opens no door: the claim names the kind, and its digest
covers it.
"""
