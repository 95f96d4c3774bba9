"""glTF and GLB: animations of a skeleton; every animation is a recording, named after it.

Positions of the joints of the first skin (or of all animated nodes) are computed from translations,
rotations and scales: with p the parent of a node and T, R, S its values in a frame, interpolated at
the times of the animation's longest track,

    M_n = M_p T_n R_n S_n,    x_n = M_n (0, 0, 0, 1).

Metres with y up, as the format states. Buffers must be in the file, or in a file beside it. Meshes,
pictures and extensions are not read.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, KernetonError
from kerneton.files.readers._keypoints import is_json
from kerneton.files.readers._names import joint_names, layout_of_names
from kerneton.files.readers._text import MAX_JOINTS, shorten
from kerneton.files.readers._values import Budget, check_room, check_values, file_budget, read_bytes

NAMES_JOINTS, STATES = True, {"unit": "m", "up": "y"}
_MOST_NODES = 20_000
_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_SIZES = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
_GLB = b"glTF"


def sniff(head: bytes, path: Path) -> bool:
    """Whether the file is binary glTF, or JSON with an asset."""
    if head.startswith(_GLB):
        return True
    return (
        is_json(head)
        and (path.suffix.lower() == ".gltf" or b'"asset"' in head)
        and b'"nodes"' in head
    )


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a file, one per animation."""
    content = read_bytes(path)
    try:
        return _read(content, path)
    except KernetonError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, OverflowError,
            struct.error) as error:  # fmt: skip
        what = shorten(f"{type(error).__name__}: {error}", 80)
        raise FormatError(f"{path}: damaged or incomplete glTF ({what})") from error


def _read(content: bytes, path: Path) -> list[SkeletonSequence]:
    document, binary = _parts(content, path)
    budget = file_budget(path)
    scene = _Scene(document, binary, path, budget)
    animations = document.get("animations") or []
    if not animations:
        raise FormatError(f"{path}: no animation; export the skeleton with its animation")
    found = [scene.recording(i, animation) for i, animation in enumerate(animations[:1000])]
    recordings = [recording for recording in found if recording is not None]
    if not recordings:
        raise FormatError(f"{path}: {len(animations)} animations, none of which moves a node")
    if len(recordings) == 1:
        return [recordings[0].replace(name=path.stem)]
    return recordings


def _parts(content: bytes, path: Path) -> tuple[dict[str, Any], bytes]:
    """The JSON and the binary part of a file."""
    binary = b""
    text = content
    if content.startswith(_GLB):
        if len(content) < 20:
            raise FormatError(f"{path}: cut off in its header")
        at, text = 12, b""
        while at + 8 <= len(content):
            size, kind = struct.unpack_from("<I4s", content, at)
            part = content[at + 8 : at + 8 + size]
            if len(part) < size:
                raise FormatError(f"{path}: cut off")
            text, binary = (
                (part, binary)
                if kind == b"JSON"
                else (text, part if kind[:3] == b"BIN" else binary)
            )
            at += 8 + size
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not glTF: {shorten(str(error), 60)}") from error
    if not isinstance(document, dict):
        raise FormatError(f"{path}: not glTF")
    return document, binary


