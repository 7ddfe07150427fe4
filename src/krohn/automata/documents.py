"""Words and states as text for next-token language models: one document a line, in two formats.

A state is shown after some letters only, drawn with the seed of the sample, and always after the last
one: a model of the text has to know the state at any moment without being told it. The rest of a line is
letters.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.sampling import Sampler
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.words import whole
from krohn.base.files import check_output, write_whole
from krohn.errors import InvalidInput

SHARE = 0.25
"""Of the letters after which the state is shown."""
Spoken = list[tuple[int, int | None]]
"""Letters in order, each with the state after it where that is shown."""


def _repl(automaton: Semiautomaton, spoken: Spoken) -> dict[str, Any]:
    """A session at a prompt: letters are commands, ``state`` prints the state."""
    letters, states = automaton.letter_names, automaton.state_names
    lines = [
        f">>> {letters[letter]}\n" + ("" if state is None else f">>> state\n{states[state]}\n")
        for letter, state in spoken
    ]
    return {"text": "".join(lines)}


def _tokens(automaton: Semiautomaton, spoken: Spoken) -> dict[str, Any]:
    """Numbers: letters, then states, then one that asks; labels are states alone, -100 elsewhere."""
    first, query = automaton.num_letters, automaton.num_letters + automaton.num_states
    rows: list[tuple[int, int]] = []
    for letter, state in spoken:
        rows.append((letter, -100))
        if state is not None:
            rows += [(query, -100), (first + state, first + state)]
    return {"input_ids": [row[0] for row in rows], "labels": [row[1] for row in rows]}


FORMATS: dict[str, tuple[Callable[[Semiautomaton, Spoken], dict[str, Any]], str]] = {
    "repl": (_repl, 'load_dataset("json", data_files="{path}")["train"]["text"]'),
    "tokens": (_tokens, 'load_dataset("json", data_files="{path}")["train"].remove_columns("krohn")'),
}
"""Formats by name, each with the line that loads it with Hugging Face datasets."""


def loader(form: str, path: Path) -> str:
    """The line of Python that loads a file of this format."""
    return FORMATS[form][1].format(path=path)


def write_language(sampler: Sampler, count: int, path: Path, form: str) -> None:
    """Writes ``count`` documents as JSON lines, whole or not at all; the same seed gives the same file."""
    if form not in FORMATS:
        raise InvalidInput(f"a format must be one of {', '.join(FORMATS)}; got {form[:40]!r}")
    if whole(count) < 1:
        raise InvalidInput(f"the count of a data set must be at least 1; got {count}")
    automaton, spoken = sampler.automaton, FORMATS[form][0]
    taken = {*automaton.letter_names, *automaton.state_names} & {"state", ">>>"}
    if taken:
        raise InvalidInput(f"{', '.join(sorted(taken))} must be free for the text; rename letters or states")
    check_output(path, ".jsonl")

    def lines() -> Iterator[str]:
        rng = np.random.default_rng([sampler.seed, 1])
        for chunk in sampler.chunks(count):
            columns = chunk.columns()
            letters, states = columns["letters"], columns["states"]
            shown = rng.random(letters.shape) < SHARE
            shown[:, -1] = True
            seen = np.where(shown, states.astype(np.int64), -1).tolist()
            for word, after in zip(letters.tolist(), seen, strict=True):
                pairs = [(a, None if q < 0 else q) for a, q in zip(word, after, strict=True)]
                about = {"krohn": automaton.name or "automaton", **spoken(automaton, pairs)}
                yield json.dumps(about, ensure_ascii=False) + "\n"

    write_whole(path, lambda stream: stream.writelines(map(str.encode, lines())))
