"""Peak memory of transforming many recordings, outputs aside.

Every figure is the peak resident memory of a process of its own, as the system counts it (``VmHWM`` on Linux, where
``ru_maxrss`` begins with what the parent held): interpreter and libraries included. One process before them compiles. Recordings are views of sixty-four arrays, so that they weigh nothing; features go into a file
mapped into memory, whose pages are let go after every batch: they would count as resident without being needed.

    python -m kerneton.experiments.bench.memory 1000
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.experiments.bench._timing import Settings, compared
from kerneton.experiments.bench.workloads import kernels, recordings

COUNTS = (1_000, 10_000)
BATCH_SIZE = 64
_DISTINCT = 64


def measure(settings: Settings) -> dict[str, Any]:
    """Peaks in MB for 1,000 and 10,000 recordings of 25 joints and 80 frames, SCK and then DCK."""
    counts = (100, 200) if settings.quick else COUNTS
    found = {}
    _in_own_process(2)  # compiles: what that takes must not count
    for n in settings.progress(counts, total=len(counts), desc="memory"):
        found[str(n)] = _in_own_process(n)
    few, many = (found[str(n)]["peak_mb"] for n in counts)
    line = compared(many, few, many / few, "MB")
    return {"batch_size": BATCH_SIZE, **found, "comparisons": {"memory_10000_vs_1000": line}}


def _in_own_process(n: int) -> dict[str, float]:
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "kerneton.experiments.bench.memory", str(n)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


class Written(np.memmap):
    """A mapped file whose pages are let go once they are written."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        mapped = getattr(self, "_mmap", None)
        if mapped is not None:
            mapped.madvise(mmap.MADV_DONTNEED)  # the system keeps them until they are on disk


def transform(n: int, folder: str) -> dict[str, float]:
    """Transform n recordings in this process; its peak, and what it was before, in MB."""
    distinct = recordings(_DISTINCT)
    X = [SkeletonSequence(distinct[i % _DISTINCT]) for i in range(n)]
    made = kernels(batch_size=BATCH_SIZE)
    chosen = [made["sck"], made["dck_window"]]
    for kernel in chosen:
        kernel.fit(X[:2]).transform(X[:2])  # compiles
    before = peak_mb()
    for kernel in chosen:
        shape = (n, int(kernel.block_sizes_.sum()))
        out = Written(Path(folder) / "features", dtype=np.float32, mode="w+", shape=shape)
        kernel.transform(X, out=out)
        del out
    return {"peak_mb": peak_mb(), "before_mb": before}


def peak_mb() -> float:
    """The most memory this process has held, in MB.

    >>> peak_mb() > 1
    True
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1e6 if sys.platform == "darwin" else 1e3 / 1.024)
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(transform(int(sys.argv[1]), scratch)))
