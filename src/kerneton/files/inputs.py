"""The files that are read for a recording or folder, so that no output replaces them or is added to
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from kerneton.exceptions import KernetonError
from kerneton.files.folder import OTHERS, listed_entries
from kerneton.files.output import is_same, lies_in
from kerneton.files.readers import FOLDER_TABLE, segment_file_of
from kerneton.files.readers._text import is_folder


def spoils(path: str, read: Iterable[str]) -> str | None:
    """The input that a file would replace or become a part of."""
    for source in read:
        if lies_in(path, source) and may_be_read(os.path.realpath(path)):
            return f"would be read as a recording of {source}; write outside of it"
        for file in files_read(source) if os.path.isfile(path) else ():
            if is_same(path, file):
                what = (
                    "an input file"
                    if str(file) == source
                    else f"{file}, which is read with {source}"
                )
                return f"would overwrite {what}; name another file"
    return None


def may_be_read(path: str) -> bool:
    """Whether a file of this name may be read with a folder in which it lies: as a recording,
    skeleton, index or segments.

    >>> may_be_read("take.c3d"), may_be_read("take.eaf"), may_be_read("report.html")
    (True, True, False)
    """
    suffix = Path(path).suffix.lower()
    return suffix not in OTHERS or suffix == ".asf"


def files_read(path: str) -> Iterator[Path]:
    """The files that are read for a recording (with its segments and skeleton) or a folder."""
    if is_folder(source := Path(path)):
        with suppress(KernetonError):  # of an index; reported when it is read
            yield from (entry.path for entry in listed_entries(source))
        return
    yield source
    if (segments := segment_file_of(source)) is not None:
        yield segments
    yield source.with_name(FOLDER_TABLE)
    if source.suffix.lower() == ".amc":
        yield from (p for p in source.parent.glob("*") if p.suffix.lower() == ".asf")
