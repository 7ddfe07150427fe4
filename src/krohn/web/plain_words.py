"""What the registers and heads of a network hold and do, in words that a student knows."""

import math
import re
from collections.abc import Iterable

from krohn.network.compiled import CompiledNetwork
from krohn.web.word_rules import CLASSES, COUNTER, ENDS, HEADS, LABELS, RULES, STACK, Rules


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
        elif names == tuple(map(str, values)):
            step, added = "the number that the letter adds", "the sum of the letters so far"
        else:
            step = f"what the letter adds: {self._values(values)}"
            added, left = (
                f"what the letters so far add up to{end}: {self._values(values)}"
                for end in ("", f", mod {modulus}")
            )
            return step, added, left
        return step, added, f"{added}, mod {modulus}"

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
        label = re.sub(r"state (\d+)", lambda found: f"state {states[int(found[1])]}", label)
        label = re.sub(r"letter (\d+)\b", lambda found: f"letter {names[int(found[1])]}", label)
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
