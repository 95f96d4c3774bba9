"""A recogniser taken apart: the pipeline that decides, its kernels, and what each block of features stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from kerneton.data.layouts import Layout
from kerneton.data.mapping import map_layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError
from kerneton.kernels.blocks import BlockTransformer
from kerneton.kernels.dck import DCK
from kerneton.kernels.sck import SCK
from kerneton.machine.normalize import CenterNormalize
from kerneton.machine.svm import LinearSVM
from kerneton.prepare.preprocess import Preprocess

Token = tuple[int, ...]  # a joint, or a pair of joints, by position


@dataclass(frozen=True)
class Cue:
    """One kernel of a recogniser and the columns of the feature vector that it fills."""

    name: str
    kernel: Any
    columns: slice


@dataclass(frozen=True)
class Block:
    """Features that belong together: of a joint or of a pair, and of its mirror image where the two are one."""

    cue: str
    tokens: tuple[Token, ...]
    columns: slice

    @property
    def kind(self) -> str:
        return "joint" if len(self.tokens[0]) == 1 else "pair"


def plain_pipeline(model: Any) -> Pipeline:
    """The fitted pipeline that decides, whatever search or calibration is wrapped around it.

    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "clap"], n_subjects=2, n_takes=1)
    >>> model = make_recognizer(kernel="sck").fit(data, data.labels)
    >>> plain_pipeline(model) is model
    True
    """
    while not isinstance(model, Pipeline):
        inner = next((a for a in ("recognizer_", "best_estimator_") if hasattr(model, a)), None)
        if inner is None:
            if hasattr(model, "fit"):
                check_is_fitted(model)
            raise ParameterError(
                f"expected a recogniser such as make_recognizer gives, got {type(model).__name__}"
            )
        model = getattr(model, inner)
    last = model.steps[-1][1]
    if not isinstance(last, LinearSVM):
        raise ParameterError(f"expected a pipeline that ends in LinearSVM, got {type(last).__name__}")
    check_is_fitted(last)
    return model


def cues(pipeline: Pipeline) -> list[Cue]:
    """The kernels of a plain pipeline in the order of their features."""
    found, start = [], 0
    for name, kernel in _kernels("", pipeline[:-1]):
        stop = start + int(kernel.block_sizes_.sum())
        found.append(Cue(name, kernel, slice(start, stop)))
        start = stop
    width = pipeline[-1].coef_.shape[1]
    if not found or start != width:
        raise ParameterError(
            f"its kernels give {start} features and its classifier takes {width}: a step between them changes "
            "the features, and what they stand for is lost"
        )
    return found


def blocks(pipeline: Pipeline) -> list[Block]:
    """Every block of the feature vector, in order."""
    found = []
    for cue in cues(pipeline):
        ends = cue.columns.start + np.cumsum(cue.kernel.block_sizes_)
        for tokens, end, size in zip(
            block_tokens(cue.kernel), ends.tolist(), cue.kernel.block_sizes_.tolist(), strict=True
        ):
            found.append(Block(cue.name, tokens, slice(end - size, end)))
    return found


def block_tokens(kernel: Any) -> list[tuple[Token, ...]]:
    """What each block of a fitted kernel stands for: one joint or pair, or it and its mirror image.

    >>> from kerneton import SCK
    >>> block_tokens(SCK(joints=[4, 2], order=2).fit([np.ones((3, 5, 3))]))
    [((4,),), ((2,),)]
    """
    if isinstance(kernel, DCK):
        tokens = [tuple(pair) for pair in np.asarray(kernel.joints_)[kernel._local_pairs].tolist()]
    elif not isinstance(kernel, SCK):
        raise ParameterError(f"what the features of {type(kernel).__name__} stand for is not known")
    elif kernel.pairs:
        tokens = [tuple(pair) for pair in kernel.pairs_.tolist()]
    else:
        tokens = [(int(joint),) for joint in kernel.joints_]
    if kernel._twins is None:
        return [(token,) for token in tokens]
    kept, twins = (rows.tolist() for rows in kernel._twins[:2])
    return [
        (tokens[i],) if i == twin else (tokens[i], tokens[twin]) for i, twin in zip(kept, twins, strict=True)
    ]


def layout_of(pipeline: Pipeline) -> tuple[Layout | None, int]:
    """The layout that a plain pipeline was fitted on, and how many joints."""
    kernel = cues(pipeline)[0].kernel
    return kernel.layout_, kernel.n_joints_in_


def _kernels(name: str, step: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(step, BlockTransformer):
        yield name or type(step).__name__.lower(), step
    elif isinstance(step, Pipeline):
        for _, inner in step.steps:
            yield from _kernels(name, inner)
    elif isinstance(step, FeatureUnion):
        for inner_name, inner in step.transformer_list:
            yield from _kernels(f"{name} {inner_name}".strip(), inner)
    elif not (isinstance(step, (Preprocess, CenterNormalize)) or step in ("passthrough", "drop", None)):
        raise ParameterError(
            f"{type(step).__name__} is not a step of which is known what it does to the parts of a feature vector"
        )


def adapt(model: Any, sequences: Iterable[SkeletonSequence]) -> list[SkeletonSequence]:
    """Recordings as a fitted recogniser wants them: with the joints of its layout, in its precision.

    A recording with another layout is mapped by the names of its joints (`map_layout`); one without a layout, and with
    the right number of joints, is taken to have the model's.

    >>> from kerneton import make_actions, make_recognizer
    >>> from kerneton.data.layouts import KINECT_25
    >>> data = make_actions(["wave", "clap"], n_subjects=2, n_takes=1)
    >>> model = make_recognizer(kernel="sck").fit(data, data.labels)
    >>> adapt(model, [SkeletonSequence(np.ones((9, 25, 3)), layout=KINECT_25)])
    [SkeletonSequence(9 frames, 20 joints, kinect20)]
    """
    pipeline = plain_pipeline(model)
    layout, n_joints = layout_of(pipeline)
    dtype = np.asarray(pipeline[-1].coef_).dtype
    out = []
    for sequence in sequences:
        if layout is not None and sequence.layout is None and sequence.n_joints == n_joints:
            sequence = sequence.replace(layout=layout)
        elif layout is not None:
            sequence = map_layout(sequence, layout)
        out.append(sequence.replace(joints=sequence.joints.astype(dtype, copy=False)))
    return out
