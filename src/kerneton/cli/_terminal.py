"""Text for the terminal: what recordings and models say is shown, never obeyed."""

from __future__ import annotations

import re
from typing import TextIO

# Control characters but for tab and newline, marks that turn the direction of text, and bytes that are no text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, stream: TextIO | None = None) -> str:
    r"""Text in which control characters are spelt out, and what the encoding of ``stream`` cannot say.

    Labels and names of recordings may hold escape sequences, which would colour, erase or forge what a terminal shows.

    >>> print(printable("wave\x1b[2J"))
    wave\x1b[2J
    """
    return encodable(_UNSAFE.sub(lambda c: c[0].encode("unicode_escape").decode("ascii"), text), stream)


def encodable(text: str, stream: TextIO | None = None) -> str:
    r"""Text in which characters that the encoding of ``stream`` lacks are spelt out; the others stay, whatever they do.

    >>> print(encodable("caf\udce9"))
    caf\udce9
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
