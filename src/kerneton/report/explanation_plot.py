"""Plots of explanations: the body when it spoke, and what each joint contributed over time."""

from __future__ import annotations

import dataclasses
import itertools
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kerneton.exceptions import import_extra
from kerneton.report.body import Body, spaced
from kerneton.report.pictures import draw_pose, frame_time, new_figure, on_the_spot
from kerneton.report.scene import with_bones

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from kerneton.report.explanation import ClassImportance, Explanation

_ROWS = 8  # joints in the strip; the others are one row
_PAIRS = 3  # pairs among the bars
_POSES = 9  # small figures above the strip
_SPOKE = 0.12  # of the largest contribution at a moment, from which a joint is coloured
_NAMED = 3  # joints that are named beside the body
_LINE_HEIGHT = 0.06  # of these names, in heights of the body
_BESIDE = 0.05  # how far from the body they stand, in its heights
_LINE = 105  # letters of the title in a line


@dataclass(frozen=True)
class Palette:
    """Colours of a plot.

    Green supports and purple opposes: distinct for colour-blind readers, and neither is the colour
    of a side of the body.
    """

    paper: str
    ink: str
    quiet: str
    body: str
    soft: str
    for_: str
    against: str

    def map(self) -> Colormap:
        """From against over the paper to for."""
        colors = import_extra("matplotlib.colors", extra="plot", purpose="Plotting")
        steps = [self.against, self.soft, self.for_]
        return colors.LinearSegmentedColormap.from_list("contributions", steps)


LIGHT = Palette("#ffffff", "#222222", "#666666", "#b4bac3", "#f6f7f9", "#1b7837", "#762a83")
DARK = Palette("#14181f", "#e8ebf0", "#a2abb8", "#5c6675", "#1d232c", "#6fce86", "#cf9be3")


def plot_explanation(why: Explanation, *, dark: bool = False) -> Figure:
    """Draw an `Explanation`: body and strongest joints above, poses and the strip below."""
    palette = DARK if dark else LIGHT
    figure = new_figure((9.5, 7.6))
    figure.set_facecolor(palette.paper)
    ratios = {"width_ratios": [1, 1.35], "height_ratios": [3.6, 1.2, 2.4]}
    grid = figure.add_gridspec(3, 2, **ratios)
    why = dataclasses.replace(why, sequence=with_bones([why.sequence])[0])
    bars = figure.add_subplot(grid[0, 1])
    drawn = _draw_body(figure.add_subplot(grid[0, 0]), why, palette)
    _draw_bars(bars, why, palette)
    strip = figure.add_subplot(grid[2, :])
    _draw_strip(strip, why, palette, drawn)
    _draw_poses(figure.add_subplot(grid[1, :]), why, palette)
    title = f"{why.sequence.name or 'recording'}: {why.words}"
    left: dict[str, Any] = {"x": 0.01, "ha": "left"}
    figure.suptitle(textwrap.fill(title, _LINE), **left, fontsize=11, color=palette.ink)
    sums = f"{why.numbers}; {why.sums}".replace("; decision value: ", ": ")
    note = textwrap.fill(f"{sums}; intercept: the same for every recording", 150)
    figure.supxlabel(note, **left, fontsize=8, color=palette.quiet)
    return figure


def plot_importance(importance: ClassImportance) -> Figure:
    """Draw a `ClassImportance`: classes by joints, green for and purple against."""
    n, m = importance.values.shape
    figure = new_figure((2.6 + 0.3 * m, 1.9 + 0.28 * n))
    ax = figure.subplots()
    largest = float(np.abs(importance.values).max()) or 1.0
    shades: dict[str, Any] = {"cmap": LIGHT.map(), "vmin": -largest, "vmax": largest}
    image = ax.imshow(importance.values, aspect="auto", **shades)
    slanted: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(m), map(spaced, importance.joints), fontsize=8, **slanted)
    ax.set_yticks(range(n), importance.labels, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    label = "mean contribution to the decision value"
    figure.colorbar(image, ax=ax, label=label, shrink=0.8, aspect=25)
    return figure


def _draw_body(ax: Axes, why: Explanation, palette: Palette) -> int:
    """The pose at the strongest moment, with the joints that spoke then; returns its frame."""
    numbers, plane = on_the_spot(why.sequence)
    moment = why.strongest
    said = why.by_frame[moment.start : moment.stop].sum(axis=0)
    at = int(np.abs(numbers - (moment.start + moment.stop - 1) / 2).argmin())
    pose = plane[at]
    draw_pose(ax, pose, Body.of(why.sequence), width=4, colour=palette.body)
    order = _draw_joints(ax, pose, said, palette, size=420)
    named = order[::-1][:_NAMED]
    texts = [f"{spaced(why.joint_names[j])} {said[j]:+.2f}" for j in named]
    _name_joints(ax, pose, named, texts, palette)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.3, 0.08)
    ax.set_axis_off()
    when = frame_time(why.sequence, why.first_frame + int(numbers[at]))
    _caption(ax, f"what spoke at the strongest moment, {why.time(moment)} (▲ {when})", palette)
    return int(numbers[at])


