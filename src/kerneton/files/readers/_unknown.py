"""The error about a file that no reader knows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kerneton.files.readers._text import check_regular, read_head

_VIDEO = "a video or picture; extract a skeleton with a pose estimator first, or open it in kerneton studio"
_KNOWN = (  # first bytes, or endings of names where content differs, and what to do
    ((b"PK\x03\x04",), (".xlsx", ".xlsm", ".ods"), "a spreadsheet; save the sheet as CSV"),
    ((b"\xd0\xcf\x11\xe0",), (".xls",), "a spreadsheet; save the sheet as CSV"),
    ((b"PK\x03\x04", b"\x1f\x8b", b"Rar!", b"7z\xbc\xaf"), (), "an archive; unpack it first"),
    ((b"MATLAB",), (".mat",), "a MATLAB file; write the joints as CSV (writematrix), or as .npz from Python"),
    ((b"Kaydara FBX", b"; FBX"), (".fbx",), "an FBX file; export it as BVH or C3D"),
    (
        (b"\x89HDF",),
        (".h5", ".hdf5"),
        "an HDF5 file; export it as CSV, or write the joints as .npz from Python",
    ),
    (
        (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"\x1aE\xdf\xa3"),
        (".mp4", ".mov", ".avi", ".mkv"),
        _VIDEO,
    ),
    ((b"%PDF",), (), "a PDF document"),
)


def describe_unknown(path: Path, formats: Iterable[str]) -> str:
    """A description of a file that no reader knows, and what to do with it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "poses.xlsx"
    >>> _ = file.write_bytes(b"PK\\x03\\x04")
    >>> describe_unknown(file, [])
    'unknown format: a spreadsheet; save the sheet as CSV'
    """
    if not check_regular(path):
        return "unknown format: an empty file"
    head = read_head(path, 40)
    suffix = path.suffix.lower()
    if suffix == ".kern" or head[30:] == b"model.json":
        return "a model, not a recording; name recordings, or a folder of them"
    for marks, suffixes, what in _KNOWN:
        if head.startswith(marks) and (not suffixes or suffix in suffixes):
            return f"unknown format: {what}"
    for _, suffixes, what in _KNOWN:
        if suffix in suffixes:
            return f"unknown format: {what}"
    json = (
        "; of JSON files, those of OpenPose, MediaPipe and COCO" if head.lstrip()[:1] in (b"[", b"{") else ""
    )
    text = ""
    if suffix in (".txt", ".csv", ".tsv", ".dat"):
        text = "; of text, tables with a header (head_x, head_y, head_z) and rows of x y z, one joint per row, with no title above"
    return f"unknown format; known formats are {', '.join(formats)}{json}{text}"
