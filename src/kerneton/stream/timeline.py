"""Timelines: truth above detections, one colour per label."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence

from kerneton.data.segments import Segment
from kerneton.exceptions import import_extra
from kerneton.report.pictures import save_figure
from kerneton.stream.detection import Detection

_COLOURS = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
    "#bbbbbb",
    "#e08214",
    "#5aae61",
    "#8073ac",
)


def colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour per label, the same for the same labels.

    >>> colours(["wave", "clap"])
    {'clap': '#4477aa', 'wave': '#ee6677'}
    """
    return {label: _COLOURS[i % len(_COLOURS)] for i, label in enumerate(sorted(set(labels)))}


def draw_timeline(
    path: str | os.PathLike[str],
    rows: Sequence[tuple[str, Sequence[Segment], Sequence[Segment]]],
    n_frames: Sequence[int],
    fps: float | None = None,
) -> None:
    """Write a picture: per recording (name, truth, found), truth, if there is any, above
    detections.
    """
    Figure = import_extra("matplotlib.figure", extra="plot", purpose="Drawing a timeline").Figure
    shade = colours([s.label for _, a, b in rows for s in (*a, *b)])
    lanes = [(0.05, 0.35), (-0.4, 0.35)] if any(truth for _, truth, _ in rows) else [(-0.3, 0.6)]
    figure = Figure(figsize=(12, 1.2 + 0.35 * len(lanes) * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    scale = 1 / fps if fps else 1.0
    for y, (_, *both) in enumerate(rows):
        for segments, (low, height) in zip(both[-len(lanes) :], lanes, strict=True):
            for s in segments:
                bar = [(s.start * scale, s.n_frames * scale)]
                axes.broken_barh(bar, (-y + low, height), color=shade[s.label], linewidth=0)
    axes.set_yticks([-y for y in range(len(rows))], [name for name, *_ in rows])
    if len(lanes) > 1:
        axes.set_title("truth above, found below", loc="left", fontsize=10)
    axes.set_xlim(0, max(n_frames) * scale)
    axes.set_xlabel("seconds" if fps else "frames")
    handles = [axes.barh(0, 0, color=c, label=label) for label, c in shade.items()]
    if handles:
        figure.legend(
            handles=handles, ncols=min(len(handles), 6), loc="outside lower center", frameon=False
        )
    save_figure(figure, path, 110)


def timeline_svg(
    truth: Sequence[Segment], found: Sequence[Detection], n_frames: int, shade: dict[str, str]
) -> str:
    """One recording's timeline as SVG, without a row of truth if there is none; labels are
    escaped.
    """
    lanes = [("truth", truth), ("found", found)] if truth else [("found", found)]
    height = 24 * len(lanes) - 2
    size = f'viewBox="0 0 1000 {height}" width="100%" height="{height}"'
    parts = [f'<svg {size} role="img" preserveAspectRatio="none">']
    for row, (what, segments) in enumerate(lanes):
        place = f'y="{24 * row}" height="22"'
        parts.append(f'<rect x="0" {place} width="1000" fill="#888" fill-opacity=".13"/>')
        for s in segments:
            x, w = 1000 * s.start / n_frames, max(1000 * s.n_frames / n_frames, 1)
            chance = getattr(s, "probability", None)
            told = f"{what}: {s.label}, frames {s.start} to {s.stop}" + (
                f", probability {chance:.2f}" if chance is not None else ""
            )
            parts.append(
                f'<rect x="{x:.1f}" {place} width="{w:.1f}" fill="{shade.get(s.label, "#999")}">'
                f"<title>{html.escape(told)}</title></rect>"
            )
    return "".join(parts) + "</svg>"


def time_ticks(n_frames: int, fps: float | None) -> list[tuple[float, str]]:
    """At most six positions on a timeline, in per cent of its length, with the time or frame.

    >>> time_ticks(300, 30.0)
    [(0.0, '0 s'), (20.0, '2 s'), (40.0, '4 s'), (60.0, '6 s'), (80.0, '8 s'), (100.0, '10 s')]
    >>> time_ticks(100 * 60 * 30, 30.0)[1]
    (20.0, '20:00')
    """
    length = n_frames / (fps or 1.0)
    steps = [m * 10.0**k for k in range(-2 if fps else 0, 2) for m in (1, 2, 5)]
    steps = [
        *(s for s in steps if s < 60),
        *(60.0 * m for m in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600)),
    ]
    if fps is None:
        steps = [m * 10.0**k for k in range(9) for m in (1, 2, 5)]
    step = next((s for s in steps if length / s <= 5), length)
    ticks = [i * step for i in range(int(length / step + 1e-9) + 1)]
    return [(round(100 * t / length, 2), _tick(t, step, fps)) for t in ticks]


def _tick(t: float, step: float, fps: float | None) -> str:
    if fps is None:
        return f"frame {t:.0f}"
    return f"{t:g} s" if step < 60 else f"{int(t // 60)}:{t % 60:02.0f}"
