"""The poses of a film: estimated once, kept beside checksums of the film and of the networks, made
recordings.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from kerneton.data.progress import Progress
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, FormatError, KernetonError, KernetonWarning
from kerneton.video import hands
from kerneton.video.estimator import LEAST_CONFIDENCE, TRUNK, Person, PoseEstimator, PoseOptions
from kerneton.video.films import Film
from kerneton.video.models import cache_home, checksum, model_file

_VERSION = 2  # of the estimation; poses of others are estimated again
_LONGEST_GAP = 0.5  # seconds without a picture, over which joints are not interpolated
_SHORTEST = 0.1  # share of the film in which somebody must be seen to become a recording
LOW_VISIBILITY, LOW_RATE, FEW_FRAMES = 0.6, 12.0, 0.5
# share of a person's pictures in which a joint must be seen; else the recording lacks it
_OFTEN = 0.5
_JUMP = 0.5  # of a body's size from one picture to the next


@dataclass(frozen=True, eq=False)
class FilmPoses:
    """What was estimated in a film of T pictures, for P people: as in
    `kerneton.video.estimator.Person`.
    """

    times: np.ndarray  # (T,) seconds from the first picture
    size: tuple[int, int]  # width and height of the pictures
    joints: np.ndarray  # (P, T, J, 3) float32
    places: np.ndarray  # (P, T, J, 2) float32
    confidence: np.ndarray  # (P, T, J) float32, 0 where nobody was seen
    changes: int = 0  # how often somebody else was followed than before
    crowd: int = 1  # the most people whom the detector saw at a time
    warnings: tuple[str, ...] = ()

    @property
    def fps(self) -> float:
        """Pictures a second: the mean of a steady film, else the median."""
        if len(self.times) < 2:
            return 30.0
        mean = (len(self.times) - 1) / float(self.times[-1])
        if _steady(self.times, mean):
            return round(mean) if abs(mean - round(mean)) < 1e-3 * mean else mean
        return 1 / float(np.median(np.diff(self.times)))


def film_poses(
    path: str | os.PathLike[str], options: PoseOptions, tick: Callable[[], object] | None = None
) -> FilmPoses:
    """The poses of a film, from the cache if they are there; ``tick`` is called after each
    picture.
    """
    path = Path(path)
    kept = _place(path, options)
    if (poses := _load(kept)) is None:
        poses = _estimate(path, options, tick)
        _keep(kept, poses)  # that nobody is seen, too
    if not len(poses.joints):
        what = "hand" if options.pose == "hands" else "person"
        n = len(poses.times)
        raise FormatError(f"{path}: no {what} was found in the {n} pictures of this film")
    return poses


def recordings(path: str | os.PathLike[str], options: PoseOptions) -> list[SkeletonSequence]:
    """The people in a film as recordings, or the hands of one: metres, y up, z away from the
    camera.
    """
    poses = film_poses(path, options)
    for message in poses.warnings:
        warnings.warn(f"{path}: {message}", KernetonWarning, stacklevel=2)
    stem = Path(path).stem
    several = len(poses.joints) > 1
    return [
        as_recording(poses, person, options, f"{stem}_{person + 1}" if several else stem)
        for person in range(len(poses.joints))
    ]


def as_recording(
    poses: FilmPoses, person: int, options: PoseOptions, name: str
) -> SkeletonSequence:
    """One person as a recording with a constant frame rate; frames without the person have no
    joints.
    """
    joints = poses.joints[person] + _offsets(poses, person, options)
    confidence = poses.confidence[person]
    if options.pose == "body":
        seldom = (confidence > 0).sum(axis=0) < _OFTEN * (confidence > 0).any(axis=1).sum()
        joints, confidence = joints.copy(), confidence.copy()
        joints[:, seldom], confidence[:, seldom] = np.nan, 0
    if options.pose == "hands":
        joints, confidence = _with_resting_hand(joints, confidence, poses)
    if not _steady(poses.times, poses.fps):
        times = np.arange(int(np.floor(poses.times[-1] * poses.fps + 1e-3)) + 1) / poses.fps
        joints = at_times(times, poses.times, joints)
        confidence = np.nan_to_num(at_times(times, poses.times, confidence))
        confidence[np.isnan(joints).any(axis=2)] = 0
    return SkeletonSequence(
        joints.astype(np.float32),
        confidence.astype(np.float32),
        options.layout,
        name=name,
        fps=round(poses.fps, 3),
    )


def _steady(times: np.ndarray, fps: float) -> bool:
    """Whether each picture comes within half a frame of when a constant rate has it."""
    return bool(np.abs(times - np.arange(len(times)) / fps).max() <= 0.5 / fps)


def at_times(times: np.ndarray, known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values (T, ...) at other times, interpolated linearly; NaN within gaps of more than half a
    second.

    >>> at_times(np.array([0.0, 0.1, 0.2]), np.array([0.0, 0.2]), np.array([[1.0], [2.0]])).ravel()
    array([1. , 1.5, 2. ])
    """
    after = np.clip(np.searchsorted(known, times), 1, max(len(known) - 1, 1))
    gap = known[after] - known[after - 1]
    share = np.clip((times - known[after - 1]) / gap, 0, 1).reshape(-1, *[1] * (values.ndim - 1))
    left, right = values[after - 1], values[after]
    mixed = np.where(
        share == 0, left, np.where(share == 1, right, (1 - share) * left + share * right)
    )
    mixed[(gap > _LONGEST_GAP) & (share.reshape(len(times), -1)[:, 0] % 1 > 0)] = np.nan
    return mixed


