"""``krohn.compile``: from an automaton to a network with explicit weights, of the requested architecture."""

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.arguments import plainly
from krohn.construct.compiling import compile as compile_transformer
from krohn.construct.request import TransformerOptions
from krohn.errors import InvalidInput, UnknownName
from krohn.network.compiled import CompiledNetwork

if TYPE_CHECKING:
    from krohn.recurrent.recurrent_network import RecurrentNetwork


@overload
def compile(
    automaton: AutomatonLike,
    length: int,
    *,
    architecture: Literal["transformer"] = ...,
    **options: Unpack[TransformerOptions],
) -> CompiledNetwork: ...


@overload
def compile(automaton: AutomatonLike, length: None = ..., *, architecture: str) -> "RecurrentNetwork": ...


@plainly
def compile(
    automaton: AutomatonLike, length: int | None = None, *, architecture: str = "transformer", **options: Any
) -> "CompiledNetwork | RecurrentNetwork":
    """A network that outputs the states of ``automaton``: ``compile("S4", 64)``.

    Args:
        automaton: what to simulate, from its own start state: an object, a name or a file.
        length: the longest word of a Transformer; recurrent networks read words of every length.
        architecture: ``transformer``, ``deltaproduct``, ``deltanet``, ``diagonal``, ``rankone``, ``lstm``
            or ``gru``.
        options: of a Transformer: ``method`` (auto, cascade, scan, paper or grid), ``mask``,
            ``activation``, ``objective``, ``target``, ``dtype``, ``gadget``, ``positions``, ``variant``,
            ``effort``, ``time_limit``, ``max_sets``, ``max_rows``; see ``krohn compile --help``.
    """
    if architecture == "transformer":
        if length is None:
            raise InvalidInput("a Transformer is built for words up to a length; give length=")
        return compile_transformer(automaton, length, **options)
    from krohn.recurrent.recurrent_network import RecurrentNetwork
    from krohn.recurrent.recurrent_weights import WEIGHTS

    if architecture not in WEIGHTS:
        known = ", ".join(["transformer", *WEIGHTS])
        raise UnknownName(f"the architecture must be one of {known}; got {architecture!r:.40}")
    given = [*(["length"] if length is not None else []), *options]
    if given:
        raise InvalidInput(f"{given[0]} is for Transformers; a recurrent network reads words of every length")
    meant = as_automaton(automaton)
    return RecurrentNetwork(WEIGHTS[architecture](meant), meant)