class _Scene:
    """The nodes of a file and the numbers in its buffers."""

    def __init__(self, document: dict[str, Any], binary: bytes, path: Path, budget: Budget) -> None:
        self.document, self.path, self.budget = document, path, budget
        self.nodes = document["nodes"]
        if not 0 < len(self.nodes) <= _MOST_NODES:
            raise FormatError(f"{path}: {len(self.nodes)} nodes; 1 to {_MOST_NODES} are read")
        self.buffers = [self._buffer(buffer, binary) for buffer in document.get("buffers", [])]
        self.parents: dict[int, int] = {}
        for i, node in enumerate(self.nodes):
            for child in node.get("children", ()):
                if not 0 <= child < len(self.nodes) or child in self.parents or child == i:
                    raise FormatError(
                        f"{path}: node {i} has a child {child} that cannot be its own"
                    )
                self.parents[child] = i
        self.order = self._ordered()

    def _buffer(self, buffer: dict[str, Any], binary: bytes) -> bytes:
        uri = buffer.get("uri")
        if uri is None:
            return binary
        if uri.startswith("data:"):
            try:
                return base64.b64decode(uri.partition(",")[2], validate=True)
            except (binascii.Error, ValueError) as error:
                raise FormatError(f"{self.path}: a damaged buffer: {error}") from error
        name = PurePosixPath(unquote(uri))
        if name.is_absolute() or ".." in name.parts or "\\" in uri or ":" in uri:
            raise FormatError(f"{self.path}: a buffer at {shorten(uri)!r}, outside of its folder")
        beside = self.path.parent.joinpath(*name.parts)
        content = read_bytes(beside)
        self.budget.room += 2 * len(content)
        return content

    def _ordered(self) -> list[int]:
        """Nodes with parents before their children; a loop is refused."""
        order = [i for i in range(len(self.nodes)) if i not in self.parents]
        for i in order:  # grows while it is walked
            order += self.nodes[i].get("children", ())
        if len(order) != len(self.nodes):
            raise FormatError(f"{self.path}: nodes that are their own ancestors")
        return order

    def values(self, accessor: int) -> np.ndarray:
        """(n, width) numbers of an accessor; whole numbers that stand for fractions become
        these.
        """
        facts = self.document["accessors"][accessor]
        if "bufferView" not in facts or "sparse" in facts:
            raise FormatError(f"{self.path}: sparse accessors are not read")
        view = self.document["bufferViews"][facts["bufferView"]]
        kind, width, count = (
            np.dtype(_TYPES[facts["componentType"]]),
            _SIZES[facts["type"]],
            facts["count"],
        )
        start = view.get("byteOffset", 0) + facts.get("byteOffset", 0)
        stride = view.get("byteStride") or width * kind.itemsize
        buffer = self.buffers[view["buffer"]]
        whole = all(isinstance(n, int) and n >= 0 for n in (start, stride, count))
        if not whole or not count or stride < width * kind.itemsize:
            raise FormatError(f"{self.path}: accessor {accessor} has an impossible size")
        if start + (count - 1) * stride + width * kind.itemsize > len(buffer):
            raise FormatError(f"{self.path}: accessor {accessor} ends outside of its buffer")
        self.budget.take(8 * count * width)
        raw = np.ndarray((count, width), kind, buffer, start, (stride, kind.itemsize))
        values = raw.astype(np.float64)
        if facts.get("normalized") and kind.kind in "iu":
            values = np.maximum(values / np.iinfo(kind).max, -1.0)
        return values

    def recording(self, number: int, animation: dict[str, Any]) -> SkeletonSequence | None:
        """The recording of an animation; None if it moves no node."""
        tracks: dict[int, dict[str, tuple[np.ndarray, np.ndarray, str]]] = {}
        for channel in animation.get("channels", ()):
            node, kind = channel["target"].get("node"), channel["target"]["path"]
            if node is None or kind not in ("translation", "rotation", "scale"):
                continue
            sampler = animation["samplers"][channel["sampler"]]
            times, values = self.values(sampler["input"])[:, 0], self.values(sampler["output"])
            way = sampler.get("interpolation", "LINEAR")
            if way == "CUBICSPLINE":  # in-tangent, value, out-tangent
                values = values[1::3]
            if (
                len(times) != len(values)
                or not np.isfinite(times).all()
                or (np.diff(times) < 0).any()
            ):
                raise FormatError(f"{self.path}: times and values of an animation do not agree")
            tracks.setdefault(node, {})[kind] = times, values, way
        if not tracks:
            return None
        longest = max((t for own in tracks.values() for t, _, _ in own.values()), key=len)
        joints = self._joints(tracks)
        check_room(self.path, len(longest), len(self.nodes), 20)
        with np.errstate(all="ignore"):  # what is not finite is refused below
            places = self._positions(tracks, longest)
        still = (len(longest), 3)  # a joint above the first that moves
        points = np.stack([np.broadcast_to(places[joint], still) for joint in joints], axis=1)
        check_values(self.path, points, "positions")
        if not np.isfinite(points).all():
            raise FormatError(
                f"{self.path}: positions that are no numbers; the animation is damaged"
            )
        names = [str(self.nodes[joint].get("name") or f"node_{joint}") for joint in joints]
        from kerneton.files.readers.csv_table import rate_of

        title = str(animation.get("name") or number)
        return SkeletonSequence(
            points,
            layout=layout_of_names("gltf", joint_names(names), names),
            name=f"{self.path.stem}_{title}",
            fps=rate_of(longest),
        )

    def _joints(self, tracks: dict[int, Any]) -> list[int]:
        skins = self.document.get("skins") or []
        joints = list(skins[0]["joints"]) if skins else [i for i in self.order if i in tracks]
        unique = list(dict.fromkeys(joints))
        if not 0 < len(unique) <= MAX_JOINTS or not all(0 <= i < len(self.nodes) for i in unique):
            raise FormatError(f"{self.path}: {len(unique)} joints; 1 to {MAX_JOINTS} are read")
        return unique

    def _positions(self, tracks: dict[int, Any], times: np.ndarray) -> dict[int, np.ndarray]:
        """(T, 3) of each node."""
        world: dict[int, np.ndarray] = {}
        for i in self.order:
            own = self._matrices(self.nodes[i], tracks.get(i, {}), times)
            parent = self.parents.get(i)
            world[i] = own if parent is None else world[parent] @ own
        return {i: matrix[:, :3, 3] for i, matrix in world.items()}

    def _matrices(
        self, node: dict[str, Any], tracks: dict[str, Any], times: np.ndarray
    ) -> np.ndarray:
        """(T or 1, 4, 4) from the parent's coordinates."""
        if "matrix" in node and not tracks:
            return np.asarray(node["matrix"], dtype=np.float64).reshape(1, 4, 4).transpose(0, 2, 1)
        rest = {"translation": (0, 0, 0), "rotation": (0, 0, 0, 1), "scale": (1, 1, 1)}
        values = {}
        for kind, default in rest.items():
            if kind in tracks:
                own, known, way = tracks[kind]
                values[kind] = _sampled(own, known, way, times, turning=kind == "rotation")
            else:
                values[kind] = np.asarray(node.get(kind, default), dtype=np.float64)[None]
            if values[kind].shape[1] != len(default):
                raise FormatError(f"{self.path}: a {kind} of {values[kind].shape[1]} numbers")
        n = max(map(len, values.values()))
        matrices = np.zeros((n, 4, 4))
        matrices[:, :3, :3] = _rotations(values["rotation"]) * values["scale"][:, None, :]
        matrices[:, :3, 3] = values["translation"]
        matrices[:, 3, 3] = 1
        return matrices


def _sampled(
    own: np.ndarray, values: np.ndarray, way: str, times: np.ndarray, *, turning: bool
) -> np.ndarray:
    """Values of a track at some times; rotations along the shorter arc, normalised."""
    right = np.clip(np.searchsorted(own, times, side="right"), 1, max(len(own) - 1, 1))
    left = right - 1
    right = np.minimum(right, len(own) - 1)
    gap = own[right] - own[left]
    share = np.clip(np.where(gap > 0, (times - own[left]) / np.where(gap > 0, gap, 1), 0.0), 0, 1)
    if way == "STEP":
        share = (share >= 1).astype(float)
    a, b = values[left], values[right]
    if turning:
        b = np.where((a * b).sum(axis=1, keepdims=True) < 0, -b, b)
    return a + share[:, None] * (b - a)


def _rotations(quaternions: np.ndarray) -> np.ndarray:
    """(T, 3, 3) from x, y, z, w, of any length.

    >>> _rotations(np.array([[0, 0, 1.0, 1.0]])).round(6)[0].tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    size = np.linalg.norm(quaternions, axis=1, keepdims=True)
    x, y, z, w = (quaternions / np.where(size > 0, size, 1)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)
