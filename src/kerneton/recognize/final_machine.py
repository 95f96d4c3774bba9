"""The final classifier of many recordings, after all choices were made on a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.machine.arrays import asarray_like, gram
from kerneton.machine.blocks import Blocks, sum_and_squares
from kerneton.machine.primal import solve_blocks
from kerneton.machine.svm import class_weights
from kerneton.machine.threads import count_threads, in_threads
from kerneton.recognize.branch import encode_together
from kerneton.recognize.training import average_machines, machine_options

SETTLED = 0.1  # change of the training scores in the last Newton step; a margin is 1
STEPS = 3  # Newton steps at most
TOL = 1e-5  # of the gradient, relative to that at zero

Widths = dict[str, int]


def machine_from_features(model: Any, X: np.ndarray, codes: np.ndarray, widths: Widths) -> Any:
    """From features (n, d) of all recordings, solved on their Gram matrices; ``widths`` from `widths_of`."""
    ends = np.cumsum(list(widths.values()))
    features = dict(zip(model.branches_, np.split(X, ends[:-1], axis=1), strict=True))
    threads = count_threads(model.n_jobs)
    products = in_threads(gram, features.values(), threads, model.progress, "inner products")
    inner = dict(zip(features, products, strict=True))
    return average_machines(
        *(model.machine_, features, inner, model.mixtures_, model.classes_, codes, threads), model.progress
    )


def machine_from_blocks(
    model: Any, blocks: Blocks, codes: np.ndarray, rows: np.ndarray, features: np.ndarray, widths: Widths
) -> Any:
    """From blocks of features, by passes over them; ``rows`` are the positions of the sample, ``features`` those of the sample."""
    machine, classes = model.machine_, model.classes_
    options = machine_options(machine, classes)
    weights = class_weights(codes, len(classes), options["class_weight"])
    coef: Any = 0.0
    intercept: Any = 0.0
    n_iter = 0
    for mixture in model.mixtures_:
        shares = np.concatenate(
            [np.full(size, mixture.shares.get(n, 0.0) ** 0.5) for n, size in widths.items()]
        )
        found = solve_blocks(
            Weighted(blocks, shares),
            codes,
            mixture.C,
            penalty=mixture.penalty,
            scaling=options["scaling"],
            weights=weights,
            tol=TOL,
            settled=SETTLED,
            max_iter=STEPS,
            start=(machine.coef_ / np.where(shares > 0, shares, 1.0), machine.intercept_),
            sample=(rows, features * shares.astype(features.dtype)),
            progress=model.progress,
        )
        coef = coef + shares * found.coef / len(model.mixtures_)
        intercept = intercept + found.intercept / len(model.mixtures_)
        n_iter = max(n_iter, found.n_iter)
    dtype = machine.coef_.dtype
    state = {"classes": classes, "coef": coef.astype(dtype), "intercept": intercept.astype(dtype)}
    machine.set_state(state | {"n_iter": n_iter})
    return machine


def widths_of(model: Any, sequences: Sequence[SkeletonSequence]) -> Widths:
    """The number of features of each branch, from one recording, since your own kernels need not state it."""
    features = encode_together(model.branches_.values(), list(sequences[:1]))
    return {name: X.shape[1] for name, X in zip(model.branches_, features, strict=True)}


class Weighted:
    """Blocks whose features are multiplied by factors (d,), without changing the stored features.

    >>> from kerneton.machine.blocks import in_memory, inner_and_sum
    >>> blocks = Weighted(in_memory([np.ones((1, 2))]), np.array([1.0, 2.0]))
    >>> blocks.reduce(inner_and_sum, np.ones((1, 1)))[1].tolist()
    [[1.0, 2.0]]
    """

    def __init__(self, blocks: Blocks, factors: np.ndarray) -> None:
        self.blocks, self.shape, self.like = blocks, blocks.shape, blocks.like
        self.factors = asarray_like(factors, blocks.like)

    def reduce(self, work: Any, *columns: np.ndarray, shared: Any = None) -> tuple[Any, np.ndarray]:
        if work is sum_and_squares:
            shared = self.factors**2
        elif shared is not None:
            shared = shared * self.factors
        inner, total = self.blocks.reduce(work, *columns, shared=shared)
        return inner, total * self.factors
