"""The meaning of a compiled network's parts: registers and their codes, heads, maps, and data flow.

Layers and heads are numbered from 1; layer 0 is what tokens and positions bring.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from krohn.network.compiled import CompiledNetwork
from krohn.network.program import Program, Register
from krohn.network.program_file import plain

Json = dict[str, Any]
Titles = Mapping[str, str]
NO_TITLES: Titles = {}

WIDTH, ROWS = 98, 12
"""Columns of the terminal, and rows of a table that are printed."""


def meaning(network: CompiledNetwork, titles: Titles = NO_TITLES) -> Json:
    """Plain lists and strings: ``registers``, ``heads``, ``maps``, ``edges``, ``readout``.

    ``titles`` are what texts call registers, by name; without them texts use the names.
    """
    program = network.program
    return {
        "method": network.method,
        "length": network.length,
        "prompt": network.transformer.num_padding,
        "layers": len(network.transformer.layers),
        "registers": list(_registers(network, titles)),
        "heads": list(_heads(network)),
        "maps": [] if program is None else list(_maps(program, titles)),
        "edges": [] if program is None else list(_edges(program)),
        "readout": None if program is None else _readout(network, program),
    }


def _title(operation: Any, titles: Titles) -> Any:
    """The operation with titles for registers, to be described; the rows of a table have none."""

    def title(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(title, value))
        return titles.get(value, value) if isinstance(value, str) else value

    names = [item.name for item in fields(operation) if item.name != "rows"]
    return replace(operation, **{name: title(getattr(operation, name)) for name in names})


def _registers(network: CompiledNetwork, titles: Titles) -> Iterator[Json]:
    program = network.program
    stored: dict[str, int] = {}  # the moment from which a channel holds it
    for moment, channels in enumerate(network.layout.moments):
        for channel in channels:
            stored.setdefault(channel.register, moment)
    if program is None:
        for name in filter(None, stored):
            known = {"meaning": network.meanings[name].to_json()} if name in network.meanings else {}
            by = "token" if stored[name] == 0 else "head" if stored[name] % 2 else "map"
            place = {"layer": (stored[name] + 1) // 2, "written_by": by}
            yield {"name": name, "kind": None, "low": None, "high": None, **place, "stored": True, **known}
        return
    writers = dict(_writers(program, titles))
    for register in program.registers:
        layer, by, text = writers[register.name]
        yield {
            "name": register.name,
            "kind": register.kind,
            "low": register.low,
            "high": register.high,
            "layer": layer,
            "written_by": by,
            "text": text,
            "meaning": register.meaning.to_json(),
            "stored": register.name in stored,
            **_codes(network, program, register),
        }


def _writers(program: Program, titles: Titles) -> Iterator[tuple[str, tuple[int, str, str]]]:
    """For each register its layer, who writes it (as in ``written_by``), and the operation in words."""
    for source in program.sources:
        yield source.register, (0, "token", "brought by the letter")
    for place in program.places:
        yield place.register, (0, "position", "brought by the position")
    for number, layer in enumerate(program.layers, start=1):
        for by, operations in (("head", layer.attention), ("map", layer.maps)):
            for operation in operations:
                text = _title(operation, titles).describe()
                yield from ((name, (number, by, text)) for name in operation.writes)


def _codes(network: CompiledNetwork, program: Program, register: Register) -> Json:
    """Which letters give which value, and which states are read off which value; else empty."""
    automaton = network.automaton
    result: Json = {}
    for source in program.sources:
        if source.register == register.name:
            letters = dict(zip(automaton.letter_names, source.letters, strict=True))
            result = {"letters": letters, "prompt": list(source.padding)}
    for places in program.places:
        if places.register == register.name:
            result = {"early": list(places.early), "cycle": list(places.cycle)}
    if register.name in program.readout.registers:
        place = program.readout.registers.index(register.name)
        states: dict[str, list[str]] = {}
        for name, code in zip(automaton.output_names, program.readout.codes, strict=True):
            if code is not None:
                states.setdefault(str(code[place]), []).append(name)
        result["states"] = states
    return result


def _heads(network: CompiledNetwork) -> Iterator[Json]:
    program = network.program
    for index, heads in enumerate(network.layout.heads):
        for number, head in enumerate(heads, start=1):
            result = [] if program is None else [program.layers[index].attention[o] for o in head.operations]
            yield {
                "layer": index + 1,
                "head": number,
                "text": head.text,
                "operations": [plain(each) for each in result],
                "reads": list(dict.fromkeys(name for each in result for name in each.reads)),
                "writes": [name for each in result for name in each.writes],
            }


def _maps(program: Program, titles: Titles) -> Iterator[Json]:
    for number, layer in enumerate(program.layers, start=1):
        for change in layer.maps:
            yield {
                "layer": number,
                "text": _title(change, titles).describe(),
                **plain(change),
                "reads": list(change.reads),
                "writes": list(change.writes),
            }


def _edges(program: Program) -> Iterator[Json]:
    """Which register feeds which, in which layer, through a head or a map, and in which role."""
    for number, layer in enumerate(program.layers, start=1):
        for operation in layer.attention:
            chosen = [name for name in operation.reads if name not in operation.sources]
            for source, target in zip(operation.sources, operation.targets, strict=True):
                yield {"from": source, "to": target, "layer": number, "by": "head", "role": "value"}
                yield from (
                    {"from": name, "to": target, "layer": number, "by": "head", "role": "where"}
                    for name in chosen
                )
        for change in layer.maps:
            yield from (
                {"from": source, "to": target, "layer": number, "by": "map", "role": "value"}
                for target in change.writes
                for source in dict.fromkeys(change.reads)
            )


def _readout(network: CompiledNetwork, program: Program) -> Json:
    codes = zip(network.automaton.output_names, program.readout.codes, strict=True)
    return {
        "registers": list(program.readout.registers),
        "codes": {name: list(code) for name, code in codes if code is not None},
    }