def _name_joints(
    ax: Axes, pose: np.ndarray, joints: list[int], texts: list[str], palette: Palette
) -> None:
    """Texts beside the body, each at the height of its joint, or as near as others allow."""
    low, high = np.nanmin(pose, axis=0), np.nanmax(pose, axis=0)
    height = (high - low)[1] or 1.0
    right = pose[joints, 0] >= np.nanmean(pose[:, 0])
    for side, edge, ha in (
        (right, high[0] + _BESIDE * height, "left"),
        (~right, low[0] - _BESIDE * height, "right"),
    ):
        own = np.flatnonzero(side)
        places = _apart(pose[[joints[k] for k in own], 1], _LINE_HEIGHT * height)
        for k, y in zip(own, places, strict=True):
            ax.annotate(
                texts[k],
                pose[joints[k]],
                (edge, y),
                ha=ha,
                va="center",
                fontsize=8,
                color=palette.ink,
                arrowprops={"arrowstyle": "-", "color": palette.quiet, "linewidth": 0.6},
                zorder=2,
            )


def _apart(values: np.ndarray, gap: float) -> np.ndarray:
    """Values moved as little as keeps their order and leaves gaps between them.

    >>> _apart(np.array([1.0, 1.0, 5.0]), 1.0).tolist()
    [0.5, 1.5, 5.0]
    """
    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(values))
    wanted = values[order] - steps  # now they must only not decrease
    groups: list[list[float]] = []
    for value in wanted.tolist():
        groups.append([value])
        while len(groups) > 1 and np.mean(groups[-2]) > np.mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    found = np.empty(len(values))
    found[order] = [mean for g in groups for mean in [float(np.mean(g))] * len(g)] + steps
    return found


def _draw_joints(
    ax: Axes, pose: np.ndarray, said: np.ndarray, palette: Palette, *, size: float
) -> list[int]:
    """Dots on the joints that spoke, larger if they said more; returns them, the strongest last."""
    largest = float(np.abs(said).max(initial=0.0))
    spoke = [j for j in np.argsort(np.abs(said)) if abs(said[j]) > max(_SPOKE * largest, 1e-9)]
    spoke = [j for j in spoke if not np.isnan(pose[j]).any()]
    if spoke:
        x, y = pose[spoke].T
        ax.scatter(
            x,
            y,
            s=size * np.abs(said[spoke]) / largest,
            c=[palette.for_ if said[j] > 0 else palette.against for j in spoke],
            edgecolors=palette.paper,
            linewidths=0.8,
            zorder=3,
            clip_on=False,
        )
    return spoke


def _draw_bars(ax: Axes, why: Explanation, palette: Palette) -> None:
    """The strongest joints, the rest in one bar, and the intercept; paler, the strongest pairs."""
    rows, pairs = why.joint_table(), why.summed_table("pair")[:_PAIRS]
    bars = [(spaced(row["joint"]), row["value"]) for row in rows[:_ROWS]]
    if len(rows) > _ROWS:
        bars.append((f"the other {len(rows) - _ROWS}", sum(row["value"] for row in rows[_ROWS:])))
    bars.append(("intercept", why.intercept))
    bars += [(spaced(row["joints"]), row["value"]) for row in pairs]
    is_pair = np.arange(len(bars)) >= len(bars) - len(pairs)
    places = np.arange(len(bars)) + 1.5 * is_pair
    colors = [
        (palette.for_ if value > 0 else palette.against) + pale * "80"
        for (_, value), pale in zip(bars, is_pair.tolist(), strict=True)
    ]
    drawn = ax.barh(places, [value for _, value in bars], color=colors, height=0.7)
    numbers = [f"{value:+.2f}".replace("-", "−") for _, value in bars]
    ax.bar_label(drawn, numbers, padding=3, fontsize=8, color=palette.ink)
    ax.axvline(0, color=palette.quiet, linewidth=0.8)
    ax.set_yticks(places, [name for name, _ in bars], fontsize=8)
    ax.margins(x=0.14)
    if pairs:
        behind = {"facecolor": palette.paper, "edgecolor": "none", "pad": 1.5}
        ax.text(
            1,
            float(places[~is_pair][-1]) + 1.25,
            "strongest pairs; the joints above contain them",
            transform=ax.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=8,
            color=palette.quiet,
            bbox=behind,
        )
    ax.invert_yaxis()
    _plain(ax, palette)
    ax.tick_params(axis="y", length=0, colors=palette.ink)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    _caption(ax, f"joints and intercept; they sum to {why.value:+.3f}", palette, loc="right")


