"""A folder that krohn wrote: which kind of network it holds, and what may be written to it.

The checker recognises the same kinds by the same files with its own code (``check.files.network_folders``).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from krohn.base.strict_json import read_json, short
from krohn.errors import InvalidFile, InvalidInput

COMPILED, RECURRENT, EXPORT, TRAINED = "compiled", "recurrent", "export", "trained"
STOCK = "stock"
STOCK_FILES = ("config.json", "model.safetensors")
"""A GPT-2 that ``transformers`` saved: known by both files, and by none of the keys below."""
KEYS = {
    COMPILED: "krohn.json",
    RECURRENT: "recurrent.json",
    EXPORT: "export.json",
    TRAINED: "weights.safetensors",
}
"""The file by which each kind is recognised; a folder that has two is of the first kind."""
CONTENTS = {
    COMPILED: "a compiled network",
    RECURRENT: "a recurrent network",
    EXPORT: "an export",
    TRAINED: "a training run",
    STOCK: "a GPT-2 saved by transformers",
}
WRITERS = {
    COMPILED: "krohn compile",
    RECURRENT: "krohn compile --architecture",
    EXPORT: "krohn export",
    TRAINED: "krohn train",
    STOCK: "save_pretrained",
}
SIGNED = {COMPILED: "krohn.json", RECURRENT: "recurrent.json", EXPORT: "export.json"}
"""The file of each kind that has the key ``krohn``, so that nobody else's files are overwritten."""
CHECKPOINT = "state.safetensors"
"""The checkpoint of a training run, present before its final weights are."""


@final
@dataclass(frozen=True)
class Folder:
    """A path, with or without a network of krohn's."""

    path: Path

    @property
    def kind(self) -> str | None:
        """The kind of its network; ``None`` if there is none."""
        own = next((kind for kind, name in KEYS.items() if (self.path / name).exists()), None)
        stock = own is None and all((self.path / name).exists() for name in STOCK_FILES)
        return STOCK if stock else own

    def check_target(self, kind: str, names: Iterable[str]) -> None:
        """Refuses if writing these files would overwrite foreign ones or mix two kinds of network."""
        if self.path.exists() and not self.path.is_dir():
            raise InvalidInput(f"{short(self.path)} must be a directory; it is a file: choose another name")
        kinds = {**{KEYS[other]: other for other in KEYS if other != kind}, CHECKPOINT: TRAINED}
        for name, other in kinds.items():
            if (self.path / name).exists():
                raise InvalidInput(
                    f"{short(self.path)} must not hold {CONTENTS[other]}; it has {name}: "
                    "choose another directory"
                )
        foreign = sorted(name for name in names if (self.path / name).exists())
        if foreign and not self._sign(kind):
            raise InvalidInput(
                f"{short(self.path)} must hold no {foreign[0]} but that of {CONTENTS[kind]}; krohn did not "
                "write this one: choose another directory"
            )

    def _sign(self, kind: str) -> bool:
        try:
            payload = read_json(self.path / SIGNED[kind])
        except InvalidFile:
            return False
        return isinstance(payload, dict) and "krohn" in payload


def require(network: Any, purpose: str, *kinds: str) -> str:
    """The kind of network in a folder, if it is one of ``kinds``; the error begins by ``purpose``."""
    wanted = _either([CONTENTS[each] for each in kinds])
    if not isinstance(network, str | Path):
        raise InvalidInput(f"{purpose} {wanted}, or its folder; got {type(network).__name__}")
    path = Path(network)
    kind = Folder(path).kind
    if kind in kinds:
        return kind
    if kind is not None:
        raise InvalidInput(
            f"{purpose} {wanted}; {short(path)} holds {CONTENTS[kind]}; "
            f"write one by {_either([WRITERS[each] for each in kinds])}"
        )
    if not path.is_dir():
        raise InvalidFile(f"{short(path)} must exist and be a directory with {wanted}; there is none")
    names = _either([KEYS[each] for each in kinds if each in KEYS])
    raise InvalidFile(f"{short(path)} must be a directory with {wanted}; it has no {names}")


def _either(names: list[str]) -> str:
    return " or ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])
