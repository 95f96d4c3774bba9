"""Contributions of joints, pairs and frames to the decision for a class.

A recogniser is linear in its features, and its features come in blocks, one per joint or pair of
joints. With features ``f``, training mean ``μ`` and the classifier's weights ``w`` and intercept
``b``,

    decision value = b + Σ_blocks w_block · (f_block - μ_block) / ‖f - μ‖

and ``w · f`` of each block is a sum over frames (see `kerneton.recognize.moments`). So the value
is the intercept, a baseline of each joint, which belongs to no frame (the mean's share), and what
each joint contributes at each frame. Where features are averaged over mirror images, left and
right are taken apart, because that average is linear too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.core.poses import motion
from kerneton.data.arrays import padding
from kerneton.data.checks import check_sequences
from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence, missing_joints
from kerneton.exceptions import DataError, ParameterError
from kerneton.kernels.mirroring import Token
from kerneton.machine.scaling import CenterNormalize
from kerneton.machine.solver import per_class
from kerneton.recognize.answers import from_features
from kerneton.recognize.branch import Branch, block_sizes
from kerneton.recognize.moments import Shares, frame_shares
from kerneton.recognize.recognizer import Recognizer
from kerneton.recognize.training import check_fitted
from kerneton.report.explanation import PHASES, ClassImportance, Explanation, Part

__all__ = ["ClassImportance", "Explanation", "Part", "class_importance", "explain"]


def explain(
    model: Recognizer,
    sequence: Any,
    label: str | Segment | None = None,
    *,
    versus: str | None = None,
) -> Explanation:
    """The contribution of each joint at each frame of a recording to the decision for a class.

    Parameters
    ----------
    model : Recognizer
        Fitted, with a linear classifier.
    sequence : SkeletonSequence or array of shape (T, J, 3)
    label : str or Segment, optional
        The class to explain; by default the predicted one. For a segment of a long recording, such
        as a result of `Recognizer.spot`, its frames and its label are explained.
    versus : str, optional
        Explain why ``label`` and not this class: contributions to the difference of the two
        decision values.

    Examples
    --------
    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)
    >>> model = make_recognizer(kernel="sck").fit(data, data.labels)
    >>> why = explain(model, data[0], "wave")
    >>> total = why.intercept + why.baseline.sum() + why.by_frame.sum()
    >>> bool(np.isclose(total, model.decision_function(data[:1])[0, 2], atol=1e-6))
    True
    """
    chosen: Any = label
    first, fps = 0, None
    if hasattr(chosen, "n_frames"):  # a segment
        from kerneton.stream.spotter import judged_frames, spotter_of

        first, fps = chosen.start, getattr(sequence, "fps", None)
        sequence, chosen = judged_frames(model, sequence, chosen), chosen.label
        model = spotter_of(model).judge(model)
    (seen,) = check_sequences([sequence], allow_missing=True)
    if seen is not sequence and hasattr(sequence, "joints"):  # without padding at its start
        first += padding(sequence.joints, sequence.confidence)[0]
    sequence = seen
    spans = blocks(model)
    features = model.features([sequence])
    if chosen is None:
        chosen = str(model.machine_.predict(features)[0])
    weights, intercept = _direction(model.machine_, chosen, versus)
    probability = _probability(model, features, chosen)
    products = features[0].astype(np.float64) * weights
    parts, by_frame, baseline = _contributions(model, sequence, spans, features[0], weights)
    return Explanation(
        sequence=sequence if fps is None else sequence.replace(fps=fps),
        label=chosen,
        versus=versus,
        value=float(products.sum() + intercept),
        intercept=intercept,
        parts=parts,
        by_frame=by_frame,
        baseline=baseline,
        probability=probability,
        first_frame=first,
    )


def class_importance(
    model: Recognizer, X: Iterable[Any], y: Any = None, *, absolute: bool = False
) -> ClassImportance:
    """The mean contribution of each joint to each class, and when, over recordings of that class.

    ``y`` are the labels, by default the recordings' own; recordings of test subjects are more
    informative than training recordings. ``absolute`` averages absolute contributions.

    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "bow"], n_subjects=3, n_takes=1)
    >>> model = make_recognizer(kernel="sck").fit(data, data.labels)
    >>> importance = class_importance(model, data)
    >>> importance.values.shape, importance.phases.shape
    ((2, 20), (2, 10, 20))
    """
    sequences = check_sequences(X, allow_missing=True)
    labels = np.asarray([s.label for s in sequences] if y is None else y).astype(str)
    if len(labels) != len(sequences):
        raise DataError(f"{len(sequences)} recordings but {len(labels)} labels")
    spans = blocks(model)
    known = [str(c) for c in model.classes_]
    present = [c for c in known if (labels == c).any()]
    if not present:
        raise DataError(f"no recording has a label of the model, which are {', '.join(known)}")
    features = model.features(sequences)
    values, phases = [], []
    for c in present:
        weights, _ = _direction(model.machine_, c, None)
        joints, when = [], []
        for i in np.flatnonzero(labels == c):
            _, by_frame, baseline = _contributions(model, sequences[i], spans, features[i], weights)
            joints.append(baseline + by_frame.sum(axis=0))
            when.append(_in_phases(by_frame))
        change = np.abs if absolute else np.asarray
        values.append(change(joints).mean(axis=0))
        phases.append(change(when).mean(axis=0))
    counts = tuple(int((labels == c).sum()) for c in present)
    names = tuple(joint_names(sequences[0]))
    return ClassImportance(tuple(present), names, np.asarray(values), np.asarray(phases), counts)


@dataclass(frozen=True)
class Block:
    """The features of a joint or pair, together with those of its mirror image if they share
    any.
    """

    cue: str
    tokens: tuple[Token, ...]
    columns: np.ndarray


def blocks(model: Recognizer) -> list[Block]:
    """The blocks of the feature vector, in order, with their joints."""
    check_fitted(model)
    if not hasattr(model.machine_, "coef_"):
        raise ParameterError(
            f"only a linear classifier can be explained, not {type(model.machine_).__name__}"
        )
    found, start = [], 0
    for name, branch in model.branches_.items():
        kernel = branch.kernel_
        if not hasattr(kernel, "block_joints"):
            raise ParameterError(
                f"the joints of the features of {type(kernel).__name__} are not known "
                "(block_sizes_ and block_joints)"
            )
        sizes, tokens = block_sizes(kernel), kernel.block_joints()
        ends = start + np.cumsum(sizes)
        columns = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        start = int(ends[-1])
        for i, twin in enumerate(_twins(kernel, len(tokens))):
            if twin >= i:
                members = [i] if twin == i else [i, twin]
                joined = [tuple(dict.fromkeys(token)) for k in members for token in tokens[k]]
                found.append(
                    Block(name, tuple(joined), np.concatenate([columns[k] for k in members]))
                )
    return found


def _twins(kernel: Any, n_blocks: int) -> list[int]:
    """For each block the one with which it shares features, or itself.

    Partly mirrored blocks each hold some of their mirror image; fully mirrored ones are one block.
    """
    mirror = getattr(kernel, "_mirror", None)
    if mirror is None or len(mirror.image) != len(kernel._tokens()):
        return list(range(n_blocks))
    return [int(i) for i in mirror.image]


def joint_names(sequence: SkeletonSequence) -> list[str]:
    """The names of a recording's joints, or their numbers without a layout."""
    if sequence.layout is not None:
        return list(sequence.layout.joints)
    return [f"joint {j}" for j in range(sequence.n_joints)]


