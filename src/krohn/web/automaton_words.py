"""What an automaton is and what a letter does, in one sentence that a student understands."""

import re

from krohn.automata.semiautomaton import Semiautomaton

# Description of a family, and of one letter's action; {n} is the first number in the name.
FAMILIES: tuple[tuple[str, str], ...] = (
    (
        r"C\d+(:01)?",
        "A counter from 0 to {last} that starts again at 0: each letter is a number that is added.",
    ),
    (
        r"D\d+",
        "A car on a round road with {half} places: toggle turns it round, drive moves it one place ahead.",
    ),
    (
        r"S\d+.*",
        "{n} people in {n} chairs: a letter says how they change places{swap}, and the state is their order.",
    ),
    (
        r"A\d+.*",
        "{n} people in {n} chairs, of whom a letter moves three around: the state is their order.",
    ),
    (r"Q8", "The eight unit quaternions ±1, ±i, ±j, ±k: a letter multiplies from the right."),
    (
        r"Dyck.*",
        "A stack of at most {n} open brackets: a letter opens a bracket or closes the last one; a wrong one "
        "leads to a state that nothing leaves.",
    ),
    (r"Grid\d+(:noop)?", "A robot on a line of {n} squares: L and R move it one square, and walls stop it."),
    (r"Grid\d+x.*", "A robot on a board: a letter moves it one square, and walls stop it."),
    (r"FlipFlop|Memory\d+", "A memory of one value: a letter writes a value, or leaves the last one."),
    (r"WriteOnce\d+", "A cell that keeps the first value written to it until it is cleared."),
    (r"abab", "Does the word read abab again and again? A letter out of turn spoils it for good."),
    (r"Parity", "Has 1 been read an even or an odd number of times?"),
    (r"Counter\d+", "A counter from 0 to {last} with one letter, which adds 1; after {last} comes 0."),
    (r"Add\d*", "Binary addition, digit by digit: the state holds the digit written and the carry."),
    (r"Rubik.*", "One sticker of Rubik's cube: a letter turns a face."),
    (r"PermReset\d+.*", "{n} people in {n} chairs: a letter moves them, or sets them to one order."),
    (r"T\d+", "A token on {n} places: letters move it, and some of them join two places for good."),
)


def about(automaton: Semiautomaton) -> str:
    """One sentence: what the automaton is, and what a letter does."""
    name = (automaton.name or "").partition("@")[0]
    if name.startswith("regex:"):
        pattern = name.removeprefix("regex:")
        return f"Does the word read so far match {pattern}? The state is what must be remembered to tell."
    for pattern, text in FAMILIES:
        if re.fullmatch(pattern, name):
            number = int((re.findall(r"\d+", name) or ["0"])[0])
            swap = "10" + "".join(map(str, range(2, number)))
            known = f" ({swap} swaps the first two)" if swap in automaton.letter_names else ""
            return text.format(n=number, last=number - 1, half=number // 2, swap=known)
    if re.fullmatch(r"\w+x[A-Z]\w*", name):
        return f"{' and '.join(re.split(r'x(?=[A-Z])', name))} side by side: a letter moves each of them."
    states = f"{automaton.num_states} states" if automaton.num_states > 1 else "one state"
    return f"A machine with {states}: every letter moves it along one arrow."
