"""ELAN's and CVAT's XML: time slots and annotations, tracks and tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from kerneton.data.segments import Segment
from kerneton.exceptions import FormatError
from kerneton.files.segments import Interval, check_tier, tagged_frames

_DEEPEST = 64
_MAX_FRAME = 10**9


class _RefusedError(Exception):
    """Something that no annotation tool writes."""


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


def eaf_intervals(root: ElementTree.Element, path: Path, tier: str | None) -> Iterator[Interval]:
    """Aligned annotations of ELAN's tiers; an annotation that refers to another has the same time."""
    slots = {s.get("TIME_SLOT_ID"): s.get("TIME_VALUE") for s in root.iter("TIME_SLOT")}
    tiers = root.findall("TIER")  # not nested ones, which would be read repeatedly
    check_tier(tier, [t.get("TIER_ID") or "" for t in tiers], path)
    times: dict[str | None, tuple[float, float]] = {}
    for element in tiers:
        for item in element.iterfind("ANNOTATION/*"):
            if item.tag == "ALIGNABLE_ANNOTATION":
                bounds = [slots.get(item.get(f"TIME_SLOT_REF{i}")) for i in (1, 2)]
                if any(b is None for b in bounds):
                    continue  # ELAN does not store times that follow from neighbours
                start, stop = (_number(b, path) / 1000 for b in bounds)
                times[item.get("ANNOTATION_ID")] = (start, stop)
            elif item.tag == "REF_ANNOTATION" and item.get("ANNOTATION_REF") in times:
                start, stop = times[item.get("ANNOTATION_REF")]
            else:
                continue
            if tier in (None, element.get("TIER_ID")):
                label = (item.findtext("ANNOTATION_VALUE") or "").strip()
                where = f"annotation {item.get('ANNOTATION_ID', '?')[:40]}"
                yield Interval(label, start, stop, seconds=True, where=where)


def cvat_intervals(root: ElementTree.Element, path: Path) -> Iterator[Interval]:
    """Tracks of CVAT's video form from their first frame to where they go outside, and runs of tagged frames."""
    for track in root.findall("track"):
        label = (track.get("label") or "").strip()
        shapes = [s for s in track if s.get("frame") is not None]
        frames = sorted((int(_number(s.get("frame"), path)), s.get("outside") == "1") for s in shapes)
        start: int | None = None
        for frame, outside in frames:
            if outside and start is not None:
                yield Interval(label, start, frame)
                start = None
            elif not outside and start is None:
                start = frame
        if start is not None:  # it lasts to its last shape
            yield Interval(label, start, frames[-1][0] + 1)
    found = [(image.get("id"), tag) for image in root.findall("image") for tag in image.findall("tag")]
    found += [(tag.get("frame"), tag) for tag in root.findall("tag")]  # of whole frames, in the video form
    tags: dict[tuple[str, str], list[int]] = {}
    for number, tag in found:
        label = (tag.get("label") or "").strip()
        tags.setdefault(("", label), []).append(int(_number(number, path)))
    yield from tagged_frames(tags)


def _number(text: str | None, path: Path) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = -1.0
    if not 0 <= value <= _MAX_FRAME:
        raise FormatError(f"{path}: expected a time or frame number, got {str(text)[:40]!r}")
    return value


def eaf_text(segments: Iterable[Segment], fps: float) -> str:
    """An ELAN file with one tier, ``actions``.

    >>> root = parse_xml(eaf_text([Segment("wave", 30, 75)], fps=30).encode(), Path("a.eaf"))
    >>> [(i.label, i.start, i.stop) for i in eaf_intervals(root, Path("a.eaf"), None)]
    [('wave', 1.0, 2.5)]
    """
    root = ElementTree.Element(
        "ANNOTATION_DOCUMENT", AUTHOR="", DATE="2000-01-01T00:00:00+00:00", FORMAT="3.0", VERSION="3.0"
    )
    ElementTree.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    order = ElementTree.SubElement(root, "TIME_ORDER")
    layer = ElementTree.SubElement(root, "TIER", LINGUISTIC_TYPE_REF="default-lt", TIER_ID="actions")
    for i, s in enumerate(segments):
        for k, seconds in enumerate(s.seconds(fps)):
            value = str(round(1000 * seconds))
            ElementTree.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=f"ts{2 * i + k + 1}", TIME_VALUE=value)
        slots = {f"TIME_SLOT_REF{k + 1}": f"ts{2 * i + k + 1}" for k in range(2)}
        outer = ElementTree.SubElement(layer, "ANNOTATION")
        inner = ElementTree.SubElement(outer, "ALIGNABLE_ANNOTATION", {"ANNOTATION_ID": f"a{i + 1}", **slots})
        printable = "".join(c for c in s.label if c >= " " and c not in "\ufffe\uffff")
        ElementTree.SubElement(inner, "ANNOTATION_VALUE").text = printable
    kind = {"GRAPHIC_REFERENCES": "false", "LINGUISTIC_TYPE_ID": "default-lt", "TIME_ALIGNABLE": "true"}
    ElementTree.SubElement(root, "LINGUISTIC_TYPE", kind)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
