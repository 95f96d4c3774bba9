"""Features averaged over an action and its mirror image, or its exchanged persons: exactly, and
without copies of recordings.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kerneton.core.mirror import average
from kerneton.data.layouts import Layout
from kerneton.exceptions import ParameterError

Token = tuple[int, ...]  # a joint, or a pair of joints, by position

MIRRORS = (False, True, "bodies", "partly")  # values of the kernels' parameter ``mirror``
_PARTLY = 0.25  # share of the mirror image: the kernel is 5/8 K(x, y) + 3/8 K(x, y mirrored)


def image_share(mirror: bool | str) -> float:
    """The share of a recording's mirror image in its features.

    >>> image_share(True), image_share("partly")
    (0.5, 0.25)
    """
    return _PARTLY if mirror == "partly" else 0.5


@dataclass(frozen=True)
class Mirror:
    """The blocks that are kept, the blocks of their mirror images, and the source of every feature.

    The features are ``own * f[columns] + other * f[source]`` of a recording's unmirrored features
    f.

    Fully mirrored, a joint (or pair) and its mirror image have the same features: one block is
    kept, multiplied by √2, so that dot products count both. Partly mirrored, both blocks are kept.
    """

    kept: np.ndarray  # (n_kept,) positions among the unmirrored blocks
    image: np.ndarray  # (n_kept,) of their mirror images
    columns: np.ndarray  # (n_features,) of the kept blocks
    source: np.ndarray  # (n_features,) of their mirror images
    own: np.ndarray  # (n_features,) 1/2, or √2/2 if two blocks become one; 3/4 if partly mirrored
    other: np.ndarray  # (n_features,) the same; 1/4 if partly mirrored

    def average(self, features: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """Mean of each recording's features and those of its mirror image; (n, all) → (n, kept)."""
        return average(features, self.columns, self.source, self.own, self.other, n_threads)


def partly_mirrored_grams(
    plain: np.ndarray, mirrored: np.ndarray, partly: Mirror, merged: Mirror
) -> np.ndarray:
    """Inner products of partly mirrored features, (n_blocks, n, n), from those of unmirrored
    features K and of fully mirrored ones G; ``partly`` and ``merged`` are how both are mirrored.

    With the share s of the image f' in (1-s) f + s f', and t the block of b's image,

        (1-s)(1-2s) K_b - s(1-2s) K_t + 2s(1-s) G_bt,

    since f'_b f'_bᵀ = K_t and f_b f'_bᵀ + f'_b f_bᵀ = 2 G_bt - K_b - K_t. G holds two blocks of
    which one is the other's image as one; a block that is its own image has half of that.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> mirror = lambda share: mirror_blocks(
    ...     FLORENCE_15, FLORENCE_15.mirror, [(5,), (8,)], np.array([1, 1]), lambda *_: [0], share
    ... )
    >>> f, (partly, merged) = np.array([[1.0, 2.0], [5.0, 7.0]]), (mirror(0.25), mirror(0.5))
    >>> own, other = (np.einsum("ib,jb->bij", m, m) for m in (f, merged.average(f)))
    >>> p = partly.average(f)
    >>> np.allclose(
    ...     partly_mirrored_grams(own, other, partly, merged), np.einsum("ib,jb->bij", p, p)
    ... )
    True
    """
    s = float(partly.other[0])
    place = {
        i: n for n, pair in enumerate(zip(merged.kept, merged.image, strict=True)) for i in pair
    }
    out = np.empty_like(plain)
    for K, b, t in zip(out, partly.kept, partly.image, strict=True):
        np.multiply(plain[b], (1 - s) * (1 - 2 * s), out=K)
        K -= plain[t] * plain.dtype.type(s * (1 - 2 * s))
        K += mirrored[place[b]] * plain.dtype.type(2 * s * (1 - s) * (2 if b == t else 1))
    return out


def image_joints(layout: Layout | None, mirror: bool | str) -> tuple[np.ndarray, tuple[int, ...]]:
    """The joint that each joint becomes, (J,), and the axes that change sign.

    Mirroring exchanges left and right joints and changes the sign of x. Two bodies are exchanged
    by half a turn about the vertical between them: x and z change their signs.

    >>> from kerneton.data.layouts import Layout
    >>> image_joints(Layout("wrists", ["left_wrist", "right_wrist"]), True)
    (array([1, 0]), (0,))
    """
    if layout is None:
        raise ParameterError(
            "mirror=True needs recordings with a layout with left and right joints"
        )
    if mirror in (True, "partly"):
        return layout.mirror, (0,)
    bodies = layout.bodies
    if len(bodies) != 2 or len(bodies[0]) != len(bodies[1]):
        raise ParameterError(
            f"mirror='bodies' needs two bodies with the same joints; layout {layout.name!r} has none"
        )
    image = np.arange(len(layout.joints))
    image[list(bodies[0])], image[list(bodies[1])] = bodies[1], bodies[0]
    return image, (0, 2)


