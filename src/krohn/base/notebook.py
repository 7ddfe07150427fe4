"""Results as tables: in a terminal, in a notebook, and as a DataFrame where pandas is installed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

from krohn.base.extras import missing

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame

Item = TypeVar("Item")
_SHOWN = 20


class Rows(list[Item]):
    """A list of results that is also a table: ``to_frame()`` is its pandas DataFrame."""

    def __init__(
        self,
        items: Iterable[Item],
        row: Callable[[Item], Mapping[str, Any]] | None = None,
        cells: Callable[[Item], Mapping[str, object]] | None = None,
    ) -> None:
        super().__init__(items)
        self._row = row or _itself
        self._cells = cells or self._row

    def text(self) -> str:
        """A table for a terminal: of each item what people read first."""
        shown = [self._cells(item) for item in self]
        return table(list(shown[0]), [list(row.values()) for row in shown]) if shown else ""

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary for each item."""
        return [dict(self._row(item)) for item in self]

    def to_frame(self) -> "DataFrame":
        """One row for each item, one column for each key."""
        return frame(self.rows())

    def _repr_html_(self) -> str:
        rows = self.rows()
        header = list(dict.fromkeys(key for row in rows for key in row))
        shown = [[row.get(key, "") for key in header] for row in rows[:_SHOWN]]
        title = f"{len(rows):,} rows" + (f", the first {_SHOWN} shown" if len(rows) > _SHOWN else "")
        return html_table(title, {}, header, shown)


def _itself(item: Any) -> Mapping[str, Any]:
    assert isinstance(item, Mapping), type(item)
    return item


def frame(rows: Iterable[Mapping[str, Any]]) -> "DataFrame":
    """The rows as a DataFrame; without pandas, the error says how to install it."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise missing(error, "a DataFrame") or error from error
    return pandas.DataFrame([dict(row) for row in rows])


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Aligns columns: numbers to the right, text to the left."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    numeric = [
        bool(rows) and all(isinstance(row[column], (int, float)) for row in rows)
        for column in range(len(header))
    ]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def html_lines(text: str) -> str:
    """What a terminal shows, as it stands there: its tables are aligned."""
    return f"<pre>{escape(text)}</pre>"


def html_table(
    title: str,
    facts: Mapping[str, object],
    header: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
) -> str:
    """A title, one row for each fact, and optionally a table below."""
    parts = [f"<b>{escape(title)}</b>", "<table>"]
    parts += [f"<tr><th>{escape(name)}</th><td>{_text(value)}</td></tr>" for name, value in facts.items()]
    parts.append("</table>")
    if header:
        parts += ["<table>", "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in header) + "</tr>"]
        parts += ["<tr>" + "".join(f"<td>{_text(value)}</td>" for value in row) + "</tr>" for row in rows]
        parts.append("</table>")
    return "\n".join(parts)


def _text(value: object) -> str:
    if value is None:
        return "not known"
    return escape(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value))
