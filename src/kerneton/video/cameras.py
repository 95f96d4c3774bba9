"""Cameras and streams from the network: the newest picture, and the people in it.

A camera gives pictures whether somebody takes them or not: a thread reads all of them and keeps the
newest, so that a slow computer sees fewer pictures and no old ones. Pictures are dropped when their
joints are known.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time as clock
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kerneton.exceptions import DataError, MissingDataError, ParameterError, import_extra
from kerneton.video.estimator import Person, PoseEstimator, PoseOptions
from kerneton.video.films import as_rgba, reason

_ADDRESS = re.compile(r"(rtsps?|https?|rtmp|srt|udp-stream)://.+", re.IGNORECASE)
_PROTOCOLS = "http,https,tls,tcp,udp,rtp,rtsp,rtmp,srt,crypto"  # never files
_PATIENCE = 10.0  # seconds without a picture after which a camera is taken to be gone


class Sight(NamedTuple):
    """What was seen at a time in seconds: the people, and the picture (height, width, 4) uint8."""

    time: float
    people: list[Person]
    pixels: np.ndarray


def is_camera(source: str) -> bool:
    """Whether a source is a camera or an address, not a file.

    >>> [
    ...     is_camera(s)
    ...     for s in ("camera", "camera:1", "/dev/video0", "rtsp://host/live", "long.bvh")
    ... ]
    [True, True, True, True, False]
    """
    device = re.fullmatch(r"camera(:.*)?|/dev/video\d+", source)
    return bool(device or _ADDRESS.fullmatch(source))


def camera(source: str = "camera", poses: PoseOptions | None = None) -> Iterator[Sight]:
    """The people whom a camera sees, picture after picture, until the camera ends or the loop does.

    Parameters
    ----------
    source : str
        ``camera`` for the first camera, ``camera:1`` for the second, ``/dev/video0``, or the
        address of a stream (``rtsp://``, ``http://``).
    poses : PoseOptions, optional
        What is estimated.

    Examples
    --------
    >>> for sight in camera("camera:0"):  # doctest: +SKIP
    ...     print(sight.time, [person.joints.shape for person in sight.people])
    0.0 [(33, 3)]
    """
    estimator = PoseEstimator(poses)
    with Camera(source) as opened:
        for time, pixels in opened.pictures():
            yield Sight(time, estimator.push(pixels, time), pixels)


class Camera:
    """A camera that is open; `pictures` gives the newest picture as soon as the last one is done
    with.

    ``dropped`` counts the pictures that came while another one was worked on.
    """

    def __init__(self, source: str = "camera", patience: float = _PATIENCE) -> None:
        self.source, self.patience, self.dropped = source, patience, 0
        self._av = import_extra("av", extra="video", purpose="Reading cameras")
        self._state = threading.Condition()
        self._newest: tuple[float, Any] | None = None
        self._opened = self._ended = self._closing = False
        self._error = ""
        self._thread = threading.Thread(
            target=self._read, args=(_place(source, self._av),), daemon=True
        )
        self._thread.start()
        with self._state:
            self._state.wait_for(lambda: self._opened or self._ended, self.patience + 2)
            if not self._opened:
                self._closing = True
                raise MissingDataError(f"{source}: {self._error or 'no answer'}")

    def __enter__(self) -> Camera:
        return self

    def __exit__(self, *_: object) -> None:
        with self._state:
            self._closing = True
            self._state.notify_all()
        self._thread.join(2)

    def pictures(self) -> Iterator[tuple[float, np.ndarray]]:
        """The time since the first picture in seconds, and (height, width, 4) uint8."""
        reformatter = self._av.video.reformatter.VideoReformatter()
        start, last = None, -1.0
        while True:
            with self._state:
                told = self._state.wait_for(lambda: self._newest or self._ended, self.patience)
                newest, self._newest = self._newest, None
                if newest is None:
                    if told and not self._error:
                        return
                    silent = f"no picture for {self.patience:g} seconds"
                    raise DataError(
                        f"{self.source}: {self._error or silent}; was the camera unplugged?"
                    )
            arrived, frame = newest
            start = arrived if start is None else start
            last = max(arrived - start, last + 1e-4)
            yield last, as_rgba(frame, reformatter, self.source)

    def _read(self, place: tuple[str, str | None, dict[str, str]]) -> None:
        file, form, options = place
        try:
            with self._av.open(
                file, format=form, options=options, timeout=self.patience
            ) as container:
                if not container.streams.video:
                    raise ValueError("a stream without pictures")
                with self._state:
                    self._opened = True
                    self._state.notify_all()
                for frame in container.decode(video=0):
                    with self._state:
                        if self._closing:
                            return
                        self.dropped += self._newest is not None
                        self._newest = (clock.monotonic(), frame)
                        self._state.notify_all()
        except (self._av.FFmpegError, OSError, ValueError) as error:
            self._error = _told(error)
        finally:
            with self._state:
                self._ended = True
                self._state.notify_all()


def _place(source: str, av: Any) -> tuple[str, str | None, dict[str, str]]:
    """The file, the format and the options with which FFmpeg opens a source."""
    if _ADDRESS.fullmatch(source):
        return source, None, {"protocol_whitelist": _PROTOCOLS, "fflags": "nobuffer"}
    if not is_camera(source):
        raise ParameterError(
            f"{source}: expected camera, camera:1, /dev/video0 or an address such as rtsp://"
        )
    which = source.partition(":")[2] or "0"
    usual = {"framerate": "30", "video_size": "640x480"}
    if sys.platform == "darwin":
        return f"{which}:none", "avfoundation", usual
    if sys.platform == "win32":
        if which.isdecimal():
            names = [
                d.name for d in av.enumerate_input_devices("dshow") if "video" in str(d.media_types)
            ]
            if int(which) >= len(names):
                raise MissingDataError(
                    f"{source}: no such camera; there are {', '.join(names) or 'none'}"
                )
            which = names[int(which)]
        return f"video={which}", "dshow", usual
    device = source if source.startswith("/dev/") else f"/dev/video{which}"
    if not os.path.exists(device):
        found = sorted(name for name in os.listdir("/dev") if name.startswith("video"))
        there = ", ".join(f"/dev/{name}" for name in found) or "none"
        raise MissingDataError(f"{source}: no camera {device}; there are: {there}")
    return device, "v4l2", usual


def _told(error: Exception) -> str:
    """What went wrong, in words that help."""
    text = reason(error)
    if isinstance(error, PermissionError) or "ermission" in text:
        return f"not allowed ({text}); on Linux, add yourself to the group video"
    if "busy" in text.lower():
        return f"used by another program ({text}); close it first"
    return text
