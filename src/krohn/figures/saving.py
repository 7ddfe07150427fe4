"""Saving a figure as SVG and PNG, whole or not at all, with no date inside."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure as Figure  # re-exported: only this part names matplotlib

from krohn.atomic import write_whole
from krohn.figures.style import house_style


def save(figure: Figure, stem: Path) -> list[Path]:
    """Writes ``stem``.svg and ``stem``.png; the same figure gives the same bytes."""
    nothing: dict[str, Any] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    paths = []
    for kind, metadata in nothing.items():
        path = stem.with_name(f"{stem.name}.{kind}")
        with house_style():
            write_whole(
                path,
                lambda stream, kind=kind, metadata=metadata: figure.savefig(  # type: ignore[misc]
                    stream, format=kind, metadata=metadata
                ),
            )
        paths.append(path)
    return paths
