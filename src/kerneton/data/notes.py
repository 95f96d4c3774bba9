"""Notes of the library: what a user should know that is no warning, such as bones that were
estimated.

They go to ``logging``. Where nobody has set that up, each is printed once on the standard error,
with the library's name.
"""

from __future__ import annotations

import logging
import re
import sys

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
