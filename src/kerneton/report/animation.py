"""Recordings as animations and contact sheets: bones, sides in two colours, floor, clock.

The camera is that of `kerneton.report.scene`. Distances keep their proportions.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.parameters import check_positive
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import MissingExtraError, ParameterError, import_extra
from kerneton.files.output import replacing
from kerneton.report.body import COLOURS, Body
from kerneton.report.pictures import above_body, draw_legend, save_figure
from kerneton.report.scene import Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FLOOR, _QUIET = "#d9dde3", "#666666"
_MAX_RATE = 30  # frames per second of an animation; more makes the file larger, not smoother
_USUAL_RATE = 30.0  # of recordings without a frame rate
_DPI = 100
_NARROWEST = 3.6  # inches; room for a title


def contact_sheet(
    sequence: SkeletonSequence,
    path: str | os.PathLike[str],
    n_frames: int = 8,
    *,
    title: str | None = None,
) -> Path:
    """Write poses at equal steps of time, from left to right, as a picture (``.png``, ``.svg``,
    ``.pdf``).

    ``title`` replaces the recording's label, subject and name.

    >>> import tempfile
    >>> from kerneton.data.layouts import KINECT_20
    >>> poses = np.random.default_rng(0).normal(size=(30, 20, 3))
    >>> folder = Path(tempfile.mkdtemp())
    >>> contact_sheet(SkeletonSequence(poses, layout=KINECT_20), folder / "flail.png").name
    'flail.png'
    """
    check_positive("n_frames", n_frames, integer=True)
    scene = Scene.of(sequence)
    measured = np.flatnonzero(~np.isnan(scene.plane[..., 0]).all(axis=1))
    chosen = measured[np.unique(np.linspace(0, len(measured) - 1, n_frames).round().astype(int))]
    columns = min(len(chosen), 8)
    rows = -(-len(chosen) // columns)
    width, height = scene.inches(
        2.4, narrowest=max(1.0, _NARROWEST / columns), widest=2.0 if columns > 2 else 4.0
    )
    figure = _figure(columns * width, rows * (height + 0.25) + 0.45)
    band = 0.45 / (rows * (height + 0.25) + 0.45)
    grid = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(left=0.0, right=1.0, bottom=0.01, top=1 - band, wspace=0.0, hspace=0.12)
    for ax in grid.ravel():
        ax.set_axis_off()
    for ax, t in zip(grid.ravel(), chosen, strict=False):
        Canvas(ax, scene, letters=8).show(t)
    _head_line(figure, scene, title, 1 - 0.4 * band)
    save_figure(figure, path, _DPI)
    return Path(path)


def animate(
    sequence: SkeletonSequence,
    path: str | os.PathLike[str],
    *,
    fps: float | None = None,
    title: str | None = None,
    max_frames: int = 1000,
) -> Path:
    """Write a recording as an animation: ``.gif``, or ``.mp4`` where ffmpeg is installed.

    It plays at the recording's frame rate, or at ``fps`` frames per second (30 where neither is
    known). Of recordings with more than 30 frames per second, or more than ``max_frames`` frames,
    every second, third, ... is shown.

    >>> import tempfile
    >>> from kerneton.data.layouts import KINECT_20
    >>> poses = np.random.default_rng(0).normal(size=(3, 20, 3))
    >>> folder = Path(tempfile.mkdtemp())
    >>> animate(SkeletonSequence(poses, layout=KINECT_20, fps=10), folder / "flail.gif").name
    'flail.gif'
    """
    path = Path(path)
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise ParameterError(f"{path}: cannot write {path.suffix!r}; choose .gif or .mp4")
    if fps is not None:
        check_positive("fps", fps)
    check_positive("max_frames", max_frames, integer=True)
    if path.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise MissingExtraError(
            f"{path}: .mp4 needs the program ffmpeg, which is not installed; .gif does not need it"
        )
    scene = Scene.of(sequence)
    rate = float(fps or sequence.fps or _USUAL_RATE)
    step = max(1, int(np.ceil(rate / _MAX_RATE - 1e-6)), -(-sequence.n_frames // max_frames))
    frames = range(0, sequence.n_frames, step)
    width, height = scene.inches(4.2, narrowest=_NARROWEST, widest=7.0)
    figure = _figure(width, height + 0.5)
    ax = figure.add_axes((0, 0, 1, height / (height + 0.5)))
    _head_line(figure, scene, title, 1 - 0.2 / (height + 0.5))
    write_frames = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    with replacing(path) as temporary:
        write_frames(temporary, figure, Canvas(ax, scene, letters=9), frames, rate / step)
    return path


class Canvas:
    """The artists of one picture, which are moved from frame to frame; ``letters`` is the font size
    of the clock.
    """

    def __init__(self, ax: Axes, scene: Scene, letters: float) -> None:
        LineCollection = _drawing("matplotlib.collections").LineCollection
        self.scene, body = scene, Body.of(scene.sequence)
        ax.set_axis_off()
        ax.set_aspect("equal")
        ax.set_xlim(scene.low[0], scene.high[0])
        ax.set_ylim(scene.low[1], scene.high[1])
        ax.add_collection(LineCollection(list(scene.floor), colors=_FLOOR, linewidths=0.8))
        # height of the picture in points
        points = ax.get_window_extent().height / ax.figure.dpi * 72
        self.bones = np.array(body.lines, dtype=int).reshape(-1, 2)
        self.colours = [body.colour(line) for line in body.lines]
        thick = np.clip(points / 90, 1.2, 3.5)
        self.lines = LineCollection([], linewidths=thick, capstyle="round", zorder=2)
        ax.add_collection(self.lines)
        self.heads, self.rest = np.array(body.heads, dtype=int), np.array(body.loose, dtype=int)
        (self.dots,) = ax.plot(
            [], [], "o", color=COLOURS["middle"], markersize=1.6 * thick, zorder=3
        )
        (self.head,) = ax.plot(
            [], [], "o", color=COLOURS["middle"], markersize=4.5 * thick, zorder=3
        )
        self.numbers = [
            (ax.text(0, 0, number, size=letters + 2, ha="center", va="bottom"), joints)
            for number, joints in body.numbered
        ]
        below: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "va": "bottom"}
        self.clock = ax.text(0.5, 0.01, "", size=letters, color=_QUIET, **below)

    def show(self, t: int) -> None:
        """Draw frame ``t``; bones with a missing end are left out."""
        pose, nearness = self.scene.plane[t, :, :2], self.scene.plane[t, :, 2]
        order = np.argsort(
            nearness[self.bones].sum(axis=1)
        )  # the nearest bone is drawn last, over the others
        # matplotlib leaves out those with NaN
        self.lines.set_segments(list(pose[self.bones[order]]))
        self.lines.set_color([self.colours[i] for i in order])
        self.dots.set_data(*pose[self.rest].T)
        self.head.set_data(*pose[self.heads].T)
        for text, joints in self.numbers:
            seat = above_body(pose, joints)
            text.set_visible(seat is not None)
            if seat is not None:
                text.set_position(
                    (seat[0], seat[1] + 0.04 * (self.scene.high[1] - self.scene.low[1]))
                )
        self.clock.set_text(self.scene.clock(t))


def _head_line(figure: Figure, scene: Scene, title: str | None, y: float) -> None:
    sequence = scene.sequence
    who = (sequence.label, sequence.subject and f"subject {sequence.subject}", sequence.name)
    text = ", ".join(dict.fromkeys(filter(None, who))) if title is None else title
    edge = 0.12 / figure.get_figwidth()
    most = int((figure.get_figwidth() - 1.2) / 0.073)  # letters that fit before the legend
    shown = text if len(text) <= most else text[: most - 1] + "…"
    figure.text(edge, y, shown, ha="left", va="center", size=10)
    draw_legend(figure, Body.of(sequence), top=(1 - y) * figure.get_figheight())


def _figure(width: float, height: float) -> Any:
    return _drawing("matplotlib.figure").Figure(
        figsize=(width, height), dpi=_DPI, facecolor="white"
    )


def _drawing(module: str) -> Any:
    return import_extra(module, extra="plot", purpose="Drawing")


def _pictures(figure: Any, canvas: Canvas, frames: range) -> Iterator[Any]:
    """Each frame as a Pillow image with few colours."""
    Image = _drawing("PIL.Image")
    agg = _drawing("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    palette = _palette()
    for t in frames:
        canvas.show(t)
        agg.draw()
        rgb = np.asarray(agg.buffer_rgba())[..., :3].copy()
        indices = np.array(Image.fromarray(rgb).quantize(palette=palette, dither=Image.Dither.NONE))
        indices[(rgb == 255).all(axis=2)] = (
            0  # Pillow's search is not exact, and most of the picture is white
        )
        picture = Image.fromarray(indices)
        picture.putpalette(palette.getpalette())
        yield picture


def _palette() -> Any:
    """White, and each colour that is drawn in eleven steps from white, for the edges of lines."""
    to_rgb = _drawing("matplotlib.colors").to_rgb
    full = np.array([to_rgb(colour) for colour in (*COLOURS.values(), _FLOOR, _QUIET, "black")])
    share = np.linspace(0.1, 1, 11)[:, None, None]
    colours = np.concatenate([[[1.0, 1.0, 1.0]], (1 - share * (1 - full)).reshape(-1, 3)])
    palette = _drawing("PIL.Image").new("P", (1, 1))
    palette.putpalette(np.rint(255 * colours).astype(int).ravel().tolist())
    return palette


def _write_gif(path: Path, figure: Any, canvas: Canvas, frames: range, rate: float) -> None:
    """GIF counts in hundredths of a second: the time of each picture is rounded so that the total
    stays right.
    """
    ends = np.round(100 * np.arange(1, len(frames) + 1) / rate).astype(int)
    durations = [10 * max(int(d), 2) for d in np.diff(ends, prepend=0)]
    pictures = _pictures(figure, canvas, frames)  # one at a time in memory
    options: dict[str, Any] = {"duration": durations, "loop": 0, "disposal": 1}
    next(pictures).save(path, format="GIF", save_all=True, append_images=pictures, **options)


def _write_mp4(path: Path, figure: Any, canvas: Canvas, frames: range, rate: float) -> None:
    _drawing("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    writer = _drawing("matplotlib.animation").FFMpegWriter(fps=rate)
    with writer.saving(figure, str(path), _DPI):
        for t in frames:
            canvas.show(t)
            writer.grab_frame()
