"""Notes of the library: what a user should know that is no warning, such as bones that were
estimated.

They go to ``logging``. Where nobody has set that up, each is printed once on the standard error,
with the library's name.
"""

from __future__ import annotations

import logging
import re
import sys
import warnings

from kerneton.exceptions import KernetonWarning

_LIBRARY = logging.getLogger("kerneton")


class Notes(logging.Handler):
    """Prints each note once, unless logging is set up or a command prints it in its own form.

    >>> handler, record = (
    ...     Notes(),
    ...     logging.LogRecord("kerneton", 30, "", 1, "split 2 of 5", (), None),
    ... )
    >>> handler.new(record), handler.new(record)
    (True, False)
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told: set[str] = set()

    def new(self, record: logging.LogRecord) -> bool:
        """Whether nothing like it was told before; splits differ in numbers alone."""
        kind = re.sub(r"\d[\d.]*", "*", record.getMessage())
        known = kind in self.told
        self.told.add(kind)
        return not known

    def emit(self, record: logging.LogRecord) -> None:
        alone = not logging.getLogger().handlers and _LIBRARY.handlers == [self]
        if alone and self.new(record):
            print("kerneton: note:", record.getMessage(), file=sys.stderr)


def logger(name: str) -> logging.Logger:
    """The logger of a module.

    >>> logger("kerneton.data.notes").name
    'kerneton.data.notes'
    """
    if not any(isinstance(handler, Notes) for handler in _LIBRARY.handlers):
        _LIBRARY.addHandler(Notes())
    return logging.getLogger(name)


def warn(message: str) -> None:
    """Warn where the user's own code called the library, so that each of its lines says it once.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("frames are left out")
    >>> str(caught[0].message), "kerneton" in caught[0].filename.rpartition("/")[2]
    ('frames are left out', False)
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("kerneton."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, KernetonWarning, stacklevel=level)
