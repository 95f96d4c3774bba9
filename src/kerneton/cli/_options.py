"""Options that several commands share, and the recordings, models, clusters and progress bars made
from them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import PathTo, in_own_options, positive, unit
from kerneton.exceptions import DataError, MissingDataError, ParameterError

if TYPE_CHECKING:
    from kerneton.data.progress import Progress
    from kerneton.data.sequence import Conversion, SkeletonDataset
    from kerneton.recognize.recognizer import Recognizer
    from kerneton.video.estimator import PoseOptions


def add_data_home(parser: argparse.ArgumentParser) -> None:
    """The option that names the folder of published data sets."""
    parser.add_argument(
        "--data-home",
        metavar="FOLDER",
        type=PathTo.FIND,
        help="folder of published data sets (default: $KERNETON_DATA)",
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """A data set by name, or a folder of recordings; `load_data` loads it."""
    parser.add_argument(
        "data",
        metavar="DATA",
        type=PathTo.READ,
        help="name of a data set, folder of recordings, or file with many recordings",
    )
    add_data_home(parser)
    add_folder_options(parser)
    parser.add_argument(
        "--without",
        metavar="NAMES",
        help="joints that are not used, separated by commas, such as ears in side views",
    )


def load_data(args: argparse.Namespace, **options: Any) -> SkeletonDataset:
    """The recordings that the options of `add_data` name; further options go to `load_folder`."""
    from kerneton.datasets import LOADERS, is_dataset, load_dataset

    if is_dataset(args.data, args.data_home):
        published = load_dataset(args.data, args.data_home)
        return one_skeleton(published, args) if args.without else published
    if not Path(args.data).exists():
        raise MissingDataError(
            f"{args.data!r} is neither a folder nor a data set ({', '.join(LOADERS)}), nor a file of recordings"
        )
    data = load_recordings(args.data, args, **options)
    tell_conversion(data.conversion, args)
    check_labels(data, args)
    return one_skeleton(data, args)


def add_folder_options(parser: argparse.ArgumentParser) -> None:
    """Options for reading the files of a folder; `load_recordings` applies them."""
    group = parser.add_argument_group("folders of recordings (default: LABEL/SUBJECT/FILE)")
    group.add_argument(
        "--pattern",
        metavar="TEXT",
        help="pattern of file names, such as 'a{label}_s{subject}_e{take}', or of paths below the folder, such as "
        "'{subject}/{label}/*'; * fits anything",
    )
    table = "a table with the columns file, label and subject"
    group.add_argument("--index", metavar="FILE", type=PathTo.READ, help=table)
    add_reading(group)


def load_recordings(path: str, args: argparse.Namespace, **options: Any) -> SkeletonDataset:
    """The recordings of a folder or of one file, read with the options of `add_folder_options`."""
    from kerneton.files.folder import load_folder

    options |= {name: getattr(args, name) for name in ("pattern", "index", "skip_broken")}
    with hinting(args):
        return load_folder(path, progress=progress_of(args), **options, **reading_options(args))


def add_model(parser: argparse.ArgumentParser) -> None:
    """A preset and parameters on top of it; `make_model` builds the model."""
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="default, tensor, auto, paper or exact (default: default; paper with --kernel or --set)",
    )
    parser.add_argument(
        "--kernel", metavar="NAME", help="the paper's sck, dck or sck+dck (default: sck+dck)"
    )
    parser.add_argument(
        "--view",
        metavar="NAME",
        help="free (people may face any direction), fixed (as the camera sees them) or auto (default: auto)",
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        dest="settings",
        action="append",
        default=[],
        help="set a parameter, such as sck__power=0.3; may be given several times",
    )
    add_device(parser)


def add_device(parser: argparse.ArgumentParser) -> None:
    """Where the kernels run."""
    parser.add_argument("--device", metavar="NAME", help="cuda for the GPU (default: the CPU)")


def check_device(args: argparse.Namespace) -> None:
    """Refuse a device that is not there, before anything is read."""
    if args.device is None:
        return
    from kerneton.kernels.engine import find_gpu

    try:
        find_gpu(args.device)
    except ParameterError as error:
        way = "--device cuda needs a GPU that PyTorch sees, without --device the CPU computes"
        raise ParameterError(
            f"--device {args.device}: there is no such device here; {way}"
        ) from error


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """A Dask cluster; `client_of` connects to it."""
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="read the files and compute on the Dask cluster of this scheduler, such as tcp://host:8786",
    )
    parser.add_argument(
        "--read-here",
        action="store_true",
        help="with --scheduler: read the files here and send the recordings, for workers that do not see the files",
    )


def client_of(args: argparse.Namespace) -> Any:
    """A context with a client of the scheduler that `add_scheduler` asked for, or with None."""
    if args.scheduler is None:
        return nullcontext()
    from kerneton.recognize.cluster import connect

    return connect(args.scheduler, quiet=True)


def reading_on(client: Any, args: argparse.Namespace) -> dict[str, Any]:
    """The option of `load_folder` for reading on a cluster, if there is one."""
    if client is None or args.read_here:
        return {}
    from kerneton.recognize.cluster import reader

    return {"read_all": reader(client)}


def all_cores() -> Any:
    """A context whose computations may use every core, in threads."""
    from joblib import parallel_config

    return parallel_config(backend="threading", n_jobs=-1)


def make_model(args: argparse.Namespace, **options: Any) -> Recognizer:
    """The recogniser that the options of `add_model` describe; ``options`` are passed to
    `make_recognizer`.
    """
    from kerneton.data.parameters import check_choice
    from kerneton.recognize.presets import PRESETS, make_recognizer

    check_device(args)
    if args.preset is not None:
        check_choice("preset", args.preset, PRESETS)
    names = ("preset", "kernel", "view")
    chosen = {name: value for name in names if (value := getattr(args, name)) is not None}
    if args.settings and not chosen:
        chosen = {"preset": "paper"}  # the preset whose parameters --set can name
    model = make_recognizer(**chosen, device=args.device, **options)
    if args.settings:
        from kerneton.cli._settings import find_parameter, parse_settings

        known, settings = model.get_params(), parse_settings(args.settings)
        model.set_params(**{find_parameter(name, known): value for name, value in settings.items()})
    return model


def progress_of(args: argparse.Namespace) -> Progress | None:
    """A progress bar on stderr, or none with ``--quiet``."""
    if args.quiet:
        return None
    from kerneton.cli._bar import bar

    return bar


def add_reading(group: Any) -> None:
    """Add the options to a parser or to a group of it; `reading_options` returns their values."""
    group.add_argument(
        "--layout",
        metavar="NAME",
        help="joints of files that do not name them: a layout (two joined by + for two bodies), or joint names separated by commas",
    )
    group.add_argument(
        "--rename",
        metavar="OLD=NEW",
        action="append",
        help="rename a joint; may be given several times",
    )
    group.add_argument(
        "--columns",
        metavar="NAMES",
        help="names of all columns of a table, separated by commas, or OLD=NEW,... for some of them",
    )
    group.add_argument(
        "--fps", metavar="N", type=positive, help="frames per second, overrides the files"
    )
    group.add_argument(
        "--unit",
        type=unit,
        metavar="UNIT",
        help="unit of coordinates: m, cm, mm, in, ft, or a word such as feet (default: stated by the file, or detected from the data)",
    )
    group.add_argument(
        "--up",
        choices=("x", "y", "z", "-x", "-y", "-z"),
        metavar="AXIS",
        help="axis that points up: y, z, x or --up=-y ... (default: stated by the file, or detected from the data)",
    )
    group.add_argument(
        "--flip",
        action=argparse.BooleanOptionalAction,
        help="axes are left-handed, or left and right are exchanged (default: detected from the data)",
    )
    group.add_argument(
        "--skip-broken",
        action="store_true",
        help="leave out files that cannot be used, with a warning",
    )
    add_poses(group)


def add_poses(group: Any) -> None:
    """What is estimated in films and cameras; `pose_options` returns it."""
    group.add_argument(
        "--pose", metavar="WHAT", help="of films: body or hands (default: body, or as in training)"
    )
    group.add_argument(
        "--pose-model",
        metavar="NAME",
        help="of films: lite (faster), full or heavy (more exact) (default: full, or as in training)",
    )
    group.add_argument(
        "--people",
        metavar="N",
        type=int,
        help="of films: the most people who are followed (default: 1)",
    )
    group.add_argument(
        "--pose-cache",
        metavar="FOLDER",
        type=PathTo.FILL,
        help="where poses of films are kept (default: poses in $KERNETON_CACHE or the system's cache folder)",
    )


def pose_options(args: argparse.Namespace) -> PoseOptions | None:
    """The options of `add_poses`, None if none is given."""
    names = ("pose", "pose_model", "people", "pose_cache")
    given = {name: value for name in names if (value := getattr(args, name)) is not None}
    if not given:
        return None
    from kerneton.video.estimator import PoseOptions

    return PoseOptions(**given)


def reading_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of `add_reading` as keywords of `kerneton.load_folder`, except
    ``skip_broken``.
    """
    columns = rename = None
    if args.columns is not None or args.rename:
        from kerneton.cli._settings import column_names, renamed

        columns, rename = column_names(args.columns), renamed(args.rename or (), "--rename") or None
    given = {name: getattr(args, name) for name in ("layout", "fps", "unit", "up", "flip")}
    return {**given, "columns": columns, "rename": rename, "poses": pose_options(args)}


