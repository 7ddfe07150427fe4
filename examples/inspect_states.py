"""A task for Inspect (inspect-ai): which state does the machine print last?

In the folder of this file:

    krohn sample S3 --length 64 --count 500 --format repl --out states.jsonl
    inspect eval inspect_states.py --model MODEL

A document is a session in which the state is asked after a quarter of the letters, and after the last: the
model sees the session without the last answer. On S3 a guess is right one time in six. Any automaton will
do, and ``-T data=OTHER.jsonl`` reads another file.
"""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import match
from inspect_ai.solver import generate, system_message

ASK = (
    "A machine reads one command a line. The command state prints its state and leaves it as it is; every "
    "other command changes the state in its own way, always the same. Answer with what the machine prints "
    "next, and nothing else."
)


def sample(row: dict[str, str]) -> Sample:
    """A session without its last line, and that line."""
    asked, _, answer = row["text"][:-1].rpartition("\n")
    return Sample(input=asked, target=answer, metadata={"automaton": row["krohn"]})


@task
def krohn_states(data: str = "states.jsonl") -> Task:
    """Sessions of the automaton that the file was drawn from."""
    return Task(
        dataset=json_dataset(data, sample),
        solver=[system_message(ASK), generate()],
        scorer=match("exact", ignore_case=False),
    )
