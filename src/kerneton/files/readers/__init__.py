"""One module per format: recordings from the files of sensors, motion-capture programs and pose
estimators.

A format is a module with

- ``sniff(head, path) -> bool``: whether a file has this format. It must be fast and use the content
  (``head`` is the first `HEAD` bytes, empty for a folder); the name decides only if the content
  cannot.
- ``read(path) -> list[SkeletonSequence]``: one recording per body, label and subject only if the
  file states them, ``name`` from the stem of the file name. Broken content raises `FormatError`,
  never anything else; sizes stated in a header are checked before memory is allocated; time and
  memory grow linearly with the file.
- ``write(sequences, path)``, if the format can be written, for the extensions in ``WRITES``.
- ``NAMES_JOINTS = True`` if files name their joints; ``STATES``: which ``"unit"`` and ``"up"`` the
  format states, None where files differ: then ``read`` returns `kerneton.data.stated.Recordings`;
  ``TAKES``: which of ``"layout"`` and ``"columns"`` its ``read`` takes as keywords.

Add its name to `FORMATS`, before the formats whose ``sniff`` would also accept its files: formats
with signatures come first, rows of bare numbers last. The entry gives the usual extensions, and a
mark that every such file contains, so that the module is imported only for files that may have this
format. Nothing else has to change.

Coordinates are right-handed with y up and z away from the camera, so x points to the left of the
picture: formats in picture coordinates, which point right and down, are rotated by 180 degrees.
Formats with two coordinates get z = 0.
"""

from __future__ import annotations

import codecs
import functools
import importlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from kerneton.data.layouts import Layout
from kerneton.data.parameters import warn_renamed
from kerneton.data.sequence import Conventions, SkeletonSequence
from kerneton.data.units import to_convention
from kerneton.exceptions import FormatError, KernetonError, ParameterError
from kerneton.files.readers._text import decode, is_folder, read_head

if TYPE_CHECKING:
    from kerneton.video.estimator import PoseOptions


class Format(NamedTuple):
    """Facts about a format that are needed before its module is imported."""

    suffixes: tuple[str, ...]  # usual extensions, by which recordings in a folder are recognised
    mark: bytes = (
        b""  # a regular expression that matches the first bytes of every such file, in lower case
    )


_NUMBER = rb"\A(\xef\xbb\xbf)?[\s,;]*([-+.\d]|nan|inf)"  # no header before the first number
# words before the first numbers, or above them; repeats of repeats without bounds would take
# minutes
_NAMED = rb"\A\W{0,99}(#|[^\n]{0,200}?[a-z:\"'][ \t,;:]{1,9}[-+.\d]|frame\W{0,9}\d{0,9}\s{0,9}\n|"
_NAMED += rb"(\w{1,30}\W{1,9}){0,2}x\W{1,9}y\W{1,9}z\b)"

_FILMS = (
    *(".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v", ".3gp"),
    *(".mpg", ".mpeg", ".mts", ".m2ts", ".wmv", ".ogv", ".flv"),
)
_FILM = rb"(?s)\A(....(ftyp|moov|mdat|wide|free|skip)|\x1a\x65\xdf\xa3|flv\x01|oggs|riff....avi |\0\0\x01|\x30&\xb2u|(....)?g@)"

