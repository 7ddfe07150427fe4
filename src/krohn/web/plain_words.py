"""What an automaton and the registers of its network are, in words that a student knows."""

import re
from collections.abc import Iterator, Mapping

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.compiled import CompiledNetwork
from krohn.network.program import Program

# What a family is, and what one letter does; {n} stands for the first number in the name.
FAMILIES: tuple[tuple[str, str], ...] = (
    (r"C\d+(:01)?", "A counter that starts again at {n}: a letter is a number, and it is added."),
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
    (r"Counter\d+", "A counter with one letter that starts again at {n}."),
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
            return text.format(n=number, half=number // 2, swap=known)
    if re.fullmatch(r"\w+x[A-Z]\w*", name):
        return f"{' and '.join(re.split(r'x(?=[A-Z])', name))} side by side: a letter moves each of them."
    states = f"{automaton.num_states} states" if automaton.num_states > 1 else "one state"
    return f"A machine with {states}: every letter moves it along one arrow."


def register_words(network: CompiledNetwork) -> dict[str, str]:
    """What the registers hold, by name; a register that no rule knows keeps its name."""
    program = network.program
    if program is None:
        return {}
    brought = {source.register: source.letters for source in program.sources}
    words = _Words(network.automaton, program, brought)
    return {register.name: words.of(register.name) for register in program.registers}


def head_words(network: CompiledNetwork) -> list[list[str]]:
    """What the heads of each layer look for; a head that no rule knows keeps its description."""
    program = network.program
    texts = [[head.text for head in layer] for layer in network.layout.heads]
    if program is None:
        return texts
    words = register_words(network)
    return [[head_in_words(text, words) for text in layer] for layer in texts]


def head_in_words(text: str, words: Mapping[str, str]) -> str:
    """``1 back: symbol`` is ``looks 1 letter back``."""
    found = re.fullmatch(r"(\d+) back: (?:symbol|letter)", text)
    if found:
        return f"looks at the letter {'before' if found[1] == '1' else f'{found[1]} places back'}"
    found = re.fullmatch(r"(\d+) back: (.+) after (\d+) letters", text)
    if found:
        letters = "letter" if found[1] == "1" else "letters"
        return f"fetches where states are taken by the {found[1]} {letters} before"
    found = re.fullmatch(r"(?:prefix )?sum of (.+?)( where place .*)?", text)
    if found:
        there = ", at places where they count" if found[2] else ""
        brought = dict.fromkeys(words.get(name, name) for name in found[1].split(", "))
        return "; ".join(_added(each) for each in brought) + there
    for pattern, said in HEADS:
        found = re.fullmatch(pattern, text)
        if found:
            return found.expand(said)
    return text


def _added(words: str) -> str:
    """What a head does that sums a register, by the words for that register."""
    for pattern, said in SUMS:
        found = re.fullmatch(pattern, words)
        if found:
            return found.expand(said)
    return f"adds up over the word: {words}"


class _Words:
    """Rules from names of registers to sentences; the first that fits counts."""

    def __init__(
        self, automaton: Semiautomaton, program: Program, brought: Mapping[str, tuple[int, ...]]
    ) -> None:
        self.automaton, self.brought = automaton, brought
        self.names = {register.name for register in program.registers}

    def of(self, name: str) -> str:
        """The words for one register."""
        counter = re.fullmatch(r"level (\d+) section (\d+) (step|count) mod (\d+)(?: no\. (\d+))?", name)
        if counter:
            return self._counter(name, *counter.groups())
        if name.startswith("sum of level"):
            return f"what the letters so far add, before mod {name.partition(' mod ')[2].split()[0]}"
        if "height" in self.names and name in STACK:
            return STACK[name]
        for pattern, text in RULES:
            found = re.fullmatch(pattern, name)
            if found:
                return found.expand(text)
        return name

    def _counter(
        self, name: str, level: str, section: str, what: str, modulus: str, number: str | None
    ) -> str:
        step = name.replace(" count ", " step ")
        here = f" (no. {number})" if number else ""
        if step not in self.brought:
            wheel = f"a wheel with {modulus} places{here}" if modulus != "2" else f"a switch{here}"
            verb = "turns" if modulus != "2" else "flips"
            if what == "step":
                return f"how far this letter {verb} it, given the counters of earlier layers"
            return f"{wheel}: the counters of earlier layers decide how a letter {verb} it"
        letters = self._letters(self.brought[step])
        if what == "step":
            return f"what this letter adds: {letters}"
        if self._is_sign(self.brought[step]):
            return "how many swaps so far, mod 2: whether the order is even or odd"
        one = [name for name, value in self._named(self.brought[step]) if value]
        if set(self.brought[step]) <= {0, 1}:
            return f"how many of {_listed(one)} so far, mod {modulus}{here}"
        return f"the sum so far, mod {modulus}{here}: {letters}"

    def _named(self, values: tuple[int, ...]) -> Iterator[tuple[str, int]]:
        return zip(self.automaton.letter_names, values, strict=True)

    def _letters(self, values: tuple[int, ...]) -> str:
        return _listed([f"{value} for {name}" for name, value in self._named(values)])

    def _is_sign(self, values: tuple[int, ...]) -> bool:
        """Whether letters are permutations written as digits, and the value is 1 for the odd ones."""
        names = self.automaton.letter_names
        if any(sorted(name) != [str(i) for i in range(len(name))] for name in names) or len(names[0]) < 2:
            return False
        odd = [sum(a > b for i, a in enumerate(name) for b in name[i + 1 :]) % 2 for name in names]
        return any(odd) and tuple(odd) == tuple(values)


def _listed(items: list[str]) -> str:
    return ", ".join(items[:4]) + (", …" if len(items) > 4 else "")


STACK = {
    "step": "1 if the letter opens, −1 if it closes",
    "sum of step": "brackets opened minus brackets closed",
    "symbol": "the kind of bracket",
}
"""What these names mean where there is a stack."""

SUMS: tuple[tuple[str, str], ...] = (
    (r"what this letter adds: (.+)", r"adds up what letters add: \1"),
    (r"1 if the letter is (.+)", r"counts \1"),
    (r"how far this letter (turns|flips) it(.*)", r"adds up how far letters move it\2"),
    (r"the move: (.+)", r"adds up the moves: \1"),
    (r"1 if the letter opens, −1 if it closes", "adds up brackets: 1 if one opens, −1 if one closes"),
)
"""Heads that add up, by the words for what they add."""

HEADS: tuple[tuple[str, str], ...] = (
    (
        r"latest unclamped place where class = class -(\d+) mod .*",
        r"finds the last time it stood \1 below this, on the circle",
    ),
    (r"latest symbol where key = (\d+)", r"finds the bracket opened last at height \1"),
    (r"latest symbol where key = query.*", "finds the bracket that this letter would close"),
    (r"latest error where error = 1", "looks for a mistake"),
    (r"most recent .*level \d+ (?:target|written)\b.* where .* reset = 1", "finds the value written last"),
    (r"most recent t.* where writes (.+) = 1", r"finds the last place of \1"),
    (r"most recent label of (.+) where writes .*", r"finds the last letter that settles: \1"),
    (r"latest t.* where is (.+) = 1", r"finds the last place of \1"),
    (r"earliest t.* where is (.+) = 1", r"finds the first place of \1"),
    (r"1 back: .*memory", "looks at the memory one place back"),
)
"""Heads that look for one position."""

RULES: tuple[tuple[str, str], ...] = (
    (r"letter|level \d+ section \d+ letter", "the letter, as a number"),
    (r"symbol", "the letter, as a number"),
    (r"(?:symbol|letter) \(1 back\)", "the letter before"),
    (r"(?:symbol|letter) \((\d+) back\)", r"the letter \1 places back"),
    (r"is (.+)", r"1 if the letter is \1"),
    (r"writes (.+)", r"1 if this letter counts as \1"),
    (r"sum of is (.+) where place .*", r"how many \1 so far, at places where it counts"),
    (r"sum of is (.+)", r"how many \1 so far"),
    (r"place \d+ for (.+)", r"1 at places that are looked at for \1"),
    (r"number of wrong letters", "how many letters out of turn so far"),
    (r"min\(count\[wrong letters\], 1\)", "has a letter out of turn come yet? 0 no, 1 yes"),
    (r"number of (.+)", r"how many \1 so far"),
    (r"count\[(.+)\] mod (\d+)", r"how many \1 so far, mod \2"),
    (r"min\(count\[(.+)\], (\d+)\)", r"how many \1 so far, but at most \2"),
    (r"t mod (\d+).*", r"the number of the place, mod \1"),
    (r"min\(t, (\d+)\)", r"the number of the place, but at most \1"),
    (r"latest\[(.+)\]", r"the last of \1"),
    (r"state", "the state, as a number"),
    # Gridworlds.
    (r"step", "the move: 1 to the right, −1 to the left"),
    (r"sum of step", "moves to the right minus moves to the left, through all walls"),
    (r"unclamped place", "the place it would have without walls"),
    (r"class(?: mod)?", "that place, counted around a circle"),
    (r"place visit (\d+)", r"the last place seen that is \1 below on the circle"),
    (r"place visits", "the last places seen, added up"),
    (r"place residue", "a code of the state: where it stands between the walls"),
    # Stacks.
    (r"act", "whether the letter opens or closes"),
    (r"height", "how many brackets are open"),
    (r"key", "the height at which this letter writes"),
    (r"query", "the height at which this letter looks"),
    (r"removed", "the bracket that a closing one must match"),
    (r"error", "1 if this letter is a mistake"),
    (r"failed", "1 once a mistake has been made"),
    (r"held at height (\d+)", r"the bracket opened last at height \1"),
    (r"place (\d+)", r"bracket \1 on the stack, from the bottom"),
    # Memories and scans.
    (r"level \d+ reset", "1 if this letter writes the memory"),
    (r"level \d+ target", "the value that it writes"),
    (r"level \d+ memory", "the value written last"),
    (r"(\S+) after (\d+) letters", r"where state \1 is taken by the last \2 letters"),
    (r"(\S+) after (\d+) letters \((\d+) back\)", r"where state \1 is taken by the \2 letters before those"),
)
