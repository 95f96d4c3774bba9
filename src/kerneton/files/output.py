"""Outputs are checked before the work; files are written completely or not at all; devices, pipes
and links are preserved.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from kerneton.exceptions import MissingExtraError, ParameterError

try:
    import fcntl
except ImportError:  # not a Unix: leftovers of killed runs stay
    fcntl = None  # type: ignore[assignment]

_PREFIX = ".kerneton-"
_TEMPORARY = re.compile(re.escape(_PREFIX) + r"[0-9a-f]{16}(\..*)?")
_DESCRIPTOR = re.compile(r"/(?:dev|proc/(?:self|thread-self|\d+))/fd/(\d+)")
_MOST_LINKS = 40  # as many as Linux follows
_LONGEST_SUFFIX = 32
AnyPath = str | os.PathLike[str]
Paths = Iterable[str | os.PathLike[str]]
_LEAST = 1 << 20  # bytes that must be free where something is to be written


def check_outputs(
    outputs: Paths, *, inputs: Paths = (), folders: Paths = (), pictures: Paths = ()
) -> None:
    """Refuse outputs that cannot be written or would overwrite inputs, with all problems in one
    error.

    ``outputs`` and ``pictures`` are files to be written; ``folders`` are folders to be filled;
    ``"-"`` is the screen.

    >>> folder = tempfile.mkdtemp()
    >>> check_outputs([f"{folder}/report.html", "-"])
    >>> check_outputs([folder])
    Traceback (most recent call last):
    ...
    kerneton.exceptions.ParameterError: ...: a folder; name a file to write
    """
    drawn = [os.fspath(path) for path in pictures]
    files = [path for path in (*(os.fspath(path) for path in outputs), *drawn) if path != "-"]
    read = sorted(os.fspath(path) for path in inputs)
    told: dict[str, str | None] = {}
    for i, path in enumerate(files):
        if os.path.isdir(path):
            told[path] = "a folder; name a file to write"
        elif (
            "\0" not in path
            and any(is_same(path, other) for other in files[:i])
            and not _is_stream(Path(path))
        ):
            told[path] = "given for two outputs"
        else:
            told[path] = _blocked(path)
            if read and (os.path.isfile(path) or any(lies_in(path, source) for source in read)):
                from kerneton.files.inputs import spoils

                told[path] = spoils(path, read) or told[path]
    for folder in folders:
        path, inside = os.fspath(folder), os.path.join(folder, "x")
        if os.path.lexists(path) and not os.path.isdir(path):
            told[path] = "not a folder; name a folder to write to"
        elif among := next((source for source in read if lies_in(inside, source)), None):
            told[path] = f"would be read as recordings of {among}; write outside of it"
        else:
            told[path] = _blocked(inside)
    if problems := [f"{path}: {problem}" for path, problem in told.items() if problem]:
        raise ParameterError("; ".join(problems))
    if drawn and find_spec("matplotlib") is None:
        raise MissingExtraError("pictures need matplotlib: pip install 'kerneton[plot]'")


def lies_in(path: str, folder: str) -> bool:
    """Whether the target of a path is in a folder."""
    inside = os.path.join(os.path.realpath(folder), "")
    return "\0" not in path and os.path.isdir(folder) and os.path.realpath(path).startswith(inside)


def is_same(path: str, other: str | os.PathLike[str]) -> bool:
    """Whether two paths are one file: by name, or by a link of any kind."""
    with suppress(OSError, ValueError):
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def _blocked(path: str) -> str | None:
    """The reason why a file cannot be written at a path, as far as it is known without writing."""
    if "\0" in path:
        return "no possible name"
    if _is_stream(Path(path)):
        return None
    real = os.path.realpath(path)
    place = os.path.dirname(real)
    while not os.path.lexists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)  # missing folders are made
    try:
        if not os.path.isdir(place):
            return f"{place} is not a folder"
        if not os.access(place, os.W_OK | os.X_OK):
            return f"the folder {place} cannot be written to"
        usage = shutil.disk_usage(place)
        if usage.total and usage.free < _LEAST:  # only disks have a size
            return f"no space left in {place}"
        with tempfile.TemporaryFile(
            dir=place
        ):  # permissions are not enough, as on a read-only disk
            pass
        longest = os.pathconf(place, "PC_NAME_MAX") if hasattr(os, "pathconf") else 255
    except OSError as error:
        return error.strerror
    name = os.path.basename(real)
    return f"its name is longer than {longest} bytes" if len(os.fsencode(name)) > longest else None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path with the suffix of ``path``, which replaces it if the block ends without an
    error.

    The folder is made where it is missing. The content is on the disk before the file appears;
    after an error nothing is left and an older file stays as it was. A symbolic link stays, and the
    file it leads to is replaced. Devices, pipes and the standard streams (``/dev/stdout``) are
    written to. What earlier runs left when they were killed is removed.

    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "notes.txt") as temporary:
    ...     _ = temporary.write_text("done")
    >>> [file.name for file in folder.iterdir()], (folder / "notes.txt").read_text()
    (['notes.txt'], 'done')
    """
    with _naming(path) as temporaries:
        target = _follow(path)
        if _is_stream(target):
            with tempfile.TemporaryDirectory(prefix="kerneton-") as folder:
                temporary = Path(folder, "content" + _suffix(target))
                temporaries.append(temporary)
                yield temporary
                with temporary.open("rb") as source, _open_stream(target) as stream:
                    shutil.copyfileobj(source, stream)
            return
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        _make_folder(target.parent, path)
        _remove_leftovers(os.path.realpath(target.parent))
        descriptor, temporary = _create_beside(target)
        temporaries.append(temporary)
        try:
            yield temporary
            with suppress(FileNotFoundError):  # a file that is replaced keeps its permissions
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            os.fsync(descriptor)
            temporary.replace(target)
            _keep_folder(target.parent)
        finally:
            temporary.unlink(missing_ok=True)
            os.close(descriptor)  # and with it the lock