def _draw_strip(ax: Axes, why: Explanation, palette: Palette, drawn: int) -> None:
    """What the strongest joints contribute at each frame, and the others together."""
    names = [row["joint"] for row in why.joint_table()]
    strength = dict(zip(why.joint_names, np.abs(why.by_frame).sum(axis=0), strict=True))
    names = sorted(names, key=lambda name: -strength[name])
    named, others = names[:_ROWS], names[_ROWS:]
    columns = {name: why.by_frame[:, j] for j, name in enumerate(why.joint_names)}
    rows = [columns[name] for name in named]
    labels = [spaced(name) for name in named]
    if others:
        rows.append(np.sum([columns[name] for name in others], axis=0))
        labels.append(f"the other {len(others)}")
    table = np.stack(rows)
    largest = float(np.quantile(np.abs(table), 0.995)) or float(np.abs(table).max()) or 1.0
    rate, first = why.sequence.fps or 1.0, why.first_frame
    start, stop = first / rate, (first + len(why.by_frame)) / rate
    shades: dict[str, Any] = {"cmap": palette.map(), "vmin": -largest, "vmax": largest}
    place = (start, stop, len(table) - 0.5, -0.5)
    image = ax.imshow(table, aspect="auto", extent=place, interpolation="nearest", **shades)
    ax.set_yticks(range(len(table)), labels, fontsize=8)
    at = (first + drawn + 0.5) / rate
    ax.plot(at, len(table) - 0.5, "^", color=palette.ink, markersize=6, clip_on=False, zorder=4)
    for row in range(1, len(table)):
        ax.axhline(row - 0.5, color=palette.paper, linewidth=1)
    _plain(ax, palette)
    ax.tick_params(axis="y", length=0, colors=palette.ink)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("seconds" if why.sequence.fps else "frame", fontsize=8, color=palette.quiet)
    bar = ax.figure.colorbar(image, ax=ax, location="right", aspect=12, pad=0.01, fraction=0.03)
    bar.set_ticks([-largest, 0, largest], labels=["against", "", "for"])
    bar.ax.tick_params(labelsize=8, length=0, colors=palette.quiet)
    bar.outline.set_visible(False)
    _caption(ax, f"contribution of each frame; together {why.by_frame.sum():+.3f}", palette)


def _draw_poses(ax: Axes, why: Explanation, palette: Palette) -> None:
    """Small poses over the time at which they are taken, with what spoke around it."""
    numbers, plane = on_the_spot(why.sequence)
    plane[..., 1] -= np.nanmin(plane[..., 1])
    plane /= float(np.nanmax(plane[..., 1])) or 1.0
    # One unit of the picture is a body's height; the axis is as wide as the strip below.
    box = ax.get_window_extent()
    width = box.width / box.height
    half = float(np.nanmax(np.abs(plane[..., 0])))
    body = Body.of(why.sequence)
    gap = 0.5 if body.numbered else 0.1
    n_poses = int(np.clip((width + gap) / (2 * half + gap), 1, _POSES))  # that fit side by side
    places = np.linspace(half, max(width - half, half), n_poses)
    edges = np.linspace(0, why.sequence.n_frames, n_poses + 1).round().astype(int)
    times = places / width * why.sequence.n_frames - 0.5
    said = [why.by_frame[a:b].sum(axis=0) for a, b in itertools.pairwise(edges)]
    largest = max((float(np.abs(row).max(initial=0.0)) for row in said), default=0.0)
    frames = np.abs(numbers - times[:, None]).argmin(axis=1)
    for place, i, row in zip(places, frames, said, strict=True):
        pose = plane[i] + [place, 0]
        draw_pose(ax, pose, body, width=1.6, colour=palette.body)
        share = float(np.abs(row).max(initial=0.0)) / (largest or 1.0)
        _draw_joints(ax, pose, row, palette, size=70 * share)
    ax.set_xlim(0, width)
    ax.set_ylim(-0.05, 1.05)
    ax.set_axis_off()


def _plain(ax: Axes, palette: Palette) -> None:
    ax.set_facecolor(palette.paper)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="x", labelsize=8, colors=palette.quiet)


def _caption(ax: Axes, text: str, palette: Palette, loc: Literal["left", "right"] = "left") -> None:
    ax.set_title(text, loc=loc, fontsize=9, color=palette.quiet)
