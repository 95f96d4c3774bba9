"""The data set of a folder as one file to send."""

from __future__ import annotations

import csv
import io
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath

from kerneton.exceptions import DataError, ParameterError
from kerneton.files.output import write_text
from kerneton.files.readers import write
from kerneton.studio import folders
from kerneton.studio.clips import stored_segments
from kerneton.studio.library import Library
from kerneton.studio.parcel import pack

FORMATS = ("npz", "pkl", "csv", "segments", "parcel")


def check_format(ending: object) -> str:
    """The format, if it is one of `FORMATS`.

    >>> check_format("npz")
    'npz'
    """
    if ending not in FORMATS:
        raise ParameterError(f"no export {str(ending)[:20]!r}; there are {', '.join(FORMATS)}")
    return str(ending)


def segment_table(library: Library) -> str:
    """The segments of all recordings as the table that the command line reads: file, label, and
    frames.
    """
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["file", "label", "start", "stop"])
    for id, record in sorted(library.records.items()):
        stored = stored_segments(record.info)
        for segment in library.journal.edits.get(id, {}).get("segments") or stored:
            if segment["label"] is not None:
                name = PurePosixPath(record.path).name
                table.writerow([name, segment["label"], segment["start"], segment["stop"]])
    if out.getvalue().count("\n") < 2:
        raise DataError("there are no segments with a label to export")
    return out.getvalue()


def export(library: Library, ending: str, path: Path) -> None:
    """Write all labelled recordings: one ``.npz`` or ``.pkl``, or a zip archive with one table per
    recording; or the whole folder with its models, see `kerneton.studio.parcel`.
    """
    check_format(ending)
    if ending == "parcel":
        pack(library, path)
        return
    if ending == "segments":
        write_text(path, segment_table(library))
        return
    ids = sorted(record.id for record in library.records.values() if record.label is not None)
    if not ids:
        raise DataError("there are no labelled recordings to export")
    if ending != "csv":
        named = [library.sequence(id) for id in ids]
        write([s.replace(name=str(PurePosixPath(s.name).with_suffix(""))) for s in named], path)
        return
    seen: Counter[str] = Counter()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for id in ids:
            sequence = library.sequence(id)
            stem = folders.safe_name(PurePosixPath(id).stem.replace("#", "_"))
            inside = folders.path_of(sequence.label, sequence.subject, stem)
            seen[inside] += 1
            number = f"_{seen[inside]}" if seen[inside] > 1 else ""
            table = path.with_name(f"{path.stem}-table.csv")
            write([sequence], table)
            archive.write(table, f"{inside}{number}.csv")
            table.unlink()
