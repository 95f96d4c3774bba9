"""Names and places inside the studio's folder, and what may not be one.

Recordings lie where the command line looks for them, ``LABEL/SUBJECT/FILE``. Everything else is below
``__studio__``, which the command line skips: recordings without a label, notes, the journal, models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from kerneton.exceptions import ParameterError

STUDIO = "__studio__"
UNLABELLED = f"{STUDIO}/unlabelled"
INCOMING = f"{STUDIO}/incoming"
TRASH = f"{STUDIO}/trash"
ORIGINALS = f"{STUDIO}/originals"
MODELS = f"{STUDIO}/models"
LONGEST = 80  # characters of a label, subject or file name

_FORBIDDEN = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]')


def check_name(text: object, what: str) -> str | None:
    """A label or subject that can be a folder's name; None for an empty one.

    >>> check_name("  wave ", "label"), check_name("", "label")
    ('wave', None)
    >>> check_name("../up", "label")
    Traceback (most recent call last):
    kerneton.exceptions.ParameterError: label '../up' contains '/', which a folder's name cannot; choose another
    """
    if text is None:
        return None
    if not isinstance(text, str):
        raise ParameterError(f"{what} must be text, got {type(text).__name__}")
    text = text.strip()
    if not text:
        return None
    found = _FORBIDDEN.search(text)
    if found:
        raise ParameterError(
            f"{what} {text[:LONGEST]!r} contains {found[0]!r}, which a folder's name cannot; choose another"
        )
    if text.startswith((".", "__")) or text.endswith("."):
        raise ParameterError(
            f"{what} {text[:LONGEST]!r} begins with '.' or '__' or ends with '.'; choose another"
        )
    if len(text) > LONGEST:
        raise ParameterError(f"{what} has {len(text)} characters; at most {LONGEST}")
    return text


def safe_name(text: str) -> str:
    """A name that stays within its folder, whatever it came from.

    >>> safe_name("../a: b/c"), safe_name(".."), safe_name("__x")
    ('_a_ b_c', '_', 'x')
    """
    clean = _FORBIDDEN.sub("_", text).strip()
    while clean.startswith((".", "__")):
        clean = clean[1:] if clean.startswith(".") else clean[2:]
    return clean[:LONGEST].strip().rstrip(".") or "_"


def place(label: str | None, subject: str | None, file: str) -> str:
    """Where a recording lies, below the folder.

    >>> place("wave", "ann", "1.csv"), place(None, "ann", "1.csv"), place("wave", None, "1.csv")
    ('wave/ann/1.csv', '__studio__/unlabelled/ann/1.csv', 'wave/1.csv')
    """
    parts = [UNLABELLED if label is None else label, subject, file]
    return str(PurePosixPath(*(part for part in parts if part is not None)))


def label_and_subject(path: str) -> tuple[str | None, str | None]:
    """What the place of a recording says, as the command line understands it.

    >>> label_and_subject("wave/ann/1.csv"), label_and_subject("__studio__/unlabelled/ann/1.csv")
    (('wave', 'ann'), (None, 'ann'))
    """
    folders = PurePosixPath(path).parent.parts
    if path.startswith(UNLABELLED):
        return None, (*folders, None)[2]
    label, subject = (*folders, None, None)[:2]
    return label, subject


def is_listed(path: str) -> bool:
    """Whether a file at this path would be in the list: not in the trash, and not hidden.

    >>> is_listed("wave/1.csv"), is_listed("__studio__/trash/1.csv"), is_listed("__studio__/unlabelled/1.csv")
    (True, False, True)
    """
    parts = PurePosixPath(path).parts
    return not any(
        part.startswith((".", "__")) for part in (parts[2:] if path.startswith(UNLABELLED) else parts)
    )


def named(
    path: str, parts: Sequence[Any], label: str | None, subject: str | None
) -> Iterator[tuple[str, str | None, str | None]]:
    """Id, label and subject of each recording of a file: the folder's, unless the file holds several kinds.

    ``parts`` have ``label`` and ``subject`` as the file says.
    """
    if path.startswith(UNLABELLED):
        labels: list[str | None] = [None] * len(parts)
    else:
        labels = _known([part.label for part in parts], label)
    subjects = _known([part.subject for part in parts], subject)
    for k, known in enumerate(zip(labels, subjects, strict=True), start=1):
        yield (path if len(parts) == 1 else f"{path}#{k}", *known)


def _known(own: list[str | None], told: str | None) -> list[str | None]:
    return own if told is None or len(set(own)) > 1 else [told] * len(own)


def order(id: str, record: Any) -> tuple[Any, ...]:
    """What recordings are sorted by: as the folder lists them, those without a label last."""
    return id.startswith(UNLABELLED), record.path.split("/"), record.part or 0


def free_place(wanted: str, taken: Callable[[str], bool]) -> str:
    """A path that nothing has: the wanted one, or with a number before its ending.

    >>> free_place("wave/1.csv", {"wave/1.csv", "wave/1_2.csv"}.__contains__)
    'wave/1_3.csv'
    """
    path, number = PurePosixPath(wanted), 2
    candidate = wanted
    while taken(candidate):
        candidate = str(path.with_name(f"{path.stem}_{number}{path.suffix}"))
        number += 1
    return candidate


def remove_empty_folders(root: Path, below: Path) -> None:
    """Remove a folder and those above it, up to ``root``, as far as they are empty."""
    while below != root and root in below.parents:
        try:
            below.rmdir()
        except OSError:
            return
        below = below.parent
