"""What the tokens of a module mean: where letters stand, what is fixed, which positions answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.observed import with_target
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import read_json
from krohn.check.files.folders import shown
from krohn.check.graph.columns import EACH, LAST, NEXT
from krohn.errors import InvalidInput

FIELDS = ("prompt", "letters", "states", "observations", "reads", "then", "fixed", "answers")


def layout_for(
    automaton: Semiautomaton, given: str | Path | Mapping[str, Any] | None, allowed: Semiautomaton | None
) -> dict[str, Any]:
    """All that a claim says of tokens, from a JSON file or an object; by default letter i is token i.

    ``letters``: a token for each letter, or several; ``reads``: at which positions those of each letter
    stand; ``then``: letters read at the end without tokens; ``fixed``: tokens of other positions;
    ``answers``: each (after every letter), last, or next.
    """
    found = _read(given)
    if set(found) - set(FIELDS):
        wrong = next(iter(set(found) - set(FIELDS)))
        raise InvalidInput(f"tokens must have some of {', '.join(FIELDS)}; {shown(wrong)} is not one of them")
    if {"states", "observations"} <= set(found):
        raise InvalidInput("tokens: give states or observations, not both")
    outputs = found.get("states", found.get("observations"))
    letters = _by_name("letters", found.get("letters"), automaton.letter_names)
    numbers = {name: number for number, name in enumerate(automaton.letter_names)}
    then = found.get("then", [])
    if not isinstance(then, list) or not all(isinstance(one, str) and one in numbers for one in then):
        raise InvalidInput(f"tokens: then must list letters of the automaton; got {shown(then)}")
    fixed = found.get("fixed", {})
    if not isinstance(fixed, Mapping) or not all(str(place).isdecimal() for place in fixed):
        raise InvalidInput('tokens: fixed must be an object such as {"10": 0}, position and token')
    answers = found.get("answers", EACH)
    if answers not in (EACH, LAST, NEXT):
        raise InvalidInput(f"tokens: answers must be each, last or next; got {shown(answers)}")
    return {
        "prompt": list(found.get("prompt", [])),
        "letters": [one if isinstance(one, list) else [one] for one in letters],
        "states": _outputs(outputs, automaton),
        "reads": found.get("reads"),
        "then": [numbers[one] for one in then],
        "fixed": sorted([int(place), token] for place, token in fixed.items()),
        "answers": answers,
        "input": None if allowed is None else _acceptor(allowed, automaton),
    }


def _read(given: str | Path | Mapping[str, Any] | None) -> Mapping[str, Any]:
    found = read_json(Path(given)) if isinstance(given, str | Path) else {} if given is None else given
    if not isinstance(found, Mapping):
        raise InvalidInput(f"tokens must be an object with some of {', '.join(FIELDS)}; got {shown(found)}")
    return found


def shown_by(automaton: Semiautomaton, given: str | Path | Mapping[str, Any] | None) -> Semiautomaton:
    """The automaton with what the network outputs: observations, if its tokens name them."""
    return with_target(automaton, "observation") if "observations" in _read(given) else automaton


def _by_name(part: str, given: Any, names: tuple[str, ...]) -> list[Any]:
    if given is None:
        return [*range(len(names))]
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise InvalidInput(f"tokens: {part} must name {', '.join(names[:8])}, each once")
        given = [given[name] for name in names]
    if not isinstance(given, list | tuple) or len(given) != len(names):
        raise InvalidInput(f"tokens: {part} must have one entry for each of {', '.join(names[:8])}")
    return list(given)


def _outputs(given: Any, automaton: Semiautomaton) -> list[Any]:
    """A token for each output; what the start alone shows, where arrows have the outputs, needs none."""
    names = automaton.output_names
    if isinstance(given, Mapping):
        shown_at = np.array(automaton.outputs)[np.unique(automaton.table)]
        never = [name for number, name in enumerate(names) if number not in shown_at and name not in given]
        free = max((token for token in given.values() if type(token) is int), default=0) + 1
        given = {**given, **{name: free + number for number, name in enumerate(never)}}
    return _by_name("states", given, names)


def _acceptor(allowed: Semiautomaton, automaton: Semiautomaton) -> dict[str, Any]:
    """The automaton of inputs, letters in the order of the other one."""
    if set(allowed.letter_names) != set(automaton.letter_names):
        raise InvalidInput(
            f"the automaton of --input must have the letters {', '.join(automaton.letter_names[:8])}; "
            f"it has {', '.join(allowed.letter_names[:8])}"
        )
    shows = np.array(() if allowed.observe is None else allowed.observe)
    if not len(shows) or shows.max() > 1:
        raise InvalidInput("the automaton of --input must accept or reject, as regex:(ab)* does")
    place = [allowed.letter_names.index(name) for name in automaton.letter_names]
    return {
        "start": int(allowed.start),
        "next": np.asarray(allowed.table)[:, place].tolist(),
        "accepts": shows.astype(int).tolist(),
    }
