"""Peak memory of transforming many recordings, without the output.

Every figure is the peak resident memory of a separate process, interpreter and libraries included
(``VmHWM`` on Linux, where ``ru_maxrss`` starts with what the parent held). A process before them
compiles. Recordings are views of 64 arrays, so that they take no memory; features go into a
memory-mapped file whose pages are released after every batch, so that they do not count as
resident.

    python -m bench_parts.memory 1000
"""

from __future__ import annotations

import json
import mmap
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench_parts._timing import SOURCE, Settings, compared, run_program
from bench_parts.workloads import kernels, recordings
from kerneton.data.sequence import SkeletonSequence

COUNTS = (1_000, 10_000)
BATCH_SIZE = 64
_DISTINCT = 64
_PROGRAM = "from bench_parts import memory; memory.main()"


def measure(settings: Settings) -> dict[str, Any]:
    """Peaks in MB for 1,000 and 10,000 recordings of 25 joints and 80 frames, SCK and then DCK."""
    counts = (40, 80) if settings.quick else COUNTS
    found = {}
    if not settings.quick:
        run_program(_PROGRAM, SOURCE, "2")  # compiles: its memory must not count
    for n in settings.progress(counts, total=len(counts), desc="memory"):
        found[str(n)] = run_program(_PROGRAM, SOURCE, str(n))
    few, many = (found[str(n)]["peak_mb"] for n in counts)
    line = compared(many, few, many / few, "MB")
    return {"batch_size": BATCH_SIZE, **found, "comparisons": {"memory_10000_vs_1000": line}}


class Written(np.memmap):
    """A memory-mapped file whose pages are released once they are written."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        mapped = getattr(self, "_mmap", None)
        if mapped is not None:
            mapped.madvise(mmap.MADV_DONTNEED)  # the system keeps them until they are on disk


def transform(n: int, folder: str) -> dict[str, float]:
    """Transform n recordings in this process; its peak memory, and that before, in MB."""
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


def main() -> None:
    """Transform the number of recordings given as argument, and print the memory."""
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(transform(int(sys.argv[1]), scratch)))


if __name__ == "__main__":
    main()
