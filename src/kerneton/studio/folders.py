"""Paths and names inside the studio's folder, and which names are allowed.

Recordings are where the command line looks for them, ``LABEL/SUBJECT/FILE``. Everything else is
below ``__studio__``, which the command line skips: recordings without a label, notes, the journal,
models.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from kerneton.exceptions import ParameterError

STUDIO = "__studio__"
UNLABELLED = f"{STUDIO}/unlabelled"
INCOMING = f"{STUDIO}/incoming"
ASIDE = f"{STUDIO}/set-aside"
TRASH = f"{STUDIO}/trash"
ORIGINALS = f"{STUDIO}/originals"
MODELS = f"{STUDIO}/models"
LONGEST = 80  # characters of a label, subject or file name

# of a name; file systems have room for 255, and files of segments have a number, too
_LONGEST_BYTES = 200
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # of Unicode's categories
_JOINERS = "\u200c\u200d"  # between the letters of some scripts, and in emoji
_DEVICES = {
    "CON",
    "PRN",
    "AUX",
    "NUL",
    *(f"{kind}{n}" for kind in ("COM", "LPT") for n in range(1, 10)),
}
# Cyrillic and Greek letters, and digits, that look like Latin letters.
_ALIKE = str.maketrans("авекмнорстухіјѕԁԛԝαβεικνορτυχ01", "abekmhopctyxijsdqwabeikvoptuxol")
_FORBIDDEN = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]')


def check_name(text: object, what: str) -> str | None:
    """A label or subject that can be a folder's name; None for an empty one.

    >>> check_name("  wave ", "label"), check_name("", "label")
    ('wave', None)
    >>> check_name("../up", "label")
    Traceback (most recent call last):
    kerneton.exceptions.ParameterError: label '../up' contains '/', which ...
    """
    if text is None:
        return None
    if not isinstance(text, str):
        raise ParameterError(f"{what} must be text, got {type(text).__name__}")
    text = unicodedata.normalize("NFC", text).strip()
    if not text:
        return None
    shown = f"{what} {text[:LONGEST]!r}"
    if found := _FORBIDDEN.search(text):
        raise ParameterError(
            f"{shown} contains {found[0]!r}, which a folder's name cannot; choose another"
        )
    if hidden := next(
        (c for c in text if unicodedata.category(c) in _UNSEEN and c not in _JOINERS), None
    ):
        name = unicodedata.name(hidden, f"character {ord(hidden)}").lower()
        raise ParameterError(
            f"{shown} contains a character that cannot be seen ({name}); choose another"
        )
    if text.startswith((".", "__")) or text.endswith("."):
        raise ParameterError(f"{shown} begins with '.' or '__' or ends with '.'; choose another")
    if text.split(".")[0].strip().upper() in _DEVICES:
        raise ParameterError(f"{shown} is the name of a device on Windows; choose another")
    if len(text) > LONGEST or len(text.encode()) > _LONGEST_BYTES:
        raise ParameterError(
            f"{what} has {len(text)} characters, {len(text.encode())} bytes; at most {LONGEST} and {_LONGEST_BYTES}"
        )
    return text


def look_alike(name: str, others: Iterable[str]) -> str | None:
    """Another name that a reader takes for this one: by its case, spaces, or letters of other
    alphabets that look the same.

    >>> (
    ...     look_alike("Wave", ["clap", "wave"]),
    ...     look_alike("w\u0430ve", ["wave"]),
    ...     look_alike("wave", ["wave"]),
    ... )
    ('wave', 'wave', None)
    """
    drawn = _drawn(name)
    return next((other for other in others if other != name and _drawn(other) == drawn), None)


def _drawn(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).casefold().translate(_ALIKE)
    return "".join(c for c in plain if c.isalnum())


def safe_name(text: str) -> str:
    """Any text as the name of a file or folder that cannot lead out of its folder.

    >>> safe_name("../a: b/c"), safe_name(".."), safe_name("__x")
    ('_a_ b_c', '_', 'x')
    """
    clean = _FORBIDDEN.sub("_", unicodedata.normalize("NFC", text))
    seen = (c if c in _JOINERS or unicodedata.category(c) not in _UNSEEN else "_" for c in clean)
    clean = "".join(seen).strip()
    while clean.startswith((".", "__")):
        clean = clean[1:] if clean.startswith(".") else clean[2:]
    clean = clean[:LONGEST].encode()[:_LONGEST_BYTES].decode("utf-8", "ignore").strip().rstrip(".")
    return f"_{clean}" if not clean or clean.split(".")[0].strip().upper() in _DEVICES else clean


def shortened(stem: str) -> str:
    """A file name's stem that leaves room for the number of a segment; of a long one, the end is
    replaced by a digest.

    >>> shortened("day"), len(shortened("day" * 99))
    ('day', 191)
    """
    data = os.fsencode(stem)
    if len(data) <= _LONGEST_BYTES:
        return stem
    return f"{data[:180].decode('utf-8', 'ignore')}-{hashlib.sha256(data).hexdigest()[:10]}"


def path_of(label: str | None, subject: str | None, file: str) -> str:
    """Path of a recording below the folder.

    >>> (
    ...     path_of("wave", "ann", "1.csv"),
    ...     path_of(None, "ann", "1.csv"),
    ...     path_of("wave", None, "1.csv"),
    ... )
    ('wave/ann/1.csv', '__studio__/unlabelled/ann/1.csv', 'wave/1.csv')
    """
    parts = [UNLABELLED if label is None else label, subject, file]
    return str(PurePosixPath(*(part for part in parts if part is not None)))


def label_and_subject(path: str) -> tuple[str | None, str | None]:
    """Label and subject in the path of a recording, as the command line reads them.

    >>> label_and_subject("wave/ann/1.csv"), label_and_subject("__studio__/unlabelled/ann/1.csv")
    (('wave', 'ann'), (None, 'ann'))
    """
    folders = PurePosixPath(path).parent.parts
    if path.startswith(UNLABELLED):
        return None, (*folders, None)[2]
    label, subject = (*folders, None, None)[:2]
    return label, subject


def is_listed(path: str) -> bool:
    """Whether a file at this path belongs to the list: not in the trash, and not hidden.

    >>> (
    ...     is_listed("wave/1.csv"),
    ...     is_listed("__studio__/trash/1.csv"),
    ...     is_listed("__studio__/unlabelled/1.csv"),
    ... )
    (True, False, True)
    """
    parts = PurePosixPath(path.removeprefix(UNLABELLED + "/")).parts
    return not any(part.startswith((".", "__")) for part in parts)


def named(
    path: str, parts: Sequence[Any], label: str | None, subject: str | None
) -> Iterator[tuple[str, str | None, str | None]]:
    """Id, label and subject of each recording of a file: the folder's, unless the file holds
    several kinds.

    ``parts`` have the ``label`` and ``subject`` that the file states. A recording with ``segments``
    has no label: its only folder is its subject.
    """
    own_labels, own_subjects = {part.label for part in parts}, {part.subject for part in parts}
    for k, part in enumerate(parts, start=1):
        own_label = part.label if label is None or len(own_labels) > 1 else label
        own_subject = part.subject if subject is None or len(own_subjects) > 1 else subject
        if part.segments:
            own_label, own_subject = None, subject or part.subject or label
        id = path if len(parts) == 1 else f"{path}#{k}"
        yield id, None if path.startswith(UNLABELLED) else own_label, own_subject


def order(id: str, record: Any) -> tuple[Any, ...]:
    """Sorting key of recordings: as the folder lists them, those without a label last."""
    return id.startswith(UNLABELLED), record.path.split("/"), record.part or 0


def is_inside(root: Path, path: Path) -> bool:
    """Whether a path below a folder stays there, also where a link leads."""
    return (
        ".." not in path.parts and path.is_relative_to(root) and path.resolve().is_relative_to(root)
    )


def free_path(wanted: str, taken: Callable[[str], bool]) -> str:
    """An unused path: the wanted one, or with a number before its suffix.

    >>> free_path("wave/1.csv", {"wave/1.csv", "wave/1_2.csv"}.__contains__)
    'wave/1_3.csv'
    """
    path = PurePosixPath(wanted)
    numbered = (
        str(path.with_name(f"{path.stem}_{number}{path.suffix}")) for number in itertools.count(2)
    )
    return next(
        candidate for candidate in itertools.chain([wanted], numbered) if not taken(candidate)
    )
