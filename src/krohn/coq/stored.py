"""A network as stored in its file: bits, names and shapes in file order, and a hash.

This reader shares no code with that of the rest of the package. The header must be what Coq's
``Tensors.v`` prints for the same tensors, byte for byte; then the hash that Coq computes is that of the file.
"""

import hashlib
import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.check.certificate import read_certificate
from krohn.check.recurrent.boxes import Boxes, boxes_from
from krohn.check.recurrent.cells import Gated
from krohn.check.recurrent.rules import cell_of
from krohn.check.recurrent.stacks import DeltaStack, DiagonalStack, RankOneStack, StackCell
from krohn.check.rules import read_net
from krohn.coq.proof_text import names_line
from krohn.errors import InvalidFile, Unsupported
from krohn.network.compiled import load as load_compiled
from krohn.network.transformer import Transformer
from krohn.network.transformer_file import MODEL
from krohn.recurrent.recurrent_network import load

Words = npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
WORDS = {"F32": "<u4", "F64": "<u8", "I64": "<u8"}
"""The types of tensors that ``Tensors.v`` knows, and the words that hold them."""
METADATA = '"__metadata__":{"krohn":"1"}'
CERTIFICATE = "certificate.json"
MOST_PARAMETERS = 700_000
"""With more, the hash alone takes Coq minutes."""


@dataclass(frozen=True)
class StoredTensor:
    """A name, a shape, and words of 32 or 64 bits row by row."""

    name: str
    shape: tuple[int, ...]
    words: Words
    dtype: str = "F32"

    def floats(self) -> npt.NDArray[np.float32]:
        """The same bits as numbers."""
        return self.words.view(np.float32).reshape(self.shape)


@dataclass(frozen=True)
class StoredNetwork:
    """What a certificate is about: a recurrent network.

    Attributes:
        automaton: the automaton that the network is said to track.
        cell: its layers, used only to compute hints and sizes.
        tensors: those of its file, in the order of its data.
    """

    automaton: Semiautomaton
    cell: StackCell
    tensors: tuple[StoredTensor, ...]

    file: ClassVar[str] = MODEL
    length: ClassVar[None] = None
    """The claim is about words of every length."""

    @property
    def architecture(self) -> str:
        """The kind of its mixers."""
        return self.cell.kind

    @property
    def layers(self) -> int:
        """How many blocks there are."""
        return self.cell.layers

    @property
    def line(self) -> str:
        """What the shapes of the tensors leave open, as ``Delta.v`` and ``Diagonal.v`` write it."""
        return line_of(self.cell)


def stored_network(folder: Path) -> StoredNetwork:
    """The network in a directory that ``krohn compile --architecture`` wrote."""
    witness = load(folder)
    cell = witness.cell
    if not isinstance(cell, StackCell):
        raise Unsupported(
            f"the kernel's proofs cover deltaproduct, deltanet, diagonal and rankone; got {cell.kind}"
        )
    whole = (folder / MODEL).read_bytes()
    tensors = tensors_of_bytes(whole)
    if any(tensor.dtype != "F32" for tensor in tensors):
        raise InvalidFile(f"{MODEL} of a recurrent network must hold float32 tensors; it holds others")
    if cell.num_parameters > MOST_PARAMETERS:
        raise Unsupported(
            f"the kernel's proofs cover networks of at most {MOST_PARAMETERS:,} numbers; "
            f"this one has {cell.num_parameters:,}"
        )
    return StoredNetwork(witness.automaton, cell, tensors)


@dataclass(frozen=True)
class StoredTransformer:
    """A compiled Transformer.

    Attributes:
        weights: the matrices, used only to compute hints.
        scans: whether all its heads look back.
    """

    automaton: Semiautomaton
    weights: Transformer
    tensors: tuple[StoredTensor, ...]
    scans: bool = False

    file: ClassVar[str] = MODEL
    line: ClassVar[str] = "Transformer: causal"
    """What the tensors leave open, as ``TransformerFile.v`` writes it."""

    @property
    def architecture(self) -> str:
        """The one kind there is."""
        return "Transformer"

    @property
    def layers(self) -> int:
        """How many blocks there are."""
        return len(self.weights.layers)

    @property
    def length(self) -> int:
        """The longest words."""
        return self.weights.max_length


COVERED = "the kernel's proofs cover compiled Transformers for states; in this one"
SCANNING = {"LookBack"}