def mirror_blocks(
    layout: Layout | None,
    image_of: np.ndarray,
    tokens: Sequence[Token],
    sizes: np.ndarray,
    moved: Callable[[int, bool], np.ndarray],
    share: float = 0.5,
) -> Mirror:
    """The `Mirror` of blocks that belong to joints or pairs; ``image_of`` is the result of
    `image_joints`.

    ``sizes`` (n_blocks,) are the blocks' numbers of features; ``moved(block, flipped)`` returns the
    position in the image's block from which each feature of a block comes; a pair is flipped if its
    image is in the other order, x_j - x_i for x_i - x_j. ``share`` is that of the mirror image.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> wrists = [(5,), (8,)]
    >>> mirror = mirror_blocks(
    ...     FLORENCE_15,
    ...     FLORENCE_15.mirror,
    ...     wrists,
    ...     np.array([2, 2]),
    ...     lambda block, flipped: np.array([1, 0]),
    ... )
    >>> mirror.average(np.array([[1.0, 2.0, 5.0, 7.0]])).round(3).tolist()
    [[5.657, 4.95]]
    """
    assert layout is not None
    position = {token: i for i, token in enumerate(tokens)}
    joints = {joint for token in tokens for joint in token}
    alone = [layout.joints[image_of[j]] for j in sorted(joints) if image_of[j] not in joints]
    if alone:
        raise ParameterError(
            f"mirror=True needs both sides: {', '.join(alone)} is not among the joints"
        )
    rows = []
    for i, token in enumerate(tokens):
        image = tuple(int(image_of[j]) for j in token)
        flipped = image not in position
        twin = position[image[::-1] if flipped else image]
        if share < 0.5:
            rows.append((i, twin, flipped, 1.0))
        elif twin >= i:
            rows.append((i, twin, flipped, 1.0 if twin == i else 2**0.5))
    kept, twins, flips, weights = (np.asarray(column) for column in zip(*rows, strict=True))
    starts = np.cumsum(sizes) - sizes
    columns = np.concatenate([starts[i] + np.arange(sizes[i]) for i in kept])
    pairs = zip(kept, twins, flips, strict=True)
    source = np.concatenate([starts[twin] + moved(int(i), bool(flip)) for i, twin, flip in pairs])
    factors = np.repeat(weights, sizes[kept])
    return Mirror(kept, twins, columns, source, factors * (1 - share), factors * share)


def reversed_pivots(
    counts: Sequence[int], flipped: bool, axes: tuple[int, ...] = (0,), n_axes: int = 3
) -> np.ndarray:
    """The new positions of pivots if ``axes`` change sign, or all other axes for a flipped pair;
    (n_axes Σ counts,).

    >>> reversed_pivots([2], flipped=False).tolist()
    [1, 0, 2, 3, 4, 5]
    """
    moved, start = [], 0
    for n in counts:
        for axis in range(n_axes):
            index = np.arange(start, start + n)
            moved.append(index[::-1] if (axis in axes) != flipped else index)
            start += n
    return np.concatenate(moved)


def moved_entries(
    mask: np.ndarray, flipped: bool, axes: tuple[int, ...] = (0,), n_axes: int = 3
) -> np.ndarray:
    """The positions in the mirror image from which the kept entries (``mask``) of a pair's tensor
    (n_axes Z, T, T) come.

    For a pair in the other order, all axes also change sign, and the two times are exchanged.

    >>> moved_entries(np.ones((3, 1, 2), dtype=bool), flipped=False).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    place = np.cumsum(mask.ravel()) - 1
    came = np.arange(mask.size).reshape(mask.shape)[
        reversed_pivots([len(mask) // n_axes], flipped, axes, n_axes)
    ]
    came = came.swapaxes(1, 2) if flipped else came
    return place[came.ravel()[mask.ravel()]]


def permuted_entries(permutation: np.ndarray, order: int, entries: str = "simplex") -> np.ndarray:
    """Where each kept entry comes from when the tensor's indices are permuted; (d,) → (n_entries,).

    ``entries`` is as in `unique_entries`, except "upper", which does not keep all that is needed,
    or "all": d**order.

    >>> from kerneton.kernels.tensors import unique_entries
    >>> A = np.array([[1.0, 2.0], [2.0, 5.0]])
    >>> unique_entries(A[::-1, ::-1], 2).tolist() == unique_entries(A, 2)[
    ...     permuted_entries(np.array([1, 0]), 2)
    ... ].tolist()
    True
    """
    return _permuted_entries(tuple(np.asarray(permutation).tolist()), order, entries)


@functools.lru_cache(maxsize=64)
def _permuted_entries(permutation: tuple[int, ...], order: int, entries: str) -> np.ndarray:
    d = len(permutation)
    if entries == "all":
        return np.arange(d**order).reshape((d,) * order)[np.ix_(*[permutation] * order)].ravel()
    if order == 3 and entries == "slices":
        pairs = list(itertools.combinations_with_replacement(range(d), 2))
        kept: list[tuple[int, ...]] = [(k, *pair) for k in range(d) for pair in pairs]
        moved = [(permutation[k], *sorted((permutation[i], permutation[j]))) for k, i, j in kept]
    else:
        kept = list(itertools.combinations_with_replacement(range(d), order))
        moved = [tuple(sorted(permutation[i] for i in entry)) for entry in kept]
    place = {entry: n for n, entry in enumerate(kept)}
    return np.asarray([place[entry] for entry in moved])
