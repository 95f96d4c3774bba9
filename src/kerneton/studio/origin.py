"""Whether a folder's ``__studio__`` was made by the studio of this user on this machine.

The folder holds a random number in ``__studio__/id``; the user's own state folder holds, under that
number, the place of that file on the disk and the time at which it got there, which neither a copy
nor an archive can have.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from contextlib import suppress
from pathlib import Path

from kerneton.exceptions import KernetonError
from kerneton.files.output import replacing
from kerneton.studio.folders import STUDIO
from kerneton.studio.place import Place

ID = f"{STUDIO}/id"
_RECENT = 12  # folders
_NUMBER = re.compile(rb"[0-9a-f]{32}")


def state_folder() -> Path:
    """Where the studio keeps what belongs to the user and to no folder: for this user's eyes
    only.
    """
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()), "kerneton")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "kerneton")


def is_ours(place: Place) -> bool:
    """Whether this studio made the folder's ``__studio__``, here; a folder without one is taken as
    ours.
    """
    if not place.is_taken(STUDIO):
        return True
    with suppress(KernetonError, OSError):
        if set(place.names(STUDIO)) <= {"id", "lock"}:
            return True
        number = place.read(ID, 64)
        if number is not None and _NUMBER.fullmatch(number):
            return _register(number).read_text(encoding="ascii") == _identity(place)
    return False


def adopt(place: Place) -> None:
    """From now on this folder's ``__studio__`` is ours."""
    number = place.read(ID, 64) if place.is_file(ID) else None
    if number is not None and _NUMBER.fullmatch(number):
        with suppress(OSError):
            if _register(number).read_text(encoding="ascii") == _identity(place):
                return
    number = secrets.token_hex(16).encode()
    place.write(ID, number)
    with suppress(OSError):  # a home that cannot be written to: the question comes again next time
        _keep(_register(number), _identity(place))


def token() -> str:
    """The token of this user's pages, the same after every start, so that open pages find the
    studio again.
    """
    path = state_folder() / "token"
    with suppress(OSError):
        kept = path.read_text(encoding="ascii").strip()
        if re.fullmatch(r"[\w-]{32}", kept) and (
            os.name == "nt" or not path.stat().st_mode & 0o077
        ):
            return kept
    made = secrets.token_urlsafe(24)
    with suppress(OSError):
        _keep(path, made)
    return made


def remember(folder: Path) -> None:
    """Put a folder at the head of those that were open last."""
    with suppress(OSError, UnicodeError):
        some = [str(folder), *(known for known in recent() if known != str(folder))]
        _keep(state_folder() / "recent.json", json.dumps(some[:_RECENT]))


def recent() -> list[str]:
    """The folders that were open last, the newest first, as far as they are still there."""
    with suppress(OSError, ValueError, RecursionError):
        some = json.loads((state_folder() / "recent.json").read_text(encoding="ascii"))
        if isinstance(some, list) and all(isinstance(path, str) for path in some):
            return [path for path in some[:_RECENT] if Path(path).is_dir()]
    return []


def opening_page(address: str, port: int) -> Path:
    """A file, for this user's eyes only, that leads a browser to the address: other users see the
    options of processes.
    """
    path = state_folder() / f"open-{port}.html"
    _keep(
        path,
        f'<meta http-equiv="refresh" content="0;url={address}"><title>Kerneton studio</title>\n',
    )
    return path


def _keep(path: Path, text: str) -> None:
    """Write a file that only this user can read."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)  # one that others can read would stay so
    with replacing(path) as temporary:
        temporary.chmod(0o600)
        temporary.write_text(text, encoding="ascii")


def _register(number: bytes) -> Path:
    return state_folder() / "studios" / number.decode("ascii")


def _identity(place: Place) -> str:
    found = place.status(ID)
    return "" if found is None else f"{found.st_ino} {found.st_ctime_ns}"
