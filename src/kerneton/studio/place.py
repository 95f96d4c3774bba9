"""Files of one folder that may come from a stranger: paths are checked, and no link is followed.

Every path is relative, with ``/`` between its parts. Folders on the way are opened one by one, each
relative to the handle of the one above (``O_NOFOLLOW``), so that neither ``..`` nor a link can lead
out. Where the system has no such handles (Windows), every folder on the way is looked at first.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, KernetonError
from kerneton.files.readers import write

_HANDLES = (
    os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")
)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


def parts_of(path: object) -> tuple[str, ...]:
    """The parts of a path that stays inside its folder; anything else is an error.

    >>> parts_of("wave/ann/1.csv")
    ('wave', 'ann', '1.csv')
    >>> parts_of("../thesis.txt")
    Traceback (most recent call last):
    kerneton.exceptions.DataError: '../thesis.txt': not a path inside the folder
    """
    parts = path.split("/") if isinstance(path, str) else [""]
    foreign = os.name == "nt" and any(c in str(path) for c in "\\:")
    try:
        os.fsencode(str(path))
    except UnicodeError:
        foreign = True
    if foreign or "\0" in str(path) or any(part in ("", ".", "..") for part in parts):
        raise DataError(f"{str(path)[:200]!r}: not a path inside the folder")
    return tuple(parts)


class Place:
    """The files of a folder.

    >>> place = Place(Path(tempfile.mkdtemp()))
    >>> place.write("notes/a.txt", b"good")
    >>> place.move("notes/a.txt", "b.txt")
    >>> place.read("b.txt"), place.names("notes")
    (b'good', [])
    >>> (place.root / "link").symlink_to("/etc")
    >>> place.read("link/passwd")
    Traceback (most recent call last):
    kerneton.exceptions.DataError: link/passwd: there is a link on the way, ...
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._identity = self._found()

    def _found(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.root)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def check_there(self) -> None:
        """An error if the folder is not the one that was opened."""
        if self._identity is None or self._found() != self._identity:
            raise DataError(
                f"the folder {self.root.name} was moved or removed; put it back, or end the studio and open it where it is now"
            )

    # Looking

    def status(self, path: str) -> os.stat_result | None:
        """Facts about a file, a folder or a link, which is not followed; None if there is none."""
        with suppress(FileNotFoundError), self._above(path) as (handle, name):
            return os.stat(name, dir_fd=handle, follow_symlinks=False)
        return None

    def is_file(self, path: str) -> bool:
        """Whether there is a file, with no link on the way; a path that leads out is none."""
        with suppress(KernetonError, OSError):
            found = self.status(path)
            return found is not None and stat.S_ISREG(found.st_mode)
        return False

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder, with no link on the way."""
        with suppress(KernetonError, OSError):
            found = self.status(path)
            return found is not None and stat.S_ISDIR(found.st_mode)
        return False

    def is_taken(self, path: str) -> bool:
        """Whether there is anything, also a link that leads nowhere."""
        return self.status(path) is not None

    def names(self, path: str) -> list[str]:
        """Names in a folder; none if there is no such folder."""
        try:
            with self._above(f"{path}/x") as (handle, name):
                return sorted(os.listdir(os.path.dirname(name) if handle is None else handle))
        except FileNotFoundError:
            return []

    def read(self, path: str, most: int = 1 << 28) -> bytes | None:
        """The content of a file; None if there is none."""
        try:
            with self._open(path, os.O_RDONLY) as file:
                content = file.read(most + 1)
        except FileNotFoundError:
            return None
        if len(content) > most:
            raise DataError(f"{path}: more than {most} bytes")
        return content

    @contextmanager
    def reading(self, path: str) -> Iterator[IO[bytes]]:
        """A file to be read."""
        with self._open(path, os.O_RDONLY) as file:
            yield file

    # Changing

    def folder(self, path: str) -> Path:
        """A folder, made if it is missing."""
        with self._above(f"{path}/x", make=True):
            return self.root / path

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of a file, all or nothing; the file is made if it is missing."""
        with self._open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
            size = os.fstat(file.fileno()).st_size
            try:
                file.write(data)
                file.flush()
            except OSError:  # the disk is full: half a line must not stay
                os.ftruncate(file.fileno(), size)
                raise

    def shorten(self, path: str, size: int) -> None:
        """Keep the first bytes of a file."""
        with self._open(path, os.O_WRONLY) as file:
            os.ftruncate(file.fileno(), size)

    def flush(self, path: str) -> None:
        """Wait until a file is on the disk."""
        with self._open(path, os.O_RDWR) as file:
            os.fsync(file.fileno())

    @contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        """A file to be written, which replaces an older one if the block ends without an error."""
        temporary = f".kerneton-{os.urandom(8).hex()}"
        with self._above(path, make=True) as (handle, name):
            beside = (
                temporary if handle is not None else os.path.join(os.path.dirname(name), temporary)
            )
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW
            try:
                with os.fdopen(os.open(beside, flags, 0o666, dir_fd=handle), "wb") as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(beside, name, src_dir_fd=handle, dst_dir_fd=handle)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(beside, dir_fd=handle)

    def write(self, path: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        with self.writing(path) as file:
            file.write(data)

    def write_recordings(self, path: str, sequences: Iterable[SkeletonSequence]) -> None:
        """Write recordings in the format of the extension, whole or not at all."""
        with tempfile.TemporaryDirectory(prefix="kerneton-") as work:
            made = Path(work, Path(path).name)
            write(sequences, made)
            with made.open("rb") as source, self.writing(path) as target:
                shutil.copyfileobj(source, target)

    def move(self, source: str, target: str) -> None:
        """Move a file or folder to a path that is free; links stay where they are."""
        with self._above(source) as (old, before), self._above(target, make=True) as (new, after):
            if stat.S_ISLNK(os.stat(before, dir_fd=old, follow_symlinks=False).st_mode):
                raise DataError(f"{source}: a link; the studio moves files and folders")
            with suppress(FileNotFoundError):
                os.stat(after, dir_fd=new, follow_symlinks=False)
                raise DataError(f"{target}: there is a file already")
            os.rename(before, after, src_dir_fd=old, dst_dir_fd=new)

    def set_aside(self, source: str, target: str) -> None:
        """Move anything, also a link as it is, to a path that is free."""
        with self._above(source) as (old, before), self._above(target, make=True) as (new, after):
            os.rename(before, after, src_dir_fd=old, dst_dir_fd=new)

    def remove(self, path: str) -> None:
        """Remove a file, or a link but not its target; nothing if there is none."""
        with suppress(FileNotFoundError), self._above(path) as (handle, name):
            os.unlink(name, dir_fd=handle)

    def remove_empty_above(self, path: str) -> None:
        """Remove the folders that a file was in, from the lowest up, as far as they are empty."""
        above = parts_of(path)[:-1]
        with suppress(OSError, DataError):  # not empty
            while above:
                with self._above("/".join(above)) as (handle, name):
                    os.rmdir(name, dir_fd=handle)
                above = above[:-1]

    def remove_folder(self, path: str) -> None:
        """Remove a folder with all that is in it."""
        for name in self.names(path):
            inside = f"{path}/{name}"
            if self.is_folder(inside):
                self.remove_folder(inside)
            else:
                self.remove(inside)
        with suppress(FileNotFoundError), self._above(path) as (handle, name):
            os.rmdir(name, dir_fd=handle)

    # Handles

    def handle(self, path: str) -> int:
        """A handle of a folder, which is made if it is missing, for a lock; where the system has
        none, of its file ``lock``.
        """
        with self._above(f"{path}/lock", make=True) as (handle, name):
            return os.open(name, os.O_RDWR | os.O_CREAT) if handle is None else os.dup(handle)

    @contextmanager
    def _open(self, path: str, flags: int) -> Iterator[IO[bytes]]:
        with self._above(path, make=bool(flags & os.O_CREAT)) as (handle, name):
            found = os.open(name, flags | _NOFOLLOW, 0o666, dir_fd=handle)
            mode = "rb" if flags & 3 == os.O_RDONLY else "wb"
            with os.fdopen(found, mode) as file:
                facts = os.fstat(found)
                if not stat.S_ISREG(facts.st_mode) or (handle is None and os.path.islink(name)):
                    raise DataError(f"{path}: not a file")
                if mode == "wb" and facts.st_nlink > 1:
                    raise DataError(
                        f"{path}: a file with several names, which might be another file"
                    )
                yield file

    @contextmanager
    def _above(self, path: str, *, make: bool = False) -> Iterator[tuple[int | None, str]]:
        """The handle of the folder that a path lies in, and its name there; without handles None
        and the whole path.
        """
        *above, name = parts_of(path)
        self.check_there()
        try:
            if _HANDLES:
                handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    for part in above:
                        below = _enter(part, handle, make)
                        os.close(handle)
                        handle = below
                    yield handle, name
                finally:
                    os.close(handle)
            else:
                yield None, str(self._looked_at(above, make) / name)
        except KernetonError:
            raise
        except OSError as error:
            if error.errno in _LINK_ERRORS:
                message = f"{path}: there is a link on the way, and the studio follows none"
                raise DataError(message) from error
            raise type(error)(error.errno, error.strerror, path) from error

    def _looked_at(self, above: list[str], make: bool) -> Path:
        at = self.root
        for part in above:
            at = at / part
            if make:
                at.mkdir(exist_ok=True)
            if os.path.realpath(at) != str(at):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return at


def _enter(name: str, above: int, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=above)
        return os.open(name, _FOLDER, dir_fd=above)
