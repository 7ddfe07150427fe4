"""Damaged graphs and certificates: each ends in a verdict or one line, in bounded time and memory.

    PYTHONPATH=.:tests python research/graph_damage.py [COUNT] [SEED]

Prints how many were refused, checked and not accepted, or accepted (what was damaged is then of no account),
the slowest case in processor seconds and the largest memory of the process.
"""

import json
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from research.file_damage import bytes_damage, header_damage, json_damage, tensor_damage

import krohn
from krohn.check.certificate import read_certificate
from krohn.check.rules import check_certificate, read_net
from krohn.errors import KrohnError
from lab.provable.own_modules import Normed, Seen

SEEN = krohn.Semiautomaton(np.array([[0, 1], [1, 1]]), 0, ("no", "yes"), ("a", "b"))
ALL = krohn.Semiautomaton(np.zeros((1, 5), dtype=np.int64), 0, ("yes",), tuple("abcde"))
FILES = ("proof.json", "proof.graph/graph.json", "proof.graph/model.safetensors")


def proofs(folder: Path) -> Iterator[Path]:
    """A proof by classes, and one word by word with symbols."""
    for name, module, automaton, length in (("classes", Seen(), SEEN, 4), ("words", Normed(0), ALL, 2)):
        if name == "words":
            module.out.bias.data[0] += 50.0
        place = folder / name
        place.mkdir()
        verdict = krohn.verify(module, automaton=automaton, length=length, out=place / "proof.json")
        assert verdict.certified, verdict.reason
        yield place


@np.errstate(all="ignore")
def damaged(rng: random.Random, name: str, data: bytes) -> bytes:
    """Another file."""
    if name.endswith(".json"):
        return json_damage(rng, data.decode()) if rng.random() < 0.85 else bytes_damage(rng, data)
    return rng.choice([bytes_damage, header_damage, tensor_damage])(rng, data)


def ended(place: Path) -> str:
    """How the check of a folder ends; anything but a verdict or one line is an error of krohn."""
    try:
        certificate = read_certificate(place / "proof.json")
        net = read_net(place / "proof.graph", tokens=certificate.claim.configuration.get("tokens"))
        verdict = check_certificate(net, certificate)
        how, said = "accepted" if verdict.certified else "not accepted", verdict.reason
    except KrohnError as error:
        how, said = "refused", str(error)
    assert "\n" not in said, said
    return how


def cases(count: int, seed: int, folder: Path) -> Iterator[tuple[str, float]]:
    """How each case ends, and in how many processor seconds."""
    rng = random.Random(seed)
    for place in proofs(folder):
        whole = {name: (place / name).read_bytes() for name in FILES}
        for _ in range(count):
            name = rng.choice(FILES)
            (place / name).write_bytes(damaged(rng, name, whole[name]))
            began = time.process_time()
            try:
                how = ended(place)
            except BaseException:
                kept = Path(tempfile.mkdtemp())
                (kept / Path(name).name).write_bytes((place / name).read_bytes())
                print(f"{place.name}, {name}: kept in {kept}", file=sys.stderr)
                raise
            yield how, time.process_time() - began
            (place / name).write_bytes(whole[name])


def main() -> None:
    """Counts of how they end."""
    count, seed = (int(one) for one in [*sys.argv[1:], "200", "0"][:2])
    with tempfile.TemporaryDirectory() as folder:
        found = list(cases(count, seed, Path(folder)))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({**Counter(how for how, _ in found), "slowest": max(t for _, t in found), "MB": most}))


if __name__ == "__main__":
    main()
