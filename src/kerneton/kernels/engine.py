"""The one place where a GPU is chosen: what computes features, the core or `kerneton.cuda`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.notes import logger
from kerneton.data.sequence import SkeletonSequence
from kerneton.prepare.frames import Frames

if TYPE_CHECKING:
    from kerneton.cuda.gpu import Gpu

log = logger(__name__)


def find_gpu(device: str | None) -> Gpu | None:
    """The GPU that ``device`` names, None for the CPU; an error if it is not there.

    >>> find_gpu(None), find_gpu("cpu")
    (None, None)
    """
    return None if device in (None, "cpu") else _gpu(device)


@functools.cache
def _gpu(name: str) -> Gpu:
    from kerneton.cuda.gpu import Gpu

    return Gpu(name)


def features_on_gpu(
    branches: Sequence[Any],
    recordings: Sequence[SkeletonSequence] | Frames,
    *,
    weights: np.ndarray | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray | None:
    """Features of fitted branches, (n, n_features), or their products with ``weights``, from the
    GPU that their kernels name; None where the core is to compute them. See
    `kerneton.cuda.encode.encode`.

    What the GPU's kernels cannot do is computed by the core, and said once.
    """
    devices = {getattr(branch.kernel_, "device", None) for branch in branches}
    gpu = find_gpu(devices.pop()) if len(devices) == 1 else None
    if gpu is None:
        return None
    from kerneton.cuda.encode import encode
    from kerneton.cuda.gpu import CannotError

    try:
        return encode(branches, recordings, gpu, weights=weights, out=out)
    except CannotError as error:
        _tell(str(error))
        return None


@functools.cache
def _tell(what: str) -> None:
    log.warning("the GPU does not compute %s; the CPU does, which takes longer", what)
