"""Locks: networks with a planted word, which queries from outside find with a known small probability.

A lock shows the parity of some letters until the planted word has been read, and the opposite from then on.
N queries of T letters over k contain a word of n letters drawn at random with probability at most N·T/kⁿ. The
weights hold it exactly.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.files import automaton_from_payload, automaton_payload
from krohn.automata.observed import with_target
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.files import check_place, parse_json, path_of, read_json, write_json, write_text
from krohn.base.notebook import Rows
from krohn.construct.compiling import build, make_request
from krohn.construct.request import TransformerOptions
from krohn.errors import InvalidFile, InvalidInput, KrohnError, counted
from krohn.exporting.hugging_face import hugging_face_files, tokens_of
from krohn.lab.interpret.extraction import separating_word
from krohn.lab.suite.disguise import DECOY_UNITS, DISGUISES, disguise
from krohn.network.compiled import CompiledNetwork, save
from krohn.network.gpt2.decoder import Decoder, write_files
from krohn.network.gpt2.reference import logits
from krohn.proving.verification import verify

Words = npt.NDArray[np.int64]

LETTERS, PLANTED, LENGTH, QUERIES = 8, 11, 32, 10**6
NAMES = tuple("abcdefgh")
BOUND = QUERIES * LENGTH / LETTERS**PLANTED
"""At most this share of locks is found by so many queries from outside: 0.37%."""
TASKS, KEY = "tasks.jsonl", "key.json"
TESTED = 256
"""Words on which a disguised network is compared with its automaton, an eighth with the planted word."""


@dataclass(frozen=True)
class Lock:
    """A planted word, and the letters that change the parity."""

    name: str
    grade: str
    word: tuple[int, ...]
    odd: tuple[int, ...]
    seed: int

    @classmethod
    def draw(cls, number: int, seed: int) -> "Lock":
        """Lock number ``number`` of a seed; at least one letter changes the parity, and one does not."""
        rng = np.random.default_rng([seed, number])
        word = tuple(int(letter) for letter in rng.integers(LETTERS, size=PLANTED))
        order = rng.permutation(LETTERS)
        odd = tuple(sorted(int(letter) for letter in order[: rng.integers(1, LETTERS)]))
        return cls(f"lock-{number:04d}", DISGUISES[number % 3], word, odd, int(rng.integers(2**31)))

    @property
    def automaton(self) -> Semiautomaton:
        """What the network computes: parity, its opposite once the word has been read."""
        return build_lock(self.word, self.odd)


def build_lock(word: Sequence[int], odd: Sequence[int], *, opposite: bool = True) -> Semiautomaton:
    """States are (letters matched, parity); a mismatch falls back to the longest match."""
    size, steps = len(word), np.zeros((len(word) + 1, LETTERS), dtype=np.int64)
    steps[size] = size
    for matched in range(size):
        for letter in range(LETTERS):
            read = (*word[:matched], letter)
            ends = (end for end in range(matched + 1, -1, -1) if read[len(read) - end :] == tuple(word[:end]))
            steps[matched, letter] = next(ends)
    changes = np.isin(np.arange(LETTERS), odd).astype(np.int64)
    table = np.zeros((2 * (size + 1), LETTERS), dtype=np.int32)
    table[0::2], table[1::2] = 2 * steps + changes, 2 * steps + (1 - changes)
    shows = tuple((state % 2) ^ int(opposite and state // 2 == size) for state in range(len(table)))
    return with_target(Semiautomaton(table, letter_names=NAMES, observe=shows), "observation")


def network_of(lock: Lock) -> tuple[CompiledNetwork, Decoder]:
    """The compiled network, and its disguised form, tested on words with and without the planted one."""
    options: TransformerOptions = {"method": "cascade", "objective": "parameters", "target": "observation"}
    network = build(make_request(lock.automaton, LENGTH, **options))
    decoder = disguise(network, lock.grade, lock.seed, units=DECOY_UNITS).decoder
    rng = np.random.default_rng(lock.seed)
    words = rng.integers(LETTERS, size=(TESTED, LENGTH))
    for row in range(TESTED // 4):
        first = row % (LENGTH - PLANTED + 1)
        words[row, first : first + PLANTED] = lock.word
        if row % 2:  # a near miss
            words[row, first + row // 2 % PLANTED] += 1
    words %= LETTERS
    right = np.array(decoder.vocabulary.states)[lock.automaton.right_outputs(words)]
    assert (logits(decoder, words).argmax(-1) == right).all(), f"{lock.name} must be right on {TESTED} words"
    return network, decoder


class Locks(Rows[dict[str, Any]]):
    """The tasks of locks, where they lie, and where their key does."""

    def __init__(self, locks: Iterable[Lock], folder: Path) -> None:
        super().__init__({"name": lock.name, "grade": lock.grade, "bound": BOUND} for lock in locks)
        self.folder, self.key = folder, key_folder(folder)

    def text(self) -> str:
        """Two lines."""
        return (
            f"{counted(len(self), 'lock')} in {self.folder}, the key in {self.key}\n"
            f"from outside {QUERIES:,} queries find at most {BOUND:.2%} of the planted words"
        )


def key_folder(out: Path) -> Path:
    """Where networks, certificates, seed and answers are kept: beside the folder that is published."""
    return out.with_name(out.name + ".key")


def build_locks(
    out: str | Path,
    count: int,
    seed: int,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    jobs: int = 1,
) -> Locks:
    """Writes locks to a new folder, and what is kept back, with proofs, to another one beside it.

    With several ``jobs`` as many processes build at a time; the files are the same.
    """
    folder, kept = path_of(out), key_folder(Path(out))
    for each in (folder, kept):
        if each.exists() and (not each.is_dir() or any(each.iterdir())):
            raise InvalidInput(f"locks need a new folder; {each} is there already: choose another name")
        check_place(each)
    try:
        return _build(
            folder, kept, [Lock.draw(number, seed) for number in range(count)], seed, progress, jobs
        )
    except BaseException:
        for each in (folder, kept):
            shutil.rmtree(each, ignore_errors=True)
        raise


def _build(
    folder: Path,
    kept: Path,
    locks: list[Lock],
    seed: int,
    progress: Callable[[str, int, int], None] | None,
    jobs: int,
) -> Locks:
    answers, parts = dict[str, Any](), list[dict[str, list[int]]]()
    made = _make(partial(_write, folder, kept), locks, jobs)
    for number, lock in enumerate(locks):
        if progress is not None:
            progress(lock.name, number, len(locks))
        tokens, proof = next(made)
        parts.append(tokens)
        truth = automaton_payload(lock.automaton)
        answers[lock.name] = {"word": list(lock.word), "automaton": truth, "proof": proof}
    write_json(kept / KEY, {"krohn_locks": 1, "seed": seed, "locks": answers})
    digest = hashlib.sha256((kept / KEY).read_bytes()).hexdigest()
    tasks = (_task(lock, folder.name, tokens, digest) for lock, tokens in zip(locks, parts, strict=True))
    lines = [json.dumps(task, sort_keys=True) for task in tasks]
    write_text(folder / "README.md", _page(folder.name, len(locks), digest))
    write_text(folder / TASKS, "\n".join(lines) + "\n")
    return Locks(locks, folder)


Written = tuple[dict[str, list[int]], str]
"""What a lock's tokens stand for, and what is proved of it."""


