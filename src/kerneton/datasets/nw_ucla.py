"""Northwestern-UCLA Multiview Action 3D: ten actions, ten people, three cameras, twenty joints."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np

from kerneton.data.layouts import KINECT_20
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets._home import Source, find_home
from kerneton.exceptions import FormatError

SOURCE = Source(
    title="Northwestern-UCLA Multiview Action 3D",
    publisher="J. Wang et al.; as JSON with the code of 2s-AGCN and CTR-GCN",
    download="the skeletons, one JSON file per recording (all_sqe)",
    folder="nw_ucla",
)
ACTIONS = {
    **{1: "pick up with one hand", 2: "pick up with two hands", 3: "drop trash", 4: "walk around"},
    **{5: "sit down", 6: "stand up", 8: "donning", 9: "doffing", 11: "throw", 12: "carry"},
}
_NAME = re.compile(r"a(\d\d)_s(\d\d)_e(\d\d)_v(\d\d)")


def load_nw_ucla(data_home: str | os.PathLike[str] | None = None) -> SkeletonDataset:
    """Read Northwestern-UCLA: 1,494 recordings of ten actions by ten people before three cameras.

    ``data_home``, by default KERNETON_DATA, contains files such as
    ``nw_ucla/a01_s01_e00_v01.json``, also in folders inside. The protocol "xview", the default,
    trains on cameras 1 and 2 and tests on 3. J. Wang et al., "Cross-view Action Modeling, Learning
    and Recognition", CVPR 2014.

    >>> load_nw_ucla("/data")  # doctest: +SKIP
    SkeletonDataset(nw_ucla: 1494 recordings, 10 labels, 10 subjects)
    """
    home = find_home(data_home)
    folder = (home or Path("DATA_HOME")) / SOURCE.folder
    files = sorted(folder.rglob("a*_s*_e*_v*.json")) if home is not None else []
    if not files:
        SOURCE.locate(data_home, ["a01_s01_e00_v01.json"])
    return SkeletonDataset([_read(path) for path in files], name="nw_ucla")


def _read(path: Path) -> SkeletonSequence:
    match = _NAME.fullmatch(path.stem)
    if match is None or int(match[1]) not in ACTIONS:
        raise FormatError(
            f"{path}: expected a name such as a01_s01_e00_v01.json, of an action of ten"
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        joints = np.asarray(content["skeletons"], dtype=np.float32)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(f"{path}: expected JSON with lists of numbers 'skeletons'") from error
    n = len(KINECT_20.joints)
    if joints.ndim != 3 or joints.shape[1:] != (n, 3) or not len(joints):
        got = " x ".join(map(str, joints.shape))
        raise FormatError(f"{path}: expected frames x {n} x 3 numbers, got {got or 'none'}")
    facts = {"label": ACTIONS[int(match[1])], "subject": str(int(match[2])), "name": path.stem}
    return SkeletonSequence(joints, layout=KINECT_20, fps=30.0).replace(**facts)
