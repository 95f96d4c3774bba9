"""NTU RGB+D 120: 120 actions of 106 people, 25 joints, one or two people."""

from __future__ import annotations

import os

from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets._home import Source
from kerneton.datasets._ntu import load_ntu

SOURCE = Source(
    title="NTU RGB+D 120",
    publisher="the ROSE Lab, Nanyang Technological University (rose1.ntu.edu.sg/dataset/actionRecognition)",
    download="both parts of the 3D skeletons, or PYSKL's ntu120_3danno.pkl",
    folder="ntu120",
)


def load_ntu120(
    data_home: str | os.PathLike[str] | None = None, *, people: int = 2
) -> SkeletonDataset:
    """Read NTU RGB+D 120 as `load_ntu60` reads its first half; labels are A001 to A120, subjects
    P001 to P106.

    ``data_home`` contains ``ntu120/ntu120_3danno.pkl``, or .skeleton files of both parts anywhere
    in ``ntu120``. The protocols "xsub" (the default) and "xset" are those of J. Liu et al., "NTU
    RGB+D 120: A Large-Scale Benchmark for 3D Human Activity Understanding", TPAMI 2020.

    >>> load_ntu120("/data")  # doctest: +SKIP
    SkeletonDataset(ntu120: 113945 recordings, 120 labels, 106 subjects)
    """
    return load_ntu(SOURCE, "ntu120", "ntu120_3danno.pkl", 120, data_home, people)
