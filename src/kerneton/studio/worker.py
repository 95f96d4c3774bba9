"""The process that runs the recogniser for live labels, suggestions and explanations."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import MissingDataError
from kerneton.studio import recognizing
from kerneton.studio.child import Child, Tell, answer_requests
from kerneton.studio.live import Watcher

_WATCHERS = 16  # streams that are kept at once
Answers = list[dict[str, Any]]


class Worker:
    """Runs the model of a file on recordings; one request at a time, from any thread.

    >>> from kerneton.exceptions import KernetonError
    >>> worker = Worker()
    >>> try:
    ...     worker.answers(Path("none.kern"), [])
    ... except KernetonError as error:
    ...     print(error)
    none.kern: no such file
    >>> worker.close()
    """

    def __init__(self) -> None:
        self._child = Child("kerneton.studio.worker", "the recogniser")

    def answers(self, model: Path, sequences: list[SkeletonSequence]) -> Answers:
        """See `kerneton.studio.recognizing.answers`."""
        return self._child.ask("answers", model, sequences)

    def contributions(
        self, model: Path, sequence: SkeletonSequence, label: str
    ) -> dict[str, float]:
        """See `kerneton.studio.recognizing.contributions`."""
        return self._child.ask("contributions", model, sequence, label)

    def reasons(self, model: Path, sequence: SkeletonSequence, label: str) -> dict[str, Any]:
        """See `kerneton.studio.recognizing.reasons`."""
        return self._child.ask("reasons", model, sequence, label)

    def segments(self, model: Path, sequence: SkeletonSequence) -> Answers:
        """See `kerneton.studio.recognizing.segments`."""
        return self._child.ask("segments", model, sequence)

    def page(self, model: Path, path: Path) -> None:
        """See `kerneton.studio.recognizing.page`."""
        self._child.ask("page", model, path)

    def watch(
        self, model: Path, who: str, frames: Any, layout: Any, why: bool, doubt: float
    ) -> dict[str, Any]:
        """See `kerneton.studio.live.Watcher.answer`; ``who`` names one of several streams."""
        return self._child.ask("watch", model, who, frames, layout, why, doubt)

    def close(self) -> None:
        """End the process."""
        self._child.close()


class _State:
    """State of the process: the last model with its figures, and the streams that it watches."""

    def __init__(self) -> None:
        self.key: Any = None
        self.model: Any = None
        self.figures: dict[str, Any] = {}
        self.watchers: OrderedDict[str, Watcher] = OrderedDict()

    def run(self, _tell: Tell, what: str, path: Path, *values: Any) -> Any:
        """Carry out one request."""
        self._load(path)
        if what == "watch":
            return self._watch(*values)
        if what == "segments":
            if self.model.spotter_ is None:
                raise MissingDataError(
                    "this model cannot find segments yet: train again, and let it finish"
                )
            return recognizing.segments(self.model, values[0], self.figures.get("fps"))
        return getattr(recognizing, what)(self.model, *values)

    def _load(self, path: Path) -> None:
        from kerneton.recognize.model_reader import load

        figures = path.with_name("figures.json")
        key = path, path.stat().st_mtime_ns if path.exists() else 0
        if key == self.key:
            return
        self.model = load(path)
        self.figures = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
        self.key = key
        self.watchers.clear()

    def _watch(self, who: str, frames: Any, layout: Any, why: bool, doubt: float) -> dict[str, Any]:
        if who not in self.watchers:
            self.watchers[who] = Watcher(self.model, self.figures)
            while len(self.watchers) > _WATCHERS:
                self.watchers.popitem(last=False)
        return self.watchers[who].answer(frames, layout, why=why, doubt=doubt)


if __name__ == "__main__":
    answer_requests(_State().run)
