"""Recordings in notebooks: a moving drawing in plain SVG, without scripts."""

from __future__ import annotations

from html import escape

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.data.wording import many
from kerneton.exceptions import KernetonError
from kerneton.report.body import COLOURS, Body
from kerneton.report.scene import Scene

_HEIGHT = 220.0  # pixels
_MOST = 60  # pictures of the animation


def sequence_html(sequence: SkeletonSequence) -> str:
    """A recording as HTML: its facts and an animation of its bones at the pace of the recording.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> (wave,) = make_actions(["wave"], n_subjects=1, n_takes=1)
    >>> sequence_html(wave).count("<animate ")
    3
    """
    facts = [many(sequence.n_frames, "frame"), many(sequence.n_joints, "joint")]
    if sequence.layout is not None:
        facts.append(sequence.layout.name)
    if sequence.duration is not None:
        facts.append(f"{sequence.duration:.1f} s")
    named = ((name, getattr(sequence, name)) for name in ("label", "subject"))
    facts += [f"{name} {value}" for name, value in named if value]
    text = escape(", ".join(facts))
    name = f"<b>{escape(sequence.name)}</b> " if sequence.name else ""
    try:
        drawing = _drawing(sequence)
    except KernetonError:  # no joint to draw
        drawing = ""
    return f'<div style="font:13px sans-serif">{drawing}<div>{name}{text}</div></div>'


def _drawing(sequence: SkeletonSequence) -> str:
    scene = Scene.of(sequence)
    body = Body.of(scene.sequence)
    frames = np.unique(np.linspace(0, sequence.n_frames - 1, _MOST).astype(int))
    scale = _HEIGHT / (scene.high[1] - scene.low[1])
    places = (scene.plane[frames, :, :2] - scene.low) * scale
    places[..., 1] = _HEIGHT - places[..., 1]
    width = float((scene.high[0] - scene.low[0]) * scale)
    seconds = sequence.duration or sequence.n_frames / 30
    parts = []
    sides = [0] * sequence.n_joints if body.layout is None else body.layout.sides
    lines = body.lines or [(joint, joint) for joint in range(sequence.n_joints)]
    for name, side in (("middle", 0), ("left", -1), ("right", 1)):
        own = [(a, b) for a, b in lines if (sides[a] or sides[b]) == side]
        if own:
            paths = [_path(frame, own) for frame in places]
            parts.append(
                f'<path fill="none" stroke="{COLOURS[name]}" stroke-width="3" stroke-linecap="round" '
                f'd="{paths[0]}"><animate attributeName="d" dur="{seconds:.2f}s" '
                f'repeatCount="indefinite" values="{";".join(paths)}"/></path>'
            )
    title = escape(sequence.name or "recording")
    return (
        f'<svg role="img" aria-label="{title}" width="{width:.0f}" height="{_HEIGHT:.0f}" '
        f'viewBox="0 0 {width:.0f} {_HEIGHT:.0f}">{"".join(parts)}</svg>'
    )


def _path(frame: np.ndarray, lines: list[tuple[int, int]]) -> str:
    """Lines between joints; one whose joint is missing has no length, so that all paths are
    alike.
    """
    words = []
    for a, b in lines:
        ends = frame[[a, b]]
        if np.isnan(ends).any():
            ends = np.zeros((2, 2))
        words.append("M{:.0f} {:.0f}L{:.0f} {:.0f}".format(*ends.ravel()))
    return "".join(words)
