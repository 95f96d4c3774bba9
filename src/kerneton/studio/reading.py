"""The files of a folder: read as by the command line, and no more often than needed."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kerneton.data.sequence import Conventions, SkeletonSequence
from kerneton.data.units import find_conventions, to_convention
from kerneton.exceptions import KernetonError, MissingDataError
from kerneton.files.readers import FORMATS, detect_format, read, reader, stated
from kerneton.files.segments import beside_segments, segments_beside
from kerneton.studio.recording_info import RecordingInfo, info_of

_KEPT_OPEN = 8  # files whose joints stay in memory
_SAMPLE = 24  # files of a format in which the axes are sought

Stamp = tuple[int, int]


class Files:
    """Recordings in metres, y up and right-handed, whatever the axes of their files; safe to use
    from several threads.

    A body that lies on the floor must not be turned upright. Axes are therefore those of most
    recordings of the same format and joints, as in `kerneton.load_folder`; see `learn_axes`.

    >>> import tempfile
    >>> from kerneton import make_actions, write
    >>> root = Path(tempfile.mkdtemp())
    >>> write(make_actions(["wave"], n_subjects=1, n_takes=1), root / "1.npz")
    >>> files = Files(root)
    >>> files.info("1.npz")[0].layout, files.info("none.npz")
    ('kinect20', 'none.npz: cannot be read: No such file or directory')
    """

    def __init__(
        self, root: Path, estimate: Callable[[Sequence[Path]], None] = lambda _: None
    ) -> None:
        self.root = root
        self._estimate = estimate  # poses of films, before they are read
        self._lock = threading.Lock()
        self._axes: dict[Any, Conventions] = {}  # by format and joints
        # files in which the axes were sought last
        self._sampled: list[tuple[str, Stamp | None]] = []
        self._info: dict[str, tuple[Stamp, list[RecordingInfo] | str]] = {}
        self._open: OrderedDict[str, tuple[Stamp, list[SkeletonSequence]]] = OrderedDict()

    def estimate(self, paths: Iterable[str]) -> None:
        """Estimate the poses of the films that are new or have changed."""
        new = [
            self.root / path
            for path in paths
            if Path(path).suffix.lower() in FORMATS["film"].suffixes
            and self._info.get(path, (None,))[0] != self._stamp_of(path)
        ]
        if new:
            self._estimate(new)

    def learn_axes(self, paths: Iterable[str]) -> None:
        """Find the axes of formats that do not state them from some of their files; what was read
        is kept if they agree.
        """
        by_ending: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            by_ending[Path(path).suffix.lower()].append(path)
        found: dict[Any, list[SkeletonSequence]] = defaultdict(list)
        samples = [
            path for some in by_ending.values() for path in some[:: max(1, len(some) // _SAMPLE)]
        ]
        stamps = [(path, self._stamp_of(path)) for path in samples]
        if stamps == self._sampled:
            return
        self._sampled = stamps
        for path in samples:
            try:
                name, settled = _format_facts(self.root / path)
                for sequence in [] if settled else read(self.root / path)[:_SAMPLE]:
                    found[_kind(name, sequence)].append(sequence)
            except Exception:  # the list says why it cannot be read
                continue
        axes = {kind: find_conventions(some) for kind, some in found.items()}
        turned = {kind: (c.up, c.mirrored) for kind, c in axes.items()}
        with self._lock:
            if turned != {kind: (c.up, c.mirrored) for kind, c in self._axes.items()}:
                self._info.clear()
                self._open.clear()
            self._axes = axes

    def _stamp_of(self, path: str) -> Stamp | None:
        try:
            return _stamp(self.root / path)
        except OSError:
            return None

    def read(self, path: Path) -> list[SkeletonSequence]:
        """The recordings of a file, in the convention."""
        name, settled = _format_facts(path)
        found = beside_segments(read(path), path)
        if settled:
            return found
        return [to_convention([s], kept=self._axes.get(_kind(name, s)))[0][0] for s in found]

    def info(self, path: str) -> list[RecordingInfo] | str:
        """Figures of a file's recordings, or the reason why it cannot be read."""
        file = self.root / path
        try:
            stamp = _stamp(file)
            kept = self._info.get(path)
            if kept is None or kept[0] != stamp:
                try:
                    kept = (stamp, [info_of(sequence) for sequence in self.read(file)])
                except MissingDataError as error:  # another file, or a network: it may come
                    return str(error).replace(f"{self.root}/", "")
                except KernetonError as error:
                    kept = (stamp, str(error).replace(f"{self.root}/", ""))
                except Exception as error:  # one odd file must not keep the others from the list
                    kept = (stamp, f"{path}: cannot be read: {type(error).__name__}: {error}")
                self._info[path] = kept
            return kept[1]
        except OSError as error:
            return f"{path}: cannot be read: {error.strerror}"

    def sequences(self, path: str) -> list[SkeletonSequence]:
        """The recordings of a file; the last few files stay in memory."""
        stamp = _stamp(self.root / path)
        with self._lock:
            kept = self._open.get(path)
            if kept is not None and kept[0] == stamp:
                self._open.move_to_end(path)
                return kept[1]
        sequences = self.read(self.root / path)
        with self._lock:
            self._open[path] = (stamp, sequences)
            while len(self._open) > _KEPT_OPEN:
                self._open.popitem(last=False)
        return sequences

    def moved(self, before: str, after: str) -> None:
        """A file was moved: its content is the same."""
        if before in self._info:
            self._info[after] = self._info.pop(before)


def _format_facts(path: Path) -> tuple[str, Conventions | None]:
    """The name of the format of a file, and the unit and axis that such files state, if they state
    them.
    """
    name = detect_format(path)
    return name or "", None if name is None else stated(reader(name))


def _kind(name: str, sequence: SkeletonSequence) -> tuple[str, Any]:
    return name, None if sequence.layout is None else sequence.layout.joints


def _stamp(path: Path) -> Stamp:
    """Changes when the content does: times and sizes of a file and of its segments beside it, or of
    a folder's newest file and their number.
    """
    if path.is_dir():
        files = [child.stat() for child in path.iterdir()]
        return max((f.st_mtime_ns for f in files), default=0), len(files)
    found = path.stat()
    with suppress(KernetonError):  # reading says what is wrong with it
        if (beside := segments_beside(path)) is not None:
            segments = beside.stat()
            return max(found.st_mtime_ns, segments.st_mtime_ns), found.st_size + segments.st_size
    return found.st_mtime_ns, found.st_size