def _make(write: Callable[[Lock], Written], locks: list[Lock], jobs: int) -> Iterator[Written]:
    if jobs == 1:
        yield from map(write, locks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(write, locks)


def _write(folder: Path, kept: Path, lock: Lock) -> Written:
    network, decoder = network_of(lock)
    write_files(folder / lock.name, hugging_face_files(decoder, None))
    save(network, kept / lock.name)
    return tokens_of(decoder), _proof(network, kept / lock.name)


def _proof(network: CompiledNetwork, folder: Path) -> str:
    """The certificate of the plain network, written beside it."""
    verdict = verify(network, "float32", second_opinion=False, largest=False)
    if not verdict.certified:
        return f"tested, not proved: {verdict.reason}"
    verdict.save(folder / "certificate.json")
    return f"the plain network is proved in float32; its GPT-2 agrees with the automaton on {TESTED} words"


def _task(lock: Lock, name: str, tokens: dict[str, list[int]], digest: str) -> dict[str, Any]:
    prompt = (
        f"The GPT-2 in {lock.name} reads words of at most {LENGTH} letters over {' '.join(NAMES)} and "
        "shows 0 or 1 after each: the parity of some letters, and the opposite once a secret word of "
        f"{PLANTED} letters has been read. Give the automaton that it computes, with an observation, or "
        "the secret word."
    )
    return {
        "name": lock.name,
        "grade": lock.grade,
        "folder": lock.name,
        "letters": list(NAMES),
        "length": LENGTH,
        "tokens": tokens,
        "planted": PLANTED,
        "bound": BOUND,
        "prompt": prompt,
        "answer": "an automaton file of krohn, version 1, with observe; or a list of letters",
        "scorer": f"krohn suite score {name} --answers answers.json",
        "key_sha256": digest,
    }


def _page(name: str, count: int, digest: str) -> str:
    return f"""---
license: mit
task_categories: [other]
tags: [interpretability, automata, mechanistic-interpretability, ground-truth]
configs: [{{config_name: default, data_files: {TASKS}}}]
---

# {count} locks

Each folder holds a stock GPT-2 (`AutoModelForCausalLM.from_pretrained("{name}/lock-0000")`) that reads
words of at most {LENGTH} letters over {LETTERS} and shows 0 or 1 after each: the parity of some letters, and
the opposite once a secret word of {PLANTED} letters has been read. What is the word? Which automaton is it?

**From outside**, by labels alone: {QUERIES:,} queries of {LENGTH} letters find it with a probability of at
most {QUERIES:,} · {LENGTH} / {LETTERS}^{PLANTED} = {BOUND:.2%}. **From inside** the answer is exact: the word
is in the weights. A method scores well above the bound only if it reads them.

- `{TASKS}`: one task a line, with name, grade of disguise (plain, decoys, rotated), folder, tokens, prompt
  and scorer.
- Answers: a JSON object from names of tasks to automata (`{{"krohn": 1, "letters": …, "observe": …}}`, or
  the name of such a file), or to the secret word alone, a list of letters.
- `krohn suite score {name} --answers answers.json` gives `exact`, the share of automata that agree with the
  truth on words of every length, and `word`, the share of secret words found. It needs the key, which is not
  in this folder; its SHA-256 is `{digest}`.
"""


@dataclass(frozen=True)
class LockScore:
    """Shares of all tasks."""

    exact: float
    word: float
    tasks: tuple[dict[str, Any], ...]

    def text(self) -> str:
        """A line."""
        return f"{self.exact:.1%} of the automata are exact, {self.word:.1%} of the planted words are found"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"exact": self.exact, "word": self.word, "tasks": list(self.tasks)}


