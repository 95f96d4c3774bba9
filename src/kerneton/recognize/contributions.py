"""Contributions of joints, pairs and moments to the decision for a class.

A recogniser is linear in its features, and its features come in blocks, one per joint or pair of joints. With
features ``f``, training mean ``μ`` and the classifier's weights ``w`` and intercept ``b``,

    decision value = b + Σ_blocks w_block · (f_block - μ_block) / ‖f - μ‖

so the contributions of joints and pairs are exact: with the intercept they sum to the decision value. Every frame affects every feature, so
contributions of moments are measured by occlusion.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import check_positive, check_sequences
from kerneton.exceptions import DataError, ParameterError
from kerneton.kernels.mirroring import Token
from kerneton.machine.solver import per_class
from kerneton.prepare.poses import fill_gaps, missing_joints
from kerneton.recognize.answers import from_features
from kerneton.recognize.branch import block_sizes
from kerneton.recognize.recognizer import Recognizer
from kerneton.recognize.training import check_fitted
from kerneton.report.explanation import ClassImportance, Explanation, Moment, Part

__all__ = ["ClassImportance", "Explanation", "Moment", "Part", "class_importance", "explain", "occlude"]


def explain(
    model: Recognizer,
    sequence: Any,
    label: str | Segment | None = None,
    *,
    versus: str | None = None,
    moments: bool = True,
    window: int | None = None,
) -> Explanation:
    """The contribution of each joint, pair of joints and moment of a recording to the decision for a class.

    Parameters
    ----------
    model : Recognizer
        Fitted, with a linear classifier.
    sequence : SkeletonSequence or array of shape (T, J, 3)
    label : str or Segment, optional
        The class to explain; by default the predicted one. For a segment of a long recording, such as a result of `Recognizer.spot`, its
        frames and its label are explained.
    versus : str, optional
        Explain why ``label`` and not this class: contributions to the difference of the two decision values.
    moments : bool, default=True
        Whether to measure moments, which takes as long as about fifteen predictions.
    window : int, optional
        Frames of a moment; by default a sixth of the recording. Moments overlap by half.

    Examples
    --------
    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)
    >>> model = make_recognizer(kernel="sck").fit(data, data.labels)
    >>> why = explain(model, data[0], "wave")
    >>> total = why.intercept + sum(why.joints.values())
    >>> bool(np.isclose(total, model.decision_function(data[:1])[0, 2], atol=1e-6))
    True
    """
    chosen: Any = label
    if hasattr(chosen, "n_frames"):  # a segment
        from kerneton.stream.spotter import judged_frames

        sequence, chosen = judged_frames(model, sequence, chosen), chosen.label
    (sequence,) = check_sequences([sequence], allow_missing=True)
    stands_for = blocks(model)
    features = model.features([sequence])
    if chosen is None:
        chosen = str(model.machine_.predict(features)[0])
    weights, intercept = _direction(model.machine_, chosen, versus)
    probability = _probability(model, features, chosen)
    features = features.astype(np.float64)
    values = _block_sums(features * weights, stands_for)[0]
    names = _joint_names(sequence)
    parts = tuple(
        Part(block.cue, block.kind, tuple(tuple(names[j] for j in t) for t in block.tokens), float(value))
        for block, value in zip(stands_for, values, strict=True)
    )
    by_joint = values @ _shares(stands_for, sequence.n_joints)
    return Explanation(
        sequence=sequence,
        label=chosen,
        versus=versus,
        value=float(features[0] @ weights + intercept),
        intercept=intercept,
        parts=parts,
        joints=dict(zip(names, by_joint.tolist(), strict=True)),
        moments=_moments(model, sequence, weights, window) if moments else (),
        probability=probability,
    )


def class_importance(
    model: Recognizer, X: Iterable[Any], y: Any = None, *, absolute: bool = False
) -> ClassImportance:
    """The mean contribution of each joint to each class, over the recordings of that class.

    ``y`` are the labels, by default the recordings' own; recordings of test subjects are more informative than training recordings.
    ``absolute`` averages absolute contributions.

    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "bow"], n_subjects=3, n_takes=1)
    >>> model = make_recognizer(kernel="sck").fit(data, data.labels)
    >>> class_importance(model, data).values.shape
    (2, 20)
    """
    sequences = check_sequences(X, allow_missing=True)
    labels = np.asarray([s.label for s in sequences] if y is None else y).astype(str)
    if len(labels) != len(sequences):
        raise DataError(f"{len(sequences)} recordings but {len(labels)} labels")
    stands_for = blocks(model)
    shares = _shares(stands_for, sequences[0].n_joints)
    features = model.features(sequences)
    known = [str(c) for c in model.classes_]
    found = [c for c in known if (labels == c).any()]
    if not found:
        raise DataError(f"no recording has a label of the model, which are {', '.join(known)}")
    rows = []
    for c in found:
        weights, _ = _direction(model.machine_, c, None)
        parts = _block_sums(features[labels == c] * weights, stands_for) @ shares
        rows.append((np.abs(parts) if absolute else parts).mean(axis=0))
    counts = tuple(int((labels == c).sum()) for c in found)
    return ClassImportance(tuple(found), tuple(_joint_names(sequences[0])), np.asarray(rows), counts)


@dataclass(frozen=True)
class Block:
    """The features of a joint or pair, together with its mirror image if they share them."""

    cue: str
    tokens: tuple[Token, ...]
    columns: slice

    @property
    def kind(self) -> str:
        return "joint" if len(self.tokens[0]) == 1 else "pair"


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
                f"the joints of the features of {type(kernel).__name__} are not known (block_sizes_ and block_joints)"
            )
        for tokens, size in zip(kernel.block_joints(), block_sizes(kernel), strict=True):
            found.append(Block(name, tokens, slice(start, start + int(size))))
            start += int(size)
    return found


def _direction(svm: Any, label: str, versus: str | None) -> tuple[np.ndarray, float]:
    """Weights (n_features,) and intercept of the decision value of a class, or of the difference of two."""
    known = [str(c) for c in svm.classes_]
    for name in (label,) if versus is None else (label, versus):
        if name not in known:
            raise ParameterError(f"the model has no label {name!r}; its labels are {', '.join(known)}")
    if versus == label:
        raise ParameterError(f"{label!r} cannot be compared with itself: versus must be another label")
    row = known.index(label)
    # Weights are converted like decision values: each column is a class.
    coef = per_class(np.asarray(svm.coef_, dtype=np.float64).T).T
    intercept = per_class(np.asarray(svm.intercept_, dtype=np.float64)[None])[0]
    if versus is None:
        return coef[row], float(intercept[row])
    other = known.index(versus)
    return coef[row] - coef[other], float(intercept[row] - intercept[other])


def _block_sums(products: np.ndarray, stands_for: list[Block]) -> np.ndarray:
    """Sums over the columns of each block; (n, n_features) → (n, n_blocks)."""
    return np.stack([products[:, block.columns].sum(axis=1) for block in stands_for], axis=1)


def _shares(stands_for: list[Block], n_joints: int) -> np.ndarray:
    """The share of each block that belongs to each joint, (n_blocks, n_joints); rows sum to one."""
    shares = np.zeros((len(stands_for), n_joints))
    for row, block in zip(shares, stands_for, strict=True):
        for token in block.tokens:
            for joint in token:
                row[joint] += 1 / (len(block.tokens) * len(token))
    return shares


def _joint_names(sequence: SkeletonSequence) -> list[str]:
    if sequence.layout is not None:
        return list(sequence.layout.joints)
    return [f"joint {j}" for j in range(sequence.n_joints)]


def _moments(
    model: Recognizer, sequence: SkeletonSequence, weights: np.ndarray, window: int | None
) -> tuple[Moment, ...]:
    if window is None:
        window = max(1, round(sequence.n_frames / 6))
    check_positive("window", window, integer=True)
    if window >= sequence.n_frames:  # no frame would be left
        return ()
    step = max(1, window // 2)
    starts = [*range(0, sequence.n_frames - window, step), sequence.n_frames - window]
    without = [occlude(sequence, start, start + window) for start in starts]
    scores = model.features([sequence, *without]).astype(np.float64) @ weights
    return tuple(
        Moment(start, start + window, float(scores[0] - score))
        for start, score in zip(starts, scores[1:], strict=True)
    )


def occlude(sequence: SkeletonSequence, start: int, stop: int) -> SkeletonSequence:
    """The recording as if the body had been hidden from frame ``start`` up to ``stop``.

    The gap is filled as in `Preprocess`: linearly between the poses before and after, at the ends with the nearest pose. Joints and frames
    that were already missing stay missing.

    >>> track = np.array([0.0, 5.0, 5.0, 3.0]).reshape(4, 1, 1).repeat(3, axis=2)
    >>> occlude(SkeletonSequence(track), 1, 3).joints[:, 0, 0].tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    missing = missing_joints(sequence)
    gone = missing.copy()
    gone[start:stop] = True
    hidden = gone & ~missing & ~gone.all(axis=0)  # a joint seen only in the window cannot be filled
    joints = np.where(hidden[..., None], fill_gaps(sequence.joints, gone), sequence.joints)
    return sequence.replace(joints=joints)


def _probability(model: Recognizer, features: np.ndarray, label: str) -> float | None:
    if model.calibration_ is None:
        return None
    column = [str(c) for c in model.classes_].index(label)
    return float(np.asarray(from_features(model, features).probabilities)[0, column])
