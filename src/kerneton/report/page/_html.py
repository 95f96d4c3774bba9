"""HTML that is safe by construction: whatever is not already HTML is escaped."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

_WIDE = 9  # columns up to which a table fits a page
_LONGEST = 300  # letters of one text; a page must stay small whatever it is given
# Control characters would break the page, and marks that turn the direction of writing would deceive its reader.
_STRANGE = dict.fromkeys(
    [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF],
    "\ufffd",
) | dict.fromkeys(map(ord, "\t\n\r"), " ")


class Html(str):
    """Text that is HTML already."""


def escape(value: Any, longest: int = _LONGEST) -> Html:
    """A value as HTML: itself where it is HTML, else its text, escaped and cut where it is endless.

    >>> escape("a < b"), escape(Html("<b>bold</b>")), escape("ab" * 9, longest=5)
    ('a &lt; b', '<b>bold</b>', 'abab…')
    """
    if isinstance(value, Html):
        return value
    text = str(value)
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    # Names of files may hold halves of characters, which no encoding can write.
    text = text.encode("utf-8", "replace").decode("utf-8").translate(_STRANGE)
    return Html(html.escape(text))


def join(parts: Iterable[Any], between: str = "") -> Html:
    """Parts one after the other, each escaped where it is not HTML.

    >>> join(["a&b", tag("br")])
    'a&amp;b<br>'
    """
    return Html(escape(between).join(escape(part) for part in parts))


def tag(name: str, *children: Any, **attributes: Any) -> Html:
    """An element; attributes that are None or False are left out, ``class_`` and ``stroke_width`` spelt in HTML.

    >>> tag("a", "one & two", href="#x", class_="link", hidden=True, title=None)
    '<a href="#x" class="link" hidden>one &amp; two</a>'
    >>> tag("circle", cx=1.0, cy=2.25, stroke_width=3)
    '<circle cx="1" cy="2.25" stroke-width="3"></circle>'
    """
    spelt = "".join(
        _attribute(key, value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in ("br", "input", "meta", "col"):
        return Html(f"<{name}{spelt}>")
    return Html(f"<{name}{spelt}>{join(children)}</{name}>")


def table(
    caption: str,
    header: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    numeric: Iterable[int] = (),
    sortable: bool = False,
    class_: str | None = None,
) -> Html:
    """A table whose first column heads its rows; columns ``numeric`` stand to the right.

    A cell is text, HTML, or a pair of what is shown and the number by which the column sorts.

    >>> print(table("ages", ["who", "age"], [["ann", 7]], numeric=[1]))  # doctest: +ELLIPSIS
    <div class="scroll"><table><caption>ages</caption><thead><tr><th scope="col">who</th>...
    """
    right = set(numeric)
    sides = ["num" if i in right else None for i in range(len(header))]
    heads = [
        tag("th", tag("button", head, type="button") if sortable else head, scope="col", class_=side)
        for head, side in zip(header, sides, strict=True)
    ]
    body = [
        tag(
            "tr",
            *(_cell(cell, side, first=i == 0) for i, (cell, side) in enumerate(zip(row, sides, strict=True))),
        )
        for row in rows
    ]
    names = " ".join(filter(None, (class_, "sortable" if sortable else None))) or None
    content = [tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *body)]
    return scrolling(tag("table", *content, class_=names), caption if len(header) > _WIDE else None)


def scrolling(content: Html, name: str | None = None) -> Html:
    """Something that may be wider than the page; with a name it can also be scrolled by keyboard."""
    focus = {} if name is None else {"tabindex": 0, "role": "region", "aria_label": name}
    return tag("div", content, class_="scroll", **focus)


def details(summary: Any, *children: Any) -> Html:
    """Something to be opened by those who want it."""
    return tag("details", tag("summary", summary), *children)


def data_block(identifier: str, value: Any) -> Html:
    """Data for scripts, as JSON that cannot end its own element.

    >>> data_block("x", {"a": "</script>"})
    '<script type="application/json" id="x">{"a":"\\\\u003c/script\\\\u003e"}</script>'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return tag("script", Html(text), type="application/json", id=identifier)


def number(value: float, digits: int = 2) -> str:
    """A number without needless zeros.

    >>> number(2.50), number(3.0), number(-0.001)
    ('2.5', '3', '0')
    """
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def per_cent(fraction: float) -> str:
    """A fraction in per cent, the sign kept on the number's line.

    >>> per_cent(0.125)
    '12.5\\xa0%'
    """
    return f"{100 * fraction:.1f}\xa0%"


def _attribute(key: str, value: Any) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        return f' {name}="{number(value)}"'
    # What is HTML as content is text here, quotes and all; it may be long, for paths of pictures are.
    return f' {name}="{html.escape(value) if isinstance(value, Html) else escape(value)}"'


def _cell(cell: Any, side: str | None, *, first: bool) -> Html:
    shown, key = cell if isinstance(cell, tuple) else (cell, None)
    if first:
        return tag("th", shown, scope="row", class_=side, data_key=key)
    return tag("td", shown, class_=side, data_key=key)
