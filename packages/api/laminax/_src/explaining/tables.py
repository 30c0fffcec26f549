"""Tables of pages: columns of numbers, text and code."""

from __future__ import annotations

from html import escape
from typing import Iterable, Sequence

# A title, and the classes of its cells: "" for numbers, "t" for words, "c" for code, "wide" for long words, "extra" for what small screens
# leave out.
Column = tuple[str, str]
# Attributes of a row, such as `link` gives, and its cells, which are HTML.
Row = tuple[str, Sequence[str]]


def table(columns: Sequence[Column], rows: Iterable[Row]) -> str:
    """A table in a box that scrolls."""
    heads = []
    for title, kind in columns:
        classes = " ".join(["t"] * bool({"t", "c", "wide"} & set(kind.split())) + ["extra"] * ("extra" in kind))
        heads.append(f'<th class="{classes}">{escape(title)}</th>' if classes else f"<th>{escape(title)}</th>")
    body = [_row(columns, attributes, cells) for attributes, cells in rows]
    return (f'<div class="pane"><div class="scroll low"><table><thead><tr>{"".join(heads)}</tr></thead><tbody>'
            f'{"".join(body) or "<tr><td>none</td></tr>"}</tbody></table></div></div>')


def _row(columns: Sequence[Column], attributes: str, cells: Sequence[str]) -> str:
    made = [f'<td class="{kind}">{cell}</td>' if kind else f"<td>{cell}</td>" for (_, kind), cell in zip(columns, cells)]
    return f"<tr{attributes}>{''.join(made)}</tr>"


def bar(share: float, text: str) -> str:
    """A number before a bar that is as long as its share."""
    return f'<div class="s" style="--w:{100 * share:.0f}%">{escape(text)}</div>'
