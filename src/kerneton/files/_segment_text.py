"""What the readers of segments share: names of files, limits, text, and an interval before it is in frames."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 1 << 26  # 64 MiB hold more segments than anybody draws
MAX_INTERVALS = 1_000_000
BESIDE = (".segments.csv", ".labels.csv", ".eaf", ".TextGrid", ".textgrid", ".segments.json", ".segments.xml")
FOLDER_TABLE = "segments.csv"
BACKGROUND = {"", "-", "none", "null", "nan", "background", "no action", "unlabeled", "unlabelled"}


@dataclass(frozen=True)
class Interval:
    """A label from start to stop, in frames as in a slice, or in seconds."""

    label: str
    start: float
    stop: float
    seconds: bool = False
    recording: str = ""
    where: str = ""  # for errors: "line 3"


def decode(data: bytes) -> str:
    """Bytes as text: UTF-8, or UTF-16 with its byte order mark; what is no text becomes U+FFFD.

    >>> decode("ü".encode("utf-16")), decode("ü".encode())
    ('ü', 'ü')
    """
    wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return data.decode("utf-16" if wide else "utf-8-sig", errors="replace")


def is_background(label: str) -> bool:
    """Whether a label says that nothing happens.

    >>> is_background("None"), is_background("wave")
    (True, False)
    """
    return label.strip().lower() in BACKGROUND


def is_segment_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file's name says that it holds segments and no recording.

    >>> is_segment_file("a/long.segments.csv"), is_segment_file("a/long.csv")
    (True, False)
    """
    name = Path(path).name.lower()
    return name == FOLDER_TABLE or name.endswith(tuple(suffix.lower() for suffix in BESIDE))


def named_after(path: Path) -> Path | None:
    """The file of segments with a recording's name, where there is one."""
    beside = (path.with_name(path.stem + suffix) for suffix in BESIDE)
    return next((file for file in beside if file != path and file.is_file()), None)
