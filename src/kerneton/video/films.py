"""The pictures of a film with their times, within limits that are stated; rotation of phones is
undone.

Films are decoded by PyAV (FFmpeg). Only containers of films are opened, so that a file cannot lead
to other files or addresses; a broken picture is skipped, a film that ends early is read as far as
it goes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kerneton.exceptions import DataError, FormatError, MissingDataError, import_extra

_CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,asf,ogg,mjpeg,h264,hevc,ivf"
MOST_FRAMES = 216_000  # two hours at 30 frames a second
MOST_SECONDS = 7200
MOST_PIXELS = 8192 * 4352  # of one picture: 8K, upright or lying
MOST_IN_ALL = 2 * 3600 * 30 * 3840 * 2160  # pixels of a film: two hours of 4K, 30 pictures a second
LONGEST_SIDE = 1920  # larger pictures are made smaller
_MOST_BROKEN = 300  # pictures in a row that cannot be decoded


class Picture(NamedTuple):
    """One picture of a film: (height, width, 4) uint8, and its time in seconds from the first."""

    pixels: np.ndarray
    time: float


class Film:
    """A film that is open: its size, its stated length, and its pictures one after the other.

    ``warnings`` holds what was wrong once the pictures were read. Used in a ``with`` statement.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.warnings: list[str] = []
        if not self.path.is_file():
            raise MissingDataError(f"{path}: no such file")
        if not self.path.stat().st_size:
            raise FormatError(f"{path}: an empty file")
        self._av = import_extra("av", extra="video", purpose="Reading films")
        try:
            options = {"format_whitelist": _CONTAINERS, "protocol_whitelist": "file"}
            self._container = self._av.open(
                str(self.path), options=options, metadata_errors="replace"
            )
        except (self._av.FFmpegError, OSError, ValueError) as error:
            raise FormatError(f"{path}: not a film that can be read ({reason(error)})") from error
        try:
            self._check()
        except BaseException:
            self._container.close()
            raise

    def _check(self) -> None:
        streams = self._container.streams.video
        if not streams:
            kinds = (
                ", ".join(sorted({stream.type for stream in self._container.streams})) or "nothing"
            )
            raise FormatError(f"{self.path}: no pictures in this film, only {kinds}")
        self._stream = streams[0]
        context = self._stream.codec_context
        if context is None or not getattr(context, "name", ""):
            raise FormatError(
                f"{self.path}: its codec is unknown to this FFmpeg; convert the film to H.264 first"
            )
        self.codec: str = context.name
        self.width, self.height = int(context.width or 0), int(context.height or 0)
        check_size(self.path, self.width, self.height)
        context.thread_type = "NONE"  # one core for each film
        context.options = {"max_pixels": str(MOST_PIXELS)}  # before memory is taken for a picture
        stated = self._stream.frames
        rate = float(self._stream.average_rate or self._stream.guessed_rate or 0) or None
        seconds = (
            self._container.duration / self._av.time_base if self._container.duration else None
        )
        self.stated_frames = int(stated or (seconds * rate if seconds and rate else 0))
        if seconds and rate and (seconds * rate > MOST_FRAMES or seconds > MOST_SECONDS):
            long = f"{seconds / 3600:.1f} hours, {seconds * rate:.0f} pictures"
            most = f"{MOST_SECONDS // 3600} hours and {MOST_FRAMES} pictures"
            raise FormatError(
                f"{self.path}: too long: {long}; at most {most} are read, cut it first"
            )

    def __enter__(self) -> Film:
        return self

    def __exit__(self, *_: object) -> None:
        self._container.close()

    def pictures(self) -> Iterator[Picture]:
        """The pictures in the order of their times; what cannot be decoded is skipped with a
        warning.
        """
        reformatter = self._av.video.reformatter.VideoReformatter()
        start, last, n, broken, row, pixels = None, -math.inf, 0, 0, 0, 0
        rate = float(self._stream.average_rate or 30)
        frames = self._decoded()
        while True:
            try:
                frame = next(frames, None)
            except (self._av.FFmpegError, OSError, ValueError) as error:
                broken, row = broken + 1, row + 1
                if row > _MOST_BROKEN or (n == 0 and broken > 30):
                    raise FormatError(
                        f"{self.path}: cannot be decoded ({reason(error)})"
                    ) from error
                if isinstance(error, self._av.EOFError):
                    break
                continue
            if frame is None:
                break
            row = 0
            time = frame.time if frame.time is not None else (last + 1 / rate if n else 0.0)
            if start is None:
                start = time
            time -= start
            if time <= last:
                continue  # a picture that repeats a time
            pixels += frame.width * frame.height
            if n == MOST_FRAMES or pixels > MOST_IN_ALL or time > MOST_SECONDS:
                self.warnings.append(f"only the first {n} pictures were read, {last:.0f} seconds")
                break
            last = time
            n += 1
            yield Picture(as_rgba(frame, reformatter, self.path), time)
        if n == 0:
            raise FormatError(f"{self.path}: no picture in this film can be decoded")
        if broken:
            self.warnings.append(f"{broken} damaged parts of the film were skipped")
        if self.stated_frames and n < 0.9 * self.stated_frames - 2:
            self.warnings.append(
                f"the film ends early: {n} pictures of {self.stated_frames} that it states"
            )

    def _decoded(self) -> Iterator[Any]:
        """The frames; an error in one packet does not end them."""
        return _Frames(self._container, self._stream)


