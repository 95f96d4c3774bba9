"""The processes that estimate poses, with `kerneton.video`: of the pictures of cameras, and of
films.

A picture comes from the page, becomes joints and is dropped. What is missing is said with the
commands that fetch it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.progress import Item
from kerneton.studio.child import Child, Tell, answer_requests
from kerneton.video.estimator import PoseEstimator, PoseOptions
from kerneton.video.models import COMMAND, found_models
from kerneton.video.poses import estimate_all

_CAMERAS = 4  # that are followed at once; of more, the one that was silent longest begins again
_TELL = 10  # pictures of films between two pieces of news


def commands_to_get() -> list[str]:
    """The commands that are still needed before poses can be estimated; none if all is here."""
    extra = [] if find_spec("av") and find_spec("ai_edge_litert") else ["kerneton[video]"]
    return [
        *(f"pip install '{name}'" for name in extra),
        *([] if set(PoseOptions().models) <= set(found_models()) else [COMMAND]),
    ]


class Poses:
    """Estimates poses in two processes: one for cameras, one of low priority for films.

    ``progress`` counts the pictures of the films that are estimated now: those done, and all.
    """

    def __init__(self) -> None:
        self._cameras = Child("kerneton.studio.posing", "the pose estimator")
        self._films = Child("kerneton.studio.posing", "the pose estimator")
        self._estimating = threading.Lock()
        self.progress: tuple[int, int] | None = None

    def push(self, camera: str, options: PoseOptions, time: float, picture: bytes) -> Any:
        """Rows [x, y, z, confidence] of who is seen in a JPEG picture of a camera, or None; as in
        `kerneton.video.estimator.Person`.
        """
        return self._cameras.ask("push", camera, options, time, picture)

    def forget(self, camera: str) -> None:
        """End a camera."""
        self._cameras.ask("forget", camera)

    def films(self, paths: Sequence[Path]) -> None:
        """Estimate the poses of films, so that reading them takes no time; readers say what is
        wrong with them.
        """
        if not paths or commands_to_get():
            return
        with self._estimating:
            try:
                self._films.ask("films", [str(path) for path in paths], tell=self._note)
            finally:
                self.progress = None

    def _note(self, progress: tuple[int, int]) -> None:
        self.progress = progress

    def close(self) -> None:
        """End both processes."""
        self._cameras.close()
        self._films.close()


class _State:
    """State of a process: the estimators of the cameras."""

    def __init__(self) -> None:
        self.estimators: OrderedDict[str, PoseEstimator] = OrderedDict()

    def run(self, tell: Tell, what: str, *values: Any) -> Any:
        """Carry out one request."""
        if what == "push":
            return self._push(*values)
        if what == "films":
            self._films(tell, *values)
        else:  # forget
            self.estimators.pop(values[0], None)
        return None

    def _push(self, camera: str, options: PoseOptions, time: float, picture: bytes) -> Any:
        if camera not in self.estimators:
            self.estimators[camera] = PoseEstimator(options)
            while len(self.estimators) > _CAMERAS:
                self.estimators.popitem(last=False)
        self.estimators.move_to_end(camera)
        people = self.estimators[camera].push(picture, time)
        if not people:
            return None
        rows = np.column_stack([people[0].joints, people[0].confidence]).round(4).astype(object)
        unseen = np.isnan(people[0].joints[:, 0])
        rows[unseen] = [None, None, None, 0.0]  # JSON has no NaN
        return rows.tolist()

    def _films(self, tell: Tell, paths: list[str]) -> None:
        if hasattr(os, "nice"):
            os.nice(max(0, 10 - os.nice(0)))  # the page and the live labels go first

        def progress(
            iterable: Iterable[Item],
            *,
            total: int | None = None,
            desc: str = "",  # noqa: ARG001
        ) -> Iterable[Item]:
            for n, picture in enumerate(iterable):
                if n % _TELL == 0:
                    tell((n, max(total or 0, n)))
                yield picture

        estimate_all([Path(path) for path in paths], PoseOptions(), progress)


if __name__ == "__main__":
    answer_requests(_State().run)
