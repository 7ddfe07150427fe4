"""Descriptions of automata, letters, registers and heads in plain sentences, for students."""

import math
import re
from collections.abc import Iterable

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.compiled import CompiledNetwork

Rules = tuple[tuple[str, str], ...]

COUNTER = r"(sum of )?((?:\S+ )*level \d+ )section (\d+) (step|count) mod (\d+)(?: no\. (\d+))?"

CLASSES: tuple[tuple[str, str, str], ...] = (
    (r"is (.+)", "1 if the letter is {}", "1 for {}"),
    (r"(?:sum of is|number of) (.+)", "how often {} has come", "how many {} so far"),
    (r"count\[(.+)\] mod (\d+)", r"how often {} has come, mod \2", r"how many {} so far, mod \2"),
    (r"min\(count\[(.+)\], 1\)", "has {} come yet? 0 no, 1 yes", "have {} come yet? 0 no, 1 yes"),
    (r"min\(count\[(.+)\], (\d+)\)", r"how often {} has come, at most \2", r"how many {} so far, at most \2"),
    (r"writes (.+)", "1 if the letter is {}", "1 for {}"),
    (r"label of (.+)", "which letter it is, of {}", "what it says, of {}"),
    (r"latest\[([^]]+)\]", "which came last, of {}", "what the last said, of {}"),
    (r"most recent label of (.+) where writes .*", "finds the last {}", "finds the last of {}"),
)
"""What is known of a set of letters: by its letters, or in words for the set."""

LABELS: Rules = (
    (r"wrong letters", "letters out of turn"),
    (r"state known", "letters that settle the state"),
    (r"state (.+) known", r"letters that settle that the state is \1"),
    (r"state (.+) (possible|excluded)", r"letters after which state \1 is \2"),
    (r"(may|must) move", r"letters that \1 change the state"),
    (r"(.+) at odd, (.+) at even places", r"letters \1 at odd and \2 at even positions"),
    (r"(.+) at place (\d+)", r"letters \1 at position \2"),
    (r"letter (.+) may move", r"letters \1 that may change the state"),
    (r"letter (.+), note (\d+) = (\d+)", r"letters \1 where note \2 is \3"),
)
"""Sets of letters, some by what a first layer has noted beside them."""

ENDS: Rules = (
    (r"latest\[([^]]+)\]", r"the last \1"),
    (r"earliest\[([^]]+)\]", r"the first \1"),
    (r" at 0 mod 2\b", " at an even position"),
    (r" at 1 mod 2\b", " at an odd position"),
    (r" = 1 and t is 0 mod 2", " at an even position"),
    (r" = 1 and t is 1 mod 2", " at an odd position"),
)
"""How the first and last places of letters are called, inside other names."""

STACK = {
    "step": "1 if the letter opens, −1 if it closes",
    "sum of step": "brackets opened minus brackets closed",
    "symbol": "the kind of bracket",
}
"""What these names mean where there is a stack."""

HEADS: Rules = (
    (
        r"latest unclamped place where class = class -(\d+) mod .*",
        r"finds the last time it stood \1 below this, on the circle",
    ),
    (r"latest symbol where key = (\d+)", r"finds the bracket opened last at height \1"),
    (r"latest symbol where key = query.*", "finds the bracket that this letter would close"),
    (r"latest error where error = 1", "looks for a mistake"),
    (r"most recent .*level \d+ (?:target|written)\b.* where .* reset = 1", "finds the value written last"),
    (r"(?:most recent|latest) t.* where (?:writes|is) (.+?)(?: = 1)?", r"finds the last place of \1"),
    (r"earliest t.* where is (.+?)(?: = 1)?", r"finds the first place of \1"),
)
"""Heads that look for one position."""

