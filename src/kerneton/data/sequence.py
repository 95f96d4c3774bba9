"""A recording, and a set of recordings: the two objects that everything else uses."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.exceptions import DataError

if TYPE_CHECKING:
    from kerneton.data.segments import Segment

NOTHING = {"None", "nan", "NaT", "<NA>"}  # how None, NaN and what pandas has for them are written
UNIT_WORDS = {"m": "metres", "cm": "centimetres", "mm": "millimetres", "in": "inches", "ft": "feet"}


@dataclass(frozen=True, eq=False)
class SkeletonSequence:
    """One recording of one body: joint coordinates over time, and their metadata.

    Coordinates are right-handed with y up and z away from the camera, in metres unless the reader says
    otherwise. ``joints`` is (T, J, 3), float32 or float64; missing joints are NaN or have zero confidence.

    >>> import numpy as np
    >>> wave = SkeletonSequence(np.zeros((40, 20, 3)), label="wave", subject="ann", fps=30)
    >>> wave.n_frames, wave.n_joints, wave.duration
    (40, 20, 1.3333333333333333)
    """

    joints: np.ndarray  # (T, J, 3)
    confidence: np.ndarray | None = None  # (T, J) in [0, 1]; None means all trusted
    layout: Layout | None = None
    label: str | None = None
    subject: str | None = None
    name: str = ""
    fps: float | None = None
    segments: tuple[Segment, ...] = ()  # of a long recording: which action is in which frames

    def __post_init__(self) -> None:
        where = self._who()
        joints = np.asarray(self.joints)
        if joints.dtype == np.float16:
            raise DataError(f"{where}: float16 is too coarse for coordinates; pass float32 or float64")
        if joints.dtype not in (np.float32, np.float64):
            try:
                if joints.dtype.kind == "c":
                    raise TypeError("complex numbers")
                joints = joints.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise DataError(f"{where}: joints are not real numbers ({joints.dtype})") from error
        if joints.ndim != 3 or joints.shape[2] != 3:
            raise DataError(f"{where}: expected joints of shape (frames, joints, 3), got {joints.shape}")
        n_frames, n_joints, _ = joints.shape
        if n_frames == 0 or n_joints == 0:
            raise DataError(f"{where}: it has {n_frames} frames and {n_joints} joints; needs one of each")
        if self.layout is not None and n_joints != len(self.layout.joints):
            stated = f"layout {self.layout.name!r} has {len(self.layout.joints)} joints"
            raise DataError(f"{where}: {stated}, the recording has {n_joints}")
        rate = self.fps
        if rate is not None and not (isinstance(rate, (int, float, np.number)) and 0 < rate < np.inf):
            raise DataError(f"{where}: expected a positive number of frames per second, got {rate!r}")
        object.__setattr__(self, "joints", joints)
        if self.confidence is not None:
            confidence = np.asarray(self.confidence, dtype=joints.dtype)
            if confidence.shape != (shape := joints.shape[:2]):
                raise DataError(f"{where}: expected confidence of shape {shape}, got {confidence.shape}")
            object.__setattr__(self, "confidence", confidence)
        for field in ("label", "subject", "name"):
            if (value := getattr(self, field)) is not None:
                gone = not isinstance(value, str) and str(value) in NOTHING
                object.__setattr__(self, field, None if gone else plain_text(value))
        if self.segments != ():
            from kerneton.data.segments import as_segments

            try:
                object.__setattr__(self, "segments", as_segments(self.segments))
            except DataError as error:
                raise DataError(f"{where}: {error}") from error

    def _who(self) -> str:
        return f"sequence {self.name!r}" if self.name else "sequence"

    @property
    def n_frames(self) -> int:
        return self.joints.shape[0]

    @property
    def n_joints(self) -> int:
        return self.joints.shape[1]

    @property
    def duration(self) -> float | None:
        """Seconds, where the frame rate is known."""
        return None if self.fps is None else self.n_frames / self.fps

    def replace(self, **changes: Any) -> SkeletonSequence:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def cut(self, start: int, stop: int, **changes: Any) -> SkeletonSequence:
        """Frames start, ..., stop - 1 as a recording; segments are shifted, and clipped to these frames.

        >>> long = SkeletonSequence(np.zeros((90, 20, 3)), segments=[("wave", 30, 60)])
        >>> long.cut(40, 90).segments
        (Segment(label='wave', start=0, stop=20),)
        """
        if not 0 <= start < stop <= self.n_frames:
            raise DataError(f"{self._who()}: cannot cut frames {start} to {stop} out of {self.n_frames}")
        inside = tuple(
            dataclasses.replace(s, start=max(s.start, start) - start, stop=min(s.stop, stop) - start)
            for s in self.segments
            if s.start < stop and s.stop > start
        )
        confidence = None if self.confidence is None else self.confidence[start:stop]
        fields = {"joints": self.joints[start:stop], "confidence": confidence, "segments": inside, **changes}
        return self.replace(**fields)

    def cut_segments(self) -> list[SkeletonSequence]:
        """Each segment as a recording with its label, clipped to the frames of the recording.

        >>> long = SkeletonSequence(np.zeros((90, 20, 3)), name="take", segments=[("wave", 30, 60)])
        >>> long.cut_segments()
        [SkeletonSequence(30 frames, 20 joints, label='wave', name='take_030_wave')]
        """
        width = max(len(str(self.n_frames)), 3)
        pieces = []
        for s in self.segments:
            if s.start < self.n_frames:
                name = f"{self.name}_{s.start:0{width}d}_{s.label}".lstrip("_")
                stop = min(s.stop, self.n_frames)
                pieces.append(self.cut(s.start, stop, label=s.label, name=name, segments=()))
        return pieces

    def __repr__(self) -> str:
        known = f", {self.layout.name}" if self.layout is not None else ""
        known += "".join(f", {k}={v!r}" for k in ("label", "subject", "name") if (v := getattr(self, k)))
        cuts = f", {len(self.segments)} segments" if self.segments else ""
        return f"SkeletonSequence({self.n_frames} frames, {self.n_joints} joints{known}{cuts})"


class SkeletonDataset(Sequence[SkeletonSequence]):
    """Recordings with labels and subjects; a sequence that scikit-learn can split.

    >>> import numpy as np
    >>> data = SkeletonDataset(
    ...     [SkeletonSequence(np.ones((5, 3, 3)), label=k, subject=s) for k in "ab" for s in "12"],
    ...     name="toy")
    >>> len(data), list(data.labels), list(data.select([0, 3]).subjects)
    (4, [np.str_('a'), np.str_('a'), np.str_('b'), np.str_('b')], [np.str_('1'), np.str_('2')])
    """

    def __init__(
        self,
        sequences: Iterable[SkeletonSequence],
        *,
        name: str = "",
        conversion: Conversion | None = None,
        splits: Iterable[tuple[np.ndarray, np.ndarray]] = (),
        left_out: Iterable[str] = (),
    ) -> None:
        self._sequences = tuple(sequences)
        self.name = name
        self.conversion = conversion  # of unit and axes when the recordings were read
        self.splits = tuple(splits)  # published ones: positions of training and test recordings
        self.left_out = tuple(left_out)  # which files or recordings could not be used, and why

    @overload
    def __getitem__(self, index: int) -> SkeletonSequence: ...
    @overload
    def __getitem__(self, index: slice) -> SkeletonDataset: ...
    def __getitem__(self, index: int | slice) -> SkeletonSequence | SkeletonDataset:
        if isinstance(index, slice):
            return self.select(range(len(self))[index])
        return self._sequences[index]

    def __len__(self) -> int:
        return len(self._sequences)

    @property
    def labels(self) -> np.ndarray:
        """(n_sequences,) strings; an error if a recording has none."""
        return self._field("label")

    @property
    def subjects(self) -> np.ndarray:
        """(n_sequences,) strings; an error if a recording has none."""
        return self._field("subject")

    @property
    def layout(self) -> Layout | None:
        """The layout of the first recording."""
        return self._sequences[0].layout if self._sequences else None

    def select(self, indices: Iterable[int]) -> SkeletonDataset:
        """The recordings at these positions, in this order."""
        chosen = [self._sequences[i] for i in indices]
        return SkeletonDataset(chosen, name=self.name, conversion=self.conversion, left_out=self.left_out)

    def __repr__(self) -> str:
        labels, subjects = ({getattr(s, field) for s in self._sequences} for field in ("label", "subject"))
        counts = f"{len(self)} recordings, {len(labels)} labels, {len(subjects)} subjects"
        return f"SkeletonDataset({self.name or 'unnamed'}: {counts})"

    def _field(self, field: str) -> np.ndarray:
        if missing := [s.name or f"#{i}" for i, s in enumerate(self._sequences) if getattr(s, field) is None]:
            lack = f"{len(missing)} of {len(self)} recordings have no {field}, first {missing[0]}"
            raise DataError(f"{lack}: give them one where the others have theirs, or leave them out")
        return np.asarray([getattr(s, field) for s in self._sequences], dtype=str)


@dataclass(frozen=True)
class Conventions:
    """What coordinates mean; None if the data do not show it."""

    unit: str | None = None
    up: str | None = None
    mirrored: bool | None = None  # left-handed axes, or left and right exchanged
    height: float | None = None  # from the feet to the head, in the data's own unit
    picture: str = dataclasses.field(default="", repr=False)  # unit of coordinates in a picture
    stated: tuple[str, ...] = dataclasses.field(default=(), repr=False)  # which of unit and up a file states


@dataclass(frozen=True)
class Conversion:
    """How recordings were converted to metres, y up and right-handed axes, and why."""

    unit: str | None = None  # of the original coordinates
    up: str | None = None
    flip: bool = False
    said: tuple[str, ...] = ()  # which of the three the user stated
    kept: tuple[str, ...] = ()  # which of the three come from the training recordings of a model
    height: float | None = None  # of the body, in metres
    count: int = 0  # recordings
    stated: bool = False  # whether files of this kind state unit or axes, or their reader takes them to
    told: tuple[str, ...] = ()  # which of unit and up the files state, if that was followed
    votes: tuple[int, int] | None = None  # recordings that show a flip, of those that show a left side
    others: tuple[Conversion, ...] = ()  # conversions of other kinds of recordings in the same set
    kinds: tuple[tuple[int, ...], ...] = ()  # positions of the recordings that were converted together

    def to_dict(self) -> dict[str, Any]:
        """All fields, for JSON; of other kinds only whether there are any."""
        lists = {name: list(getattr(self, name)) for name in ("said", "kept", "told")}
        fields = asdict(self) | lists | {"mixed": bool(self.others)}
        del fields["others"], fields["votes"], fields["kinds"]
        return fields

    @property
    def notes(self) -> list[str]:
        """What was done, one sentence each; empty if nothing was."""
        if not self.others:
            return self._own_notes()
        counts: Counter[str] = Counter()
        for kind in (self, *self.others):
            counts.update(dict.fromkeys(kind._own_notes(), kind.count))
        return [f"in {n} recording{'s' * (n > 1)} {note}" for note, n in counts.items()]

    @property
    def statements(self) -> list[str]:
        """What the files state of unit and axes and was followed, in at most one sentence."""
        own = {"unit": UNIT_WORDS.get(str(self.unit)), "up": f"{self.up} up"}
        stated = " and ".join(str(own[name]) for name in self.told if own[name])
        return [f"stated by the files: {stated} (override with --unit, --up)"] if stated else []

    def _own_notes(self) -> list[str]:
        notes = []
        if self.unit not in (None, "m") and "unit" not in self.told:
            unit = UNIT_WORDS[str(self.unit)]
            notes.append(f"coordinates were {unit} and became metres{self._how('unit')}")
        if self.up not in (None, "y") and "up" not in self.told:
            notes.append(f"{self.up} was up and became y{self._how('up')}")
        if self.flip:
            right, n = self.votes or (0, 0)
            sure = f"detected: {right} of {n} recordings show it" if n > 1 else "detected from the data"
            notes.append(f"axes were left-handed and became right-handed{self._how('flip', sure, 'no-flip')}")
        return notes

    def _how(self, name: str, found: str = "detected from the data", other: str = "") -> str:
        if name in self.said:
            return f" (--{name})"
        return f" ({'as in training' if name in self.kept else found}; override with --{other or name})"


def plain_text(value: Any) -> str:
    r"""A label or name that can be written: bytes of file names that are not UTF-8 are read as Western Windows; no NUL.

    >>> plain_text("caf\udce9"), plain_text("half \ud800"), plain_text("end\0"), plain_text(7)
    ('café', 'half \\ud800', 'end\\x00', '7')
    """
    text = str(value).replace("\0", "\\x00")  # arrays of text lose it at their ends
    try:
        data = text.encode("utf-8", "surrogateescape")
        return text if data == text.encode("utf-8", "replace") else data.decode("cp1252")
    except UnicodeError:  # half a character
        return text.encode("utf-8", "backslashreplace").decode()
