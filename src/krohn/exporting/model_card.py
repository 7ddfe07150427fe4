"""Metadata of an export: its origin, what was checked, and in which types it is right."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from krohn import __version__
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import counted
from krohn.network.gpt2.decoder import Decoder

LABELS = """## Losses and labels

The output at a letter is the state after that letter: nothing is shifted. The loss that `transformers` and
TransformerLens compute themselves compares the output at a position with the label at the *next* one. So
give them labels moved one place to the right, with −100 where there is nothing to compare, or compute the
loss from the logits.

"""

CHECKED = "## What was checked"

READ = frozenset({"hf", "transformers"})
"""Formats, and libraries that load them, whose files the checker reads."""


@dataclass(frozen=True, eq=False)
class ModelCard:
    """The origin of a decoder and the results of comparing the two.

    Attributes:
        title: one line.
        automaton: what the network reads and outputs.
        origin: how it was made: ``method`` or ``replicate``.
        findings: the tests that were run, and their outcomes.
    """

    title: str
    automaton: Semiautomaton
    origin: Mapping[str, str]
    findings: Mapping[str, Any]

    @property
    def right_in(self) -> list[str]:
        """Floating-point types in which no tested word was wrong."""
        types = self.findings.get("types")
        return ["float32"] if types is None else [name for name, seen in types.items() if not seen["wrong"]]

    @property
    def _proof(self) -> Mapping[str, Any]:
        result: Mapping[str, Any] = self.findings.get("certificate", {"certified": False, "reason": ""})
        return result

    @property
    def proved(self) -> bool:
        """Whether there is a certificate for the stored weights."""
        return bool(self._proof["certified"])

    def about(self, to: str) -> dict[str, str]:
        """A summary as strings, for the metadata of files."""
        return {
            "producer": f"krohn {__version__}",
            "automaton": self.automaton.name or "",
            "digest": self.automaton.digest,
            **self.origin,
            "dtype": self._dtype,
            "right_in": " ".join(self.right_in),
            "proof": self._claim(to),
        }

    def _claim(self, to: str) -> str:
        """What is proved: the files, or, if the checker does not read the format, the weights in them."""
        if not self.proved:
            return "tested, not proved"
        proved = f"proved in {self._proof['dtype']}"
        return proved if to in READ else f"numbers {proved}; their use in this format is run, not proved"

    def payload(self, decoder: Decoder, to: str) -> dict[str, Any]:
        """``export.json``: all of it, for programs."""
        names = decoder.vocabulary
        tokens = {
            "prompt": list(names.prompt),
            "pad": names.pad,
            "unknown": names.unknown,
            "letters": list(names.letters),
            "states": list(names.states),
        }
        return {
            "krohn": 1,
            "format": to,
            **self.about(to),
            "right_in": self.right_in,
            "target": self.automaton.target,
            "length": decoder.length,
            "tokens": None if to == "onnx" else tokens,
            **self.findings,
        }

    def page(self, decoder: Decoder, library: str, loading: str) -> str:
        """``README.md``: a model card."""
        names = self.automaton.letter_names
        word = " ".join(names[letter % len(names)] for letter in (0, 1, 0, 1))
        shown = loading.format(
            directory=".",
            word=json.dumps(word, ensure_ascii=False),  # also a valid Python string, whatever the names are
            prompt=len(decoder.vocabulary.prompt),
            right_in=", ".join(self.right_in),
        )
        blocks = counted(decoder.layers, "block")
        parts = [
            f"{_head(library)}# {_plain(self.title)} ({self._dtype})\n",
            *self._warning(),
            f"{blocks}, width {decoder.dim}, words of at most {decoder.length} letters. It",
            f"reads letters and outputs the {self.automaton.target} after each; `automaton.json` is the "
            "automaton.\n",
            shown,
            f"{CHECKED}\n",
            *self._checks(library),
            "" if library == "onnx" else f"\n{LABELS.rstrip()}",
            "\n## Where it comes from\n",
            *self._provenance(library),
        ]
        return "\n".join(parts) + "\n"

    @property
    def _dtype(self) -> str:
        """The type of the stored weights."""
        return str(self.findings.get("dtype", "float32"))

    def _warning(self) -> Iterator[str]:
        """First of all: the types in which it must not be loaded."""
        wrong = [name for name, seen in self.findings.get("types", {}).items() if seen["wrong"]]
        if wrong:
            right = " or ".join(self.right_in)
            yield f'**Load it in {right}** (`dtype="{self._dtype}"`, the default of its files).'
            yield f"In {' and '.join(wrong)} it gives wrong states without a message.\n"

    def _checks(self, library: str) -> Iterator[str]:
        result, shown = self.findings, self.automaton.target
        if "compared" in result:
            seen = result["compared"]
            yield (
                f"In float32, on {seen['words']} held-out words: logits differ from those of the trained "
                f"network by at most {seen['difference']:.1g} (the largest is {seen['largest']:.3g})."
            )
            return
        proof = self._proof
        if self.proved:
            if library not in READ:
                yield "**The numbers are proved, this form of them is run.** The checker does not read it. Of"
                yield "the same numbers as tensors it is shown:\n"
            yield (
                f"**Proved** in {proof['dtype']}: on every word up to this length the right {shown} leads by"
            )
            yield f"{proof['margin']} or more, whatever the order of sums, for readers that take the"
            yield f"softmax and then the weighted sum; {_kept(library)} It was also run on words:\n"
        else:
            yield "**Tested, not proved.** It was run on words, each compared with the automaton at every"
            yield "letter."
            if proof.get("largest"):
                yield f"It is proved for words of at most {proof['largest']} letters; {_kept(library)}"
            yield f"Why there is no proof of all words: {proof['reason']}.\n"
        yield f"- {result['checked']['words']:,} words in float32: {outcome(result['checked'], shown)}."
        rounding = result["rounding"]
        yield (
            f"- {rounding['words']:,} words with {rounding['factor']:g} times the rounding of float32, as "
            f"other readers sum in other orders: {outcome(rounding, shown)}."
        )
        if rounding["wrong"]:
            yield (
                "\n**It fails the test of rounding** and was written with `--unchecked`: a reader that sums "
                f"in another order may output wrong {shown}s."
            )
        yield "\n| loaded in | words run | wrong |\n| --- | --- | --- |"
        yield from (
            f"| {name} | {seen['words']} | {seen['wrong']} |" for name, seen in result["types"].items()
        )
        yield "\nHalf types are run as eager attention has them. Load it in a type with no wrong word."

    def _provenance(self, library: str) -> Iterator[str]:
        called = self.automaton.name or "an automaton of its own"
        for name, text in self.about(library).items():
            if name != "right_in":
                yield f"- {name}: {_plain(called if name == 'automaton' else text)}"
        result = "training on words of the automaton" if "replicate" in self.origin else "construction"
        yield f"- weights: by {result}; no other data"
        yield "- licence: MIT, as krohn itself"


def outcome(seen: Mapping[str, Any], shown: str) -> str:
    """How a run on words ended, in words."""
    if seen["wrong"]:
        return f"{seen['wrong']:,} wrong"
    return f"0 wrong; the right {shown} leads by {seen['least_lead']} or more"


def _plain(text: str) -> str:
    """Text in Markdown that is neither HTML nor a link: a name may be any pattern."""
    return re.sub(r"([\\`*_\[\]~|])", r"\\\1", html.escape(text, quote=False))


def _head(library: str) -> str:
    """The machine-readable header of a model card."""
    return (
        f"---\nlicense: mit\nlibrary_name: {library}\npipeline_tag: text-generation\n"
        "tags: [krohn, finite-automata, state-tracking, interpretability]\n---\n\n"
    )


def _kept(library: str) -> str:
    """Where the certificate is; of an ONNX graph there is none, since the checker does not read it."""
    if library in READ:
        return "`certificate.json` is the certificate."
    return "there is no certificate of this form: `krohn export --to hf` writes one that has it."