FORMATS = {
    "film": Format(_FILMS, _FILM),
    "npz": Format((".npz", ".npy"), rb"\A(\x93numpy|pk)"),
    "zip_file": Format((".zip",), rb"\Apk\x03\x04"),
    "gzip_file": Format((".gz",), rb"\A\x1f\x8b"),
    "columnar": Format((".parquet", ".feather"), rb"\A(par1|arrow1|fea1)"),
    "hdf5": Format((".h5", ".hdf5", ".nc"), rb"\A\x89hdf"),
    "mat": Format((".mat",), rb"\Amatlab (5\.0|7\.3) mat-file"),
    "c3d": Format((".c3d",), rb"\0"),
    "pyskl": Format((".pkl", ".pickle"), rb"\A[\x80(\]}]"),
    "bvh": Format((".bvh",), rb"hierarchy"),
    "trc": Format((".trc",), rb"pathfiletype"),
    "deeplabcut": Format((".csv",), rb"\Ascorer"),
    "mvnx": Format((".mvnx",), rb"<mvnx"),
    "gltf": Format((".glb", ".gltf"), rb'\Agltf|"asset"'),
    "mocap_tables": Format(
        (".csv", ".tsv", ".txt"),
        rb"\A\W*(format version|no_of_frames|trajectories|devices|joints|model outputs|segments)|"
        rb"\nitem\t",
    ),
    "opensim": Format((".sto", ".mot"), rb"endheader"),
    "amc": Format((".amc",), rb":(fully-specified|degrees|radians|version|name)"),
    "jsonl": Format((".jsonl",), rb"joints|\A\s*\["),
    "openpose": Format((".json",), rb"people"),
    "mediapipe": Format((".json", ".csv"), rb"landmark|vis|v[_.:/\s-]*[0-9]|v[\s\"]*([,;]|\s|\Z)"),
    "coco": Format((".json",), rb"keypoints|instance_info|images"),
    "body_json": Format(
        (".json",),
        rb'"(joint_positions|body_list|object_list|joints|bodyjoints|transform|hips|joint_transforms)"|'
        rb'_joint"',
    ),
    "yolo": Format((".txt",), _NUMBER),
    "ntu": Format((".skeleton",), _NUMBER),
    "florence_text": Format((".txt",), _NUMBER),
    "utkinect_text": Format((".txt",), _NUMBER),
    "joint_rows": Format((".txt",), _NUMBER + rb"|" + _NAMED),
    "csv_table": Format((".csv", ".tsv", ".txt")),
}
FRAME_ENDING = "_keypoints.json"  # of a folder that is one recording
HEAD = 1 << 16  # bytes that are used to detect the format
PACKED = ("zip_file", "gzip_file")  # archives of files of other formats
_FIXED = (
    "florence_text",
    "utkinect_text",
)  # bare numbers, to which a layout may give another meaning


def reader(name: str) -> ModuleType:
    """The module of a format, imported when first needed."""
    return importlib.import_module(f"kerneton.files.readers.{name}")


@functools.cache
def formats() -> dict[str, ModuleType]:
    """The modules of all `FORMATS` by name."""
    return {name: reader(name) for name in FORMATS}


def writable() -> dict[str, str]:
    """The format that `write` uses for each extension.

    >>> writable()[".npz"], writable()[".csv"]
    ('npz', 'csv_table')
    """
    return {
        suffix: name
        for name, module in formats().items()
        for suffix in getattr(module, "WRITES", ())
    }


def detect_format(path: str | os.PathLike[str]) -> str | None:
    """The name of the format of a file or folder, by content; None if no reader knows it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "wave.dat"
    >>> _ = file.write_text("frame,joint,x,y,z\\n0,head,0,1.7,2\\n")
    >>> detect_format(file)
    'csv_table'
    """
    path = Path(path)
    if is_folder(path):
        with os.scandir(path) as entries:  # OpenPose and YOLO write a file per frame
            names = [entry.name for entry in entries]
        if any(name.endswith(FRAME_ENDING) for name in names):
            return "openpose"
        labels = any(name.endswith(".txt") for name in names) and reader("yolo").sniff(b"", path)
        return "yolo" if labels else None
    return format_of(read_head(path, HEAD), path)


def format_of(head: bytes, path: Path, *, but: Sequence[str] = ()) -> str | None:
    """The name of the format of a file with these first bytes, none of ``but``; None if unknown."""
    wide = head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    small = (decode(head).encode() if wide else head).lower()
    known = (
        name for name, form in FORMATS.items() if name not in but and re.search(form.mark, small)
    )
    return next((name for name in known if reader(name).sniff(head, path)), None)


def stated(module: ModuleType) -> Conventions | None:
    """The unit and axis that files of a format state, if they state them."""
    states = getattr(module, "STATES", {})
    return Conventions(**states, stated=tuple(states)) if states else None


