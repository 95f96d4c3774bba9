"""From a folder of films to a model: ``python benchmarks/films.py FILM FILM ...``

Each film is a label. Two people are made of the one who is seen: as she is, and mirrored; each has
two takes, the whole film and a part that is cut out of its pictures and its time. The folder
LABEL/PERSON/TAKE.mp4 is temporary, as is the cache of poses. ``kerneton fit`` runs twice, by body
and by hands, then ``kerneton evaluate`` with people held out in turn. Seconds on the clock, and of
the processor: on a busy machine the first are too long.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

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


def timed(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds on the clock and of the processor that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "kerneton", *words, "-q"], check=True, env=environment)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("films", metavar="FILM", nargs="+", type=Path)
    args = parser.parse_args()
    from kerneton.video.models import models_folder

    with tempfile.TemporaryDirectory() as place:
        home, cache = Path(place), Path(place, "cache")
        cache.mkdir()
        (cache / "pose-models").symlink_to(models_folder())
        environment = {**os.environ, "KERNETON_CACHE": str(cache)}
        for film in args.films:
            takes_of(film, home / "films")
        print(f"{4 * len(args.films)} films of {len(args.films)} labels by 2 people")
        print(f"{'':8}{'fit: s':>9}{'of CPU':>9}{'again':>9}{'of CPU':>9}  right, people held out")
        for pose in ("body", "hands"):
            words = ["fit", str(home / "films"), "-o", str(home / "model.kern"), "--pose", pose]
            first, again = timed(words, environment), timed(words, environment)
            told = home / "told.json"
            words = ["evaluate", str(home / "films"), "--pose", pose, "--json", str(told)]
            timed(words, environment)
            accuracy = json.loads(told.read_text())["accuracy"]
            line = "".join(f"{value:9.1f}" for value in (*first, *again))
            print(f"{pose:8}{line}  {100 * accuracy:.1f} %", flush=True)


if __name__ == "__main__":
    main()
