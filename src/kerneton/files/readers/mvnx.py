"""Xsens MVNX: positions of the segments' origins in metres, z up; files without positions are
refused.

A segment becomes the joint at which it begins: ``RightUpperArm`` is the right shoulder,
``RightForeArm`` the elbow, ``L5`` a vertebra. Frames that are no motion (the poses of the
calibration) are left out. Angles, orientations, and what sensors measured are not read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from kerneton.data.sequence import Conventions, SkeletonSequence
from kerneton.data.stated import Recordings
from kerneton.data.units import turn_up
from kerneton.exceptions import FormatError, KernetonError
from kerneton.files.readers._names import joint_names, layout_of_names
from kerneton.files.readers._text import MAX_JOINTS, shorten
from kerneton.files.readers._values import (
    check_room,
    check_values,
    file_budget,
    number_block,
    read_bytes,
)

NAMES_JOINTS, STATES = True, {"unit": "m", "up": "z"}
_DEEPEST = 32
_BLOCK = 1 << 16


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the file begins with the element mvnx."""
    return b"<mvnx" in head[:4096].lower()


class _Motion:
    """Collects segments and positions while the file is parsed; nothing else is kept."""

    def __init__(self, path: Path) -> None:
        self.path, self.budget = path, file_budget(path)
        self.names: list[str] = []
        self.rate: str | None = None
        self.subject: str | None = None
        self.frames: list[np.ndarray] = []
        self.depth = self.n_frames = 0
        self.inside = self.normal = False
        self.text: list[str] = []

    def start(self, tag: str, facts: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise FormatError(f"{self.path}: elements more than {_DEEPEST} deep are refused")
        tag = tag.rpartition("}")[2].lower()
        if tag == "subject" and self.subject is None:
            self.rate, self.subject = facts.get("frameRate"), facts.get("label", "")
        elif tag == "segment" and not self.n_frames and facts.get("label"):
            self.names.append(facts["label"])
            if len(self.names) > MAX_JOINTS:
                raise FormatError(f"{self.path}: more than {MAX_JOINTS} segments")
        elif tag == "frame":
            self.normal = facts.get("type", "normal") == "normal"
            self.n_frames += self.normal
        elif tag == "position" and self.normal:
            self.inside, self.text = True, []

    def data(self, text: str) -> None:
        if self.inside:
            self.text.append(text)

    def end(self, tag: str) -> None:
        self.depth -= 1
        if not self.inside or tag.rpartition("}")[2].lower() != "position":
            return
        self.inside = False
        where = f"{self.path}, frame {self.n_frames}"
        values = number_block(self.path, ["".join(self.text)], 1)
        if values.shape != (3 * len(self.names),):
            got = f"{len(values)} numbers for {len(self.names)} segments"
            raise FormatError(f"{where}: expected x, y, z of each segment, got {got}")
        self.budget.take(2 * values.nbytes)
        self.frames.append(values.reshape(-1, 3))

    def doctype(self, *_: Any) -> None:
        raise FormatError(f"{self.path}: a document type declaration is refused")

    def close(self) -> None: ...


def read(path: Path) -> list[SkeletonSequence]:
    """The one recording of a file."""
    motion = _Motion(path)
    parser = ElementTree.XMLParser(target=motion)
    content = read_bytes(path)
    try:
        for at in range(0, len(content), _BLOCK):
            parser.feed(content[at : at + _BLOCK])
        parser.close()
    except KernetonError:
        raise
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise FormatError(f"{path}: damaged XML: {shorten(str(error), 80)}") from error
    if not motion.names or not motion.frames:
        there = "orientations or angles" if motion.n_frames else "no frames"
        raise FormatError(
            f"{path}: {there}, but no positions of segments; export from Xsens MVN with "
            "segment positions (MVNX options: Position)"
        )
    points = np.array(motion.frames)
    check_room(path, *points.shape[:2])
    check_values(path, points, "positions")
    try:
        fps = float(motion.rate or 0)
    except ValueError:
        fps = 0.0
    joints = joint_names(motion.names)
    sequence = SkeletonSequence(
        turn_up(points, "z"),
        layout=layout_of_names("mvnx", joints, motion.names),
        name=path.stem,
        fps=fps if 0 < fps < 1e6 else None,
    )
    return Recordings([sequence], Conventions("m", "z", stated=("unit", "up")))
