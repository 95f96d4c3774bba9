"""Published recordings, read as they are, and generated actions."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kerneton.data.parameters import check_choice
from kerneton.exceptions import ParameterError

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.datasets.dhg14 import load_dhg14
    from kerneton.datasets.florence3d import load_florence3d
    from kerneton.datasets.hdm05 import load_hdm05
    from kerneton.datasets.jhmdb import load_jhmdb
    from kerneton.datasets.msr_action3d import load_msr_action3d
    from kerneton.datasets.ntu60 import load_ntu60
    from kerneton.datasets.ntu120 import load_ntu120
    from kerneton.datasets.nw_ucla import load_nw_ucla
    from kerneton.datasets.sbu import load_sbu
    from kerneton.datasets.sfinge3d import load_sfinge3d
    from kerneton.datasets.shrec17 import load_shrec17
    from kerneton.datasets.synthetic import make_actions
    from kerneton.datasets.utd_mhad import load_utd_mhad
    from kerneton.datasets.utkinect import load_utkinect

__all__ = [
    "LOADERS",
    "PUBLISHED",
    "load_dataset",
    "load_dhg14",
    "load_florence3d",
    "load_hdm05",
    "load_jhmdb",
    "load_msr_action3d",
    "load_ntu60",
    "load_ntu120",
    "load_nw_ucla",
    "load_sbu",
    "load_sfinge3d",
    "load_shrec17",
    "load_utd_mhad",
    "load_utkinect",
    "make_actions",
]

# Modules of this package, each with a SOURCE and a function load_<name>(data_home).
PUBLISHED = (
    *("florence3d", "utkinect", "msr_action3d", "utd_mhad", "sbu", "jhmdb", "sfinge3d"),
    *("ntu60", "ntu120", "nw_ucla", "hdm05", "shrec17", "dhg14"),
)


def __getattr__(name: str) -> Any:
    """The loaders, each imported when it is first used."""
    module = "synthetic" if name == "make_actions" else name.removeprefix("load_")
    if name != "make_actions" and (module == name or module not in PUBLISHED):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def _load(name: str, data_home: Any = None, **options: Any) -> SkeletonDataset:
    if name == "synthetic":
        return __getattr__("make_actions")(**options)
    return __getattr__(f"load_{name}")(data_home, **options)


LOADERS: dict[str, Callable[..., SkeletonDataset]] = {
    name: functools.partial(_load, name) for name in (*PUBLISHED, "synthetic")
}


def is_dataset(name: str, data_home: str | None = None) -> bool:
    """Whether a name on the command line is that of a data set; if a folder has the same name, an
    error says how to choose.

    >>> is_dataset("sbu"), is_dataset("./sbu")
    (True, False)
    """
    if name in LOADERS and data_home is None and os.path.exists(name):
        home = os.path.expanduser(os.environ.get("KERNETON_DATA", ""))
        if not home or os.path.realpath(home) != os.getcwd():  # whose folders are the data sets
            way = f"write {os.path.join('.', name)} for the folder, or data_home='FOLDER' for the data set"
            raise ParameterError(
                f"{name} is the name of a published data set and of a folder here: {way}"
            )
    return name in LOADERS


def published_folders(data_home: str | os.PathLike[str]) -> list[str]:
    """The folders inside a data home that hold published recordings, whether they are there or not.

    >>> published_folders("data")[1]
    'data/utkinect/joints'
    """
    sources = (importlib.import_module(f"{__name__}.{name}").SOURCE for name in PUBLISHED)
    return [os.path.join(data_home, source.folder) for source in sources]


def load_dataset(
    name: str, data_home: str | os.PathLike[str] | None = None, **options: Any
) -> SkeletonDataset:
    """A published data set, or generated actions, by name.

    florence3d, utkinect, msr_action3d, utd_mhad, sbu, jhmdb, sfinge3d, ntu60, ntu120, nw_ucla,
    hdm05, shrec17, dhg14, synthetic.

    ``options`` are passed to the loader of the data set; synthetic is `make_actions` and needs no
    data home.

    >>> load_dataset("synthetic", n_subjects=2, n_takes=1)
    SkeletonDataset(synthetic: 28 recordings, 14 labels, 2 subjects)
    """
    check_choice("data set", name, LOADERS)
    return LOADERS[name](data_home, **options)
