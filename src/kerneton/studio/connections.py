"""Connections that say nothing are closed, so that they cannot take the place of the owner's
page.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SILENT = 5.0  # seconds from a connection to its first whole request
MOST_SILENT = 16  # connections without a whole request: of more, the oldest is closed
_waiting: OrderedDict[Any, None] = OrderedDict()


class Connection(H11Protocol):
    """A connection of uvicorn that has to send a request soon."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Watch a new connection until its first request."""
        super().connection_made(transport)
        self.deadline = self.loop.call_later(SILENT, self._close_silent)
        _waiting[self] = None
        if len(_waiting) > MOST_SILENT:
            next(iter(_waiting))._close_silent()

    def handle_events(self) -> None:
        """Read what has come; the first request ends the watch."""
        super().handle_events()
        if self.cycle is not None or self.transport.get_protocol() is not self:
            self._leave_watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._leave_watch()
        super().connection_lost(exc)

    def _leave_watch(self) -> None:
        self.deadline.cancel()
        _waiting.pop(self, None)

    def _close_silent(self) -> None:
        self._leave_watch()
        self.transport.abort()
