"""Recordings written as a table, a row per frame."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import plain_layout
from kerneton.data.segments import frame_labels
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError
from kerneton.files.output import replacing
from kerneton.files.readers._names import unique_names


def write_table(path: Path, sequences: Sequence[SkeletonSequence]) -> None:
    """Write recordings as one wide table; with more than one, a column ``recording`` names them.

    Coordinates are written with all their digits. A recording without layout gets numbered joints; of two with the same
    name, the later gets a number. Segments become a label per frame.

    >>> import tempfile
    >>> from kerneton.data.layouts import Layout
    >>> file = Path(tempfile.mkdtemp()) / "nod.csv"
    >>> nod = SkeletonSequence([[[0, 1.5, 2]]], layout=Layout("one", ["head"]), label="nod", fps=25)
    >>> write_table(file, [nod])
    >>> print(file.read_text().strip())
    label,frame,time,head_x,head_y,head_z
    nod,0,0.0,0.0,1.5,2.0
    """
    facts = [fact for fact in ("label", "subject") if any(getattr(s, fact) is not None for s in sequences)]
    if "label" not in facts and any(s.segments for s in sequences):
        facts.insert(0, "label")
    recordings = unique_names(sequences)
    first = sequences[0]
    names = _joints(first)
    timed = any(s.fps is not None for s in sequences)
    trusted = all(s.confidence is None for s in sequences)
    axes = ("x", "y", "z") if trusted else ("x", "y", "z", "confidence")
    several = ["recording"] if len(sequences) > 1 else []
    header = several + facts + ["frame"] + ["time"] * timed
    header += [f"{joint}_{axis}" for joint in names for axis in axes]
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        form: Any = {"delimiter": "\t" if path.suffix.lower() == ".tsv" else ",", "lineterminator": "\n"}
        out, quoted = csv.writer(file, **form), csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, **form)
        out.writerow(header)
        for i, sequence in enumerate(sequences):
            if _joints(sequence) != names:
                raise ParameterError(
                    f"{path}: {sequence.name or f'recording {i}'} has different joints than the first; "
                    "all recordings of a table need the same joints"
                )
            fixed = [recordings[i]] * bool(several)
            fixed += [getattr(sequence, fact) or "" for fact in facts]
            labels = frame_labels(sequence.segments, sequence.n_frames) if sequence.segments else None
            values = sequence.joints
            if not trusted:
                confidence = 1.0 if sequence.confidence is None else sequence.confidence
                confidence = np.broadcast_to(confidence, values.shape[:2])
                values = np.concatenate([values, confidence[..., None]], -1)
            for frame, row in enumerate(values.reshape(len(values), -1)):
                time = [frame / float(sequence.fps) if sequence.fps else ""] * timed
                if labels is not None:
                    fixed[len(several)] = labels[frame]
                cells = fixed + [frame, *time] + ["" if v != v else v for v in row.tolist()]
                # A row that begins with # would be read as a comment, a return as the end of a row.
                odd = "".join(map(str, cells)).lstrip().startswith("#") or any(
                    "\r" in str(cell) for cell in fixed
                )
                (quoted if odd else out).writerow(cells)


def _joints(sequence: SkeletonSequence) -> tuple[str, ...]:
    return (sequence.layout or plain_layout(sequence.n_joints)).joints
