"""A GPU: its memory, streams and kernels, as PyTorch and the driver offer them."""

from __future__ import annotations

import functools
import math
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import numpy as np

from kerneton.cuda.nvrtc import compile_kernel
from kerneton.exceptions import MissingExtraError, ParameterError


class CannotError(Exception):
    """What the GPU's kernels cannot do, in words; the core can."""


class Gpu:
    """The GPU with a name such as "cuda" or "cuda:1"."""

    n_streams = 3  # one computes while the others prepare and copy

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not re.fullmatch(r"cuda(:\d+)?", name):
            raise ParameterError(
                f"device must be 'cuda' or 'cuda:1' for a GPU, or None for the CPU, got {name!r}"
            )
        try:
            import torch
        except ImportError as error:
            raise MissingExtraError(
                f"device={name!r} needs PyTorch: pip install 'kerneton[cuda]'"
            ) from error
        index = int(name.partition(":")[2] or 0)
        if not torch.cuda.is_available() or index >= torch.cuda.device_count():
            raise ParameterError(
                f"device={name!r}, but PyTorch sees no {'such ' if index else ''}GPU here; "
                "leave device=None for the CPU"
            )
        self.torch, self.device, self._own = torch, torch.device("cuda", index), threading.local()

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Work of this thread's own stream, which is done at the end."""
        torch, own = self.torch, self._own
        if not hasattr(own, "stream"):
            own.stream = torch.cuda.Stream(self.device)
        with torch.cuda.device(self.device), torch.cuda.stream(own.stream):
            yield
            own.stream.synchronize()

    def host(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Page-locked memory of this thread, the same each time: copies from and to it overlap
        with computing.
        """
        size = math.prod(shape) * np.dtype(dtype).itemsize
        held = getattr(self._own, name, None)
        if held is None or len(held) < size:
            held = self.torch.empty(size, dtype=self.torch.uint8, pin_memory=True)
            setattr(self._own, name, held)
        return held.numpy()[:size].view(dtype).reshape(shape)

    def send(self, values: np.ndarray) -> Any:
        """A copy on the GPU; of page-locked memory it overlaps with computing."""
        return self.torch.from_numpy(values).to(self.device, non_blocking=True)

    def fetch(self, values: Any, out: np.ndarray) -> None:
        """A copy on the host, complete when the stream ends; at once if ``out`` is not
        page-locked.
        """
        whole = out.flags.c_contiguous and out.flags.writeable
        if whole and self.torch.from_numpy(out).is_pinned():
            self.torch.from_numpy(out).copy_(values, non_blocking=True)
            return
        held = self.host("target", tuple(values.shape), out.dtype)
        self.torch.from_numpy(held).copy_(values, non_blocking=True)
        self._own.stream.synchronize()
        np.copyto(out, held)

    def is_full(self, error: Exception) -> bool:
        """Whether an error says that the GPU's memory is not enough, which is then emptied."""
        if not isinstance(error, self.torch.cuda.OutOfMemoryError):
            return False
        self.torch.cuda.empty_cache()
        return True

    def kernel(self, sources: tuple[str, ...], name: str, shared: int) -> Callable[..., None]:
        """A kernel such as "psd_power<22, float>", compiled when first used."""
        return _compiled(sources, name, shared, self.device.index)


@functools.cache
def _compiled(sources: tuple[str, ...], name: str, shared: int, device: int) -> Callable[..., None]:
    import torch

    properties = torch.cuda.get_device_properties(device)
    if shared > getattr(properties, "shared_memory_per_block_optin", 49152):
        raise CannotError(f"{name} needs more shared memory than {properties.name} has")
    with torch.cuda.device(device):
        try:
            return compile_kernel(source_of(sources), name, shared=shared)
        except RuntimeError as error:
            raise CannotError(f"{name} cannot be compiled here: {error}") from error


def source_of(names: tuple[str, ...]) -> str:
    """The text of some of this package's CUDA files."""
    folder = files("kerneton.cuda")
    return "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)
