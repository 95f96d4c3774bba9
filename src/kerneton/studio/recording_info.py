"""What the page shows of a recording: counts, share of missing joints, a small animation, and the
motion to play.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence, missing_joints
from kerneton.report.scene import ELEVATION, YAW, facing, view

THUMB_FRAMES = 16


@dataclass(frozen=True)
class RecordingInfo:
    """Figures and small animation of one recording, kept while its file does not change."""

    name: str
    n_frames: int
    n_joints: int
    fps: float | None
    layout: str | None
    missing: float  # share of joints in all frames
    digest: str
    label: str | None  # as the file states it
    subject: str | None
    # start, stop and label, as stored in the file or beside it
    segments: tuple[tuple[int, int, str], ...]
    thumb: bytes  # (frames, joints, 2) int8, -128 for missing
    bones: tuple[tuple[int, int], ...]
    sides: str  # per joint l, r or m


def info_of(sequence: SkeletonSequence) -> RecordingInfo:
    """Figures and small animation of a recording.

    >>> from kerneton import make_actions
    >>> info = info_of(make_actions(["wave"], n_subjects=1, n_takes=1)[0])
    >>> info.layout, len(info.thumb) == THUMB_FRAMES * info.n_joints * 2
    ('kinect20', True)
    """
    layout = sequence.layout
    gone = missing_joints(sequence)
    content = np.ascontiguousarray(np.nan_to_num(sequence.joints, nan=1e9), np.float64)
    return RecordingInfo(
        name=sequence.name,
        n_frames=sequence.n_frames,
        n_joints=sequence.n_joints,
        fps=sequence.fps,
        layout=None if layout is None else layout.name,
        missing=float(gone.mean()),
        digest=hashlib.sha256(repr(content.shape).encode() + content.tobytes()).hexdigest()[:20],
        label=sequence.label,
        subject=sequence.subject,
        segments=tuple((s.start, s.stop, s.label) for s in sequence.segments),
        thumb=_thumb(sequence, gone),
        bones=() if layout is None else layout.bones,
        sides=sides(layout, sequence.n_joints),
    )


def joint_names(layout: Layout | None, n_joints: int) -> list[str]:
    """Names of the joints; numbers if there is no layout."""
    return list(layout.joints) if layout else [f"joint {i}" for i in range(1, n_joints + 1)]


def sides(layout: Layout | None, n_joints: int) -> str:
    """A letter per joint by its name: l, r, h for the head, otherwise m for the middle."""
    letters = {"left": "l", "right": "r", "head": "h", "nose": "h"}
    return "".join(
        letters.get(joint.partition("_")[0], "m") for joint in joint_names(layout, n_joints)
    )


def motion(sequence: SkeletonSequence) -> dict[str, Any]:
    """Everything that the page needs to play a recording, for JSON.

    ``points`` are int16 in base64, (frames, joints, 3), in units of ``unit`` metres, -32768 where a
    joint is missing; x to the right of the picture, y up from the floor, z towards the viewer, whom
    the body faces.
    """
    joints, gone = sequence.joints @ view(facing(sequence)).T, missing_joints(sequence)
    seen = joints[~gone]
    low = np.percentile(seen, 1, axis=0) if len(seen) else np.zeros(3)
    high = np.percentile(seen, 99, axis=0) if len(seen) else np.ones(3)
    joints = joints - [(low[0] + high[0]) / 2, low[1], (low[2] + high[2]) / 2]
    extent = float(np.abs(joints[~gone]).max()) if len(seen) else 1.0
    unit = max(extent, 1e-9) / 32000
    points = np.where(gone[..., None], -32768, np.round(np.nan_to_num(joints) / unit)).astype("<i2")
    size = float(max(high[1] - low[1], (high[0] - low[0]) * 0.75, 1e-9))
    layout = sequence.layout
    return {
        "frames": sequence.n_frames,
        "fps": sequence.fps or 30.0,
        "fps_known": sequence.fps is not None,
        "joints": joint_names(layout, sequence.n_joints),
        "layout": layout.name if layout else None,
        "bones": [list(bone) for bone in layout.bones] if layout else [],
        "sides": sides(layout, sequence.n_joints),
        "unit": unit,
        "size": size,
        "flat": bool(np.ptp(seen[:, 2]) < 1e-9) if len(seen) else True,
        "points": base64.b64encode(points.tobytes()).decode(),
    }


def _thumb(sequence: SkeletonSequence, gone: np.ndarray) -> bytes:
    """Frames at equal steps as the camera of all pictures sees them, scaled to [-120, 120]."""
    shown = np.flatnonzero(~gone.all(axis=1))  # the body may be lost in some frames
    if not len(shown):
        return np.full((THUMB_FRAMES, sequence.n_joints, 2), -128, np.int8).tobytes()
    frames = shown[np.round(np.linspace(0, len(shown) - 1, THUMB_FRAMES)).astype(int)]
    right, up, _ = view(facing(sequence), yaw=YAW, elevation=ELEVATION)
    flat, gone = sequence.joints[frames] @ np.stack([right, -up], axis=1), gone[frames]
    seen = flat[~gone]
    middle = (seen.max(0) + seen.min(0)) / 2
    half = max(float(np.ptp(seen, axis=0).max()) / 2, 1e-9)
    scaled = np.clip(np.round(np.nan_to_num((flat - middle) / half) * 120), -127, 127)
    return np.where(gone[..., None], -128, scaled).astype(np.int8).tobytes()
