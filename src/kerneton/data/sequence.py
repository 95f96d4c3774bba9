"""A recording, and a set of recordings: the two objects that everything else uses."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kerneton.core import poses
from kerneton.data.layouts import Layout, layout_named, plain_layout
from kerneton.exceptions import DataError

if TYPE_CHECKING:
    from kerneton.data.segments import Segment

_FLOATS = (np.float32, np.float64)
NOTHING = {"None", "nan", "NaT", "<NA>"}  # how None, NaN and what pandas has for them are written
UNIT_WORDS = {"m": "metres", "cm": "centimetres", "mm": "millimetres", "in": "inches", "ft": "feet"}


@dataclass(frozen=True, eq=False)
class SkeletonSequence:
    """One recording of one body: joint coordinates over time, and their metadata.

    Coordinates are right-handed with y up and z away from the camera, in metres unless the reader
    says otherwise. ``joints`` is (T, J, 3), float32 or float64; missing joints are NaN or have zero
    confidence.

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
        if isinstance(self.layout, str):
            object.__setattr__(self, "layout", layout_named(self.layout))
        joints = self.joints
        if not (
            isinstance(joints, np.ndarray) and joints.dtype in _FLOATS and joints.shape[2:] == (3,)
        ):
            try:
                joints = self._arranged()
            except DataError as error:
                raise DataError(f"{where}: {error}") from error
        n_frames, n_joints = joints.shape[:2]
        if n_frames == 0 or n_joints == 0:
            raise DataError(
                f"{where}: it has {n_frames} frames and {n_joints} joints; needs one of each"
            )
        if self.layout is not None and n_joints != len(self.layout.joints):
            stated = f"layout {self.layout.name!r} has {len(self.layout.joints)} joints"
            raise DataError(f"{where}: {stated}, the recording has {n_joints}")
        rate = self.fps
        if rate is not None and not (
            isinstance(rate, (int, float, np.number)) and 0 < rate < np.inf
        ):
            raise DataError(
                f"{where}: expected a positive number of frames per second, got {rate!r}"
            )
        object.__setattr__(self, "joints", joints)
        if self.confidence is not None:
            confidence = np.asarray(self.confidence, dtype=joints.dtype)
            if confidence.shape != (shape := joints.shape[:2]):
                raise DataError(
                    f"{where}: expected confidence of shape {shape}, got {confidence.shape}"
                )
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

    def _arranged(self) -> np.ndarray:
        """Joints (T, J, 3) from another kind of array; layout and confidence if it has them."""
        from kerneton.data.arrays import positions

        found = positions(self.joints)
        if found.confidence is not None and self.confidence is None:
            object.__setattr__(self, "confidence", found.confidence)
        if len(found.persons) > 1 and self.layout is None:
            from kerneton.data.bodies import pair_layout

            one = (
                Layout("named", found.names)
                if found.names
                else plain_layout(found.persons[0].shape[1])
            )
            object.__setattr__(self, "layout", pair_layout(one, one))
        elif found.names and self.layout is None:
            object.__setattr__(self, "layout", Layout("named", found.names))
        return np.concatenate(found.persons, axis=1)

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

    def __getitem__(self, index: slice | str) -> Any:
        """Some frames as a recording, or the path (T, 3) of a joint by its name.

        >>> wave = SkeletonSequence(np.zeros((90, 20, 3)), layout="kinect20", fps=30)
        >>> wave[30:], wave[::3].fps, wave["head"].shape
        (SkeletonSequence(60 frames, 20 joints, kinect20), 10.0, (90, 3))
        """
        if isinstance(index, str):
            if self.layout is None:
                raise DataError(f"{self._who()} has no layout that names its joints")
            return self.joints[:, self.layout.index(index)]
        if not isinstance(index, slice):
            raise TypeError("expected frames such as [10:40], or the name of a joint")
        start, stop, step = index.indices(self.n_frames)
        if step < 1:
            raise DataError(f"{self._who()}: frames backwards; reverse sequence.joints instead")
        cut = self.cut(start, stop)
        if step == 1:
            return cut
        segments = tuple(
            dataclasses.replace(s, start=-(-s.start // step), stop=-(-s.stop // step))
            for s in cut.segments
            if -(-s.start // step) < -(-s.stop // step)
        )
        return cut.replace(
            joints=cut.joints[::step],
            confidence=None if cut.confidence is None else cut.confidence[::step],
            fps=None if self.fps is None else self.fps / step,
            segments=segments,
        )

    def __iter__(self) -> Any:
        raise TypeError("a recording is one item; its frames are sequence.joints")

    def plot(self, **options: Any) -> Any:
        """Poses from left to right in time, as `kerneton.report.pictures.plot_skeleton`."""
        from kerneton.report.pictures import plot_skeleton

        return plot_skeleton(self, **options)

    def to_frame(self) -> Any:
        """The table that ``.csv`` files contain, as a DataFrame of pandas.

        >>> SkeletonSequence([[[0, 1.5, 2]]], label="nod").to_frame().columns.tolist()
        ['label', 'frame', 'joint_0_x', 'joint_0_y', 'joint_0_z']
        """
        from kerneton.files.readers.csv_table import frame_of

        return frame_of([self])

    def _repr_html_(self) -> str:
        """A moving drawing in notebooks."""
        from kerneton.report.notebook import sequence_html

        return sequence_html(self)

    def cut(self, start: int, stop: int, **changes: Any) -> SkeletonSequence:
        """Frames start, ..., stop - 1 as a recording; segments are shifted, and clipped to these
        frames.

        >>> long = SkeletonSequence(np.zeros((90, 20, 3)), segments=[("wave", 30, 60)])
        >>> long.cut(40, 90).segments
        (Segment(label='wave', start=0, stop=20),)
        """
        if not 0 <= start < stop <= self.n_frames:
            raise DataError(
                f"{self._who()}: cannot cut frames {start} to {stop} out of {self.n_frames}"
            )
        inside = tuple(
            dataclasses.replace(
                s, start=max(s.start, start) - start, stop=min(s.stop, stop) - start
            )
            for s in self.segments
            if s.start < stop and s.stop > start
        )
        confidence = None if self.confidence is None else self.confidence[start:stop]
        fields = {
            "joints": self.joints[start:stop],
            "confidence": confidence,
            "segments": inside,
            **changes,
        }
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
        known += "".join(
            f", {k}={v!r}" for k in ("label", "subject", "name") if (v := getattr(self, k))
        )
        cuts = f", {len(self.segments)} segments" if self.segments else ""
        return f"SkeletonSequence({self.n_frames} frames, {self.n_joints} joints{known}{cuts})"


def missing_joints(sequence: SkeletonSequence) -> np.ndarray:
    """Which joints are missing, (T, J) bool: NaN, zero confidence, or part of an all-zero frame.

    A sensor that loses the body writes zeros for every joint.

    >>> walk = np.ones((3, 2, 3))
    >>> walk[1] = 0
    >>> missing_joints(SkeletonSequence(walk)).any(axis=1).tolist()
    [False, True, False]
    """
    return poses.find_missing(sequence.joints, sequence.confidence)


class SkeletonDataset(Sequence[SkeletonSequence]):
    """Recordings with labels and subjects; a sequence that scikit-learn can split.

    >>> import numpy as np
    >>> data = SkeletonDataset(
    ...     [SkeletonSequence(np.ones((5, 3, 3)), label=k, subject=s) for k in "ab" for s in "12"],
    ...     name="toy",
    ... )
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
        for i, item in enumerate(self._sequences):
            if not isinstance(item, SkeletonSequence):
                raise DataError(
                    f"a data set holds recordings, got {type(item).__name__} at position {i}: make "
                    "them with SkeletonSequence(x, layout=..., label=..., subject=...), or pass "
                    "arrays to fit and evaluate as they are"
                )
        self.name = name
        self.conversion = conversion  # of unit and axes when the recordings were read
        self.splits = tuple(splits)  # published ones: positions of training and test recordings
        self.left_out = tuple(left_out)  # which files or recordings could not be used, and why

    @overload
    def __getitem__(self, index: int) -> SkeletonSequence: ...
    @overload
    def __getitem__(self, index: slice | Iterable[Any]) -> SkeletonDataset: ...
    def __getitem__(self, index: Any) -> SkeletonSequence | SkeletonDataset:
        """A recording by its position; some by a slice, a list of positions or a mask."""
        if isinstance(index, slice):
            return self.select(range(len(self))[index])
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:  # scikit-learn's
            index = index[0]
        if np.ndim(index) == 0:
            return self._sequences[index]
        chosen = np.asarray(index)
        if chosen.dtype == bool:
            if chosen.shape != (len(self),):
                raise DataError(f"a mask of {chosen.shape} does not fit {len(self)} recordings")
            chosen = np.flatnonzero(chosen)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise DataError(f"expected positions or a mask of recordings, got {chosen.dtype}")
        return self.select(chosen.tolist())

    def __add__(self, other: Iterable[SkeletonSequence]) -> SkeletonDataset:
        """The recordings of both.

        >>> data = SkeletonDataset([SkeletonSequence(np.ones((5, 3, 3)), label="a")], name="toy")
        >>> len(data + data), (data + data).name
        (2, 'toy')
        """
        name = getattr(other, "name", "")
        names = dict.fromkeys(word for word in (self.name, name) if word)
        left_out = (*self.left_out, *getattr(other, "left_out", ()))
        return SkeletonDataset(
            [*self, *other], name="+".join(names), left_out=tuple(dict.fromkeys(left_out))
        )

    def filter(self, **facts: Any) -> SkeletonDataset:
        """The recordings whose label, subject or name is this one, or one of these.

        >>> one = SkeletonSequence(np.ones((5, 3, 3)))
        >>> data = SkeletonDataset([one.replace(label=k, subject=s) for k in "ab" for s in "12"])
        >>> [(s.label, s.subject) for s in data.filter(label="a", subject=["1", "2"])]
        [('a', '1'), ('a', '2')]
        """
        if odd := sorted(facts.keys() - {"label", "subject", "name"}):
            raise DataError(f"recordings are filtered by label, subject or name, not by {odd[0]!r}")
        wanted = {
            fact: {values} if isinstance(values, str) else {str(value) for value in values}
            for fact, values in facts.items()
        }
        for fact, values in wanted.items():
            if unknown := sorted(values - {str(getattr(s, fact)) for s in self}):
                raise DataError(f"no recording has the {fact} {unknown[0]!r}")
        return self.select(
            i
            for i, s in enumerate(self)
            if all(str(getattr(s, fact)) in values for fact, values in wanted.items())
        )

    @property
    def shape(self) -> tuple[int]:
        """(n_recordings,), by which scikit-learn keeps a data set when it splits one."""
        return (len(self),)

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
        return SkeletonDataset(
            chosen, name=self.name, conversion=self.conversion, left_out=self.left_out
        )

    def __repr__(self) -> str:
        labels, subjects = (
            {getattr(s, field) for s in self._sequences} for field in ("label", "subject")
        )
        counts = f"{len(self)} recordings, {len(labels)} labels, {len(subjects)} subjects"
        return f"SkeletonDataset({self.name or 'unnamed'}: {counts})"

    def _field(self, field: str) -> np.ndarray:
        if missing := [
            s.name or f"#{i}" for i, s in enumerate(self._sequences) if getattr(s, field) is None
        ]:
            lack = f"{len(missing)} of {len(self)} recordings have no {field}, first {missing[0]}"
            raise DataError(
                f"{lack}: give them one where the others have theirs, or leave them out"
            )
        return np.asarray([getattr(s, field) for s in self._sequences], dtype=str)


@dataclass(frozen=True)
class Conventions:
    """What coordinates mean; None if the data do not show it."""

    unit: str | None = None
    up: str | None = None
    mirrored: bool | None = None  # left-handed axes, or left and right exchanged
    height: float | None = None  # from the feet to the head, in the data's own unit
    picture: str = dataclasses.field(default="", repr=False)  # unit of coordinates in a picture
    stated: tuple[str, ...] = dataclasses.field(
        default=(), repr=False
    )  # which of unit and up a file states


@dataclass(frozen=True)
class Conversion:
    """How recordings were converted to metres, y up and right-handed axes, and why.

    >>> Conversion(unit="mm", up="z", count=2).unit
    'mm'
    """

    unit: str | None = None  # of the original coordinates
    up: str | None = None
    flip: bool = False
    said: tuple[str, ...] = ()  # which of the three the user stated
    kept: tuple[str, ...] = ()  # which of the three come from the training recordings of a model
    height: float | None = None  # of the body, in metres
    count: int = 0  # recordings
    stated: bool = (
        False  # whether files of this kind state unit or axes, or their reader takes them to
    )
    told: tuple[str, ...] = ()  # which of unit and up the files state, if that was followed
    votes: tuple[int, int] | None = (
        None  # recordings that show a flip, of those that show a left side
    )
    others: tuple[Conversion, ...] = ()  # conversions of other kinds of recordings in the same set
    kinds: tuple[
        tuple[int, ...], ...
    ] = ()  # positions of the recordings that were converted together

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
        return [f"stated by the files: {stated} (override with unit=, up=)"] if stated else []

    def _own_notes(self) -> list[str]:
        notes = []
        if self.unit not in (None, "m") and "unit" not in self.told:
            unit = UNIT_WORDS[str(self.unit)]
            notes.append(f"coordinates were {unit} and became metres{self._how('unit')}")
        if self.up not in (None, "y") and "up" not in self.told:
            notes.append(f"{self.up} was up and became y{self._how('up')}")
        if self.flip:
            right, n = self.votes or (0, 0)
            sure = (
                f"detected: {right} of {n} recordings show it"
                if n > 1
                else "detected from the data"
            )
            notes.append(
                f"axes were left-handed and became right-handed{self._how('flip', sure, 'flip=False')}"
            )
        return notes

    def _how(self, name: str, found: str = "detected from the data", other: str = "") -> str:
        if name in self.said:
            return f" ({name}=)"
        return f" ({'as in training' if name in self.kept else found}; override with {other or f'{name}='})"


def plain_text(value: Any) -> str:
    r"""A label or name that can be written: bytes of file names that are not UTF-8 are read as
    Western Windows; no NUL.

    >>> plain_text("caf\udce9"), plain_text("half \ud800"), plain_text("end\0"), plain_text(7)
    ('café', 'half \\ud800', 'end\\x00', '7')
    """
    text = str(value).replace("\0", "\\x00")  # arrays of text lose it at their ends
    try:
        data = text.encode("utf-8", "surrogateescape")
        return text if data == text.encode("utf-8", "replace") else data.decode("cp1252")
    except UnicodeError:  # half a character
        return text.encode("utf-8", "backslashreplace").decode()


def absent(values: Iterable[Any]) -> list[int]:
    """Positions of labels or subjects that are not there: None, NaN, and what pandas has for them.

    A text is there whatever it says.

    >>> absent(["ann", None, float("nan"), 3, "nan"])
    [1, 2]
    """
    return [i for i, v in enumerate(values) if not isinstance(v, str) and str(v) in NOTHING]