def _direction(svm: Any, label: str, versus: str | None) -> tuple[np.ndarray, float]:
    """Weights (n_features,) and intercept of a decision value, or of the difference of two."""
    known = [str(c) for c in svm.classes_]
    for name in (label,) if versus is None else (label, versus):
        if name not in known:
            raise ParameterError(
                f"the model has no label {name!r}; its labels are {', '.join(known)}"
            )
    if versus == label:
        raise ParameterError(
            f"{label!r} cannot be compared with itself: versus must be another label"
        )
    row = known.index(label)
    # Weights are converted like decision values: each column is a class.
    coef = per_class(np.asarray(svm.coef_, dtype=np.float64).T).T
    intercept = per_class(np.asarray(svm.intercept_, dtype=np.float64)[None])[0]
    if versus is None:
        return coef[row], float(intercept[row])
    other = known.index(versus)
    return coef[row] - coef[other], float(intercept[row] - intercept[other])


def _contributions(
    model: Recognizer,
    sequence: SkeletonSequence,
    spans: list[Block],
    features: np.ndarray,
    weights: np.ndarray,
) -> tuple[tuple[Part, ...], np.ndarray, np.ndarray]:
    """Parts, and contributions by frame and joint (T, J) and by joint alone (J,)."""
    by_frame = np.zeros((sequence.n_frames, sequence.n_joints))
    baseline = np.zeros(sequence.n_joints)
    names = joint_names(sequence)
    products = features.astype(np.float64) * weights
    parts = []
    for cue, branch in model.branches_.items():
        own = [block for block in spans if block.cue == cue]
        columns = np.sort(np.concatenate([block.columns for block in own]))
        poses, shares = _shares_of(branch, sequence, features[columns], weights[columns])
        moved = np.zeros((0 if poses is None else poses.n_frames, sequence.n_joints))
        moves = np.ones(sequence.n_joints)
        if poses is not None:
            moves = (motion(poses.joints, poses.fps) ** 0.25).mean(axis=0)
        for block in own:
            # What belongs to no frame, the mean's share above all, is divided between the sides of
            # the block by how far they moved, and between the joints of a pair like their frames.
            summed = sum(shares[token][0].sum() for token in block.tokens if token in shares)
            left = products[block.columns].sum() - summed
            for token, rest in zip(block.tokens, left * _sides(block, moves), strict=True):
                value, division = rest, np.full(len(token), 1 / len(token))
                if token in shares:
                    share, division = shares[token]
                    moved[:, list(token)] += share
                    value += share.sum()
                baseline[list(token)] += rest * division
                kind = "joint" if len(token) == 1 else "pair"
                parts.append(Part(cue, kind, tuple(names[j] for j in token), float(value)))
        if poses is not None:
            _add_to_frames(by_frame, moved, branch.preprocess_, sequence)
    return tuple(parts), by_frame, baseline


