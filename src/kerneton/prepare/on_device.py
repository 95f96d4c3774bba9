"""`Preprocess` for many recordings without gaps at once, padded (B, T, J, 3), with torch on any
device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneton.data.checks import LARGEST_COORDINATE
from kerneton.data.layouts import Layout, can_turn, facing_lines, turning
from kerneton.machine.arrays import asarray_like, index_like, namespace_of, to_numpy
from kerneton.prepare.preprocess import Preprocess, origin


def can_prepare(step: Any) -> bool:
    """Whether this module can do the steps of a fitted preprocessing."""
    if type(step) is not Preprocess or not isinstance(step.center, bool):
        return False
    known = (
        step.facing in (None, "sequence")
        and step.n_frames is None
        and step.dtype in (None, "float32")
    )
    turned = step.facing is None or turning(step.layout_) != "full"
    return known and turned and len(step.layout_.bodies) == 1


def prepare(step: Preprocess, x: Any, lengths: Any) -> Any:
    """Poses (B, T, J, 3) of a fitted step; recordings have no gaps, and frames beyond ``lengths``
    (B,) are padding.

    >>> import torch
    >>> from kerneton import make_actions
    >>> data = make_actions(["wave"], n_subjects=1, n_takes=1, dropout=0)
    >>> step = Preprocess(bones="size", facing="sequence", dtype="float32").fit(data)
    >>> poses = prepare(
    ...     step, torch.as_tensor(data[0].joints)[None], torch.tensor([data[0].n_frames])
    ... )
    >>> bool(np.allclose(poses[0], step.transform(data)[0].joints, atol=1e-5))
    True
    """
    xp, layout = namespace_of(x), step.layout_
    inside = index_like(np.arange(x.shape[1]), x) < lengths[:, None]
    if step.bones == "size":
        x = _equal_size(x, inside, lengths, layout, step.reference_)
    elif step.bones == "reference":
        x = _equal_bones(x, layout, step.reference_)
    if step.center:
        root = origin(layout)
        joints = index_like(list(root) if isinstance(root, tuple) else [root], x)
        path = x[:, :, joints] - x[:, :1, joints]
        x = x - x[:, :, joints].mean(2, keepdim=True)
        if step.path and isinstance(root, int):
            x[:, :, joints] = path
    if step.facing is not None and can_turn(layout):
        flat = (~((x[..., 2] != 0) & inside[:, :, None])).all(2).all(1)
        yaw = _facing(x, inside, facing_lines(layout))
        angle = xp.where(flat, xp.zeros_like(yaw), -yaw)
        c, s = xp.cos(angle)[:, None, None], xp.sin(angle)[:, None, None]
        across, away = x[..., 0], x[..., 2]
        x = xp.stack([c * across + s * away, x[..., 1], c * away - s * across], -1)
    return x


def _equal_size(x: Any, inside: Any, lengths: Any, layout: Layout, reference: np.ndarray) -> Any:
    """Each recording scaled to the reference's total bone length, see
    `kerneton.prepare.poses.equal_size`.
    """
    xp = namespace_of(x)
    parents, children = index_like(np.asarray(layout.bones).reshape(-1, 2).T, x)
    spans = xp.linalg.vector_norm(x[:, :, children] - x[:, :, parents], dim=3)
    sizes = _median(spans, inside, lengths).sum(1)
    ones = xp.ones_like(sizes)
    factor = xp.where(sizes > 0, float(reference.sum()) / xp.where(sizes > 0, sizes, ones), ones)
    return x * factor[:, None, None, None].to(x.dtype)


def _equal_bones(x: Any, layout: Layout, reference: np.ndarray) -> Any:
    """Every bone of its reference length, see `kerneton.prepare.poses.equal_bones`.

    A joint is the root of its tree plus the scaled bones on the way there: one product for all
    joints.
    """
    xp, n = namespace_of(x), x.shape[2]
    ways, roots = np.zeros((n, len(layout.bones))), np.arange(n)
    for i, (parent, child) in enumerate(layout.bones):
        ways[child], roots[child] = ways[parent], roots[parent]
        ways[child, i] = reference[i]
    parents, children = index_like(np.asarray(layout.bones).reshape(-1, 2).T, x)
    bones = x[:, :, children] - x[:, :, parents]
    norm = xp.linalg.vector_norm(bones, dim=3, keepdim=True)
    directions = xp.where(norm > 0, bones / norm, xp.zeros_like(bones))
    return x[:, :, index_like(roots, x)] + xp.einsum(
        "jk,btkc->btjc", asarray_like(ways, x), directions
    )


def _median(values: Any, inside: Any, lengths: Any) -> Any:
    """Median over the frames of each recording, (B, T, n) → (B, n)."""
    xp = namespace_of(values)
    ordered = xp.sort(
        xp.where(inside[:, :, None], values, xp.full_like(values, np.inf)), dim=1
    ).values
    low, high = (xp.div(lengths - odd, 2, rounding_mode="floor") for odd in (1, 0))
    index = xp.stack([low, high], 1)[:, :, None].expand(-1, -1, values.shape[2]).long()
    return ordered.gather(1, index).mean(1)


def _facing(x: Any, inside: Any, lines: list[tuple[int, int]]) -> Any:
    """The yaw of each recording, (B,): see `kerneton.prepare.poses.facing`."""
    xp = namespace_of(x)
    left, right = index_like(np.asarray(lines).T, x)
    flat = (x[:, :, right] - x[:, :, left])[..., [0, 2]]
    norm = xp.linalg.vector_norm(flat, dim=3, keepdim=True)
    points = xp.where(norm > 0, flat / norm, xp.zeros_like(flat)).sum(2).double()  # (B, T, 2)
    weight = inside.double()
    median = (points * weight[..., None]).sum(1) / weight.sum(1, keepdim=True)
    for _ in range(20):
        apart = xp.linalg.vector_norm(points - median[:, None], dim=2).clamp_min(1e-6)
        pull = weight / apart
        median = (points * pull[..., None]).sum(1) / pull.sum(1, keepdim=True)
    median = median.to(x.dtype)
    return xp.atan2(-median[:, 1], median[:, 0])


def gaps(x: Any, inside: Any) -> np.ndarray:
    """Positions of recordings with a pose within ``inside`` (B, T) that is missing (NaN, or every
    joint zero) or too large to be one.
    """
    squares = (x * x).sum((2, 3))
    sound = ((squares > 0) & (squares <= LARGEST_COORDINATE**2)) | ~inside
    return np.flatnonzero(~to_numpy(sound.all(1)))


def derivative(x: Any, lengths: Any, taps: np.ndarray, rate: Any) -> Any:
    """A filter of frames s - k, ..., s + k at every frame times ``rate`` (B,), with repeated ends:
    a derivative.
    """
    reach = len(taps) // 2
    moved = x - x[:, :1]
    frames = index_like(np.arange(x.shape[1]), x)
    out = 0.0
    for k, weight in enumerate(taps.tolist()):
        at = (frames + (k - reach)).clamp(min=0)[None].minimum((lengths - 1)[:, None])
        index = at[:, :, None, None].expand(-1, -1, *x.shape[2:])
        out = out + moved.gather(1, index).double() * weight
    return (out * rate.double()[:, None, None, None]).to(x.dtype)
