"""A folder whose labels are in an ``index.csv``: shown as it is, and sorted into folders by the
first change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import Any

from kerneton.exceptions import ParameterError
from kerneton.studio import folders
from kerneton.studio.journal import Step

INDEX = "index.csv"


def sorting_steps(
    entries: Iterable[tuple[str, str | None, str | None]],
    records: Iterable[Any],
    free: Callable[[str, set[str]], str],
) -> tuple[list[Step], dict[str, str]]:
    """Steps that move every file to ``LABEL/SUBJECT/FILE`` and the index to the originals; ids, old
    to new.

    The command line reads either an index or folders, so that one changed label moves all files;
    undo moves them back.
    """
    records = list(records)
    own = {r.path for r in records if r.label is not None}  # the file itself may state the label
    taken: set[str] = set()
    moved: dict[str, str] = {}
    for path, label, subject in entries:
        if path in moved or path.startswith(folders.STUDIO):
            continue
        if path.lower().endswith(".amc"):
            raise ParameterError(
                f"{path}: needs a file in the same folder, and its label is in index.csv; "
                "'kerneton convert FOLDER NEW-FOLDER' writes LABEL/SUBJECT/FILE"
            )
        known, who = (
            None if text is None else folders.safe_name(text) for text in (label, subject)
        )
        name = PurePosixPath(path).name
        target = name if label is None and path in own else folders.path_of(known, who, name)
        moved[path] = path if target == path else free(target, taken)
    steps: list[Step] = [{"move": [old, new]} for old, new in moved.items() if old != new]
    steps.append({"move": [INDEX, free(f"{folders.ORIGINALS}/{INDEX}", taken)]})
    return steps, {r.id: moved[r.path] + r.id[len(r.path) :] for r in records if r.path in moved}
