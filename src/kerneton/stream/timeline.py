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
    """Write a picture: per recording (name, truth, found), truth above detections; truth may be empty."""
    Figure = import_extra("matplotlib.figure", extra="plot", purpose="Drawing a timeline").Figure
    shade = colours([s.label for _, a, b in rows for s in (*a, *b)])
    figure = Figure(figsize=(12, 1.2 + 0.7 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    scale = 1 / fps if fps else 1.0
    for y, (_, truth, found) in enumerate(rows):
        for segments, low in ((truth, 0.05), (found, -0.4)):
            for s in segments:
                bar = [(s.start * scale, s.n_frames * scale)]
                axes.broken_barh(bar, (-y + low, 0.35), color=shade[s.label], linewidth=0)
    axes.set_yticks([-y for y in range(len(rows))], [name for name, *_ in rows])
    axes.set_xlim(0, max(n_frames) * scale)
    axes.set_xlabel("seconds" if fps else "frames")
    handles = [axes.barh(0, 0, color=c, label=label) for label, c in shade.items()]
    if handles:
        figure.legend(handles=handles, ncols=min(len(handles), 6), loc="outside lower center", frameon=False)
    save_figure(figure, path, 110)


def timeline_svg(
    truth: Sequence[Segment], found: Sequence[Detection], n_frames: int, shade: dict[str, str]
) -> str:
    """One recording's timeline as SVG; labels are escaped."""
    parts = ['<svg viewBox="0 0 1000 46" role="img" preserveAspectRatio="none" width="100%" height="46">']
    for segments, y, what in ((truth, 2, "truth"), (found, 24, "found")):
        for s in segments:
            x, w = 1000 * s.start / n_frames, max(1000 * s.n_frames / n_frames, 1)
            chance = getattr(s, "probability", None)
            told = f"{what}: {s.label}, frames {s.start} to {s.stop}" + (
                f", probability {chance:.2f}" if chance is not None else ""
            )
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="20" fill="{shade.get(s.label, "#999")}">'
                f"<title>{html.escape(told)}</title></rect>"
            )
    return "".join(parts) + "</svg>"
