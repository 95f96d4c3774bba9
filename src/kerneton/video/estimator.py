"""From pictures to joints, one picture after the other."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from kerneton.data.layouts import HANDS_42, MEDIAPIPE_33, Layout
from kerneton.exceptions import DataError, ParameterError
from kerneton.video import bodies, hands
from kerneton.video.films import decoded_picture
from kerneton.video.models import Network
from kerneton.video.smoothing import OneEuro
from kerneton.video.tracking import Kind, Track, Tracker

POSES = {"body": MEDIAPIPE_33, "hands": HANDS_42}
EDITIONS = ("lite", "full", "heavy")
MOST_PEOPLE = 8
LEAST_CONFIDENCE = 0.2  # joints below are missing
TRUNK = (11, 12, 23, 24)  # shoulders and hips


@dataclass(frozen=True)
class PoseOptions:
    """What is estimated in films and cameras.

    Parameters
    ----------
    pose : {"body", "hands"}
        33 joints of bodies, or 21 joints of the left and of the right hand of one person.
    pose_model : {"lite", "full", "heavy"}
        Of the network for bodies: lite is faster, heavy is slower and more exact.
    people : int
        The most people who are followed at a time; each becomes a recording.
    smooth : bool
        Whether joints are smoothed by a one-euro filter, as MediaPipe does by default.
    pose_cache : str, optional
        The folder that keeps the poses of films; by default ``poses`` in the cache folder.

    Examples
    --------
    >>> PoseOptions(people=2).layout.name
    'mediapipe33'
    """

    pose: str = "body"
    pose_model: str = "full"
    people: int = 1
    smooth: bool = True
    pose_cache: str | None = None

    def __post_init__(self) -> None:
        for what, value, known in (
            ("pose", self.pose, POSES),
            ("pose_model", self.pose_model, EDITIONS),
        ):
            if value not in known:
                raise ParameterError(f"{what} must be one of {', '.join(known)}, got {value!r}")
        if isinstance(self.people, bool) or not isinstance(self.people, int) or self.people < 1:
            raise ParameterError(
                f"people must be a whole number from 1 to {MOST_PEOPLE}, got {self.people!r}"
            )
        if self.people > MOST_PEOPLE:
            raise ParameterError(f"people must be at most {MOST_PEOPLE}, got {self.people}")
        if self.pose == "hands" and self.people > 1:
            raise ParameterError(
                "pose='hands' follows the hands of one person; people=2 and more need pose='body'"
            )

    @property
    def layout(self) -> Layout:
        """The joints of one person."""
        return POSES[self.pose]

    @property
    def models(self) -> tuple[str, str]:
        """The names of the networks: detector and landmarks."""
        if self.pose == "hands":
            return "palm_detection_full", "hand_landmark_full"
        return "pose_detection", f"pose_landmark_{self.pose_model}"


@dataclass(frozen=True, eq=False)
class Person:
    """The joints of one person in one picture.

    ``joints`` are metres from the middle of the hips, or from the middle of each hand: x to the
    left of the picture, y up, z away from the camera. ``places`` are pixels of the picture, x to
    the right and y down.
    """

    number: int  # the same person has the same number in every picture
    joints: np.ndarray  # (J, 3), NaN where not seen
    places: np.ndarray  # (J, 2), NaN where not seen
    confidence: np.ndarray  # (J,) in [0, 1]


class PoseEstimator:
    """Joints of people in pictures that come one after the other, of a film or a camera.

    Parameters
    ----------
    options : PoseOptions, optional
        What is estimated.

    Examples
    --------
    ``picture`` is (height, width, 3 or 4) uint8, or the bytes of a JPEG or PNG file; it is not
    kept.

    >>> estimator = PoseEstimator()  # doctest: +SKIP
    >>> for person in estimator.push(picture, time=0.033):  # doctest: +SKIP
    ...     person.number, person.joints.shape
    (0, (33, 3))
    """

    def __init__(self, options: PoseOptions | None = None) -> None:
        self.options = options or PoseOptions()
        kind = (
            _hand_kind(self.options) if self.options.pose == "hands" else _body_kind(self.options)
        )
        hands_too = self.options.pose == "hands"
        self._tracker = Tracker(kind, 2 if hands_too else self.options.people)
        self._smooth: dict[int, OneEuro] = {}
        self._right: dict[int, float] = {}  # how sure a hand is a right one, by its number
        self._time = -np.inf

    @property
    def layout(self) -> Layout:
        """The joints of a person, in this order."""
        return self.options.layout

    @property
    def crowd(self) -> int:
        """The most people, or hands, whom the detector saw at a time."""
        return self._tracker.crowd

    def push(self, picture: np.ndarray | bytes, time: float) -> list[Person]:
        """The people in a picture at a time in seconds, which must grow from picture to picture."""
        if not np.isfinite(time) or time <= self._time:
            raise DataError(f"times of pictures must grow: {time!r} came after {self._time!r}")
        self._time = time
        tracks = self._tracker.push(as_pixels(picture), time)
        if self.options.pose == "hands":
            return self._hands(tracks, time)
        return [
            Person(t.number, *self._joints(t, time), t.found.confidence.astype(np.float32))
            for t in tracks
        ]

    def _joints(self, track: Track, time: float) -> tuple[np.ndarray, np.ndarray]:
        metres = track.found.metres * [-1, -1, 1]
        if self.options.smooth:
            metres = self._smooth.setdefault(track.number, OneEuro())(metres, time)
        places = track.found.places[:, :2].copy()
        unseen = track.found.confidence < LEAST_CONFIDENCE
        metres = np.where(unseen[:, None], np.nan, metres)
        places[unseen] = np.nan
        return metres, places

    def _hands(self, tracks: list[Track], time: float) -> list[Person]:
        """The hands in a picture as those of one person."""
        if not tracks:
            return []
        n = hands.N_LANDMARKS
        joints, places = np.full((2 * n, 3), np.nan), np.full((2 * n, 2), np.nan)
        confidence = np.zeros(2 * n, np.float32)
        for track in tracks:
            old = self._right.get(track.number, track.found.right)
            self._right[track.number] = old + 0.2 * (track.found.right - old)
        order = sorted(tracks, key=lambda track: self._right[track.number])
        for i, track in enumerate(order):
            side = int(self._right[track.number] > 0.5) if len(order) == 1 else i
            part = slice(side * n, (side + 1) * n)
            joints[part], places[part] = self._joints(track, time)
            confidence[part] = track.found.confidence
        return [Person(0, joints, places, confidence)]


def as_pixels(picture: np.ndarray | bytes) -> np.ndarray:
    """(height, width, 4) uint8, from (height, width, 3 or 4) or from the bytes of a JPEG or PNG
    file.
    """
    if isinstance(picture, (bytes, bytearray, memoryview)):
        return decoded_picture(bytes(picture))
    if (
        picture.dtype != np.uint8
        or picture.ndim != 3
        or picture.shape[2] not in (3, 4)
        or not picture.size
    ):
        shape = f"{picture.dtype} {picture.shape}"
        raise DataError(f"expected a picture (height, width, 3 or 4) uint8, got {shape}")
    if picture.shape[2] == 4:
        return picture
    return np.concatenate([picture, np.full((*picture.shape[:2], 1), 255, np.uint8)], axis=2)


def _body_kind(options: PoseOptions) -> Kind:
    detector, landmarks = options.models
    network = Network(landmarks, outputs=(0, 1, 3, 4))
    return Kind(
        bodies.body_detector(Network(detector, outputs=(0, 1))),
        bodies.region_of,
        functools.partial(bodies.find_body, network),
        steady=bodies.SteadyRegion,
        surface=TRUNK,
    )


def _hand_kind(options: PoseOptions) -> Kind:
    detector, landmarks = options.models
    network = Network(landmarks, outputs=(0, 1, 2, 3))
    return Kind(
        hands.palm_detector(Network(detector, outputs=(0, 1))),
        hands.region_of,
        functools.partial(hands.find_hand, network),
    )