def stored_transformer(folder: Path) -> StoredTransformer:
    """The Transformer in a directory that ``krohn compile`` wrote; other kinds are refused in one line."""
    network = load_compiled(folder)
    weights, automaton = network.transformer, network.automaton
    layers = () if network.program is None else network.program.layers
    kinds = {type(o).__name__ for layer in layers for o in layer.attention}
    scans = kinds == SCANNING and len(weights.padding) == 1
    if automaton.target != "state" or weights.readout.shape[1] != automaton.num_states:
        raise Unsupported(f"{COVERED} the logits are not those of states")
    whole = (folder / MODEL).read_bytes()
    if len(whole) > 4 * MOST_PARAMETERS:
        raise Unsupported(
            f"the kernel's proofs cover files of at most {4 * MOST_PARAMETERS:,} bytes; got {len(whole):,}"
        )
    return StoredTransformer(automaton, weights, tensors_of_bytes(whole), scans)


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A trained LSTM as stored, and the boxes of its certificate."""

    automaton: Semiautomaton
    tensors: tuple[StoredTensor, ...]
    cell: Gated
    boxes: Boxes

    line: ClassVar[str] = "LSTM"
    file: ClassVar[str] = "weights.safetensors"
    architecture: ClassVar[str] = "lstm"
    length: ClassVar[None] = None
    layers: ClassVar[int] = 1


def stored_run(folder: Path) -> StoredRun:
    """The run in a directory; it must be a proved LSTM of one replicate."""
    path, net = folder / CERTIFICATE, read_net(folder)
    config = net.configuration
    if config["model"].get("kind") != "lstm" or config["target"] != "state" or not path.exists():
        raise Unsupported(
            "the kernel's proofs cover trained LSTMs that output states, with a certificate; write it first: "
            f"krohn verify {folder} --out {path}"
        )
    whole = (folder / StoredRun.file).read_bytes()
    tensors = tensors_of_bytes(whole, METADATA)
    automaton, certificate = parse_spec(str(config["spec"])), read_certificate(path)
    if any(len(tensor.shape) < 2 or tensor.shape[0] != 1 for tensor in tensors):
        raise Unsupported("the kernel's proofs cover runs of one replicate; this one has more")
    if not np.array_equal(certificate.claim.automaton.table, automaton.table):
        raise InvalidFile("the certificate must be about the automaton of the run; it is not")
    # The theorem is about tensors and letters alone: a run that reads more is refused, as the checker does.
    cell, boxes = cell_of(net, certificate.claim), boxes_from(certificate.witness)
    assert isinstance(cell, Gated), "of a run"
    return StoredRun(automaton, tensors, cell, boxes)


Stored = StoredNetwork | StoredTransformer | StoredRun


def whole_of(network: Stored) -> bytes:
    """The bytes of the file."""
    return bytes_of_tensors(network.tensors, METADATA if isinstance(network, StoredRun) else "")


def digest_of(network: Stored) -> str:
    """The SHA-256 of the line, a line with the names of letters and states, and the file."""
    automaton = network.automaton
    names = names_line(list(automaton.letter_names), list(automaton.state_names))
    return hashlib.sha256(f"{network.line}\n{names}\n".encode() + whole_of(network)).hexdigest()


def line_of(cell: StackCell) -> str:
    """The configuration of a mixer in a line."""
    if isinstance(cell, DiagonalStack):
        return f"diagonal: {cell.gate} {cell.options['channels']}"
    assert isinstance(cell, DeltaStack)
    heads, steps, keys, values = cell.sizes_of_heads
    which = "rank one" if isinstance(cell, RankOneStack) else "delta"
    return f"{which}: heads {heads}, steps {steps}, keys {keys}, values {values}"


def tensors_of_bytes(whole: bytes, first: str = "") -> tuple[StoredTensor, ...]:
    """The tensors of a safetensors file, in the order of its data; types unknown to Coq are refused.

    ``first`` is an entry of the header before those of tensors.
    """
    try:
        size = int.from_bytes(whole[:8], "little")
        entries = json.loads(whole[8 : 8 + size])
        if first:
            entries.pop("__metadata__")
        tensors = tuple(
            StoredTensor(
                name,
                tuple(entry["shape"]),
                np.frombuffer(whole[8 + size :][slice(*entry["data_offsets"])], WORDS[entry["dtype"]]),
                entry["dtype"],
            )
            for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"][0])
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidFile(f"{MODEL} must be a safetensors file of {', '.join(WORDS)}; it is not") from error
    if whole != bytes_of_tensors(tensors, first):
        raise Unsupported(
            f"{MODEL} must have the layout that safetensors itself writes, without metadata; save it again"
        )
    return tensors


def bytes_of_tensors(tensors: tuple[StoredTensor, ...], first: str = "") -> bytes:
    """The bytes that ``file_with`` in ``Tensors.v`` gives."""
    entries, begin = [first] if first else [], 0
    for tensor in tensors:
        end = begin + int(WORDS[tensor.dtype][-1]) * prod(tensor.shape)
        shape = ",".join(map(str, tensor.shape))
        entries.append(
            f'"{tensor.name}":{{"dtype":"{tensor.dtype}","shape":[{shape}],"data_offsets":[{begin},{end}]}}'
        )
        begin = end
    header = ("{" + ",".join(entries) + "}").encode()
    header += b" " * (-len(header) % 8)
    data = b"".join(tensor.words.astype(WORDS[tensor.dtype]).tobytes() for tensor in tensors)
    return len(header).to_bytes(8, "little") + header + data