def _sides(block: Block, moves: np.ndarray) -> np.ndarray:
    """The part of each side of a block, (n_tokens,), from how far each joint moves, (J,).

    Features averaged over mirror images do not tell whose the mean is. It is divided by the roots
    of the distances, between equal parts and parts in proportion.

    >>> _sides(Block("joints", ((0,), (1,)), np.arange(3)), np.array([0.9, 0.1])).round(6).tolist()
    [0.75, 0.25]
    """
    parts = np.sqrt([moves[list(token)].sum() for token in block.tokens])
    return np.asarray(parts / parts.sum())


def _shares_of(
    branch: Branch, sequence: SkeletonSequence, features: np.ndarray, weights: np.ndarray
) -> tuple[SkeletonSequence | None, Shares]:
    """Poses of a branch, and shares of their frames by joint or pair; none where not known.

    The only place that asks a branch for its poses, and its kernel for features without scale.
    """
    scale, kernel = branch.scale_, branch.kernel_
    if scale is not None and type(scale) is not CenterNormalize:
        return None, {}
    steps = branch.preprocess_
    (poses,) = [sequence] if steps is None else steps.transform([sequence])
    factor = branch.weight
    if scale is not None:  # the length by which this recording was divided, in whatever precision
        plain = np.asarray(kernel.transform([poses]))[0].astype(np.float64)
        moved = plain if scale.mean_ is None else plain - scale.mean_
        square = float(moved @ moved)
        factor = float(features.astype(np.float64) @ moved) / square if square > 0 else 0.0
    shares = frame_shares(kernel, poses, weights * factor)
    return (None, {}) if shares is None else (poses, shares)


def _add_to_frames(
    by_frame: np.ndarray, moved: np.ndarray, steps: Any, sequence: SkeletonSequence
) -> None:
    """Add contributions at the frames of the poses to the frames of the recording they are from."""
    source = np.arange(sequence.n_frames)
    if getattr(steps, "gaps", "fill") == "drop":
        source = source[~missing_joints(sequence).all(axis=1)]
    if len(moved) == len(source):
        by_frame[source] += moved
        return
    # Poses that were interpolated belong to the two frames between which they lie.
    at = np.linspace(0, len(source) - 1, len(moved))
    before = at.astype(int)
    after = np.minimum(before + 1, len(source) - 1)
    later = (at - before)[:, None]
    np.add.at(by_frame, source[before], moved * (1 - later))
    np.add.at(by_frame, source[after], moved * later)


def _in_phases(by_frame: np.ndarray) -> np.ndarray:
    """Contributions by phase of a recording, (PHASES, J), with the same sum; from (T, J).

    >>> _in_phases(np.ones((5, 1)))[:, 0].tolist()
    [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    """
    n_frames = len(by_frame)
    total = np.concatenate([np.zeros((1, by_frame.shape[1])), by_frame.cumsum(axis=0)])
    edges = np.linspace(0, n_frames, PHASES + 1)
    before = np.minimum(edges.astype(int), n_frames - 1)
    later = (edges - before)[:, None]
    return np.diff(total[before] * (1 - later) + total[before + 1] * later, axis=0)


def _probability(model: Recognizer, features: np.ndarray, label: str) -> float | None:
    if model.calibration_ is None:
        return None
    column = [str(c) for c in model.classes_].index(label)
    return float(np.asarray(from_features(model, features).probabilities)[0, column])
