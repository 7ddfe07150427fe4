"""Automata as text of other programs: AT&T's tables, Graphviz."""

from krohn.automata.diagram import accepts_words
from krohn.automata.reading.att import EPSILON
from krohn.automata.semiautomaton import Semiautomaton


def att_text(automaton: Semiautomaton) -> tuple[str, str]:
    """The machine as OpenFst's tools read it, and a table of symbols, empty if letters need none.

    States observed as 1 are final; other observations are outputs of the arrows that lead to them. Letters
    that would be read as ε, or as numbers of one, become numbers, which the table names.
    """
    names, letters, symbols = automaton.state_names, automaton.letter_names, ""
    if any(letter.isdigit() or letter in EPSILON for letter in letters):
        symbols = "".join(f"{letter}\t{number}\n" for number, letter in enumerate(("<eps>", *letters)))
        letters = tuple(str(number) for number in range(1, len(letters) + 1))
    accepts = accepts_words(automaton)
    outputs = () if accepts else automaton.observed
    order = [automaton.start, *(q for q in range(automaton.num_states) if q != automaton.start)]
    lines = [
        f"{names[state]}\t{names[target]}\t{letter}\t{outputs[target] if outputs else letter}"
        for state in order
        for letter, target in zip(letters, automaton.table[state].tolist(), strict=True)
    ]
    lines += [names[state] for state, value in enumerate(automaton.observe or ()) if accepts and value]
    return "\n".join([*lines, ""]), symbols


def dot_text(automaton: Semiautomaton) -> str:
    """The machine as AALpy writes it: doubly drawn states accept, ``state|output`` shows."""
    accepts, nodes, arrows = accepts_words(automaton), [], []
    for state, name in enumerate(automaton.state_names):
        label, shape = name, "circle"
        if accepts and automaton.observe is not None and automaton.observe[state]:
            shape = "doublecircle"
        elif automaton.observe is not None and not accepts:
            label, shape = f"{name}|{automaton.observed[state]}", "record"
        nodes.append(f"{_quoted(name)} [label={_quoted(label)}, shape={shape}];")
        for letter, target in zip(automaton.letter_names, automaton.table[state].tolist(), strict=True):
            arrows.append(
                f"{_quoted(name)} -> {_quoted(automaton.state_names[target])} [label={_quoted(letter)}];"
            )
    start = f"__start0 -> {_quoted(automaton.state_names[automaton.start])};"
    return "\n".join(["digraph krohn {", '__start0 [label="", shape=none];', *nodes, *arrows, start, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
