"""Validated requests of a page: an automaton by name, pattern, path or file."""

import os
from dataclasses import dataclass
from typing import Any

from krohn.automata.files import automaton_from_payload
from krohn.automata.jflap import parse_jff
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import FILES, parse_spec
from krohn.errors import InvalidInput

MAX_BYTES = 1_000_000
MAX_SPEC, MAX_LENGTH = 1000, 128


@dataclass(frozen=True)
class MachineRequest:
    """Either ``spec`` or ``file`` (JSON, or the text of a .jff file), and the longest word."""

    spec: str
    file: dict[str, Any] | str | None
    length: int

    def automaton(self) -> Semiautomaton:
        """The requested automaton; refused in one line if invalid."""
        name = self.spec[:60] or "uploaded"
        if isinstance(self.file, str):
            return parse_jff(self.file.encode(errors="replace"), name)
        if self.file is not None:
            return automaton_from_payload(self.file, name)
        return parse_spec(self.spec)

    def as_dict(self) -> dict[str, Any]:
        """The inverse of ``read_request``."""
        return {"spec": self.spec, "file": self.file, "length": self.length}


def read_request(payload: object, *, paths: bool) -> MachineRequest:
    """The request a page sent; with ``paths`` a spec may name a file of this machine."""
    if not isinstance(payload, dict) or set(payload) - {"spec", "file", "length"}:
        raise InvalidInput("a request must be a JSON object with the keys spec, file and length")
    spec, file, length = payload.get("spec", ""), payload.get("file"), payload.get("length", 32)
    if not isinstance(spec, str) or len(spec) > MAX_SPEC:
        raise InvalidInput(f"a name or pattern must be a text of at most {MAX_SPEC} characters")
    if file is not None and not isinstance(file, dict | str):
        raise InvalidInput("an automaton file must hold a JSON object, or what JFLAP writes (.jff)")
    if type(length) is not int or not 1 <= length <= MAX_LENGTH:
        raise InvalidInput(f"the longest word must have 1 to {MAX_LENGTH} letters; got {str(length)[:20]}")
    text = spec.strip()
    if file is None and not text:
        raise InvalidInput("type a name (S4), a pattern (regex:(ab)*) or choose a file")
    is_path = text.endswith(FILES) or os.sep in text
    if file is None and is_path and not text.startswith("regex:") and not paths:
        raise InvalidInput("this server does not read files of its own machine: upload the automaton instead")
    return MachineRequest(text, file, length)
