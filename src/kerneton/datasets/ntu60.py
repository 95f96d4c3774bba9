"""NTU RGB+D: sixty actions of 40 people before three cameras, 25 joints, one or two people."""

from __future__ import annotations

import os

from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets._home import Source
from kerneton.datasets._ntu import load_ntu

SOURCE = Source(
    title="NTU RGB+D",
    publisher="the ROSE Lab, Nanyang Technological University (rose1.ntu.edu.sg/dataset/actionRecognition)",
    download="the 3D skeletons (nturgbd_skeletons_s001_to_s017.zip), or PYSKL's ntu60_3danno.pkl",
    folder="ntu60",
)


def load_ntu60(
    data_home: str | os.PathLike[str] | None = None, *, people: int = 2
) -> SkeletonDataset:
    """Read NTU RGB+D from its .skeleton files, or from PYSKL's pickle, in single precision.

    ``data_home``, by default KERNETON_DATA, contains ``ntu60/ntu60_3danno.pkl``, or files such as
    ``S001C002P003R002A013.skeleton`` anywhere in ``ntu60``. Recordings in a list of the publisher's
    beside them (``NTU_RGBD_samples_with_missing_skeletons.txt``), and recordings without a body,
    are left out; a warning says so. Labels are A001 to A060, subjects P001 to P040. The protocols
    "xsub" (the default) and "xview" are those of A. Shahroudy et al., "NTU RGB+D: A Large Scale
    Dataset for 3D Human Activity Analysis", CVPR 2016.

    A fifth of the recordings is of two people. With ``people=2`` all recordings are pairs, and who
    is alone stands before a turned copy of the own body; with ``people=1`` each is of the person
    who moves most, which is twice as fast.

    >>> load_ntu60("/data")  # doctest: +SKIP
    SkeletonDataset(ntu60: 56578 recordings, 60 labels, 40 subjects)
    """
    return load_ntu(SOURCE, "ntu60", "ntu60_3danno.pkl", 60, data_home, people)
