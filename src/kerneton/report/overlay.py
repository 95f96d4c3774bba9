"""A film with the skeleton drawn into it, the label, its probability, and the joints that
decided.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kerneton.exceptions import ParameterError, import_extra
from kerneton.files.output import replacing
from kerneton.report.body import COLOURS, Body
from kerneton.video.estimator import PoseOptions
from kerneton.video.films import Film
from kerneton.video.poses import film_poses

_TICK = Fraction(1, 90_000)  # of MP4
_FOR, _AGAINST = "#1a9850", "#b2182b"


class Caption(NamedTuple):
    """What is written on one person, and how much each joint speaks for it, by name."""

    text: str = ""
    joints: Mapping[str, float] = {}


def write_overlay(
    film: str | os.PathLike[str],
    path: str | os.PathLike[str],
    options: PoseOptions | None = None,
    captions: Mapping[int, Caption] | None = None,
) -> Path:
    """Write a film (``.mp4``) with the people in it drawn as skeletons.

    ``captions`` are by the position of the person, from 0. The largest contributions are discs:
    green speaks for the label, red against it, and the area shows how much.

    >>> write_overlay("wave.mp4", "drawn.mp4", captions={0: Caption("wave 97 %")})  # doctest: +SKIP
    """
    path, options = Path(path), options or PoseOptions()
    if path.suffix.lower() != ".mp4":
        raise ParameterError(
            f"{path}: cannot write {path.suffix!r}; a film with a skeleton is written as .mp4"
        )
    av = import_extra("av", extra="video", purpose="Writing films")
    draw = import_extra("PIL.ImageDraw", extra="plot", purpose="Drawing")
    image = import_extra("PIL.Image", extra="plot", purpose="Drawing")
    poses = film_poses(film, options)
    body = Body(options.layout, len(options.layout.joints))
    people = range(len(poses.joints))
    with (
        replacing(path) as temporary,
        Film(Path(film)) as opened,
        av.open(str(temporary), "w", format="mp4") as out,
    ):
        stream: Any = None
        for t, (pixels, moment) in enumerate(opened.pictures()):
            if t == len(poses.times):
                break
            height, width = (side // 2 * 2 for side in pixels.shape[:2])
            if stream is None:
                stream = out.add_stream(
                    "libx264", rate=max(1, round(poses.fps)), options={"crf": "20"}
                )
                stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
                stream.time_base = stream.codec_context.time_base = _TICK
            picture = image.fromarray(np.ascontiguousarray(pixels[:height, :width, :3]))
            pen = draw.Draw(picture, "RGBA")
            for person in people:
                caption = (captions or {}).get(person, Caption())
                _draw_person(pen, poses.places[person, t], body, caption, min(height, width))
            frame = av.VideoFrame.from_ndarray(np.asarray(picture), format="rgb24")
            frame.pts, frame.time_base = round(moment / _TICK), _TICK
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def _draw_person(pen: Any, places: np.ndarray, body: Body, caption: Caption, size: int) -> None:
    """Bones in the colours of their sides, discs for what decided, the text above the head."""
    seen = ~np.isnan(places[:, 0])
    if not seen.any():
        return
    thick = max(2, size // 160)
    for a, b in body.lines:
        if seen[a] and seen[b]:
            pen.line([tuple(places[a]), tuple(places[b])], fill=body.colour((a, b)), width=thick)
    for place in places[seen]:
        _disc(pen, place, 0.8 * thick, COLOURS["middle"])
    largest = max((abs(value) for value in caption.joints.values()), default=0.0)
    for j, joint in enumerate(body.layout.joints if body.layout is not None else ()):
        value = caption.joints.get(joint, 0.0)
        if largest and seen[j] and abs(value) > 0.1 * largest:
            radius = 4 * thick * float(np.sqrt(abs(value) / largest))
            _disc(pen, places[j], radius, (_FOR if value > 0 else _AGAINST) + "b0")
    if caption.text:
        x, y = np.nanmean(places[:, 0]), np.nanmin(places[:, 1])
        pen.text(
            (float(x), max(float(y) - 6 * thick, 8 * thick)),
            caption.text,
            anchor="ms",
            font_size=max(14, size // 22),
            fill="white",
            stroke_width=max(1, thick // 2),
            stroke_fill="black",
        )


def _disc(pen: Any, place: np.ndarray, radius: float, colour: str) -> None:
    x, y = (float(v) for v in place)
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
