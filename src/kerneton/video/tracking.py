"""Who is who from picture to picture: people or hands keep their numbers through crossings and
short absences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kerneton.video.bodies import Found
from kerneton.video.detection import Detection, Detector
from kerneton.video.regions import Region, squares, whole

LEAST_PRESENCE = 0.5
_PATIENCE = 2.0  # seconds after which somebody who comes back is somebody else
_LOOK = 0.1  # seconds between two searches for those who are missing
_ONE = 0.06  # mean distance of landmarks, as a share of the body, below which two are one
_NEAR = 0.3  # overlap of regions beyond which the colours of one may be those of the other
_REACH = 1.0  # how far somebody may have moved from where he was expected, as a share of the body
_COLOUR = 0.25  # difference of colours that counts as much as `_REACH`
_STEADY = 0.05  # share of the newest colours in those that are remembered


class Kind(NamedTuple):
    """What is followed: how it is found in a picture, and how its landmarks are found in a
    region.
    """

    detector: Detector
    region_of: Callable[[Detection], Region]
    find: Callable[[np.ndarray, Region], Found]
    # four landmarks around what keeps its colour: the trunk of a body
    surface: tuple[int, ...] = ()
    # keeps the region of one steady from picture to picture
    steady: Callable[[], Callable[[Region, float], Region]] | None = None


@dataclass
class Track:
    """One person or hand: the last landmarks, when they were seen, and how they moved and
    looked.
    """

    number: int
    found: Found
    time: float
    seen: bool = True  # in the newest picture
    speed: np.ndarray = field(default_factory=lambda: np.zeros(2))  # pixels a second
    colours: np.ndarray | None = None
    steady: Callable[[Region, float], Region] | None = None

    @property
    def size(self) -> float:
        """The side of its region in pixels."""
        return max(self.found.following.size, 1.0)

    def place(self, time: float) -> np.ndarray:
        """Where its middle is expected."""
        return middle(self.found) + self.speed * min(time - self.time, 0.5)


class Tracker:
    """Follows at most ``most`` at a time; `push` returns those that are in the picture.

    The region of each lies where its last landmarks say. Where fewer than ``most`` are seen, the
    detector looks for others, ten times a second; if nobody is seen, in every picture. Whoever is
    found near the place where somebody was lost, in the same colours, keeps his number.
    """

    def __init__(self, kind: Kind, most: int) -> None:
        self.kind, self.most = kind, most
        self.tracks: list[Track] = []
        self.crowd = 0  # the most whom the detector saw at a time
        self._count = 0
        self._looked = -np.inf

    def push(self, picture: np.ndarray, time: float) -> list[Track]:
        """Those in a picture, (height, width, 4) uint8, at a time in seconds."""
        self.tracks = [t for t in self.tracks if t.seen or time - t.time <= _PATIENCE]
        followed = [
            (track, self.kind.find(picture, track.found.following))
            for track in self.tracks
            if track.seen
        ]
        for track in self.tracks:
            track.seen = False
        kept = [(track, found) for track, found in followed if found.presence >= LEAST_PRESENCE]
        for track, found in self._recognised(picture, self._apart(picture, kept, time)):
            self._move(track, picture, found, time)
        n_seen = sum(track.seen for track in self.tracks)
        if n_seen == 0 or (n_seen < self.most and time - self._looked >= _LOOK):
            self._look(picture, time, self.most - n_seen)
        return [track for track in self.tracks if track.seen]

    def _look(self, picture: np.ndarray, time: float, room: int) -> None:
        """Search the picture for those who are not followed."""
        self._looked = time
        detections = self.kind.detector.find(picture, whole(picture))
        self.crowd = max(self.crowd, len(detections))
        # the smaller of two people shows in a part of the picture, where he is larger
        if self.most > 1:
            detections += [
                d for part in squares(picture) for d in self.kind.detector.find(picture, part)
            ]
        for detection in detections:
            region = self.kind.region_of(detection)
            seen = [track for track in self.tracks if track.seen]
            if room == 0 or any(_centred(region, t.found.following) for t in seen):
                continue
            found = self.kind.find(picture, region)
            if found.presence < LEAST_PRESENCE or any(same(found, t.found, _ONE) for t in seen):
                continue
            track = self._returned(picture, found, time)
            near = _near(found, [t.found for t in seen])
            if track is None and near and len(seen) < len(self.tracks):
                # half hidden by another: whether it is who was lost shows when they are apart
                continue
            room -= 1
            if track is None:
                track = Track(self._count, found, time)
                self._count += 1
                self.tracks.append(track)
            track.steady = None  # for who was lost is looked for where he was found
            self._move(track, picture, found, time)

    def _returned(self, picture: np.ndarray, found: Found, time: float) -> Track | None:
        """Who was lost and looks like this one, near where he was expected."""
        lost = [track for track in self.tracks if not track.seen]
        costs = [self._difference(track, picture, found, time) for track in lost]
        if not costs or min(costs) > 1 + (self.most == 1):
            return None
        return lost[int(np.argmin(costs))]

    def _difference(self, track: Track, picture: np.ndarray, found: Found, time: float) -> float:
        """How unlike a track this is: by place, and by colours; 1 is the most that one and the same
        differs.
        """
        away = float(np.hypot(*(middle(found) - track.place(time)))) / track.size / _REACH
        if track.colours is None or len(track.colours) == 0:
            return away
        colours = self._unlike(track, picture, found)
        return max(0.5 * away, colours, 0.5 * (away + colours))

    def _apart(
        self, picture: np.ndarray, kept: list[tuple[Track, Found]], time: float
    ) -> list[tuple[Track, Found]]:
        """Those followed, where two that came to lie on one body are left with the one who it
        is.
        """
        while True:
            pairs = [
                (a, b)
                for a in range(len(kept))
                for b in range(a)
                if same(kept[a][1], kept[b][1], _ONE)
            ]
            if not pairs:
                return kept
            unlike = [self._difference(*kept[i][:1], picture, kept[i][1], time) for i in pairs[0]]
            kept.pop(pairs[0][int(np.argmax(unlike))])

    def _recognised(
        self, picture: np.ndarray, kept: list[tuple[Track, Found]]
    ) -> list[tuple[Track, Found]]:
        """Those followed, where two who were exchanged in a crossing are again who they look
        like.
        """
        owners = [track for track, _ in kept]
        for i, (_, found) in enumerate(kept):
            others = [other for j, (_, other) in enumerate(kept) if j != i]
            own = owners[i]
            if own.colours is None or len(self.tracks) == 1 or _near(found, others):
                continue
            unlike = {
                t.number: self._unlike(t, picture, found)
                for t in self.tracks
                if t.colours is not None
            }
            best = min(self.tracks, key=lambda track: unlike.get(track.number, np.inf))
            if unlike[own.number] > 1 and unlike[best.number] < 0.5 and best is not own:
                if best in owners:
                    owners[owners.index(best)] = own
                owners[i] = best
        for owner, (track, _) in zip(owners, kept, strict=True):
            if owner is not track:
                owner.steady = None
        return [(owner, found) for owner, (_, found) in zip(owners, kept, strict=True)]

    def _unlike(self, track: Track, picture: np.ndarray, found: Found) -> float:
        """How unlike a track this looks: 1 is the most that one and the same differs."""
        if track.colours is None or len(track.colours) == 0:
            return 0.0
        return float(np.abs(self._colours(picture, found) - track.colours).mean()) / 255 / _COLOUR

    def _move(self, track: Track, picture: np.ndarray, found: Found, time: float) -> None:
        step = time - track.time
        if 0 < step <= _PATIENCE:
            track.speed = 0.7 * track.speed + 0.3 * (middle(found) - middle(track.found)) / step
        others = [t.found for t in self.tracks if t is not track and time - t.time <= 2 * _LOOK]
        if self.most > 1 and not _near(found, others):
            colours = self._colours(picture, found)
            old = colours if track.colours is None else track.colours
            track.colours = old + _STEADY * (colours - old)
        if self.kind.steady is not None:
            track.steady = track.steady or self.kind.steady()
            found = found._replace(following=track.steady(found.following, time))
        track.found, track.time, track.seen = found, time, True

    def _colours(self, picture: np.ndarray, found: Found) -> np.ndarray:
        """(R, 3) mean colours of rows across the surface of a body, from its upper to its lower
        end.
        """
        if not self.kind.surface:
            return np.zeros((0, 3))
        a, b, c, d = found.places[
            list(self.kind.surface), :2
        ]  # upper left, upper right, lower left, lower right
        down, across = np.meshgrid(
            np.linspace(0.1, 0.9, 5), np.linspace(0.25, 0.75, 5), indexing="ij"
        )
        upper = a + across[..., None] * (b - a)
        lower = c + across[..., None] * (d - c)
        spots = (upper + down[..., None] * (lower - upper)).round().astype(int)
        height, width = picture.shape[:2]
        columns, rows = np.clip(spots[..., 0], 0, width - 1), np.clip(spots[..., 1], 0, height - 1)
        return picture[rows, columns, :3].mean(axis=1)


def middle(found: Found) -> np.ndarray:
    """(2,) where somebody is in the picture: the middle of the region in which he is looked for
    next.
    """
    return np.array([found.following.x, found.following.y])


def _near(found: Found, others: list[Found]) -> bool:
    """Whether others may hide one, or lend their colours."""
    return any(found.following.overlap(other.following) > _NEAR for other in others)


def _centred(one: Region, other: Region) -> bool:
    """Whether two regions are around the same middle and of the same size, within a tenth of it."""
    apart = max(abs(one.x - other.x), abs(one.y - other.y), abs(one.size - other.size))
    return apart < 0.1 * max(one.size, other.size)


def same(one: Found, other: Found, share: float) -> bool:
    """Whether the landmarks of two lie on one body: nearer to each other than a share of its
    region.
    """
    apart = np.linalg.norm(one.places[:, :2] - other.places[:, :2], axis=1).mean()
    return bool(apart < share * max(one.following.size, other.following.size))
