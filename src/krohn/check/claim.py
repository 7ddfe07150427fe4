"""A claim about a network of any kind, in full and in words.

It names everything that decides the answer: the network by a digest of its tensors and of every field of
its configuration, the automaton with its table, which outputs are right, how long words may be, the float
format, the order of sums, and what is assumed of library functions.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.check.files.folders import STOCK, TOKENS, TRAINED, shown, whole_numbers
from krohn.check.files.reader import MAX_OUTPUT, Automaton
from krohn.errors import need

NAMED = ("kind", "network", "configuration", "automaton", "target", "words", "lengths", "dtype", "order")
FIELDS = (*NAMED, "assumptions")
ALL = "all"
GRAPH = "graph"
"""The kind of a network that is read as the operators that run."""
CHUNK = 64
"""Most steps in a chunk, as in the training architectures."""
ANY, LEFT = "any", "from left to right, not fused"
CHUNKS = f"in any order, a letter at a time or in chunks of at most {CHUNK} steps"
ORDERS = {"left": LEFT}
"""Orders of sums that a question can name. Devices add in orders of their own, so an answer about one order
is for those who know that theirs is this one.
"""
SHOWN = 64
"""Most transitions that are written out; for larger automata the claim gives the digest of the table."""
MAX_NAME, LONGEST = 10_000, 200
"""Characters of a name in a sentence; longer ones are cut there, and compared in full."""


@dataclass(frozen=True, eq=False)
class Claim:
    """On every word of the lengths and letters stated, after every letter, the right output has the largest
    logit.

    Attributes:
        kind: of the network: how its folder is read.
        network: digest of its tensors and configuration.
        configuration: every field that its forward pass depends on.
        letters, states: their names, in the order of the network's numbers.
        automaton: the table, the start, and the output that is right in each state.
        target: whether outputs are states or observations.
        up_to: the longest words; ``None``: words of every length.
        dtype: the float format.
        order: in which sums are added; ``any`` for all orders.
        assumptions: what is assumed of library functions and kernels, by name.
        words: ``ALL``; the rules refuse a claim about fewer.
    """

    kind: str
    network: str
    configuration: Mapping[str, Any]
    letters: tuple[str, ...]
    states: tuple[str, ...]
    automaton: Automaton
    target: str
    up_to: int | None
    dtype: str
    order: str = ANY
    assumptions: tuple[str, ...] = ()
    words: Any = ALL

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        table, start = self.automaton.table.tolist(), int(self.automaton.start)
        automaton = {"letters": list(self.letters), "states": list(self.states), "start": start}
        shows = {} if self.target == "state" else {"observe": self.automaton.shows.tolist()}
        return {
            "kind": self.kind,
            "network": self.network,
            "configuration": dict(self.configuration),
            "automaton": {**automaton, "next": table, **shows},
            "target": self.target,
            "words": self.words,
            "lengths": "every" if self.up_to is None else {"up_to": self.up_to},
            "dtype": self.dtype,
            "order": self.order,
            "assumptions": list(self.assumptions),
        }

    def sentence(self) -> str:
        """The claim in words."""
        table, (states, letters) = self.automaton.table, self.automaton.table.shape
        some = "every word" if self.words == ALL else "some words"
        which = "of every length" if self.up_to is None else f"of at most {self.up_to:,} letters"
        output = "state" if self.target == "state" else "observation"
        order = "with sums added in any order" if self.order == ANY else f"with sums added {self.order}"
        named, read = ([_name(text) for text in names[:SHOWN]] for names in (self.states, self.letters))
        known = f"{table.size:,} of the {table.size:,} transitions {self.table[:16]}"
        if table.size + (self.target != "state") * states <= SHOWN:
            rows = [
                f"{named[state]} -{read[letter]}-> {named[table[state, letter]]}"
                for state in range(states)
                for letter in range(letters)
            ]
            if self.target != "state":
                rows += [f"{name} shows {n}" for name, n in zip(named, self.automaton.shows, strict=True)]
            known = ", ".join(rows)
        network, logit = f"the {self.kind} network {self.network[:16]}", "its largest logit"
        outputs = int(self.automaton.shows.max()) + 1
        few = max(states + letters, outputs) <= SHOWN  # outputs may be more than memory holds
        answers = named if self.target == "state" else map(str, range(outputs))
        if self.kind == TRAINED:  # several networks in a file, whose heads are padded
            network = f"{network} (replicate {shown(self.configuration.get('replicate'))})"
            logit = f"the largest of its first {outputs} logits"
            if few:  # no file of a run holds the names
                logit += f" (for {', '.join(answers)}; letters are numbered {', '.join(read)})"
        if self.kind in (STOCK, GRAPH) and few:
            logit += f" (tokens: {self.tokens()})"
        when = "after every letter"
        if self.kind == GRAPH:
            which, when = self.read_as()
        where = f"{when}, at the {output} of the automaton with {states} states and {letters} letters"
        return (
            f"On {some} {which}, computed in {self.dtype} {order}, {network} has {logit}, {where} "
            f"that starts in {_name(self.states[self.automaton.start])}: {known}."
        )

    def tokens(self, most: int = SHOWN) -> str:
        """What tokens mean, the first of each part: no file of the network says it."""
        marks = self.configuration.get("tokens", {part: [] for part in TOKENS})
        outputs = range(int(self.automaton.shows.max()) + 1)  # perhaps more than memory holds
        answers = self.states if self.target == "state" else map(str, outputs)

        def listed(part: str, names: Iterable[str]) -> str:
            pairs = list(zip(names, marks[part], strict=False))
            said = ", ".join(f"{_name(name)} = {shown(token)}" for name, token in pairs[:most])
            return said + ", …" * (len(pairs) > most)

        prompt = ", ".join(map(shown, marks["prompt"][:most])) or "none"
        more = ", …" * (len(marks["prompt"]) > most)
        letters, shows = listed("letters", self.letters), listed("states", answers)
        return f"prompt {prompt}{more}; letters {letters}; {self.target}s {shows}"

    def read_as(self) -> tuple[str, str]:
        """Which words a graph reads, and when it answers, as the tokens of the configuration say."""
        marks = self.configuration.get("tokens", {})
        places, allowed = marks.get("reads"), marks.get("input")
        which = f"of at most {self.up_to or 0:,} letters"
        if isinstance(places, list):
            which = f"of {len(places):,} letters, which stand at the positions {shown_list(places)}"
        if allowed is not None:
            digest = hashlib.sha256(json.dumps(allowed, sort_keys=True).encode()).hexdigest()
            which += f" and are accepted by the input automaton {digest[:16]}"
        said = {
            "last": "at the last position",
            "next": "as the next tokens, each after the right ones before it",
        }
        return which, said.get(str(marks.get("answers")), "after every letter")

    @property
    def table(self) -> str:
        """Digest of the automaton and of what is right in each state."""
        parts = (self.automaton.table, self.automaton.shows, np.array([self.automaton.start]))
        # As 64-bit numbers: one automaton has one digest, whatever type its table is held in.
        data = b"".join(np.ascontiguousarray(part, dtype=np.int64).tobytes() for part in parts)
        return hashlib.sha256(data).hexdigest()


def shown_list(values: list[Any]) -> str:
    """The beginning of a list."""
    return ", ".join(map(shown, values[:4])) + ", …" * (len(values) > 4)


def _name(text: str) -> str:
    """A name in a sentence: in quotes where it could be taken for more than a name; its beginning."""
    if len(text) > LONGEST:
        return f"{json.dumps(text[:LONGEST], ensure_ascii=False)}… ({len(text):,} characters)"
    return text if text and not set(text) & set(' ",') else json.dumps(text, ensure_ascii=False)


def claim_from(payload: Any) -> Claim:
    """The claim in a certificate; anything malformed is an error that names the field."""
    need(isinstance(payload, dict) and set(payload) == set(FIELDS), f"claim must have {', '.join(FIELDS)}")
    texts = {key: payload[key] for key in ("kind", "network", "target", "dtype", "order")}
    for key, value in texts.items():
        fits = isinstance(value, str) and value.isprintable() and len(value) <= LONGEST
        need(fits, f"claim: {key} must be a printable string of at most {LONGEST} characters")
    need(isinstance(payload["configuration"], dict), "claim: configuration must be an object")
    marks = payload["configuration"].get("tokens", {part: [] for part in TOKENS})
    fits = isinstance(marks, dict) and all(isinstance(marks.get(part), list) for part in TOKENS)
    need(fits, f"claim: tokens must have lists {', '.join(TOKENS)}")
    fits = _texts(payload["assumptions"]) and sum(1 + len(name) for name in payload["assumptions"]) <= 2_000
    need(fits, "claim: assumptions must be a short list of names")
    automaton, letters, states = _automaton(payload["automaton"], payload["target"])
    return Claim(
        **texts,
        configuration=payload["configuration"],
        letters=letters,
        states=states,
        automaton=automaton,
        words=payload["words"],
        up_to=_up_to(payload["lengths"]),
        assumptions=tuple(payload["assumptions"]),
    )


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item.isprintable() for item in value)


def _automaton(payload: Any, target: str) -> tuple[Automaton, tuple[str, ...], tuple[str, ...]]:
    need(target in ("state", "observation"), "claim: target must be state or observation")
    wanted = {"letters", "states", "start", "next"} | ({"observe"} if target == "observation" else set())
    need(isinstance(payload, dict) and set(payload) == wanted, f"claim: automaton must have {sorted(wanted)}")
    for key in ("letters", "states"):
        fits = _texts(payload[key]) and payload[key] and len(set(payload[key])) == len(payload[key])
        fits = fits and max(map(len, payload[key])) <= MAX_NAME
        need(fits, f"claim: {key} must be different printable names of at most {MAX_NAME:,} characters")
    states, letters = len(payload["states"]), len(payload["letters"])
    rows, start, shows = payload["next"], payload["start"], payload.get("observe", list(range(states)))
    fits = whole_numbers(rows, states, states, letters)
    need(fits, "claim: next must have a state for every state and letter")
    need(whole_numbers(start, states), "claim: start must be the number of a state")
    need(whole_numbers(shows, MAX_OUTPUT, states), "claim: observe must have a number for every state")
    table, outputs = (np.array(values, dtype=np.int64) for values in (rows, shows))
    return Automaton(table, start, outputs), tuple(payload["letters"]), tuple(payload["states"])


def _up_to(lengths: Any) -> int | None:
    if lengths == "every":
        return None
    fits = isinstance(lengths, dict) and set(lengths) == {"up_to"} and type(lengths["up_to"]) is int
    need(fits and lengths["up_to"] >= 1, 'claim: lengths must be "every" or {"up_to": a number from 1 on}')
    return int(lengths["up_to"])
