"""The error about a file that no reader knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from kerneton.data.wording import many
from kerneton.exceptions import KernetonError
from kerneton.files.readers._text import check_regular, read_head, shorten

_SHOWN = 6  # endings of files of one kind

_PICTURE = "a picture, moving or not; of films, .mp4, .mov, .mkv, .avi and .webm are read"
_KNOWN = (  # first bytes, or endings of names where content differs, and what to do
    ((b"PK\x03\x04",), (".xlsx", ".xlsm", ".ods"), "a spreadsheet; save the sheet as CSV"),
    ((b"\xd0\xcf\x11\xe0",), (".xls",), "a spreadsheet; save the sheet as CSV"),
    ((b"PK\x03\x04", b"\x1f\x8b", b"Rar!", b"7z\xbc\xaf"), (), "an archive; unpack it first"),
    ((b"Kaydara FBX", b"; FBX"), (".fbx",), "an FBX file; export it as BVH or C3D"),
    (
        (b"#ROSBAG", b"\x89MCAP0", b"SQLite format 3"),
        (".bag", ".mcap", ".db3"),
        "a ROS recording; examples/converters/from_ros.py in the repository writes its poses as .jsonl",
    ),
    ((b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF"), (), _PICTURE),
    (
        (),
        (".mp4", ".mov", ".avi", ".mkv", ".webm", ".m4v"),
        "damaged, or no film in spite of its name",
    ),
    ((b"%PDF",), (), "a PDF document"),
    ((), (".slp",), "a project of SLEAP; export its analysis file (.h5)"),
    ((), (".tak",), "a take of Motive; export it as CSV, C3D or BVH"),
    ((), (".qtm",), "a measurement of Qualisys; export it as TSV or C3D"),
    ((), (".x1d", ".x2d"), "raw data of Vicon; export the trial as C3D, CSV or TRC"),
    ((), (".mvn",), "a recording of Xsens; export it as MVNX or C3D"),
    ((), (".blend",), "a file of Blender; export it as BVH or glTF"),
    ((), (".usd", ".usda", ".usdc", ".usdz"), "a USD scene; export its animation as glTF or BVH"),
)
# Endings that say what a file should contain.
_ENDINGS = (
    *(".npz", ".npy", ".zip", ".gz", ".parquet", ".feather", ".h5", ".hdf5", ".nc", ".mat"),
    *(".c3d", ".pkl", ".bvh", ".trc", ".mvnx", ".glb", ".gltf", ".sto", ".mot", ".amc", ".asf"),
    *(".jsonl", ".skeleton"),
)


def describe_unknown(path: Path, formats: Iterable[str]) -> str:
    """A description of a file that no reader knows, and what to do with it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "poses.xlsx"
    >>> _ = file.write_bytes(b"PK\\x03\\x04")
    >>> describe_unknown(file, [])
    'a spreadsheet; save the sheet as CSV'
    """
    if not check_regular(path):
        return "an empty file"
    head, suffix = read_head(path, 40), path.suffix.lower()
    if suffix == ".kern" or head[30:] == b"model.json":
        return "a model, not a recording; name recordings, or a folder of them"
    if (what := _kind(head, suffix)) is not None:
        return what
    json = (
        "; of JSON files, those of OpenPose, MediaPipe, COCO and its relatives, Azure Kinect, ZED, "
        "ARKit and Vision Pro"
        if head.lstrip()[:1] in (b"[", b"{")
        else ""
    )
    text = ""
    if suffix in (".txt", ".csv", ".tsv", ".dat"):
        text = (
            "; of text, tables with a header (head_x, head_y, head_z), tables of mocap programs, "
        )
        text += "and rows of x y z, one joint per row"
    return f"unknown format; known formats are {', '.join(formats)}{json}{text}"


def _kind(head: bytes, suffix: str) -> str | None:
    """What a file is that is no recording, and what to do with it; None if that is not known."""
    for marks, suffixes, what in _KNOWN:
        if head.startswith(marks) and (not suffixes or suffix in suffixes):
            return what
    named = (what for _, suffixes, what in _KNOWN if suffix in suffixes)
    other = f"damaged, or no {suffix} file in spite of its name" if suffix in _ENDINGS else None
    return next(named, other)


def described_kinds(paths: Sequence[Path]) -> str:
    """The files of a folder that no reader knows: how many of which kind, and what to do with them.

    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> _ = [(root / name).write_bytes(b"FBX") for name in ("a.fbx", "b.fbx", "c.foo")]
    >>> described_kinds(sorted(root.iterdir()))
    '3 files are not read: 2 .fbx (an FBX file; export it as BVH or C3D), 1 .foo (unknown format)'
    """
    kinds: dict[str, Counter[str]] = {}
    for path in paths:
        suffix = path.suffix.lower()
        try:
            what = _kind(read_head(path, 40), suffix) or "unknown format"
        except KernetonError:
            what = "cannot be read"
        kinds.setdefault(what, Counter())[shorten(suffix or path.name, 20)] += 1
    each = (
        f"{', '.join(f'{n} {name}' for name, n in names.most_common(_SHOWN))}"
        f"{f' and {len(names) - _SHOWN} more endings' if len(names) > _SHOWN else ''} ({what})"
        for what, names in sorted(kinds.items(), key=lambda kind: -kind[1].total())
    )
    return f"{many(len(paths), 'file')} {'is' if len(paths) == 1 else 'are'} not read: {', '.join(each)}"
