"""One page per network: a heat map variable × layer, the heads, the verdict; as SVG or as HTML around it."""

from html import escape
from pathlib import Path

from krohn.atomic import check_output, write_text
from krohn.study.findings import Finding
from krohn.study.report import Report, status, verdict
from krohn.svg import Canvas, fitted

CELL, ROW, NAME, TOP = 46.0, 22.0, 270.0, 74.0
SUFFIXES = (".html", ".svg")
COLOURS = {"uniform": "#4477aa", "look back": "#228833", "latest": "#ccbb44", "boundary": "#aa3377"}
HEADER = ("layer", "head", "kind", "nearest", "agreement", "on the prompt")
LEGEND = (
    "A cell is the share of swaps after which the network says what the algebra predicts; below it the "
    "accuracy of a linear probe. A red frame: held (lower end of the 95% interval at least 90%); dashed: no "
    "pair of words tells it from the state itself. Point at a cell for its interval and controls."
)
OTHER = {"prompt": "#bbbbbb", "none": "#eeeeee"}


def check_page(path: Path) -> None:
    """Refuses a file name that is neither HTML nor SVG."""
    check_output(path, *SUFFIXES)


def write_page(report: Report, path: Path) -> None:
    """Writes the page of a report atomically."""
    check_page(path)
    write_text(path, html(report) if path.suffix == ".html" else picture(report))


def picture(report: Report) -> str:
    """Causal shares as a heat map (the probe's accuracy small below), and the heads as coloured boxes."""
    names = [variable.title for variable, _ in report.found]
    columns = report.layers + 1
    canvas = Canvas(NAME + CELL * columns + 30, TOP + ROW * 1.4 * len(names) + 40)
    canvas.text(12, 20, report.network, size=15, text_anchor="start", font_weight="bold")
    right = f"right letters {100 * report.accuracy.value:.2f}%, words of {report.length} letters"
    canvas.text(12, 40, right, size=11, text_anchor="start")
    for layer in range(columns):
        title = f"layer {layer}" if layer else "start"
        canvas.text(NAME + CELL * (layer + 0.5), TOP - 12, title, size=11)
    for place, (name, (_, rows)) in enumerate(zip(names, report.found, strict=True)):
        y = TOP + 1.4 * ROW * place
        shown, size = fitted(name, NAME - 24, 11)
        canvas.text(NAME - 8, y + 0.6 * ROW, shown, size=size, text_anchor="end")
        for row in rows:
            _cell(canvas, NAME + CELL * row.layer, y, row)
    bottom = TOP + 1.4 * ROW * len(names)
    for place, what in enumerate(("state", "letter")):
        y = bottom + 24 + 18 * place
        canvas.text(NAME - 8, y, f"whole position: its {what}", size=11, text_anchor="end")
        for layer, brought in enumerate(report.whole):
            canvas.text(NAME + CELL * (layer + 0.5), y, f"{100 * brought[what].value:.0f}", size=11)
    _heads(canvas, report, bottom + 72)
    canvas.crop(12)
    return canvas.render(paper="white", title=report.network)


def _cell(canvas: Canvas, x: float, y: float, row: Finding) -> None:
    """The shade is the causal share; a frame marks held variables; grey: a probe only."""
    height = 1.4 * ROW - 3
    share = None if row.causal is None else row.causal.value
    result = status(row)
    fill = "#f2f2f2" if share is None else _blue(share)
    strong = result in ("held", "with the state")
    dash = {"stroke_dasharray": "4 2"} if result == "with the state" else {}
    edge = {"stroke": "#cc3311", "stroke_width": 2} if strong else {"stroke": "white"}
    canvas.rect(x + 1, y, CELL - 3, height, fill=fill, **edge, **dash)
    canvas.title(_described(row))
    ink = "white" if share is not None and share > 0.55 else "black"
    text = "·" if share is None else f"{100 * share:.0f}"
    canvas.text(x + CELL / 2, y + 0.38 * height, text, size=12, fill=ink)
    probe = f"probe {100 * row.probe.value:.0f}"
    canvas.text(x + CELL / 2, y + 0.8 * height, probe, size=7, fill=ink)


def _described(row: Finding) -> str:
    probe = f"probe {100 * row.probe.value:.1f}%, guessing {100 * row.baseline:.1f}%"
    if row.causal is None:
        return f"no counterfactual; {probe}"
    causal = f"causal {100 * row.causal.value:.1f}% [{100 * row.causal.low:.1f}–{100 * row.causal.high:.1f}]"
    controls = ", ".join(f"{name} {100 * share.value:.1f}%" for name, share in row.controls.items())
    return f"{status(row)}: {causal} in {row.pairs} swaps of {row.dimension} dimensions; {controls}; {probe}"


def _blue(share: float) -> str:
    """White at 0, dark blue at 1."""
    return "#" + "".join(f"{round(255 + (end - 255) * share):02x}" for end in (0x1F, 0x4E, 0x8C))


def _heads(canvas: Canvas, report: Report, y: float) -> None:
    canvas.text(12, y, "heads", size=12, text_anchor="start", font_weight="bold")
    for layer in range(1, report.layers + 1):
        for place, head in enumerate(h for h in report.heads if h.layer == layer):
            x, top = NAME + CELL * layer, y + 10 + 16 * place
            canvas.rect(x + 1, top, CELL - 3, 14, fill=(COLOURS | OTHER)[head.kind], stroke="white")
            canvas.title(f"layer {layer} head {head.head}: {head.nearest}, {100 * head.score:.0f}%")
            label, size = fitted(head.nearest if head.kind != "none" else "none", CELL - 6, 9, 6)
            canvas.text(x + CELL / 2, top + 7, label, size=size)


def html(report: Report) -> str:
    """A self-contained page."""
    heads = "".join(
        f"<tr><td>{h.layer}</td><td>{h.head}</td><td>{escape(h.kind)}</td><td>{escape(h.nearest)}</td>"
        f"<td>{100 * h.score:.0f}%</td><td>{100 * h.prompt:.0f}%</td></tr>"
        for h in report.heads
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in report.notes)
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="generator" content="krohn">
<title>{escape(report.network)}</title>
<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}}
td,th{{padding:.1rem .7rem;text-align:left}}svg{{max-width:100%;height:auto}}</style>
<h1>What was learned: {escape(report.network)}</h1>
<p><b>{escape(verdict(report))}</b></p>
<p>{LEGEND}</p>
{picture(report)}
<h2>Heads</h2>
<p>The nearest of: uniform, look back k, latest of some letters, latest visit of a wall; named from 80%.</p>
<table><tr>{"".join(f"<th>{name}</th>" for name in HEADER)}</tr>{heads}</table>
<h2>Notes</h2><ul>{notes or "<li>none</li>"}</ul>
<p>Words of {report.length} letters, seed {report.seed}, effort {report.effort:g}.</p></html>
"""
