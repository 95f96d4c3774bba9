"""Arrays of NumPy or torch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def is_torch(x: Any) -> bool:
    """Whether x is a torch tensor; torch is not imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def namespace_of(x: Any) -> Any:
    """The module whose functions work on x: numpy or torch."""
    return sys.modules["torch"] if is_torch(x) else np


def asarray_like(values: Any, like: Any) -> Any:
    """Values as an array of the same library, dtype and device as another.

    >>> asarray_like([1, 2], np.ones(3, dtype=np.float32)).dtype
    dtype('float32')
    """
    if is_torch(like):
        return sys.modules["torch"].as_tensor(
            np.asarray(values), dtype=like.dtype, device=like.device
        )
    return np.asarray(values, dtype=like.dtype)


def as_dtype_of(x: Any, like: Any) -> Any:
    """x in the dtype of another array of its library."""
    return x.to(like.dtype) if is_torch(x) else np.asarray(x, dtype=like.dtype)


def index_like(values: Any, like: Any) -> Any:
    """Integer positions as an array of the same library and device as another.

    >>> index_like([2, 0], np.ones(3)).dtype
    dtype('int64')
    """
    if is_torch(like):
        return sys.modules["torch"].as_tensor(np.asarray(values), device=like.device)
    return np.asarray(values, dtype=np.int64)


def to_numpy(x: Any) -> np.ndarray:
    """The same values in host memory."""
    return x.detach().cpu().numpy() if is_torch(x) else np.asarray(x)
