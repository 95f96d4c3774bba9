"""What was seen live: kept for a table, and passed on to other programs."""

from __future__ import annotations

import asyncio
import csv
import io
import time
from collections import deque
from typing import Any

_KEPT = 100_000  # segments
_WAITING = 1000  # events that a program may leave unread; then the oldest are dropped
_COLUMNS = ("seen", "file", "body", "label", "start_s", "stop_s", "probability", "repetitions")


class Events:
    """Events of all live sessions since the studio was started.

    >>> events = Events()
    >>> told = {"t": 2.0, "label": "wave", "unknown": False, "segments": []}
    >>> told["segments"].append(
    ...     {"label": "wave", "start": 0.5, "stop": 1.4, "probability": 0.9, "repetitions": 1}
    ... )
    >>> events.take(told, source="take.csv", body="0")
    >>> events.table().splitlines()[1].split(",")[1:]
    ['take.csv', '0', 'wave', '0.5', '1.4', '0.9', '1']
    """

    def __init__(self) -> None:
        self.segments: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._listeners: set[asyncio.Queue[dict[str, Any]]] = set()
        self._labels: dict[tuple[str, str], str | None] = {}

    def listen(self) -> asyncio.Queue[dict[str, Any]]:
        """A queue that gets every event from now on, until `leave`."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._listeners.add(queue)
        return queue

    def leave(self, queue: asyncio.Queue[dict[str, Any]]) -> None:
        self._listeners.discard(queue)

    def take(self, told: dict[str, Any], *, source: str, body: str) -> None:
        """An answer of a live session: its final segments, and its label if that has changed."""
        where = {"source": source, "body": body}
        for segment in told.get("segments", ()):
            self.segments.append({**where, **segment, "seen": time.time()})
            self._tell({"event": "segment", **where, **segment})
        if "label" in told:
            label = None if told["unknown"] else told["label"]
            if self._labels.get((source, body), "") != label:
                if len(self._labels) > _KEPT:
                    self._labels.clear()
                self._labels[source, body] = label
                facts = {"label": label, "probability": told.get("probability")}
                self._tell({"event": "label", **where, "time": told["t"], **facts})

    def _tell(self, event: dict[str, Any]) -> None:
        for queue in self._listeners:
            while queue.qsize() >= _WAITING:
                queue.get_nowait()
            queue.put_nowait(event)

    def table(self) -> str:
        """All final segments as CSV, with the columns that the command line reads as segments."""
        out = io.StringIO()
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(_COLUMNS)
        for s in self.segments:
            seen = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(s["seen"]))
            times = (round(s["start"], 3), round(s["stop"], 3))
            chance = "" if s["probability"] is None else round(s["probability"], 4)
            name = s["source"].rsplit("/", 1)[-1]
            rows.writerow([seen, name, s["body"], s["label"], *times, chance, s["repetitions"]])
        return out.getvalue()
