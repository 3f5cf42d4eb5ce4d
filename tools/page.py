"""A dataset's summary, records and pictures as one HTML page that needs nothing else.

The page holds no script and may load nothing: its policy says so, and every text that came out of
a file is escaped.
"""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING

from forebay.tools.listing import facts, fields, generations, shards
from forebay.tools.output import printable
from forebay.tools.preview import preview_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forebay.formats.summary import Summary
    from forebay.tools.samples import Shown
    from forebay.tools.thumbnails import Picture

_SHARDS_SHOWN = 100
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .15rem 1rem .15rem 0; }
td { overflow-wrap: anywhere; }
tr + tr { border-top: 1px solid #8884; }
.pictures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(170px, 1fr)); }
figure { margin: 0; }
figcaption { font-size: .8rem; overflow-wrap: anywhere; }
img { max-width: 160px; max-height: 160px; display: block; }
.fault { color: #b3261e; }
.none { width: 160px; height: 110px; border: 1px dashed; box-sizing: border-box; padding: .5rem;
  font-size: .75rem; overflow: auto; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { .fault { color: #f2b8b5; } }
"""


def page(summary: Summary, shown: Sequence[Shown], found: Sequence[Picture]) -> str:
    """The page's text, to be stored as UTF-8."""
    title = _text(f"{summary.path} - forebay")
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_text(summary.path)}</h1>",
        _table(facts(summary), head=False),
        "<h2>Fields</h2>",
        _table([("field", "kind", ""), *fields(summary)]),
    ]
    if found:
        parts.append(f"<h2>{len(found)} pictures, evenly over the dataset</h2>")
        parts.append(f'<div class="pictures">{"".join(map(_figure, found))}</div>')
    if shown:
        parts.append("<h2>First records</h2>")
        parts += map(_record, shown)
    if len(summary.generations) > 1:
        parts += ["<h2>Generations</h2>", _table(generations(summary))]
    parts += ["<h2>Shards</h2>", _table(shards(summary, _SHARDS_SHOWN)), "</body></html>", ""]
    return "\n".join(parts)


def _table(rows: Iterable[tuple[str, ...]], head: bool = True) -> str:
    """Rows of text; the first is of headings where `head`, else the first of each row."""
    lines = []
    for i, row in enumerate(rows):
        tags = ["th" if (i == 0 if head else j == 0) else "td" for j in range(len(row))]
        cells = (f"<{tag}>{_text(cell)}</{tag}>" for tag, cell in zip(tags, row, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _figure(picture: Picture) -> str:
    where = f"record {picture.record}" + (f", {picture.field}" if picture.field else "")
    caption = f"<figcaption>{_text(where)}<br>{_text(picture.about)}</figcaption>"
    if picture.fault:
        return f'<figure><div class="none fault">{_text(picture.fault)}</div>{caption}</figure>'
    data = base64.b64encode(picture.jpeg).decode("ascii")
    image = f'<img alt="{_text(where)}" src="data:image/jpeg;base64,{data}">'
    return f"<figure>{image}{caption}</figure>"


def _record(record: Shown) -> str:
    if record.fault:
        return f'<p class="fault">record {record.record} is damaged: {_text(record.fault)}</p>'
    rows = [(name, preview_text(value, 400)) for name, value in record.values.items()]
    return f"<h3>record {record.record}</h3>{_table(rows, head=False)}"


def _text(text: str) -> str:
    """Text as HTML, fit for elements and quoted attributes; what is not printable is escaped."""
    return html.escape(printable(text), quote=True)