def _offsets(poses: FilmPoses, person: int, options: PoseOptions) -> np.ndarray:
    """(T, J, 3) metres: where several bodies, or each hand, are beside each other in the picture.

    Networks give joints around each body's own middle. Pixels become metres by the median size of
    the bodies; how far from the camera somebody stands is not known.
    """
    if options.pose == "body" and len(poses.joints) == 1:
        return np.zeros((1, 1, 3))
    n = hands.N_LANDMARKS if options.pose == "hands" else poses.joints.shape[2]
    scale = _metres_per_pixel(poses, n)
    centre = np.array(poses.size) / 2
    parts = []
    for first in range(0, poses.joints.shape[2], n):
        places = poses.places[person, :, first : first + n]
        flat = poses.joints[person, :, first : first + n, :2]
        with warnings.catch_warnings():
            # means of nothing, where nobody is seen
            warnings.simplefilter("ignore", RuntimeWarning)
            moved = -(np.nanmean(places, axis=1) - centre) * scale - np.nanmean(flat, axis=1)
        part = np.concatenate([moved, np.zeros((len(moved), 1))], axis=1)
        parts.append(np.repeat(part[:, None], n, axis=1))
    return np.concatenate(parts, axis=1)


def _metres_per_pixel(poses: FilmPoses, n: int) -> float:
    """The median ratio of sizes of bodies or hands of ``n`` joints in metres and in pixels."""
    metres = poses.joints[..., :2].reshape(-1, n, 2)
    places = poses.places.reshape(-1, n, 2)
    seen = ~np.isnan(metres).any(axis=2).all(axis=1)
    sizes = [np.sqrt(np.nanvar(part[seen], axis=1).sum(axis=1)) for part in (metres, places)]
    return float(np.median(sizes[0] / np.maximum(sizes[1], 1e-6))) if seen.any() else 0.0


def _with_resting_hand(
    joints: np.ndarray, confidence: np.ndarray, poses: FilmPoses
) -> tuple[np.ndarray, np.ndarray]:
    """A hand that the film never shows rests at the lower edge of the picture, in the shape of the
    other one.
    """
    n = hands.N_LANDMARKS
    seen = [confidence[:, part].any() for part in (slice(0, n), slice(n, None))]
    if all(seen):
        return joints, confidence
    lost, other = (slice(0, n), slice(n, None)) if seen[1] else (slice(n, None), slice(0, n))
    shape = np.nanmedian(joints[:, other], axis=0)
    shape = (shape - shape[0]) * [-1, 1, 1]
    edge = -0.5 * poses.size[1] * _metres_per_pixel(poses, n)
    joints, confidence = joints.copy(), confidence.copy()
    joints[:, lost] = shape + [-0.25 if lost.start == 0 else 0.25, edge, 0]
    confidence[:, lost] = LEAST_CONFIDENCE
    return joints, confidence