class _Frames:
    """Frames of a container that can be asked for more after an error, unlike a generator."""

    def __init__(self, container: Any, stream: Any) -> None:
        self._packets = container.demux(stream)
        self._ready: list[Any] = []
        self._ended = False

    def __iter__(self) -> _Frames:
        return self

    def __next__(self) -> Any:
        while not self._ready:
            if self._ended:
                raise StopIteration
            try:
                packet = next(self._packets)
            except BaseException:
                self._ended = True  # a generator that failed has no more packets
                raise
            self._ready = list(packet.decode())
        return self._ready.pop(0)


def check_size(path: object, width: int, height: int) -> None:
    """Refuse pictures without pixels, or with more than can be held."""
    if width < 16 or height < 16 or width * height > MOST_PIXELS:
        raise FormatError(
            f"{path}: pictures of {width} x {height}; expected at least 16 x 16, at most 8192 x 4352"
        )


def as_rgba(frame: Any, reformatter: Any, path: object) -> np.ndarray:
    """(height, width, 4) uint8: a decoded frame as it is shown, made smaller if it is larger than
    `LONGEST_SIDE`.
    """
    check_size(path, frame.width, frame.height)
    shrink = min(1.0, LONGEST_SIDE / max(frame.width, frame.height))
    size = (max(16, round(frame.width * shrink)), max(16, round(frame.height * shrink)))
    shown = reformatter.reformat(frame, width=size[0], height=size[1], format="rgba")
    plane = shown.planes[0]
    pixels = np.frombuffer(plane, np.uint8).reshape(shown.height, plane.line_size // 4, 4)[
        :, : shown.width
    ]
    turns = round((frame.rotation or 0) / 90) % 4
    return np.rot90(pixels, turns) if turns else pixels


def stills(path: str | Path, times: Sequence[float], height: int) -> list[bytes]:
    """JPEG files of the pictures of a film that are shown at these times, which grow."""
    av = import_extra("av", extra="video", purpose="Reading films")
    found: list[bytes] = []
    newest = None
    with Film(path) as film:
        for picture in film.pictures():
            while (
                len(found) < len(times)
                and newest is not None
                and times[len(found)] < picture.time - 1e-6
            ):
                found.append(_jpeg(av, newest, height))
            newest = picture.pixels
            if len(found) == len(times):
                break
    while len(found) < len(times) and newest is not None:
        found.append(_jpeg(av, newest, height))
    return found


def _jpeg(av: Any, pixels: np.ndarray, height: int) -> bytes:
    target = io.BytesIO()
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels[..., :3]), format="rgb24")
    width = max(2, round(pixels.shape[1] * height / pixels.shape[0] / 2) * 2)
    with av.open(target, "w", format="mjpeg") as out:
        stream = out.add_stream("mjpeg", rate=30)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuvj420p"
        out.mux(stream.encode(frame.reformat(width=width, height=height, format="yuvj420p")))
        out.mux(stream.encode(None))
    return target.getvalue()


def decoded_picture(data: bytes) -> np.ndarray:
    """(height, width, 4) uint8: the picture in the bytes of a JPEG or PNG file."""
    av = import_extra("av", extra="video", purpose="Reading pictures")
    codec = "png" if data.startswith(b"\x89PNG") else "mjpeg"
    try:
        context = av.CodecContext.create(codec, "r")
        frames = [*context.decode(av.Packet(data)), *context.decode(None)]
    except (av.FFmpegError, ValueError) as error:
        raise DataError(f"a picture that cannot be decoded ({reason(error)})") from error
    if not frames:
        raise DataError("a picture that cannot be decoded; expected JPEG or PNG")
    return as_rgba(frames[0], av.video.reformatter.VideoReformatter(), "the picture")


def reason(error: BaseException) -> str:
    """The last line of what an error of FFmpeg says."""
    return (
        str(getattr(error, "strerror", None) or error).strip().splitlines()[-1][:200]
        or type(error).__name__
    )


def is_film(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a film.

    >>> (
    ...     is_film(b"\\0\\0\\0\\x20ftypisom"),
    ...     is_film(b"frame,x,y"),
    ...     is_film(b"\\0\\0\\0\\x20ftypheic"),
    ... )
    (True, False, False)
    """
    if head[4:8] == b"ftyp":
        return head[8:12] not in (b"heic", b"heix", b"mif1", b"avif", b"M4A ", b"msf1")
    return (
        head[4:8] in (b"moov", b"mdat", b"wide", b"free", b"skip")
        or head.startswith(
            (b"\x1aE\xdf\xa3", b"FLV\1", b"OggS", b"\0\0\1\xba", b"\0\0\1\xb3", b"\x30\x26\xb2\x75")
        )
        or (head.startswith(b"RIFF") and head[8:12] == b"AVI ")
        or (len(head) > 376 and head[0] == head[188] == head[376] == 0x47)
        or (len(head) > 388 and head[4] == head[196] == head[388] == 0x47)  # BDAV, .mts
    )
