"""Plots of confusion matrices, skeletons over time and sweeps of a parameter. Each returns a
matplotlib figure.

Figures are made without ``pyplot``: nothing opens a window or changes a global setting.
``figure.savefig(path)`` writes a figure; ``ax=`` draws into an existing axis.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kerneton.data.checks import check_sequences
from kerneton.data.parameters import check_positive
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ParameterError, import_extra
from kerneton.files.output import replacing
from kerneton.prepare.poses import fill_gaps
from kerneton.report.body import COLOURS, Body
from kerneton.report.scene import camera, seen, with_bones

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CURVES = ("#1f6fb4", "#d95f02", "#1b9e77", "#7b3fa0", "#c2a000", "#8c564b")
_FAINT = "#999999"
_ROW = 1.7  # inches that a row of poses is high
_MOST_NUMBERED = 30  # classes up to which cells of a confusion matrix carry numbers


def plot_confusion(
    confusion: Any,
    labels: Sequence[str],
    *,
    normalize: bool = True,
    title: str = "",
    ax: Axes | None = None,
) -> Figure:
    """A confusion matrix, (n_classes, n_classes) counts with rows true and columns predicted.

    ``normalize`` shows per cent of each row in place of counts.

    >>> figure = plot_confusion([[9, 1], [3, 7]], ["drink", "phone"], title="by mouth or by ear")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['90', '10', '30', '70']
    """
    counts = np.asarray(confusion)
    n = len(labels)
    if counts.shape != (n, n):
        raise ParameterError(
            f"{n} labels need a confusion matrix of shape {(n, n)}, got {counts.shape}"
        )
    share = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = 2.2 + 0.34 * n
    figure, ax = _axis(
        ax, (max(side, 3.6), max(side, 3.2)) if n <= _MOST_NUMBERED else (side + 1.5, side)
    )
    image = ax.imshow(share, cmap="Blues", vmin=0, vmax=100)
    shown = np.rint(share).astype(int) if normalize else counts
    if n <= _MOST_NUMBERED:
        for i, j in np.argwhere(counts):
            colour = "white" if share[i, j] > 55 else "black"
            ax.text(j, i, f"{shown[i, j]}", ha="center", va="center", color=colour, fontsize=8)
    else:
        figure.colorbar(image, ax=ax, label="% of the label's recordings", shrink=0.6, aspect=30)
    ax.set_xticks(range(n), labels, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(n), labels)
    ax.set_xticks(np.arange(n + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(n + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="#e4e8ee", linewidth=0.6)
    ax.tick_params(which="both", length=0, labelsize=9)
    ax.set_xlabel("predicted" + (" (% of the row)" if normalize and n <= _MOST_NUMBERED else ""))
    ax.set_ylabel("true")
    _title(ax, title)
    ax.spines[:].set_visible(False)
    return figure


def plot_skeleton(
    sequences: SkeletonSequence | Iterable[SkeletonSequence],
    *,
    n_poses: int = 8,
    title: str = "",
) -> Figure:
    """Poses of a recording from left to right in time; several recordings below each other.

    The camera stands where the body faces (`kerneton.report.scene.camera`); left limbs are orange,
    right limbs blue. Faint lines are the paths of hands and feet, or of other ends of limbs, since
    the pose before.

    >>> import numpy as np
    >>> from kerneton.data.layouts import FLORENCE_15
    >>> poses = np.random.default_rng(0).normal(size=(30, 15, 3))
    >>> figure = plot_skeleton(SkeletonSequence(poses, layout=FLORENCE_15, label="flail"))
    >>> len(figure.axes)
    1
    """
    check_positive("n_poses", n_poses, integer=True)
    given = [sequences] if hasattr(sequences, "joints") else sequences
    recordings = with_bones(check_sequences(given, allow_missing=True, whole=True))
    rows = [_arrange(recording, n_poses) for recording in recordings]
    width = max((row.high[0] - row.low[0]) / (row.high[1] - row.low[1]) for row in rows) * _ROW
    figure = new_figure((width + 0.2, (_ROW + 0.3) * len(rows) + (0.35 if title else 0)))
    axes = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
    for ax, recording, row in zip(axes, recordings, rows, strict=True):
        _draw_row(ax, recording, row)
    if title:
        figure.suptitle(title, x=0.1 / (width + 0.2), ha="left", fontsize=11)
    draw_legend(figure, max(map(Body.of, recordings), key=lambda body: body.sided), top=0.15)
    return figure


def plot_sweep(
    values: Sequence[Any],
    curves: Mapping[str, Any],
    *,
    spread: Mapping[str, Any] | None = None,
    reference: Mapping[str, float] | None = None,
    xlabel: str = "",
    ylabel: str = "accuracy (%)",
    title: str = "",
    log: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Curves over the values of one parameter, with error bars.

    ``values`` (n,) are numbers, or words for choices without an order. ``curves`` and ``spread``
    give (n,) means and standard deviations by name; ``reference`` draws a dashed level by name.

    >>> figure = plot_sweep(
    ...     [0.2, 0.4, 1.0],
    ...     {"SCK": [91, 93, 88]},
    ...     spread={"SCK": [2, 1, 3]},
    ...     reference={"the paper": 92.98},
    ...     xlabel="power γ",
    ... )
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['the paper', 'SCK']
    """
    for name, curve in curves.items():
        if len(curve) != len(values):
            raise ParameterError(f"curve {name!r} has {len(curve)} points for {len(values)} values")
    figure, ax = _axis(ax, (5.2, 3.6))
    words = any(isinstance(value, str) for value in values)
    x = np.arange(len(values)) if words else np.asarray(values, dtype=float)
    for (name, level), style in zip((reference or {}).items(), ("--", ":", "-.") * 3, strict=False):
        ax.axhline(level, color=_FAINT, linestyle=style, linewidth=1.2, label=name, zorder=1)
    for i, (name, curve) in enumerate(curves.items()):
        ax.errorbar(
            x,
            np.asarray(curve, dtype=float),
            yerr=None
            if spread is None or name not in spread
            else np.asarray(spread[name], dtype=float),
            label=name,
            color=_CURVES[i % len(_CURVES)],
            linestyle="none" if words else "-",
            marker="osD^vP"[i % 6],
            markersize=5,
            linewidth=1.8,
            capsize=3,
            elinewidth=1,
        )
    if words:
        ax.set_xticks(x, [str(value) for value in values])
        ax.set_xlim(-0.5, len(values) - 0.5)
    if log:
        ax.set_xscale("log")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.grid(color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if len(curves) + len(reference or {}) > 1:
        ax.legend(frameon=False, fontsize=9)
    _title(ax, title)
    return figure


def save_figure(
    figure: Figure, path: str | os.PathLike[str], dpi: int = 150, **options: Any
) -> None:
    """Write a figure, whole or not at all; missing folders are made. Options go to
    ``figure.savefig``.

    The ending of the name is the format; without one (``/dev/stdout``) it is PNG.
    """
    suffix = Path(path).suffix
    with replacing(path) as temporary:
        try:
            figure.savefig(temporary, dpi=dpi, **{"format": suffix[1:] or "png", **options})
        except ValueError as error:
            raise ParameterError(
                f"{path}: cannot write {suffix!r}; choose .png, .svg or .pdf"
            ) from error


class _Row(NamedTuple):
    """Poses of one recording side by side in the picture."""

    frames: np.ndarray  # (n,) positions in ``plane`` of the frames that are drawn
    times: list[str]  # (n,) of the frames that are drawn
    places: np.ndarray  # (n,) horizontal position of each
    plane: np.ndarray  # (T, J, 2) every measured frame, at horizontal position zero
    low: np.ndarray  # (2,) lower left corner
    high: np.ndarray  # (2,) upper right corner


def _arrange(recording: SkeletonSequence, n_poses: int) -> _Row:
    numbers, plane = on_the_spot(recording)
    frames = np.unique(np.linspace(0, len(plane) - 1, n_poses).round().astype(int))
    low, high = np.nanmin(plane, axis=(0, 1)), np.nanmax(plane, axis=(0, 1))
    width, height = np.maximum(high - low, 1e-9)
    # pairs must not run into each other, and carry numbers
    several = bool(Body.of(recording).numbered)
    step = width + 0.6 * height if several else max(0.75 * width, 0.55 * height)
    places = np.arange(len(frames)) * step
    margin = np.array([0.08, 0.15 if several else 0.05]) * height
    low = low - margin - [0, 0.12 * height]  # room for the time
    times = [frame_time(recording, number) for number in numbers[frames]]
    return _Row(frames, times, places, plane, low, high + margin + [places[-1], 0])


def _draw_row(ax: Axes, recording: SkeletonSequence, row: _Row) -> None:
    body, earlier = Body.of(recording), 0
    for frame, place, time in zip(row.frames, row.places, row.times, strict=True):
        for joint in body.ends:
            path = row.plane[earlier : frame + 1, joint] + [place, 0]
            ax.plot(*path.T, color=body.colour((joint, joint)), linewidth=1.2, alpha=0.4)
        draw_pose(ax, row.plane[frame] + [place, 0], body)
        ax.text(place, row.low[1], time, ha="center", va="bottom", fontsize=7, color="#666666")
        earlier = frame
    ax.set_xlim(row.low[0], row.high[0])
    ax.set_ylim(row.low[1], row.high[1])
    ax.set_aspect("equal", anchor="W")
    ax.set_axis_off()
    who = (recording.label or recording.name, recording.subject and f"subject {recording.subject}")
    ax.set_title(", ".join(filter(None, who)), loc="left", fontsize=9)


def draw_pose(
    ax: Axes,
    pose: np.ndarray,
    body: Body,
    *,
    width: float = 2.0,
    alpha: float = 1.0,
    colour: str | None = None,
) -> None:
    """Bones, heads, and joints without bones, of a pose (J, 2) in the picture.

    Bones have the colours of their sides, or all one ``colour``.
    """
    line: dict[str, Any] = {"linewidth": width, "alpha": alpha, "solid_capstyle": "round"}
    for bone in body.lines:
        shade = colour or body.colour(bone)
        ax.plot(*pose[list(bone)].T, color=shade, zorder=1, clip_on=False, **line)
    dot: dict[str, Any] = {"color": colour or COLOURS["middle"], "alpha": alpha}
    dot |= {"clip_on": False, "in_layout": False}
    ax.plot(*pose[body.heads].T, "o", markersize=3 * width, zorder=1, **dot)
    ax.plot(*pose[body.loose].T, "o", markersize=width if body.bones else 1.5 * width, **dot)
    above: dict[str, Any] = {
        "textcoords": "offset points",
        "ha": "center",
        "annotation_clip": False,
    }
    above |= {} if colour is None else {"color": colour}
    for number, joints in body.numbered:
        seat = above_body(pose, joints)
        if seat is not None:
            ax.annotate(
                number, (seat[0], seat[1]), (0, 3 * width), size=5 + 2 * width, zorder=4, **above
            )


def above_body(pose: np.ndarray, joints: Sequence[int]) -> np.ndarray | None:
    """The highest of these joints (2,) in the picture; None where all are missing."""
    known = pose[list(joints)]
    known = known[~np.isnan(known).any(axis=1)]
    return known[known[:, 1].argmax()] if len(known) else None


def draw_legend(figure: Figure, body: Body, *, top: float) -> None:
    """The colours of left and right in the upper right corner, ``top`` inches below the edge."""
    if not body.sided:
        return
    width, height = figure.get_size_inches()
    for word, inches in (("right", 0.12), ("left", 0.54)):
        place = (1 - inches / width, 1 - top / height)
        figure.text(
            *place, word, ha="right", va="center", size=9, color=COLOURS[word], weight="bold"
        )


def on_the_spot(recording: SkeletonSequence) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (n,) of the frames with a measured joint, and their joints (n, J, 2) in the picture,
    without walking.

    Only horizontal movement is removed: a body that jumps moves up and down. Missing joints are
    NaN.
    """
    joints = seen(recording)
    missing = np.isnan(joints).any(axis=2)
    there = ~missing.all(axis=1)
    if not there.any():
        raise DataError(f"recording {recording.name!r} has no measured joint to draw")
    points, root = joints[there], None if recording.layout is None else recording.layout.root
    if root is None or missing[:, root].all():
        centre = np.nanmean(points, axis=1)
    else:
        centre = fill_gaps(points, missing[there])[:, root]
    plane = (points - (centre * [1, 0, 1])[:, None]) @ camera(recording)[:2].T
    if Body.of(recording).numbered:  # the middle between them
        plane[..., 0] -= (np.nanmin(plane[..., 0]) + np.nanmax(plane[..., 0])) / 2
    return np.flatnonzero(there), plane


def frame_time(recording: SkeletonSequence, frame: int) -> str:
    """Time of a frame, or its number where the rate is not known."""
    return f"{frame / recording.fps:.1f} s" if recording.fps else f"frame {frame}"


def _axis(ax: Axes | None, size: tuple[float, float]) -> tuple[Figure, Axes]:
    if ax is not None:
        return ax.figure, ax  # type: ignore[return-value]
    figure = new_figure(size)
    return figure, figure.subplots()


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of a size in inches."""
    module = import_extra("matplotlib.figure", extra="plot", purpose="Plotting")
    return module.Figure(figsize=size, layout="constrained")


def _title(ax: Axes, title: str) -> None:
    if title:
        ax.set_title(title, loc="left", fontsize=10)
