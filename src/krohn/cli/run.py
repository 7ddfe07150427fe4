"""``krohn run``: words in, states out, by a network."""

from pathlib import Path

import click

from krohn.cli.options import FloatType, NetworkFolder
from krohn.cli.output import emit_lines, json_option
from krohn.cli.words_on_stdin import endless_letters, given_words


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.argument("word", nargs=-1, metavar="[LETTER]...")
@click.option(
    "--dtype",
    type=FloatType(["float64", "float32", "float16", "bfloat16"]),
    help="Float format of weights and activations.  [default: float64; all but compiled networks: float32]",
)
@click.option("--device", default="numpy", help="numpy, or a torch device: cpu, cuda.")
@click.option(
    "--chunks",
    is_flag=True,
    help="On a torch device: a recurrent network reads many letters at once, as in training.",
)
@click.option(
    "--online",
    is_flag=True,
    help="One word without end on standard input: the state after each letter, on its own line, at once.",
)
@json_option
def command(
    directory: Path,
    word: tuple[str, ...],
    dtype: str | None,
    device: str,
    chunks: bool,
    online: bool,
    as_json: bool,
) -> None:
    """Print the state after each letter of a word, or of words from standard input, one on each line.

    DIRECTORY holds a network that krohn compiled, exported or trained. Letters are separated by spaces, or
    written together if each is one character (abb). All but a compiled Transformer run in float32, a
    recurrent network one letter after the other; on a torch device it is the one that krohn train trains.
    Chunks round elsewhere: krohn verify --chunks says whether they are proved too. With --online nothing that
    was read is kept but the memory of a recurrent network, or the log T codes of a looped one.

    \b
    Example:  krohn compile abab --length 16 --out nets/abab
              krohn run nets/abab a b a b
              echo "a b a b" | krohn run nets/abab
              yes a b | krohn run nets/looped --online
    """
    from krohn.for_commands import named_states
    from krohn.functions import forward_of, runnable

    network = runnable(directory, device)
    if online:
        if word or chunks or as_json or dtype not in (None, "float32"):
            raise click.UsageError(
                "--online reads standard input in float32 and prints lines: leave out letters, --chunks, "
                "--dtype and --json"
            )
        step = network.online()
        known = network.automaton
        single = bool(known.characters) or all(len(name) == 1 for name in known.letter_names)
        for letters in endless_letters(known.numbers, together=single):
            click.echo("".join(f"{name}\n" for name in network.names(map(step, letters))), nl=False)
        return
    forward = forward_of(network, dtype, device, chunks=chunks)
    lines = named_states(network, forward, given_words(network.automaton.numbers, word))
    emit_lines({"directory": str(directory)}, "states", lines, as_json=as_json)
