"""Plots of explanations: a skeleton with coloured joints, the strongest joints and pairs, and moments over time."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

import numpy as np

from kerneton.data.validation import many
from kerneton.report.body import Body, spaced
from kerneton.report.pictures import draw_legend, draw_pose, frame_time, new_figure, on_the_spot
from kerneton.report.scene import with_bones

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kerneton.report.explanation import ClassImportance, Explanation

# Green supports, purple opposes: distinct for colour-blind readers, and neither is the colour of a body's side.
_MAP = "PRGn"
_FOR, _AGAINST = "#1b7837", "#762a83"
_QUIET = "#666666"
_BARS = 12  # joints and pairs that are spelt out
_PAIRS = 4  # of them pairs, if there are any
_POSES = 9  # small figures above the strip


def plot_explanation(why: Explanation) -> Figure:
    """Draw an `Explanation`: skeleton and bars above, poses and the strip of moments below."""
    figure = new_figure((9.5, 7.0 if why.moments else 4.6))
    grid = figure.add_gridspec(
        3 if why.moments else 1,
        2,
        width_ratios=[1, 1.35],
        height_ratios=[4.2, 1.3, 1.0] if why.moments else [1],
    )
    why = dataclasses.replace(why, sequence=with_bones([why.sequence])[0])
    strongest = max((abs(v) for v in why.joints.values()), default=0.0) or 1.0
    shown = _draw_body(figure.add_subplot(grid[0, 0]), why, strongest)
    _draw_bars(figure.add_subplot(grid[0, 1]), why)
    if why.moments:
        strip = figure.add_subplot(grid[2, :])
        _draw_strip(strip, why, shown)
        _draw_poses(figure.add_subplot(grid[1, :]), why)
    figure.suptitle(why.headline, x=0.01, ha="left", fontsize=11)
    note = f"{why.in_words}; intercept: the same for every recording".replace("; ", ";\n", 1)
    note += f"; {why.mirrored}" if why.mirrored else ""
    figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color=_QUIET)
    draw_legend(figure, Body.of(why.sequence), top=0.16)
    return figure


def plot_importance(importance: ClassImportance) -> Figure:
    """Draw a `ClassImportance`: classes by joints, green for and purple against."""
    n, m = importance.values.shape
    figure = new_figure((2.6 + 0.3 * m, 1.9 + 0.28 * n))
    ax = figure.subplots()
    largest = float(np.abs(importance.values).max()) or 1.0
    image = ax.imshow(importance.values, cmap=_MAP, vmin=-largest, vmax=largest, aspect="auto")
    ax.set_xticks(
        range(m), map(spaced, importance.joints), rotation=45, ha="right", rotation_mode="anchor", fontsize=8
    )
    ax.set_yticks(range(n), importance.labels, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    figure.colorbar(image, ax=ax, label="mean contribution to the decision value", shrink=0.8, aspect=25)
    return figure


def _draw_body(ax: Axes, why: Explanation, strongest: float) -> int:
    """The pose in the middle of the strongest moment; colour and size of a joint show its part. Returns the frame."""
    numbers, plane = on_the_spot(why.sequence)
    at = len(plane) // 2
    if why.moments:
        best = max(why.moments, key=lambda moment: moment.value)
        at = int(np.abs(numbers - (best.start + best.stop - 1) / 2).argmin())
    pose = plane[at]
    draw_pose(ax, pose, Body.of(why.sequence), width=2.5, alpha=0.45)
    part = np.array(list(why.joints.values()))
    order = np.argsort(np.abs(part), kind="stable")  # the strongest on top
    image = ax.scatter(
        pose[order, 0],
        pose[order, 1],
        s=30 + 330 * np.abs(part[order]) / strongest,
        c=part[order],
        cmap=_MAP,
        vmin=-strongest,
        vmax=strongest,
        edgecolors="#555555",
        linewidths=0.6,
        zorder=3,
        clip_on=False,
    )
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.1)
    ax.set_axis_off()
    _caption(ax, f"joints ({frame_time(why.sequence, numbers[at])}{', ▲ below' if why.moments else ''})")
    bar = ax.figure.colorbar(image, ax=ax, location="bottom", shrink=0.7, aspect=30, pad=0.01)
    bar.set_ticks([-strongest, 0, strongest], labels=[f"−{strongest:.3f}", "0", f"+{strongest:.3f}"])
    bar.set_label("against  ·  contribution to the decision value  ·  for", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return int(numbers[at])


def _draw_bars(ax: Axes, why: Explanation) -> None:
    """The strongest joints, the rest in one bar, and the intercept: the values of the text. Below, paler, the strongest pairs."""
    rows, pairs = why.joint_table(), why.summed_table("pair")[:_PAIRS]
    top = _BARS - len(pairs)
    bars = [(spaced(row["joint"]), row["value"]) for row in rows[:top]]
    if len(rows) > top:
        bars.append((f"the other {len(rows) - top}", sum(row["value"] for row in rows[top:])))
    bars.append(("intercept", why.intercept))
    bars += [(spaced(row["joints"]), row["value"]) for row in pairs]
    is_pair = np.arange(len(bars)) >= len(bars) - len(pairs)
    places = np.arange(len(bars)) + 1.5 * is_pair
    colors = [
        (_FOR if value > 0 else _AGAINST) + pale * "80"
        for (_, value), pale in zip(bars, is_pair.tolist(), strict=True)
    ]
    ax.barh(places, [value for _, value in bars], color=colors, height=0.7)
    ax.axvline(0, color="#333333", linewidth=0.8)
    ax.set_yticks(places, [name for name, _ in bars], fontsize=8)
    if pairs:
        told = "strongest pairs; the joints above contain them"
        over = float(places[~is_pair][-1]) + 1.25
        where = ax.get_yaxis_transform()
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}  # not crossed by the line at zero
        ax.text(
            1, over, told, transform=where, ha="right", va="center", fontsize=8, color=_QUIET, bbox=behind
        )
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    _caption(ax, f"joints and intercept; they sum to the decision value, {why.value:+.3f}", loc="right")
    ax.set_xlabel("against  ·  for", fontsize=8, color=_QUIET)


def _draw_strip(ax: Axes, why: Explanation, shown: int) -> None:
    """A bar for each moment, around its middle: moments overlap, so each bar is as wide as half of it."""
    rate, moments = why.sequence.fps or 1.0, why.moments
    middles = np.array([(m.start + m.stop) / 2 for m in moments])
    edges = np.array([0, *(middles[1:] + middles[:-1]) / 2, why.sequence.n_frames]) / rate
    values = np.array([m.value for m in moments])
    ax.bar(
        edges[:-1], values, np.diff(edges), align="edge", color=[_FOR if v > 0 else _AGAINST for v in values]
    )
    ax.axhline(0, color="#333333", linewidth=0.8)
    ax.plot((shown + 0.5) / rate, 0, "^", color="#333333", markersize=5, clip_on=False)
    ax.set_xlim(0, edges[-1])
    ax.set_xlabel("seconds" if why.sequence.fps else "frame", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    length = moments[0].stop - moments[0].start
    window = f"{length / rate:.2f} s" if why.sequence.fps else many(length, "frame")
    _caption(
        ax, f"moments: loss of decision value if the body is hidden for {window} around each (occlusion)"
    )


def _draw_poses(ax: Axes, why: Explanation) -> None:
    """Small poses over the time at which they are taken."""
    numbers, plane = on_the_spot(why.sequence)
    plane[..., 1] -= np.nanmin(plane[..., 1])
    plane /= float(np.nanmax(plane[..., 1])) or 1.0
    # One unit of the picture is a body's height; the axis is as wide as the strip below.
    box = ax.get_window_extent()
    width = box.width / box.height
    half = float(np.nanmax(np.abs(plane[..., 0])))
    body = Body.of(why.sequence)
    gap = 0.5 if body.numbered else 0.1
    n_poses = int(np.clip((width + gap) / (2 * half + gap), 1, _POSES))  # as many as fit side by side
    places = np.linspace(half, max(width - half, half), n_poses)
    times = places / width * why.sequence.n_frames - 0.5
    for place, i in zip(places, np.abs(numbers - times[:, None]).argmin(axis=1), strict=True):
        draw_pose(ax, plane[i] + [place, 0], body, width=1.2, alpha=0.8)
    ax.set_xlim(0, width)
    ax.set_ylim(-0.05, 1.05)
    ax.set_axis_off()


def _caption(ax: Axes, text: str, loc: Literal["left", "right"] = "left") -> None:
    ax.set_title(text, loc=loc, fontsize=9, color=_QUIET)
