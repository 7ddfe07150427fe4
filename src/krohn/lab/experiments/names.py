"""The scales of experiments."""

from enum import StrEnum

from krohn.errors import UnknownName


class Scale(StrEnum):
    """Smoke proves that everything runs (minutes on a CPU), small fits one GPU, paper is the paper's own."""

    SMOKE = "smoke"
    SMALL = "small"
    PAPER = "paper"


def parse_scale(text: str) -> Scale:
    """The scale of that name; an unknown one is refused with the list of the known."""
    if text not in set(Scale):
        raise UnknownName(f"a scale must be one of {', '.join(Scale)}; got {text!r}")
    return Scale(text)
