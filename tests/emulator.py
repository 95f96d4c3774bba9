"""A GPU for tests where there is none: the CUDA kernels run on the CPU, lane by lane, by a few
lines of C++ (tests/cuda/on_cpu.h), on the memory of torch's CPU.
"""

from __future__ import annotations

import ctypes
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kerneton.cuda.gpu import Gpu, source_of
from kerneton.cuda.nvrtc import arguments_of

HERE = Path(__file__).parent / "cuda"


class EmulatedGpu(Gpu):
    """Kernels are compiled into a folder; ``compiled`` are their names."""

    def __init__(self, folder: Path, n_streams: int = 2) -> None:
        import torch

        self.torch, self.device = torch, torch.device("cpu")
        self.folder, self.n_streams, self.compiled = folder, n_streams, {}
        self.lock = threading.Lock()  # the emulator's lanes are those of the process

    @contextmanager
    def stream(self):
        yield

    def host(self, name, shape, dtype):
        return np.full(shape, np.nan, dtype)

    def fetch(self, values, out):
        np.copyto(out, values.numpy())

    def is_full(self, error):
        return isinstance(error, self.torch.cuda.OutOfMemoryError)

    def kernel(self, sources, name, shared):
        with self.lock:
            if name not in self.compiled:
                self.compiled[name] = self._compile(sources, name)
        function = self.compiled[name]

        def launch(blocks, threads, *given):
            assert shared <= 8 * 2**17  # what the emulator has
            values = [value for a in given for value in arguments_of(a)]
            for a in given:
                assert not hasattr(a, "is_contiguous") or a.is_contiguous()
            pointers = (ctypes.c_void_p * len(values))(
                *(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values)
            )
            with self.lock:
                function(blocks, threads, pointers)

        return launch

    def _compile(self, sources, name):
        stem = f"kernel{len(self.compiled)}"
        header, library = self.folder / f"{stem}.h", self.folder / f"{stem}.so"
        header.write_text(source_of(sources))
        # Without the check of jumps, which may not leave a stack.
        how = ["-std=c++17", "-O1", "-U_FORTIFY_SOURCE", "-shared", "-fPIC"]
        defined = [f"-DKERNEL={name}", f'-DSOURCES="{header}"']
        source = str(HERE / "run.cpp")
        subprocess.run(["g++", *how, *defined, "-o", str(library), source], check=True)
        return ctypes.CDLL(str(library)).run