def tell_conversion(conversion: Conversion | None, args: argparse.Namespace) -> None:
    """Print one note on stderr about converted units and axes."""
    if conversion is not None and conversion.notes and not args.quiet:
        told = in_own_options("; ".join(conversion.notes), args)
        print("kerneton: note:", told, file=sys.stderr)


@contextmanager
def hinting(args: argparse.Namespace) -> Iterator[None]:
    """Add to errors about some of many files that these can be left out, or that another layout may
    be needed.
    """
    try:
        yield
    except DataError as error:
        counts = re.match(r"(\d+) of (?!\1 )(\d+) files cannot be(.* layout ')?", str(error))
        if counts is None or args.skip_broken:
            raise
        misfit = args.layout and counts[3] and 2 * int(counts[1]) > int(counts[2])
        way = f"most files do not fit --layout {args.layout}: name another layout"
        raise DataError(
            f"{error}; {way if misfit else '--skip-broken leaves these out'}"
        ) from error


def check_labels(data: SkeletonDataset, args: argparse.Namespace) -> None:
    """Refuse recordings without any label, which nothing can be learned from; `one_skeleton` checks
    joints.
    """
    if any(s.label is not None for s in data):
        return
    way = "; labels come from folders LABEL/SUBJECT/FILE, from file names with --pattern, or from a table with --index"
    if any(s.segments for s in data):
        if getattr(args, "spot", False):
            return
        way = ", but segments: kerneton cut makes a recording of each, kerneton fit --spot trains on long recordings"
    without = (
        f"{len(data)} of {len(data)} recordings have" if len(data) > 1 else "the recording has"
    )
    raise DataError(f"{without} no label{way}")


def one_skeleton(data: SkeletonDataset, args: argparse.Namespace) -> SkeletonDataset:
    """The recordings with the joints that most of them have and contain; see
    `kerneton.cli._joints`.
    """
    from kerneton.data.checks import common_layout
    from kerneton.data.sequence import missing_joints

    layout = common_layout(data)
    alike = layout is None or all(
        s.layout is None or s.layout.joints == layout.joints for s in data
    )
    if layout is None or (
        alike and not args.without and not any(missing_joints(s).all(0).any() for s in data)
    ):
        return data
    from kerneton.cli._joints import fitting

    return fitting(data, layout, args)