def read(
    path: str | os.PathLike[str] | Any,
    *,
    layout: Layout | str | None = None,
    fps: float | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    rename: Mapping[str, str] | None = None,
    unit: str | None = None,
    up: str | None = None,
    flip: bool | None = None,
    detect: bool = False,
    poses: PoseOptions | None = None,
) -> list[SkeletonSequence]:
    """Read the recordings in a file (or a folder that is one recording) of any known format.

    Parameters
    ----------
    path : path or DataFrame
        The file; its content decides the format, not its name. Or a table of pandas with the
        columns of such a file.
    layout : Layout or str, optional
        The joints of a file that does not name them, or names them wrongly; for a file that names
        them, the joints to keep, in this order. The name of a known layout, or joint names
        separated by commas.
    fps : float, optional
        Frames per second, instead of those in the file.
    columns : list or mapping, optional
        For tables: names for the columns of a file without header, or new names for some of its
        columns.
    rename : mapping, optional
        New names for joints, by their names in the file or in Kerneton: ``{"RigthHand":
        "right_hand"}``.
    unit : {"m", "cm", "mm", "in", "ft"} or a word such as "feet", optional
        The unit of the coordinates; they become metres. Overrides what the file states.
    up : {"x", "y", "z", "-x", "-y", "-z"}, optional
        The axis that points up; it becomes y. Overrides what the file states.
    flip : bool, optional
        Whether the axes are left-handed, or left and right exchanged.
    detect : bool, default=False
        Whether unit, axis and handedness that are neither given nor stated are found from the
        motion, as `kerneton.load_folder` and the commands do for all recordings together.
    poses : PoseOptions, optional
        For films: whether poses of bodies or of hands are estimated, with which network, and of how
        many people.

    Returns
    -------
    list of SkeletonSequence
        One per body or, in formats with many recordings, one per recording and body.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.csv"
    >>> _ = file.write_text("head_x,head_y,head_z\\n0,1700,2000\\n0,1600,1900\\n")
    >>> read(file, fps=30, unit="mm")
    [SkeletonSequence(2 frames, 1 joints, table, name='nod')]
    """
    options = {"layout": layout, "fps": fps, "columns": columns, "rename": rename, "poses": poses}
    (_, taken), sequences = read_as_written(path, **options)
    said: dict[str, Any] = {"unit": unit, "up": up, "flip": flip}
    if taken is None:
        return to_convention(sequences, **said, find=detect)[0]
    from kerneton.data.stated import restate

    return restate(sequences, taken, **said, find=detect)[0]


def named_layout(layout: Layout | str | None) -> Layout | None:
    """A layout, given as one or by name; see `kerneton.files.readers._names.named_layout`."""
    if not isinstance(layout, str):
        return layout
    from kerneton.files.readers import _names

    return _names.named_layout(layout)


def read_as_written(
    path: Any,
    layout: Any = None,
    fps: Any = None,
    columns: Any = None,
    rename: Any = None,
    poses: Any = None,
    met: Any = None,
) -> tuple[tuple[str, Conventions | None], list[SkeletonSequence]]:
    """The format of a file, the unit and axis that its reader assumed, and its recordings, as in
    `read`.
    """
    if fps is not None and not 0 < float(fps) < 1e6:
        raise ParameterError(f"frames per second must be a positive number, got {fps!r}")
    layout = named_layout(layout)
    frame = path if hasattr(path, "itertuples") else None  # of pandas
    path = Path("table" if frame is not None else path)
    name = "csv_table" if frame is not None else detect_format(path)
    if name is None:
        if is_folder(path):
            raise FormatError(f"{path}: a folder of recordings, not one recording")
        from kerneton.files.readers._unknown import describe_unknown

        raise FormatError(f"{path}: {describe_unknown(path, FORMATS)}")
    if (
        layout is not None
        and name in _FIXED
        and len(reader(name).LAYOUT.joints) != len(layout.joints)
    ):
        name = "csv_table"
    module = reader(name)
    takes = getattr(module, "TAKES", ())
    if columns is not None and "columns" not in takes:
        raise ParameterError(f"{path}: column names are only for tables, but this is {name}")
    given = {"layout": layout, "columns": columns, "poses": poses}
    if frame is not None:
        rows = module.rows_of_frame(frame)
        sequences = module.read_rows(rows, path, layout=layout, columns=columns)
    else:
        sequences = module.read(path, **{key: given[key] for key in takes})
    taken = getattr(sequences, "taken", None) or stated(module)
    if rename:
        from kerneton.files.readers._renaming import rename_joints

        sequences = [rename_joints(s, rename, met) for s in sequences]
    if layout is not None and ("layout" not in takes or rename):
        from kerneton.data.mapping import lay_out

        sequences = [
            lay_out(s, layout, named=getattr(module, "NAMES_JOINTS", False)) for s in sequences
        ]
    if fps is not None:
        sequences = [s.replace(fps=float(fps)) for s in sequences]
    return (name, taken), sequences


