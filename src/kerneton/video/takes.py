"""Takes of a camera: pieces of what it sees, by the clock or by the movement of the person."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.video.cameras import Sight
from kerneton.video.estimator import Person, PoseOptions
from kerneton.video.poses import as_recording, assembled

_MOVES = 0.25  # metres a second of the fastest tenth of the joints; slower is standing still
_STILL = 0.7  # seconds without movement that begin and end a take
_BEFORE = 0.3  # seconds before the first movement that belong to a take
_LEAST_SEEN = 0.5  # share of the pictures of a take with somebody in them


def timed_take(sights: Iterator[Sight], seconds: float) -> list[Sight]:
    """What is seen in the next seconds."""
    taken: list[Sight] = []
    for sight in sights:
        taken.append(sight)
        if sight.time - taken[0].time >= seconds:
            break
    return taken


def hands_free_take(
    sights: Iterator[Sight], longest: float, tell: Callable[[str], object] = str
) -> list[Sight]:
    """What is seen from when somebody who stood still moves until he stands still again.

    ``tell`` is called with what is waited for: "stand still", "go", "done".
    """
    waiting: list[Sight] = []
    taken: list[Sight] = []
    still_since: float | None = None
    ready = False
    tell("stand still")
    for sight in sights:
        (taken or waiting).append(sight)
        recent = (taken or waiting)[-2:]
        fast = len(recent) == 2 and speed(*recent) > _MOVES
        if not sight.people:
            still_since = None
        elif fast or still_since is None:
            still_since = sight.time
        still = still_since is not None and sight.time - still_since >= _STILL
        if taken:
            if sight.time - taken[0].time >= longest:
                break
            if still:
                taken = [s for s in taken if s.time <= sight.time - _STILL + _BEFORE]
                break
        elif not ready and still:
            ready = True
            tell("go")
        elif ready and fast:
            taken = [s for s in waiting if s.time >= sight.time - _BEFORE]
        waiting = [s for s in waiting if s.time >= sight.time - 2 * _BEFORE]
    if taken:
        tell("done")
    return taken


def speed(before: Sight, after: Sight) -> float:
    """Metres a second of the fastest tenth of the joints of who is seen in both; 0 if nobody is."""
    speeds = [0.0]
    for person in after.people:
        for other in before.people:
            if person.number == other.number:
                moved = np.linalg.norm(person.joints - other.joints, axis=1)
                if not np.isnan(moved).all():
                    speeds.append(float(np.nanpercentile(moved, 90)) / (after.time - before.time))
    return max(speeds)


def as_recordings(sights: list[Sight], options: PoseOptions, name: str) -> list[SkeletonSequence]:
    """The people in a take as recordings; an error if nobody is in half of it."""
    seen: dict[int, list[tuple[int, Person]]] = {}
    for t, sight in enumerate(sights):
        for person in sight.people:
            seen.setdefault(person.number, []).append((t, person))
    share = sum(bool(sight.people) for sight in sights) / max(len(sights), 1)
    if share < _LEAST_SEEN or len(sights) < 2:
        what = "hands" if options.pose == "hands" else "a person"
        raise DataError(
            f"{what} seen in only {share:.0%} of the {len(sights)} pictures of this take"
        )
    times = [sight.time - sights[0].time for sight in sights]
    size = (sights[0].pixels.shape[1], sights[0].pixels.shape[0])
    poses = assembled(times, seen, size, options)
    several = len(poses.joints) > 1
    return [
        as_recording(poses, p, options, f"{name}_{p + 1}" if several else name)
        for p in range(len(poses.joints))
    ]