def write_text(path: str | os.PathLike[str], text: str) -> None:
    r"""Write text as UTF-8, whole or not at all.

    Bytes of file names that are no UTF-8 are written as Python shows them, such as ``\udce9``.

    >>> folder = Path(tempfile.mkdtemp())
    >>> write_text(folder / "deep" / "notes.txt", "done")
    >>> (folder / "deep" / "notes.txt").read_text()
    'done'
    """
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "backslashreplace"))


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[list[Path]]:
    """Make errors of the system name the user's file instead of a temporary file or none."""
    temporaries: list[Path] = []
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "no possible name", os.fspath(path))
    try:
        yield temporaries
    except OSError as error:
        ours = {None, *(os.fspath(t) for t in temporaries)}
        named = None if error.filename is None else os.fsdecode(error.filename)
        if error.errno is not None and named in ours:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise


def _follow(path: str | os.PathLike[str]) -> Path:
    """The target of links, up to a name that is no link or is an open descriptor."""
    target = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        if _DESCRIPTOR.fullmatch(target) or not os.path.islink(target):
            return Path(target)
        target = os.path.abspath(
            os.path.join(os.path.realpath(os.path.dirname(target)), os.readlink(target))
        )
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))


def _is_stream(target: Path) -> bool:
    """Whether a path is a device, a pipe or an open descriptor, which is written to directly."""
    if _DESCRIPTOR.fullmatch(str(target)):
        return True
    try:
        mode = target.stat().st_mode
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _open_stream(target: Path) -> BinaryIO:
    """Open a device or pipe, or copy one of our own descriptors, which keeps its position."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(ValueError, AttributeError):  # closed, or None
            stream.flush()
    own = _DESCRIPTOR.fullmatch(str(target))
    if own and str(target).startswith(
        ("/dev/fd/", "/proc/self/", "/proc/thread-self/", f"/proc/{os.getpid()}/")
    ):
        return os.fdopen(os.dup(int(own[1])), "wb")
    return os.fdopen(os.open(target, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)), "wb")


def _make_folder(folder: Path, path: str | os.PathLike[str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotADirectoryError(
            errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(path)
        ) from error
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error


def _create_beside(target: Path) -> tuple[int, Path]:
    """An empty file beside the target, locked while its descriptor is open; private if it replaces
    a file.
    """
    mode = 0o600 if target.exists() else 0o666
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
    while True:
        temporary = target.with_name(_PREFIX + os.urandom(8).hex() + _suffix(target))
        try:
            descriptor = os.open(temporary, flags, mode)
        except FileExistsError:
            continue
        except OSError as error:
            raise type(error)(
                error.errno, error.strerror
            ) from error  # the user's file is named further up
        # Between the two calls another run may have removed the file as a leftover.
        if lock(descriptor) and os.fstat(descriptor).st_nlink:
            return descriptor, temporary
        os.close(descriptor)


def _suffix(target: Path) -> str:
    return target.suffix if len(os.fsencode(target.suffix)) <= _LONGEST_SUFFIX else ""


def lock(descriptor: int, *, trusted: bool = True) -> bool:
    """Lock an open file or folder; False where another process holds it. File systems without locks
    may be trusted.
    """
    if fcntl is None:
        return trusted
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return trusted and error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


@functools.lru_cache(maxsize=1024)
def _remove_leftovers(folder: str) -> None:
    """Remove temporary files of killed runs, which are not locked; once per process and folder."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as found:
        for name in [entry.name for entry in found if _TEMPORARY.fullmatch(entry.name)]:
            with suppress(OSError):
                _remove_unlocked(os.path.join(folder, name))


def _remove_unlocked(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    finally:
        os.close(descriptor)


def _keep_folder(folder: Path) -> None:
    """Wait until a folder's names are on the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
