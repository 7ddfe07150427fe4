"""Codes of a looped block: what is proved is right, bounds hold for float32, and what is wrong is refused."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch

from krohn.automata.zoo import parse_spec
from krohn.check.certificate import read_certificate
from krohn.check.claim import Claim
from krohn.check.files.folders import Net, trained_net
from krohn.check.files.reader import Automaton
from krohn.check.ground import Refused, Verdict, Work
from krohn.check.looped.block import CodedBlock, Tables
from krohn.check.looped.rules import WINDOWS, meaning
from krohn.check.rules import check_certificate, read_net
from krohn.lab.models.architectures.looped import Looped, LoopedConfig, LoopedDecoder
from krohn.lab.provable.exact_looped import exact_looped
from krohn.proving.claims import certificate_about, claim_about
from lab.models.test_whole_networks import moved

Weights = Mapping[str, torch.Tensor]
LASTING = Path(__file__).parents[2] / "results" / "lasting"
TASK = {"spec": "S3", "target": "state", "scratchpad": False, "bos": False}


def net_of(network: Looped, weights: Weights, **changes: object) -> Net:
    model = {"kind": "looped", **dataclasses.asdict(network.config), **changes}
    return trained_net({name: value[0].numpy() for name, value in weights.items()}, model, TASK, 0)


def claim_of(net: Net, spec: str, how: tuple[str, ...] = (WINDOWS,)) -> Claim:
    return claim_about(net, parse_spec(spec), None, "float32", "codes", assumptions=how)


def verdict(net: Net, spec: str, how: tuple[str, ...] = (WINDOWS,)) -> Verdict:
    return check_certificate(net, certificate_about(claim_of(net, spec, how), "codes", None))


@pytest.mark.parametrize("spec", ["C3", "S3", "Grid4", "abab", "D8"])
def test_exact_weights_are_proved_for_every_length(spec: str) -> None:
    network, weights = exact_looped(parse_spec(spec))
    net = net_of(network, weights)
    for how in ((), (WINDOWS,)):
        found = verdict(net, spec, how)
        assert found.certified, found.reason
        assert 0.99 < found.margin <= 1.0


def test_another_automaton_is_refused_with_a_code_and_a_state() -> None:
    network, weights = exact_looped(parse_spec("S3"))
    wrong = parse_spec("S3")
    table = wrong.table.copy()
    table[1, 0] = (table[1, 0] + 1) % 6
    claim = claim_of(net_of(network, weights), "S3")
    bent = dataclasses.replace(claim, automaton=dataclasses.replace(claim.automaton, table=table))
    found = check_certificate(net_of(network, weights), certificate_about(bent, "codes", None))
    assert not found.certified
    assert "stands for state" in found.reason


@pytest.mark.parametrize("seed", range(6))
def test_leads_are_below_those_of_float32(seed: int) -> None:
    config = LoopedConfig(dim=24, heads=3, mlp=40, codes=9)
    network = config.build(3, 4)
    generator = torch.Generator().manual_seed(seed)
    weights = {name: value[:1].float() for name, value in moved(network).items()}
    weights = {
        name: value + 0.2 * torch.randn(value.shape, generator=generator) for name, value in weights.items()
    }
    own = {name: value[0].numpy() for name, value in weights.items()}
    model = {"kind": "looped", **dataclasses.asdict(config)}
    tables = CodedBlock.of(own, model, 3, 4).tables(Work(1e9))
    codes = weights["codes"][:, :9]
    plain = dataclasses.replace(config, codes=0).build(3, 4)
    far, near = (one.flatten() for one in torch.meshgrid(torch.arange(9), torch.arange(9), indexing="ij"))
    x = plain.merge(weights, codes[:, far], codes[:, near])[0]
    scores = x @ codes[0].T + weights["codes_bias"][0, :9]
    best = scores.double().topk(2).values
    lead = (best[:, 0] - best[:, 1]).numpy()
    sure = tables.products[1].ravel()
    assert (sure[sure > 0] <= lead[sure > 0] + 1e-12).all()
    assert (tables.products[0].ravel()[sure > 0] == scores.argmax(1).numpy()[sure > 0]).all()
    assert (sure > 0.9 * lead).mean() > 0.5  # and not far below


def wrong_word(network: Looped, weights: Weights, spec: str) -> bool:
    """Whether some word is run wrong, in loops or letter by letter."""
    automaton = parse_spec(spec)
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(32, 24))
    wanted = torch.from_numpy(np.array([automaton.run(word) for word in words]))
    tokens = torch.from_numpy(words)[None]
    with torch.no_grad():
        if not torch.equal(network.logits(weights, tokens).argmax(-1)[0], wanted):
            return True
        decoder = LoopedDecoder(network, weights)
        steps = [decoder.step(tokens[..., place : place + 1]).argmax(-1)[0] for place in range(24)]
    return not torch.equal(torch.stack(steps, -1), wanted)


def test_no_mutant_is_proved_and_wrong() -> None:
    proved = refused = wrong = 0
    for seed in range(40):
        network, weights = exact_looped(parse_spec("C3" if seed % 2 else "S3"))
        generator = torch.Generator().manual_seed(seed)
        name = sorted(weights)[seed % len(weights)]
        part = weights[name]
        place = int(torch.randint(part.numel(), (1,), generator=generator))
        if seed < 20:
            part.view(-1)[place] += (
                3.0 * float(torch.randn((), generator=generator)) * (0.1 + part.abs().max())
            )
        else:
            part += 0.3 * float(part.abs().max()) * torch.randn(part.shape, generator=generator)
        spec = "C3" if seed % 2 else "S3"
        certified = verdict(net_of(network, weights), spec).certified
        bad = wrong_word(network, weights, spec)
        assert not (certified and bad), name
        proved, refused, wrong = proved + certified, refused + (not certified), wrong + bad
    assert min(proved, refused, wrong) >= 5


def test_unknown_options_and_other_shapes_are_refused() -> None:
    network, weights = exact_looped(parse_spec("S3"))
    for changes in ({"blocks": 2}, {"norm": False}, {"heads": 5}, {"dim": 13}, {"new": 1}):
        assert not verdict(net_of(network, weights, **changes), "S3").certified
    assert not verdict(net_of(network, {**weights, "none": weights["none"] * np.nan}), "S3").certified
    halved = {**weights, "ln_f.bias": weights["ln_f.bias"].double()}
    assert not verdict(net_of(network, halved), "S3").certified


@pytest.mark.parametrize("name", ["c3", "d6", "d8", "q8"])
def test_trained_runs_with_codes_are_proved_again(name: str) -> None:
    folder = LASTING / name
    net = read_net(folder)
    certificate = read_certificate(folder / "certificate.json")
    assert certificate.claim.up_to is None
    found = check_certificate(net, certificate)
    assert found.certified, found.reason
    bent = dict(net.tensors)
    bent["codes"] = np.roll(bent["codes"], 1, axis=0)
    other = dataclasses.replace(net, tensors=bent)
    claim = dataclasses.replace(certificate.claim, network=other.digest)
    assert not check_certificate(other, dataclasses.replace(certificate, claim=claim)).certified


def test_letter_by_letter_is_refused_where_codes_of_one_letter_differ() -> None:
    certificate = read_certificate(LASTING / "d8" / "certificate.json")
    assert WINDOWS not in certificate.claim.assumptions
    stronger = dataclasses.replace(certificate.claim, assumptions=(*certificate.claim.assumptions, WINDOWS))
    found = check_certificate(read_net(LASTING / "d8"), dataclasses.replace(certificate, claim=stronger))
    assert not found.certified
    assert "stands for state" in found.reason or "leads" in found.reason


Map = tuple[int, ...]


def after(first: Map, second: Map) -> Map:
    return tuple(second[state] for state in first)


def generated_by(letters: list[Map]) -> list[Map]:
    """The transition semigroup, breadth first."""
    found = list(dict.fromkeys(letters))
    for element in found:  # grows while it is read
        found += [new for letter in letters if (new := after(element, letter)) not in found]
    return found


def holds_by_definition(tables: Tables, automaton: Automaton) -> bool:
    """W and P as plain sets, windows of one letter included; every code of P must be read as its state."""
    letters = [tuple(column) for column in automaton.table.T.tolist()]
    pairs = {(int(tables.pairs[0][a, b]), after(letters[a], letters[b]))
             for a in range(len(letters)) for b in range(len(letters))}  # fmt: skip
    pairs |= {(int(code), letters[a]) for a, code in enumerate(tables.first[0])}
    products = tables.products[0].tolist()
    while more := {(products[c][d], after(f, g)) for c, f in pairs for d, g in pairs} - pairs:
        pairs |= more
    prefixes = {(int(code), letters[a][automaton.start]) for a, code in enumerate(tables.first[0])}
    prefixes |= {(code, images[automaton.start]) for code, images in pairs}
    while more := {(products[c][d], f[q]) for c, q in prefixes for d, f in pairs} - prefixes:
        prefixes |= more
    return all(tables.read[0][code] == state for code, state in prefixes)


def test_windows_are_closed_under_products_in_both_orders() -> None:
    """Codes of the nine maps of abab. One product is another code that is read alike from the start: only the
    windows that follow from it, met late and as the second factor, show the mistake.
    """
    spec = parse_spec("abab")
    automaton = Automaton(spec.table.astype(np.int64), spec.start, np.arange(spec.num_states))
    letters = [tuple(column) for column in automaton.table.T.tolist()]
    elements = generated_by(letters)
    number = {element: index for index, element in enumerate(elements)}

    def sure(codes: object) -> tuple[np.ndarray, np.ndarray]:
        return np.array(codes), np.ones(np.shape(codes))

    products = np.array([[number[after(f, g)] for g in elements] for f in elements])
    right = Tables(
        sure([number[letter] for letter in letters]),
        sure([[number[after(a, b)] for b in letters] for a in letters]),
        sure(products),
        sure([element[automaton.start] for element in elements]),
    )
    meaning(right, automaton, windows=True, budget=Work(1e9))
    assert holds_by_definition(right, automaton)
    wrong = 0
    for (first, second), code in np.ndenumerate(products):
        for other in np.flatnonzero((right.read[0] == right.read[0][code]) & (np.arange(9) != code)):
            changed = products.copy()
            changed[first, second] = other
            tables = dataclasses.replace(right, products=sure(changed))
            if holds_by_definition(tables, automaton):
                meaning(tables, automaton, windows=True, budget=Work(1e9))
            else:
                wrong += 1
                with pytest.raises(Refused):
                    meaning(tables, automaton, windows=True, budget=Work(1e9))
    assert wrong > 100
