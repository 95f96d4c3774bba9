"""From a folder of films to a model: ``python benchmarks/films.py FILM FILM ...``

Each film is a label. Two people are made of the one who is seen: as she is, and mirrored; each has
two takes, the whole film and a part that is cut out of its pictures and its time. The folder
LABEL/PERSON/TAKE.mp4 is temporary, as is the cache of poses. ``kerneton fit`` runs twice, by body
and by hands. Then the second takes are labelled by a model of the first ones, and each person by a
model of the other, whose signs are mirrored. Seconds on the clock, and of the processor: on a busy
machine the first are too long.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from kerneton.video.models import models_folder

SHARE = 0.92  # of the width, the height and the time, of the second take


def takes_of(film: Path, folder: Path) -> None:
    """Four films of two people."""
    import av

    with av.open(str(film)) as opened:
        rate = opened.streams.video[0].average_rate
        pictures = [frame.to_ndarray(format="rgb24") for frame in opened.decode(video=0)]
    height, width = pictures[0].shape[:2]
    part = [int(side * SHARE) // 2 * 2 for side in (height, width)]
    first = round((1 - SHARE) * len(pictures) / 2)
    whole, smaller = pictures, [p[: part[0], -part[1] :] for p in pictures[first:-first]]
    for person, step in (("ann", 1), ("bob", -1)):
        home = folder / film.stem / person
        home.mkdir(parents=True)
        for take, seen in enumerate((whole, smaller), start=1):
            with av.open(str(home / f"{take}.mp4"), "w") as out:
                stream = out.add_stream("mpeg4", rate=rate)
                stream.height, stream.width = seen[0].shape[:2]
                stream.pix_fmt, stream.bit_rate = "yuv420p", 4_000_000
                for pixels in seen:
                    turned = np.ascontiguousarray(pixels[:, ::step])
                    out.mux(stream.encode(av.VideoFrame.from_ndarray(turned, format="rgb24")))
                out.mux(stream.encode(None))


def timed(words: list[str]) -> tuple[float, float]:
    """Seconds on the clock and of the processor that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "kerneton", *words, "-q"], check=True)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used


def right(films: list[Path], training: list[bool], place: Path, pose: str) -> list[bool]:
    """Whether a model of the films for training labels each of the others rightly."""
    model, told, known = place / "part.kern", place / "told.json", place / "known"
    shutil.rmtree(known, ignore_errors=True)
    for film in (f for f, used in zip(films, training, strict=True) if used):
        link = known / film.relative_to(place / "films")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(film)
    timed(["fit", str(known), "-o", str(model), "--pose", pose])
    others = [film for film, used in zip(films, training, strict=True) if not used]
    timed(["predict", str(model), *map(str, others), "--json", str(told)])
    answers = json.loads(told.read_text())
    return [a["label"] == f.parts[-3] for a, f in zip(answers, others, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("films", metavar="FILM", nargs="+", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, cache = Path(place, "films"), Path(place, "cache")
        cache.mkdir()
        (cache / "pose-models").symlink_to(models_folder())
        os.environ["KERNETON_CACHE"] = str(cache)
        for film in args.films:
            takes_of(film, folder)
        print(f"{4 * len(args.films)} films of {len(args.films)} labels by 2 people")
        columns = ("fit: s", "of CPU", "again: s", "of CPU", "takes", "people")
        print(f"{'':8}" + "".join(f"{name:>10}" for name in columns))
        for pose in ("body", "hands"):
            words = ["fit", str(folder), "-o", str(Path(place, "model.kern")), "--pose", pose]
            seconds = "".join(f"{s:10.1f}" for s in (*timed(words), *timed(words)))
            films = sorted(folder.glob("*/*/*.mp4"))
            takes = right(films, [film.stem == "1" for film in films], Path(place), pose)
            people = [
                found
                for who in ("ann", "bob")
                for found in right(films, [f.parts[-2] == who for f in films], Path(place), pose)
            ]
            print(f"{pose:8}{seconds}{np.mean(takes):10.0%}{np.mean(people):10.0%}", flush=True)


if __name__ == "__main__":
    main()
