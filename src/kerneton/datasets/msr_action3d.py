"""MSR-Action3D: twenty game actions, ten subjects, up to three takes, twenty joints."""

from __future__ import annotations

import itertools
import os

from kerneton.data.parameters import check_choice
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets._home import Source
from kerneton.files.readers import joint_rows

SOURCE = Source(
    title="MSR-Action3D",
    publisher='W. Li, Z. Zhang and Z. Liu, Microsoft Research ("MSR Action3D Dataset")',
    download="the skeleton data in real world coordinates (MSRAction3DSkeletonReal3D)",
    folder="msr_action3d/MSRAction3DSkeletonReal3D",
)
ACTIONS = (
    *(
        "high arm wave",
        "horizontal arm wave",
        "hammer",
        "hand catch",
        "forward punch",
        "high throw",
        "draw X",
    ),
    *(
        "draw tick",
        "draw circle",
        "hand clap",
        "two hand wave",
        "side boxing",
        "bend",
        "forward kick",
    ),
    *("side kick", "jogging", "tennis swing", "tennis serve", "golf swing", "pickup and throw"),
)
ACTION_SETS = {  # Li et al., CVPR4HB 2010, by action number
    "AS1": (2, 3, 5, 6, 10, 13, 18, 20),
    "AS2": (1, 4, 7, 8, 9, 11, 12, 14),
    "AS3": (6, 14, 15, 16, 17, 18, 19, 20),
}
N_SUBJECTS, N_TAKES, FPS = 10, 3, 15.0
# Left out of the 557 of Wang et al., CVPR 2012: no or badly wrong skeletons.
_EXCLUDED = {
    *("a02_s03_e02", "a04_s03_e01", "a07_s04_e01", "a13_s09_e01", "a13_s09_e02"),
    *("a13_s09_e03", "a14_s03_e01", "a20_s07_e01", "a20_s07_e03", "a20_s10_e03"),
}
# Never published: the grid of 20 actions, 10 subjects and 3 takes has 33 gaps.
_ABSENT = {
    *(f"a{action:02d}_s04_e{take:02d}" for action in (1, 2, 3, 4, 5, 6, 15) for take in (1, 2, 3)),
    *(f"a15_s{subject:02d}_e{take:02d}" for subject in (3, 5) for take in (1, 2, 3)),
    *("a04_s03_e03", "a05_s06_e03", "a06_s06_e03", "a07_s04_e03", "a07_s07_e03", "a15_s02_e03"),
}


def load_msr_action3d(
    data_home: str | os.PathLike[str] | None = None, *, subset: str = "557"
) -> SkeletonDataset:
    """Read MSR-Action3D: 557 recordings of 13 to 76 frames, 20 actions, 10 subjects, 15 frames per
    second.

    ``data_home``, by default KERNETON_DATA, contains files such as
    ``msr_action3d/MSRAction3DSkeletonReal3D/a01_s01_e01_skeleton3D.txt``. ``subset`` is "557", the
    recordings that published results use, or "all" 567. In some recordings the tracker lost the
    body and wrote zeros for every joint: these frames stay as they are, with confidence 0, for
    preprocessing to fill. Joints that the tracker inferred (0 in the published files) have
    confidence 0.01. W. Li, Z. Zhang, Z. Liu, "Action Recognition Based on a Bag of 3D Points",
    CVPR4HB 2010; the 557: J. Wang, Z. Liu, Y. Wu, J. Yuan, "Mining Actionlet Ensemble", CVPR 2012.

    >>> load_msr_action3d("/data")  # doctest: +SKIP
    SkeletonDataset(msr_action3d: 557 recordings, 20 labels, 10 subjects)
    """
    check_choice("subset", subset, ["557", "all"])
    stems = recording_names(subset)
    paths = SOURCE.locate(data_home, [f"{stem}_skeleton3D.txt" for stem in stems])
    sequences = []
    for path, stem in zip(paths, stems, strict=True):
        (recording,) = joint_rows.read(path)
        label, subject = ACTIONS[int(stem[1:3]) - 1], str(int(stem[5:7]))
        sequences.append(recording.replace(label=label, subject=subject, name=stem, fps=FPS))
    return SkeletonDataset(sequences, name="msr_action3d")


def recording_names(subset: str = "557") -> list[str]:
    """The names of the 557 recordings, or of all 567.

    >>> names = recording_names()
    >>> len(names), names[0], len(recording_names("all"))
    (557, 'a01_s01_e01', 567)
    """
    left_out = _ABSENT | _EXCLUDED if subset == "557" else _ABSENT
    grid = itertools.product(*(range(1, n + 1) for n in (len(ACTIONS), N_SUBJECTS, N_TAKES)))
    stems = (f"a{action:02d}_s{subject:02d}_e{take:02d}" for action, subject, take in grid)
    return [stem for stem in stems if stem not in left_out]
