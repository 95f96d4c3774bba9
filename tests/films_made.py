"""Films for tests: drawn ones, and pieces of the real ones in ``KERNETON_DATA``."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np

VIDEOS = Path(os.environ.get("KERNETON_DATA", "")) / "videos"


def write_film(
    path: Path, times=None, size=(64, 48), codec="mpeg4", n=20, rate=20, **options
) -> Path:
    """A film whose picture t is grey with the value 10 t, red in its upper left quarter."""
    times = [t / rate for t in range(n)] if times is None else times
    import av

    with av.open(str(path), "w", **options) as out:
        stream = out.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        if not codec.startswith("mpeg1"):
            stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        for t, time in enumerate(times):
            pixels = np.full((size[1], size[0], 3), min(10 * t, 250), np.uint8)
            pixels[: size[1] // 2, : size[0] // 2] = (250, 0, 0)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = round(time * 1000), Fraction(1, 1000)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def part_of(
    source: Path, target: Path, start: int, stop: int, *, crop=None, mirror=False, blank=()
) -> Path:
    """Pictures of a film as a new film, cut out or mirrored; those in ``blank`` are grey."""
    import av

    with av.open(str(source)) as film, av.open(str(target), "w") as out:
        stream = None
        for t, frame in enumerate(film.decode(video=0)):
            if not start <= t < stop:
                continue
            pixels = frame.to_ndarray(format="rgb24")
            if crop is not None:
                x, y, width, height = crop
                pixels = pixels[y : y + height, x : x + width]
            pixels = np.ascontiguousarray(pixels[:, ::-1] if mirror else pixels)
            if t - start in blank:
                pixels = np.full_like(pixels, 128)
            if stream is None:
                stream = out.add_stream("mpeg4", rate=30)
                stream.height, stream.width = pixels.shape[:2]
                stream.pix_fmt, stream.bit_rate = "yuv420p", 4_000_000
            out.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        out.mux(stream.encode(None))
    return target