def write(
    sequences: SkeletonSequence | Iterable[SkeletonSequence], path: str | os.PathLike[str]
) -> None:
    """Write recordings, or a single one, in the format of the file extension.

    ``.npz`` keeps every field of every recording; ``.csv`` (or ``.tsv``) is a wide table; ``.pkl``
    is for PYSKL and MMAction2; ``.bvh`` and ``.trc`` contain one recording.

    >>> import numpy as np, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "wave.npz"
    >>> write([SkeletonSequence(np.ones((4, 20, 3)), label="wave", fps=30)], file)
    >>> read(file)
    [SkeletonSequence(4 frames, 20 joints, label='wave', name='wave')]
    """
    if isinstance(sequences, (str, os.PathLike)):  # the order of 0.2.0
        warn_renamed("write(path, sequences)", "write(sequences, path)")
        sequences, path = path, sequences  # type: ignore[assignment]
    path = Path(path)
    sequences = [sequences] if isinstance(sequences, SkeletonSequence) else list(sequences)
    if not sequences:
        raise ParameterError(f"{path}: no recordings to write")
    name = writable().get(path.suffix.lower())
    if name is None:
        raise ParameterError(
            f"{path}: cannot write {path.suffix!r}; choose {', '.join(writable())}"
        )
    reader(name).write(sequences, path)


FOLDER_TABLE = "segments.csv"  # segments of several recordings in a folder
_SEGMENTS = (
    *(".segments.csv", ".labels.csv", ".eaf", ".TextGrid", ".textgrid"),
    *(".segments.json", ".segments.xml"),
)


class Content(NamedTuple):
    """The recordings of a file; its format and the unit and axis that its reader assumed; the old
    names of joints that were found.
    """

    recordings: list[SkeletonSequence]
    facts: tuple[str, Conventions | None] = ("", None)
    met: frozenset[str] = frozenset()
    error: KernetonError | None = None  # why there are none, or none with their segments


ReadAll = Callable[
    [Sequence[Path], Mapping[str, Any]], Iterable[Content]
]  # in the order of the paths


def read_all_here(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterable[Content]:
    """Read files one after the other in this process; ``options`` are those of
    `kerneton.files.readers.read`.
    """
    return (read_content(path, options) for path in paths)


def read_content(path: Path, options: Mapping[str, Any]) -> Content:
    """Read one of several files; errors are returned, not raised."""
    content, met = Content([]), set[str]()
    try:
        if options.get("columns") is not None:  # only for the tables in a folder
            name = detect_format(path)
            if name is None or "columns" not in getattr(reader(name), "TAKES", ()):
                options = {**options, "columns": None}
        content = Content(*read_as_written(path, **options, met=met)[::-1])
        if segment_file_of(path) is not None or path.with_name(FOLDER_TABLE).is_file():
            from kerneton.files.segments import beside_segments

            content = content._replace(recordings=beside_segments(content.recordings, path))
    except KernetonError as error:
        content = content._replace(error=error)
    return content._replace(met=frozenset(met))


def segment_file_of(path: Path) -> Path | None:
    """The file of segments beside a recording that has its name, if there is one."""
    beside = (path.with_name(path.stem + suffix) for suffix in _SEGMENTS)
    return next((file for file in beside if file != path and file.is_file()), None)


def is_segment_file(path: Path) -> bool:
    """Whether the name of a file says that it contains segments, not a recording.

    >>> is_segment_file(Path("a/long.segments.csv")), is_segment_file(Path("a/long.csv"))
    (True, False)
    """
    name = path.name.lower()
    return name == FOLDER_TABLE or name.endswith(tuple(suffix.lower() for suffix in _SEGMENTS))
