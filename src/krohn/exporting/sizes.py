"""How large a compiled network is as stock blocks, without writing it."""

from krohn.errors import KrohnError
from krohn.exporting.lowering import Measured, lower
from krohn.exporting.standard_blocks import standard_blocks
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.vocabulary import vocabulary_of

_ANY = Measured(1.0, 1.0, 1.0)
"""What is measured on words decides how large numbers are, and not how many."""


def exported_sizes(network: CompiledNetwork) -> dict[str, int] | None:
    """Blocks, width and parameters of the GPT-2 that ``krohn export --to hf`` writes; ``None`` if it cannot.

    Its stream has channels for LayerNorm and the constant, and every MLP the width of the widest.
    """
    automaton, padding = network.automaton, network.transformer.num_padding
    try:
        blocks = standard_blocks(network.transformer)
        names = vocabulary_of(automaton.letter_names, automaton.output_names, padding, automaton.characters)
        stock = lower(blocks, names, _ANY, normalized=True)
    except KrohnError:
        return None
    return {"blocks": stock.layers, "dim": stock.dim, "num_parameters": stock.num_parameters}
