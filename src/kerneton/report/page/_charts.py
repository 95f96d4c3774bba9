"""Charts as SVG that takes its colours from the page, each with words for those who cannot see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kerneton.report.page._html import Html, join, per_cent, tag
from kerneton.report.reliability import Bin
from kerneton.report.tables import percent

_NUMBERED = 40  # classes up to which cells carry numbers
_LETTER = 6.6  # units that a letter of a label takes


def confusion_chart(matrix: np.ndarray, labels: Sequence[str], links: Mapping[tuple[int, int], str]) -> Html:
    """A confusion matrix: counts in cells, coloured by share of the row; cells in ``links`` lead somewhere."""
    n = len(labels)
    side = 40 if n <= 14 else 30 if n <= _NUMBERED else 18
    names = [_cut(label, 22) for label in labels]
    room = 16 + _LETTER * max(len(name) for name in names)
    left, top = room + 20, 0.75 * room + 34
    support = np.maximum(matrix.sum(axis=1), 1)
    cells = [
        _confusion_cell(
            (int(i), int(j)),
            int(matrix[i, j]),
            int(support[i]),
            labels,
            (left, top, side),
            links.get((int(i), int(j))),
        )
        for i, j in np.argwhere(matrix)
    ]
    grid = [
        tag("path", class_="grid", d=Html("".join(
            f"M{left + k * side:g} {top:g}v{n * side}M{left:g} {top + k * side:g}h{n * side}" for k in range(n + 1)
        )))
    ]  # fmt: skip
    rows = [
        tag("text", name, tag("title", label), x=left - 8, y=top + (i + 0.5) * side, class_="end middle")
        for i, (name, label) in enumerate(zip(names, labels, strict=True))
    ]
    columns = [
        tag(
            "text", name, tag("title", label), class_="middle",
            transform=f"translate({left + (j + 0.5) * side:g} {top - 8:g}) rotate(-45)",
        )
        for j, (name, label) in enumerate(zip(names, labels, strict=True))
    ]  # fmt: skip
    middle = n * side / 2
    titles = [
        tag("text", "predicted →", x=left + middle, y=14, class_="axis mid"),
        tag("text", "true", class_="axis mid", transform=f"translate(12 {top + middle:g}) rotate(-90)"),
    ]
    width, height = left + n * side + 0.75 * room, top + n * side + 4
    wrong = int(matrix.sum() - np.trace(matrix))
    told = (
        f"Confusion matrix of {n} labels, rows true and columns predicted: {int(np.trace(matrix))} of "
        f"{int(matrix.sum())} right, {wrong} wrong. Tables list the mistakes."
    )
    return _svg(width, height, *grid, *cells, *rows, *columns, *titles, label=told, class_="confusion")


def _confusion_cell(
    at: tuple[int, int],
    count: int,
    support: int,
    labels: Sequence[str],
    frame: tuple[float, float, int],
    link: str | None,
) -> Html:
    (i, j), (left, top, side) = at, frame
    share = count / support
    kind = "right" if i == j else "wrong"
    what = f"{labels[i]} recognised" if i == j else f"{labels[i]} taken for {labels[j]}"
    x, y = left + j * side, top + i * side
    parts = [
        tag("title", f"{what}: {count} of {support} ({per_cent(share)})"),
        # Rare mistakes would be all but white on a straight scale.
        tag(
            "rect",
            x=x + 1,
            y=y + 1,
            width=side - 2,
            height=side - 2,
            fill_opacity=share if i == j else share**0.5,
        ),
    ]
    if len(labels) <= _NUMBERED:
        strong = " strong" if (share if i == j else share**0.5) > 0.68 else ""
        parts.append(tag("text", count, x=x + side / 2, y=y + side / 2, class_=f"mid middle{strong}"))
    cell = tag("g", *parts, class_=f"cell {kind}")
    return cell if link is None else tag("a", cell, href=link)


def spread_chart(values: Sequence[float], names: Sequence[str], mean: float, sd: float) -> Html:
    """Accuracies of splits on a line, with their mean and standard deviation."""
    low = max(0.0, np.floor(10 * min(*values, mean - sd)) / 10)
    low = min(low, 0.9)
    left, width, radius = 20.0, 440.0, 5.5

    def place(value: float) -> float:
        return left + (value - low) / (1 - low) * width

    stack: Counter[int] = Counter()
    dots = []
    for name, value in sorted(zip(names, values, strict=True), key=lambda pair: pair[1]):
        x = place(value)
        bin_ = round(x / (1.5 * radius))
        dots.append((x, stack[bin_], name, value))
        stack[bin_] += 1
    step = min(2 * radius + 1, 110 / max(stack.values()))
    base = 24 + step * (max(stack.values()) - 1) + radius
    inner, outer = place(max(mean - sd, low)), place(min(mean + sd, 1.0))
    parts = [
        tag("rect", class_="band", x=inner, y=6, width=max(outer - inner, 1.0), height=base + 2),
        tag("line", class_="mean", x1=place(mean), x2=place(mean), y1=6, y2=base + 8),
        tag("line", class_="rule", x1=left, x2=left + width, y1=base + 8, y2=base + 8),
    ]
    parts += [
        tag(
            "circle", tag("title", f"{name}: {per_cent(value)}") if len(dots) <= 300 else "",
            class_="split", cx=x, cy=base - level * step, r=radius,
        )
        for x, level, name, value in dots
    ]  # fmt: skip
    step = 0.2 if low < 0.5 else 0.1 if low < 0.8 else 0.05
    ticks = np.arange(1.0, low - 1e-9, -step)
    parts += [
        tag("text", f"{100 * t:.0f} %", x=place(float(t)), y=base + 24, class_="tick mid") for t in ticks
    ]
    told = (
        f"Accuracy of each of {len(values)} splits, from {percent(min(values))} to {percent(max(values))} per cent, "
        f"mean {percent(mean)}, standard deviation {percent(sd)}."
    )
    return _svg(left + width + 20, base + 32, *parts, label=told, class_="spread")


def reliability_chart(bins: Sequence[Bin]) -> Html:
    """How often it was right, over how sure it was; dots as large as the number of recordings."""
    left, top, size, below = 46.0, 10.0, 270.0, 54.0
    most = max(each.count for each in bins)

    def x(value: float) -> float:
        return left + value * size

    def y(value: float) -> float:
        return top + (1 - value) * size

    parts = []
    for t in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts += [
            tag("path", class_="grid", d=Html(f"M{x(t):g} {top:g}v{size:g}M{left:g} {y(t):g}h{size:g}")),
            tag("text", f"{100 * t:.0f}", x=left - 8, y=y(t), class_="tick end middle"),
            tag("text", f"{100 * t:.0f}", x=x(t), y=top + size + below + 18, class_="tick mid"),
        ]
    parts.append(tag("line", class_="ideal", x1=x(0), y1=y(0), x2=x(1), y2=y(1)))
    line = " ".join(f"{x(each.confidence):.1f},{y(each.accuracy):.1f}" for each in bins)
    parts.append(tag("polyline", class_="curve", points=Html(line)))
    base = top + size + below
    for each in bins:
        said, right = each.confidence, each.accuracy
        told = f"said {per_cent(said)} on average, right {per_cent(right)}, {each.count} tests"
        tall, radius = (below - 12) * each.count / most, 4 + 6 * (each.count / most) ** 0.5
        wide = (each.high - each.low) * size - 2
        parts += [
            tag("line", class_="gap", x1=x(said), x2=x(said), y1=y(said), y2=y(right)),
            tag("circle", tag("title", told), class_="bin", cx=x(said), cy=y(right), r=radius),
            tag(
                "rect",
                tag("title", told),
                class_="bar",
                x=x(each.low) + 1,
                y=base - tall,
                width=wide,
                height=tall,
            ),
        ]
    parts += [
        tag("text", "how sure it was, %", x=left + size / 2, y=base + 38, class_="axis mid"),
        tag("text", "how often it was right, %", class_="axis mid",
            transform=f"translate(12 {top + size / 2:g}) rotate(-90)"),
    ]  # fmt: skip
    label = "Reliability diagram; its numbers stand in the table beside it."
    return _svg(left + size + 14, base + 46, *parts, label=label, class_="reliability")


def length_chart(lengths: Sequence[int]) -> Html:
    """How many recordings are how long, in frames."""
    n_bins = int(np.clip(np.sqrt(len(lengths)), 6, 24))
    counts, edges = np.histogram(lengths, bins=min(n_bins, max(lengths) - min(lengths) + 1))
    left, width, tall = 14.0, 400.0, 90.0
    step = width / len(counts)
    bars = [
        tag(
            "rect", tag("title", f"{int(np.ceil(a))} to {int(b)} frames: {count}"), class_="bar",
            x=left + i * step + 1, width=max(step - 2, 1.0), y=6 + tall * (1 - count / counts.max()),
            height=tall * count / counts.max(),
        )
        for i, (count, a, b) in enumerate(zip(counts, edges[:-1], edges[1:], strict=True))
    ]  # fmt: skip
    rule = tag("line", class_="rule", x1=left, x2=left + width, y1=tall + 6.5, y2=tall + 6.5)
    ticks = [
        tag("text", f"{edges[0]:.0f}", x=left, y=tall + 22, class_="tick"),
        tag("text", "frames", x=left + width / 2, y=tall + 22, class_="axis mid"),
        tag("text", f"{edges[-1]:.0f}", x=left + width, y=tall + 22, class_="tick end"),
    ]
    told = f"Lengths of recordings, from {min(lengths)} to {max(lengths)} frames."
    return _svg(left + width + 14, tall + 30, *bars, rule, *ticks, label=told, class_="lengths")


def meter(share: float | None) -> Html:
    """A fraction in per cent over a bar of that length."""
    if share is None:
        return tag("span", "–", class_="none")
    return tag("span", percent(share), class_="meter", style=f"--share:{share:.3f}")


def _svg(width: float, height: float, *children: Html, label: str, class_: str) -> Html:
    """A picture in units that are pixels where there is room."""
    return tag(
        "svg", join(children), viewBox=f"0 0 {width:.0f} {height:.0f}", width=round(width), height=round(height),
        role="img", aria_label=label, class_=f"chart {class_}",
    )  # fmt: skip


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def bar_list(rows: Sequence[tuple[Any, float]], *, largest: float, unit: str = "") -> Html:
    """Names and numbers, each number also a bar."""
    items = [
        tag("li", tag("span", name, class_="name"), tag("span", f"{value:g}{unit}", class_="meter",
            style=f"--share:{value / largest if largest else 0:.3f}"))
        for name, value in rows
    ]  # fmt: skip
    return tag("ul", *items, class_="bars")