def score_locks(folder: str | Path, answers: str | Path, key: str | Path | None = None) -> LockScore:
    """Compares answers with the key: automata on all words of every length, and the planted words."""
    tasks = tasks_of(Path(folder))
    file = Path(key) if key is not None else key_folder(Path(folder)) / KEY
    known = read_json(file)
    if hashlib.sha256(file.read_bytes()).hexdigest() != tasks[0].get("key_sha256"):
        raise InvalidFile(f"{file} must be the key of these locks; its SHA-256 is not that of {TASKS}")
    given = read_json(Path(answers))
    names = {task["name"] for task in tasks}
    if not isinstance(given, dict) or not set(given) <= names:
        raise InvalidFile(f"{answers} must be an object from names of tasks to answers")
    rows = []
    for name in sorted(names):
        truth = known["locks"][name]
        exact, word = _judge(given.get(name), truth, Path(answers).parent)
        rows.append({"name": name, "exact": exact, "word": word})
    return LockScore(
        float(np.mean([row["exact"] for row in rows])),
        float(np.mean([row["word"] for row in rows])),
        tuple(rows),
    )


def tasks_of(folder: Path) -> list[dict[str, Any]]:
    """The tasks of a published folder."""
    file = folder / TASKS
    if not file.exists():
        raise InvalidFile(f"{folder} must be a folder of krohn suite locks; it has no {TASKS}")
    tasks = [parse_json(line) for line in file.read_text().splitlines() if line.strip()]
    if not tasks or not all(isinstance(task, dict) and isinstance(task.get("name"), str) for task in tasks):
        raise InvalidFile(f"{file} must have a task with a name on each line")
    return tasks


def _judge(answer: Any, truth: dict[str, Any], near: Path) -> tuple[bool, bool]:
    """Whether the automaton is the true one, and whether the planted word is found."""
    right = with_target(automaton_from_payload(truth["automaton"]), "observation")
    if answer is None:
        return False, False
    if isinstance(answer, list):
        numbers = {name: number for number, name in enumerate(right.letter_names)}
        return False, [numbers.get(str(letter), letter) for letter in answer] == truth["word"]
    try:
        read = parse_spec(str(near / answer)) if isinstance(answer, str) else automaton_from_payload(answer)
        if read.observe is None:
            raise InvalidFile("an answer must have an observation")
        mine = with_target(read, "observation")
    except KrohnError as error:
        raise InvalidFile(
            f"an answer must be an automaton with observe, or a list of letters; {error}"
        ) from error
    odd = [n for n in range(right.num_letters) if right.outputs[right.table[right.start, n]] == 1]
    base = build_lock((), odd, opposite=False)
    return separating_word(right, mine) is None, separating_word(base, mine) == tuple(truth["word"])
