"""Small tables for notebooks: what `_repr_html_` of the results returns."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def html_table(
    title: str,
    facts: Mapping[str, object],
    header: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
) -> str:
    """A title, one line for each fact that is known, and optionally a table below."""
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
