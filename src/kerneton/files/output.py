"""Files appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path``, with its suffix, that takes its place when the block ends well.

    The folder is made where it is missing; after an error nothing is left and an older file stays as it was.

    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "notes.txt") as temporary:
    ...     _ = temporary.write_text("done")
    >>> [file.name for file in folder.iterdir()], (folder / "notes.txt").read_text()
    (['notes.txt'], 'done')
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp's files are for their owner alone
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, whole or not at all.

    >>> folder = Path(tempfile.mkdtemp())
    >>> write_text(folder / "deep" / "notes.txt", "done")
    >>> (folder / "deep" / "notes.txt").read_text()
    'done'
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _umask() -> int:
    current = os.umask(0)  # the only way to read it is to set it
    os.umask(current)
    return current
