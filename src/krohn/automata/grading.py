"""A folder of answers against a solution: which are right, and of the others a shortest wrong word."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krohn.automata.equality import compared
from krohn.automata.files import FILES, load_automaton
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.errors import InvalidInput, KrohnError


@dataclass(frozen=True)
class Answer:
    """One file: whether it is right, a shortest word that tells, or why it cannot be compared."""

    file: str
    right: bool
    remark: str
    word: tuple[str, ...] | None


@dataclass(frozen=True)
class Graded:
    """All answers of a folder, by the names of their files."""

    answers: tuple[Answer, ...]

    @property
    def right(self) -> int:
        """How many are right."""
        return sum(answer.right for answer in self.answers)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        rows = [
            {**vars(answer), "word": None if answer.word is None else list(answer.word)}
            for answer in self.answers
        ]
        return {"right": self.right, "of": len(self.answers), "answers": rows}

    def text(self) -> str:
        """A line for each answer, and how many are right."""
        rows = [f"{answer.file}: {'right' if answer.right else answer.remark}" for answer in self.answers]
        count = len(self.answers)
        return "\n".join([*rows, f"{self.right} of {count} right ({self.right / count:.0%})"])


def grade(solution: AutomatonLike, folder: Path) -> Graded:
    """Compares every automaton file of a folder with the solution, on all words."""
    right = as_automaton(solution)
    files = sorted(path for path in folder.iterdir() if path.name.lower().endswith(FILES) and path.is_file())
    if not files:
        raise InvalidInput(f"a folder of answers must hold files {' '.join(FILES)}; {folder} has none")
    answers = []
    for path in files:
        try:
            found = compared(right, load_automaton(str(path)))
        except KrohnError as error:
            answers.append(Answer(path.name, False, f"not compared: {error}", None))
            continue
        if found.word is None or found.shown is None:
            answers.append(Answer(path.name, True, "", None))
        else:
            word = " ".join(found.word) or "the empty word"
            shown = f"the solution shows {found.shown[0]}, this {found.shown[1]}"
            answers.append(Answer(path.name, False, f"wrong after {word}: {shown}", found.word))
    return Graded(tuple(answers))