def doubts(path: str | os.PathLike[str], options: PoseOptions) -> list[str]:
    """What speaks against the poses of a film, one sentence each with the remedy."""
    poses = film_poses(path, options)
    seen = np.asarray((poses.confidence > 0).any(axis=2))  # (P, T)
    told = list(poses.warnings)
    frames: np.ndarray
    if poses.fps < LOW_RATE:
        told.append(
            f"only {poses.fps:.3g} pictures a second: record with 25 or more, fast movements are lost"
        )
    for person, frames in enumerate(seen):
        who = (
            f"person {person + 1}"
            if len(seen) > 1
            else "hands"
            if options.pose == "hands"
            else "a person"
        )
        share = frames.mean()
        if share < FEW_FRAMES:
            told.append(
                f"{who} seen in only {share:.0%} of the pictures: cut the film, or come nearer"
            )
        visible = poses.confidence[person][frames]
        if options.pose == "body" and len(visible):
            sure = visible[:, :25].mean()  # head, arms and hips
            if sure < LOW_VISIBILITY:
                told.append(
                    f"{who}: low mean visibility {sure:.2f} of head, arms and hips: more light, a clear view, "
                    "or pose_model='heavy'"
                )
        jumps = _jumps(poses.places[person], poses.times) if options.pose == "body" else 0
        if jumps:
            told.append(
                f"{who} jumps {'once' if jumps == 1 else f'{jumps} times'}: is it one and the same? people=2 follows two, or cut the film"
            )
        for part, side in ((slice(0, 21), "left"), (slice(21, 42), "right")):
            if options.pose == "hands" and not poses.confidence[person][:, part].any():
                told.append(f"the {side} hand is never seen and is taken to rest: show both hands")
    if poses.changes:
        times = "once" if poses.changes == 1 else f"{poses.changes} times"
        told.append(
            f"somebody else is followed {times}: people=2 follows two, or cut the film there"
        )
    if options.pose == "body" and poses.crowd > options.people:
        told.append(
            f"{poses.crowd} people are in the picture, {options.people} followed: people={poses.crowd} follows all"
        )
    return told


def _jumps(places: np.ndarray, times: np.ndarray) -> int:
    """How often a trunk is suddenly elsewhere: by half of the body's size, within a tenth of a
    second.
    """
    trunk = places[:, TRUNK]
    seen = np.flatnonzero(~np.isnan(trunk).any(axis=(1, 2)))
    if len(seen) < 2:
        return 0
    middles = trunk[seen].mean(axis=1)
    size = 2 * np.median(np.ptp(trunk[seen], axis=1), axis=0).max()
    moved = np.hypot(*np.diff(middles, axis=0).T) > _JUMP * max(size, 1)
    return int((moved & (np.diff(times[seen]) < 0.1)).sum())


def estimate_all(
    paths: Sequence[Path], options: PoseOptions, progress: Progress, workers: int | None = None
) -> None:
    """Estimate the films that are not in the cache, one on each core; errors are left to who reads
    them.
    """
    from joblib import cpu_count

    workers = workers or cpu_count()
    waiting: queue.SimpleQueue[Path] = queue.SimpleQueue()
    total = 0
    for path in paths:
        with suppress(KernetonError, OSError):
            if not _place(path, options).is_file():
                with Film(path) as film:
                    total += film.stated_frames
                waiting.put(path)
    # True for a picture, False for a worker that ends
    done: queue.SimpleQueue[bool] = queue.SimpleQueue()
    stop = threading.Event()

    def tick() -> None:
        done.put(True)
        if stop.is_set():
            raise _Stopped

    def work() -> None:
        try:
            while not stop.is_set():
                with suppress(KernetonError, OSError):
                    film_poses(waiting.get_nowait(), options, tick)
        except (queue.Empty, _Stopped):
            pass
        finally:
            done.put(False)

    n = min(workers, waiting.qsize())
    threads = [threading.Thread(target=work, daemon=True) for _ in range(n)]
    for thread in threads:
        thread.start()

    def pictures() -> Iterator[None]:
        running = n
        while running:
            if done.get():
                yield
            else:
                running -= 1

    try:
        for _ in progress(pictures(), total=total or None, desc="poses"):
            pass
    finally:
        stop.set()
        for thread in threads:
            thread.join()


