"""One budget of memory for every file that may come from anywhere: no more than a multiple of its size."""

from __future__ import annotations

from pathlib import Path

from kerneton.exceptions import FormatError

FLOOR = 1 << 26  # bytes that any file may cost
FACTOR = 100  # and as many times its own size besides


class Budget:
    """Bytes that a file of ``size`` bytes may cost: 64 MiB and a hundred times its size.

    Readers take from it before they allocate what the file's own bytes do not already pay for: what a header
    promises, what is unpacked, and what one value that is named again and again becomes each time.

    >>> budget = Budget(1000, "walk.npz")
    >>> budget.take(1 << 20)
    >>> budget.take(1 << 30)
    Traceback (most recent call last):
    ...
    kerneton.exceptions.FormatError: walk.npz: 1000 bytes that would need more than 64 MiB of memory
    """

    def __init__(self, size: int, where: str, *, error: type[Exception] = FormatError) -> None:
        self.size, self.where, self.error = size, where, error
        self.room = self.total = FLOOR + FACTOR * size

    def take(self, n_bytes: int) -> None:
        """Count bytes; an error when the file would cost more than it may."""
        self.room -= n_bytes
        if self.room < 0:
            raise self.error(
                f"{self.where}: {self.size} bytes that would need more than {self.total >> 20} MiB of memory"
            )


def file_budget(path: Path) -> Budget:
    """The budget of a file on the disk; of a folder, that of the files in it."""
    if path.is_dir():
        return Budget(sum(file.stat().st_size for file in path.iterdir() if file.is_file()), str(path))
    return Budget(path.stat().st_size, str(path))