RULES: Rules = (
    (r"letter|symbol|.*level \d+ section 1 letter", "the letter, as a number"),
    (r".*level \d+ section \d+ letter", "what the letter does, given the counters before, as a number"),
    (r"t", "the position in the word"),
    (r"t mod (\d+)", r"the position, counted 1 to \1 again and again"),
    (r"t mod (\d+) from 0", r"the position in the word, mod \1"),
    (r"min\(t, (\d+)\)", r"the position in the word, but at most \1"),
    (r"t is 0 mod 2", "1 at even positions"),
    (r"t is 1 mod 2", "1 at odd positions"),
    (r"t is (\d+) mod (\d+)", r"1 at positions that are \1 mod \2"),
    (r"t to (\d+) mod (\d+)", r"the position in the word, from \1 on mod \2"),
    (r"position of (the .+)", r"the position of \1"),
    (r"place of (the .+) mod (\d+) from (\d+) on", r"the position of \1, from \3 on mod \2"),
    (r"place of (the .+) mod (\d+)", r"the position of \1, mod \2"),
    (r"place of (the .+)", r"the position of \1"),
    (r"distance of (the .+) after (the .+)", r"how far \1 stands after \2"),
    (r"(the .+) after (the .+)", r"does \1 stand after \2? 0 no, 1 yes"),
    (r"read off", "the state, as a number"),
    (r"state", "the state, as a number"),
    # Gridworlds.
    (r"sum of step", "the sum of all moves, as if there were no walls"),
    (r"unclamped place", "the same plus a constant, so that it is never negative"),
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
    # Memories.
    (r".*level \d+ reset", "1 if this letter writes the memory"),
    (r".*level \d+ target", "the value that it writes"),
    (r".*level \d+ written", "the value that it writes, less what the counters show by then"),
    (r".*level \d+ memory", "the value written last"),
    (r".*level \d+ place of reset", "where the memory was written last"),
    (r".*level \d+ tile", "the value at this level"),
    (r"sum of .*section \d+ step mod \d+ ahead", "the sum of that so far"),
    (r".*section \d+ step mod \d+ ahead", "what the letter adds, as far as the state before does not matter"),
    (r".*section \d+ step mod \d+ to come", "what is added to that for the state reached"),
    (r".*level \d+ stage", "what the levels before hold"),
)


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


def register_words(network: CompiledNetwork) -> dict[str, str]:
    """What the registers hold, by name; a register that no rule knows keeps its name."""
    if network.program is None:
        return {}
    words = _Words(network)
    return {register.name: words.of(register.name) for register in network.program.registers}


def head_words(network: CompiledNetwork) -> list[list[str]]:
    """What the heads of each layer look for; a head that no rule knows keeps its description."""
    texts = [[head.text for head in layer] for layer in network.layout.heads]
    if network.program is None:
        return texts
    words = _Words(network)
    return [[words.of_head(text) for text in layer] for layer in texts]


