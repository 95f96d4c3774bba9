"""XML of unknown origin: no entities, no document types, limited depth; nothing is fetched or
expanded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from kerneton.exceptions import FormatError

_DEEPEST = 64
MAX_NUMBER = 10**9  # of a frame or of milliseconds


class _RefusedError(Exception):
    """Something that no annotation or motion-capture program writes."""


class _Builder(ElementTree.TreeBuilder):
    """A tree of limited depth, without document type declaration and hence without entities."""

    depth = 0

    def start(self, *element: Any) -> ElementTree.Element:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _RefusedError(f"elements more than {_DEEPEST} deep")
        return super().start(*element)

    def end(self, *element: Any) -> ElementTree.Element:
        self.depth -= 1
        return super().end(*element)

    def doctype(self, *_: Any) -> None:
        raise _RefusedError("a document type declaration")


def parse_xml(data: bytes, path: Path) -> ElementTree.Element:
    """The root element; documents with a type declaration are refused.

    >>> parse_xml(b"<annotations><version>1.1</version></annotations>", Path("a.xml")).tag
    'annotations'
    """
    try:
        return ElementTree.fromstring(data, ElementTree.XMLParser(target=_Builder()))
    except _RefusedError as error:
        raise FormatError(f"{path}: {error} is refused") from None
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise FormatError(f"{path}: damaged XML: {error}") from error