class _Stopped(Exception):  # noqa: N818
    """The user interrupted the estimation."""


def _estimate(path: Path, options: PoseOptions, tick: Callable[[], object] | None) -> FilmPoses:
    estimator = PoseEstimator(options)
    times: list[float] = []
    seen: dict[int, list[tuple[int, Person]]] = {}
    size = (0, 0)
    with Film(path) as film:
        for pixels, time in film.pictures():
            size = (pixels.shape[1], pixels.shape[0])
            for person in estimator.push(pixels, time):
                seen.setdefault(person.number, []).append((len(times), person))
            times.append(time)
            if tick is not None:
                tick()
        told = list(film.warnings)
    return assembled(times, seen, size, options, estimator.crowd, told)


def assembled(
    times: Sequence[float],
    seen: dict[int, list[tuple[int, Person]]],
    size: tuple[int, int],
    options: PoseOptions,
    crowd: int = 1,
    told: Sequence[str] = (),
) -> FilmPoses:
    """The poses of those who were seen: by their numbers, positions in ``times`` and what was
    seen.
    """
    told, changes = list(told), 0
    tracks: list[list[tuple[int, Person]]] = []
    if seen and options.people == 1:
        changes = len(seen) - 1
        tracks = [[entry for number in sorted(seen) for entry in seen[number]]]
    elif seen:
        tracks = sorted(seen.values(), key=len, reverse=True)
        kept = [
            track for track in tracks[: options.people] if len(track) >= _SHORTEST * len(tracks[0])
        ]
        if len(kept) < len(tracks):
            frames = sum(map(len, tracks[len(kept) :]))
            told.append(
                f"{len(tracks) - len(kept)} further tracks with {frames} pictures were left out"
            )
        tracks = sorted(kept, key=lambda track: track[0][0])
    shape = (len(tracks), len(times), len(options.layout.joints))
    joints, places = (
        np.full((*shape, 3), np.nan, np.float32),
        np.full((*shape, 2), np.nan, np.float32),
    )
    confidence = np.zeros(shape, np.float32)
    for p, track in enumerate(tracks):
        for t, person in track:
            joints[p, t], places[p, t] = person.joints, person.places
            confidence[p, t] = np.where(np.isnan(person.joints[:, 0]), 0, person.confidence)
    return FilmPoses(np.array(times), size, joints, places, confidence, changes, crowd, tuple(told))


def _place(path: Path, options: PoseOptions) -> Path:
    """Where the poses of a film are kept: a name made of all that they depend on."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    for name in options.models:
        model_file(name)
    said = {key: value for key, value in asdict(options).items() if key != "pose_cache"}
    facts = [_VERSION, said, [checksum(name) for name in options.models]]
    digest.update(json.dumps(facts, sort_keys=True).encode())
    home = Path(options.pose_cache) if options.pose_cache else cache_home() / "poses"
    return home / f"{digest.hexdigest()[:40]}.npz"


_ARRAYS = ("times", "joints", "places", "confidence")


def _keep(place: Path, poses: FilmPoses) -> None:
    """Write a file of the cache completely or not at all; a cache that cannot be written costs time
    alone.
    """
    facts = {
        "size": poses.size,
        "changes": poses.changes,
        "crowd": poses.crowd,
        "warnings": poses.warnings,
    }
    arrays = {name: getattr(poses, name) for name in _ARRAYS} | {
        "facts": np.array(json.dumps(facts))
    }
    temporary = None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.parent, suffix=".part", delete=False) as file:
            temporary = file.name
            np.savez_compressed(file, **arrays)
        os.replace(temporary, place)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        warnings.warn(
            f"poses cannot be kept in {place.parent} ({error.strerror or error})",
            KernetonWarning,
            stacklevel=2,
        )


def _load(place: Path) -> FilmPoses | None:
    """Poses from the cache; None if they are not there, or damaged."""
    try:
        with place.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            facts = json.loads(str(file["facts"]))
            arrays = {name: file[name] for name in _ARRAYS}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError):
        return None
    size, told = tuple(facts.pop("size")), tuple(facts.pop("warnings"))
    return FilmPoses(size=size, warnings=told, **arrays, **facts)