class _Words:
    """Rules from names of registers and heads to sentences; the first match wins."""

    def __init__(self, network: CompiledNetwork) -> None:
        assert network.program is not None
        self.automaton = network.automaton
        self.brought = {source.register: source.letters for source in network.program.sources}
        self.names = [register.name for register in network.program.registers]

    def of(self, name: str) -> str:
        """The words for one register."""
        if part := re.fullmatch(r"(sum of )?part (\d+) (.+)", name):
            return f"{self._rest(name, (part[1] or '') + part[3])} (part {int(part[2]) + 1})"
        return self._rest(name, name)

    def of_head(self, text: str) -> str:
        """``1 back: symbol`` is ``looks at the letter before``."""
        if total := re.fullmatch(r"(?:prefix )?sum of (.+?)( where place .*)?", text):
            where = (total[2] or "").removesuffix(" = 1")
            sums = [self.of(f"sum of {name}{where}") for name in total[1].split(", ")]
            return "; ".join(dict.fromkeys(f"{_verb(words)} {words}" for words in sums))
        if part := re.search(r"\bpart (\d+) ", text):
            return f"{self.of_head(text.replace(part[0], ''))} (part {int(part[1]) + 1})"
        if fetched := re.fullmatch(r"(\d+) back: (\S+) after \d+ letters.*", text):
            before = (
                "the letter before does" if fetched[1] == "1" else f"the {fetched[1]} letters before those do"
            )
            return f"fetches what {before} to each {self._point(fetched[2])[0]}"
        if back := re.fullmatch(r"(\d+) back: (.+)", text):
            return f"looks at {self.of(f'{back[2]} ({back[1]} back)')}"
        return self._feature(text) or _rewritten(_ends(text), HEADS) or text

    def _rest(self, whole: str, name: str) -> str:
        """The words for a register without the number of its part; ``whole`` is its name."""
        if counter := re.fullmatch(COUNTER, name):
            return self._counter(*counter.groups())
        if "height" in self.names and name in STACK:
            return STACK[name]
        if name == "step" and whole in self.brought:
            return f"the move: {self._values(self.brought[whole])}"
        if taken := re.fullmatch(r"(\S+) after (\d+) letters(?: \((\d+) back\))?", name):
            kind, point = self._point(taken[1])
            before = (
                "the letter before takes" if taken[2] == "1" else f"the {taken[2]} letters before those take"
            )
            last = "this letter takes" if taken[2] == "1" else f"the last {taken[2]} letters take"
            return f"where {before if taken[3] else last} {kind} {point}"
        if back := re.fullmatch(r"(.+) \((\d+) back\)", name):
            if back[1] in ("symbol", "letter"):
                return "the letter before" if back[2] == "1" else f"the letter {back[2]} places back"
            return f"{self.of(back[1])}, {back[2]} back"
        return self._feature(name) or _rewritten(_ends(name), RULES) or name

    def _counter(
        self, total: str | None, prefix: str, section: str, what: str, modulus: str, number: str | None
    ) -> str:
        """A counter of a cascade: what a letter adds, the sum of that, and its remainder."""
        end = f" mod {modulus}" + (f" no. {number}" if number else "")
        letters = self.brought.get(f"{prefix}section {section} step{end}")
        if letters is None:
            step, added, left = self._wheel(prefix, int(section), int(modulus), number)
        else:
            step, added, left = self._sum(letters, modulus)
        return added if total else step if what == "step" else left

    def _sum(self, values: tuple[int, ...], modulus: str) -> tuple[str, str, str]:
        """A counter that the letter alone moves."""
        names = self.automaton.letter_names
        if self._is_sign(values):
            left = "how many swaps so far, mod 2: whether the order is even or odd"
            return (
                "1 if the letter is an odd permutation",
                "how many letters so far were odd permutations",
                left,
            )
        if set(values) == {1}:
            step, added = "1 for every letter", "how many letters so far"
        elif set(values) == {0, 1}:
            one = _either(name for name, value in zip(names, values, strict=True) if value)
            step, added = f"1 if the letter is {one}", f"how often {one} has come"
        else:
            return self._weighed(values, int(modulus))
        return step, added, f"{added}, mod {modulus}"

    def _weighed(self, values: tuple[int, ...], modulus: int) -> tuple[str, str, str]:
        """A counter by what each letter adds; the remainder does not depend on the sign of a step."""
        residues = tuple(value % modulus for value in values)
        numbers = self.automaton.letter_names == tuple(map(str, residues))
        if numbers and values == residues:
            added = "the sum of the letters so far"
            return "the number that the letter adds", added, f"{added}, mod {modulus}"
        left = f"what the letters so far add up to, mod {modulus}: {self._values(residues)}"
        return (
            f"what the letter adds: {self._values(values)}",
            f"what the letters so far add up to: {self._values(values)}",
            f"the sum of the letters so far, mod {modulus}" if numbers else left,
        )

    def _wheel(self, prefix: str, section: int, modulus: int, number: str | None) -> tuple[str, str, str]:
        """A counter that the letter moves depending on the counters before: a coset, once all are known."""
        result = [c for c in map(re.compile(COUNTER).fullmatch, self.names) if c and c[4] == "count"]
        moduli = [(int(c[3]), int(c[5])) for c in result if c[2] == prefix]
        here = sum(number == section for number, _ in moduli)
        kind = "switch" if modulus == 2 else f"wheel of {modulus}"
        this = f"{kind} {number}" if number else f"the {kind}"
        if modulus == 2:
            step, added = f"1 if the letter flips {this}, ", f"how often {this} has been flipped"
        else:
            step, added = f"how far the letter turns {this}, ", f"how far {this} has been turned in all"
        step += "depending on the counters before"
        title = f"{kind} {number} of {here}" if number else f"a {kind}"
        cosets = math.prod(m for number, m in moduli if number <= section)
        states = self.automaton.num_states
        if math.prod(m for _, m in moduli) != states or any(
            len(set(letter)) < states for letter in self.automaton.letters
        ):
            return step, added, f"{title}: the counters before decide how a letter moves it"
        those = "it says" if here == 1 else "both say" if here == 2 else f"all {here} say"
        what = "which state it is" if cosets == states else f"in which of {cosets} cosets the state lies"
        return step, added, f"{title}: with the counters before, {those} {what}"

    def _feature(self, name: str) -> str | None:
        """Letters that are counted, perhaps at some positions alone."""
        if placed := re.fullmatch(r"sum of is (.+) where place \d+ for (.+)", name):
            wrong = placed[2] == "wrong letters"
            return f"how often {placed[1]} {'came out of turn' if wrong else 'has come where it is counted'}"
        if placed := re.fullmatch(r"place \d+ for (.+)", name):
            reader = re.compile(rf"sum of is (.+) where {re.escape(name)}")
            letter = next(result[1] for result in map(reader.fullmatch, self.names) if result)
            wrong = placed[1] == "wrong letters"
            return f"1 where {letter} would be out of turn" if wrong else f"1 where {letter} is counted"
        for pattern, one, many in CLASSES:
            if result := re.fullmatch(pattern, name):
                letters, phrase = self._class(result[1])
                return result.expand(one.format(letters) if letters else many.format(phrase))
        return None

    def _class(self, label: str) -> tuple[str, str]:
        """A set of letters, ``a or b``, and in words; the first is empty if notes count too."""
        letters = label.split(" ")
        if set(letters) <= set(self.automaton.letter_names):
            return _either(letters), f"the letters {', '.join(letters)}"
        states, names = self.automaton.state_names, self.automaton.letter_names
        label = re.sub(r"state (\d+)", lambda match: f"state {states[int(match[1])]}", label)
        label = re.sub(r"letter (\d+)\b", lambda match: f"letter {names[int(match[1])]}", label)
        return "", _rewritten(label, LABELS) or label

    def _point(self, name: str) -> tuple[str, str]:
        """What a scan follows: states, or chairs where people change places."""
        if name in self.automaton.state_names:
            return "state", name
        return ("chair" if re.match(r"[AS]\d", self.automaton.name or "") else "point"), name

    def _values(self, values: tuple[int, ...]) -> str:
        named = [
            f"{value} for {name}".replace("-", "−", value < 0)
            for name, value in zip(self.automaton.letter_names, values, strict=True)
            if value
        ]
        return ", ".join(named[:4]) + (", …" if len(named) > 4 else "")

    def _is_sign(self, values: tuple[int, ...]) -> bool:
        """Whether letters are permutations written as digits, and the value is 1 for the odd ones."""
        names = self.automaton.letter_names
        if any(sorted(name) != [str(i) for i in range(len(name))] for name in names) or len(names[0]) < 2:
            return False
        odd = [sum(a > b for i, a in enumerate(name) for b in name[i + 1 :]) % 2 for name in names]
        return any(odd) and tuple(odd) == tuple(values)


def _rewritten(text: str, rules: Rules) -> str | None:
    """By the first rule that matches the whole text."""
    for pattern, words in rules:
        if result := re.fullmatch(pattern, text):
            return result.expand(words)
    return None


def _ends(text: str) -> str:
    for pattern, words in ENDS:
        text = re.sub(pattern, words, text)
    return text


def _either(names: Iterable[str]) -> str:
    """``a``, ``a or b``, ``one of 7 letters (a, b, c, …)``."""
    names = list(names)
    if len(names) > 4:
        return f"one of {len(names)} letters ({', '.join(names[:3])}, …)"
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _verb(words: str) -> str:
    return "counts" if words.startswith(("how often", "how many")) else "works out"
