"""Files that were unpacked from another: read as if they stood where that one stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.stated import Recordings
from kerneton.exceptions import FormatError, KernetonError
from kerneton.files.readers import PACKED, detect_format, read_as_written


def read_inside(
    places: Mapping[Path, str],
    *,
    layout: Layout | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
) -> list[SkeletonSequence]:
    """The recordings of unpacked files of one format; errors name the places that are given."""
    found: list[SkeletonSequence] = []
    kinds: dict[Any, str] = {}
    for path, place in places.items():
        try:
            if detect_format(path) in PACKED:
                raise FormatError(f"{path}: an archive in an archive; unpack it first")
            facts, recordings = read_as_written(path, layout=layout, columns=columns)
        except KernetonError as error:
            raise type(error)(str(error).replace(str(path), place)) from None
        kinds.setdefault(facts, place)
        found += recordings
    if len(kinds) > 1:
        one, two = list(kinds.values())[:2]
        raise FormatError(
            f"{two}: of another kind than {one}; unpack the archive, or read it with kerneton.load_folder"
        )
    if not found:
        raise FormatError("no recordings in the archive")
    ((_, taken),) = kinds
    return found if taken is None else Recordings(found, taken)
