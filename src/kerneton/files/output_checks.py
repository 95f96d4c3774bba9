"""Where results will go is looked at before the work begins, so that nothing computed is lost at its end."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from kerneton.exceptions import MissingExtraError, ParameterError

PICTURES = (".png", ".svg", ".pdf", ".gif", ".mp4", ".jpg", ".jpeg")
RECORDINGS = (".npz", ".npy", ".csv", ".tsv", ".txt", ".pkl", ".pickle", ".json", ".bvh", ".trc")
_LEAST = 1 << 20  # bytes that must be free where something is to be written


def check_outputs(
    outputs: Iterable[str | os.PathLike[str]],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    folders: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Refuse outputs that cannot be written, or that would overwrite what is read; every problem in one error.

    ``outputs`` are files to be written; ``folders`` are folders to be filled; ``"-"`` is the screen.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> check_outputs([f"{folder}/report.html", "-"])
    >>> check_outputs([folder])
    Traceback (most recent call last):
    ...
    kerneton.exceptions.ParameterError: ...: a folder; name a file to write
    """
    files = [os.fspath(path) for path in outputs if os.fspath(path) != "-"]
    read = {os.path.realpath(path) for path in inputs}
    problems = []
    for path in files:
        if os.path.isdir(path):
            problems.append(f"{path}: a folder; name a file to write")
        elif os.path.realpath(path) in read:
            problems.append(f"{path}: would overwrite what is read; name another file")
        elif (problem := _blocked(path)) is not None:
            problems.append(f"{path}: {problem}")
        elif Path(path).suffix.lower() in RECORDINGS and (inside := _within(path, read)) is not None:
            problems.append(f"{path}: would be taken for a recording of {inside}; write outside of it")
    for folder in folders:
        path = os.fspath(folder)
        if os.path.lexists(path) and not os.path.isdir(path):
            problems.append(f"{path}: not a folder; name a folder to write to")
        elif (problem := _blocked(os.path.join(path, "x"))) is not None:
            problems.append(f"{path}: {problem}")
        elif (inside := _within(os.path.join(path, "x"), read)) is not None:
            problems.append(f"{path}: would be taken for recordings of {inside}; write outside of it")
    twice = {path for path in files if files.count(path) > 1 and not _is_stream(path)}
    problems += [f"{path}: named for two results" for path in sorted(twice)]
    if problems:
        raise ParameterError("; ".join(problems))
    if any(Path(path).suffix.lower() in PICTURES for path in files) and find_spec("matplotlib") is None:
        raise MissingExtraError("pictures need matplotlib: pip install 'kerneton[plot]'")


def _within(path: str, read: set[str]) -> str | None:
    """The folder that is read in which a path lies."""
    real = os.path.realpath(path)
    return next((f for f in sorted(read) if os.path.isdir(f) and real.startswith(os.path.join(f, ""))), None)


def _blocked(path: str) -> str | None:
    """Why a file cannot be written at a path, as far as can be told without writing it."""
    if _is_stream(path):
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
        if usage.total and usage.free < _LEAST:  # what is no disk has no size
            return f"no space left in {place}"
        longest = os.pathconf(place, "PC_NAME_MAX") if hasattr(os, "pathconf") else 255
    except OSError as error:
        return error.strerror
    except ValueError:  # a NUL in the name
        return "no possible name"
    name = os.path.basename(real)
    return f"its name is longer than {longest} bytes" if len(os.fsencode(name)) > longest else None


def _is_stream(path: str) -> bool:
    """Whether a path is a device, a pipe or one of our own descriptors, which are written to as they stand."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
