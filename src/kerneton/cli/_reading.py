"""Options for reading files, shared by every command that reads recordings."""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from typing import TYPE_CHECKING, Any

from kerneton.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.data.units import Conversion

_UNITS = ("m", "cm", "mm", "in", "ft")
_AXES = ("x", "y", "z", "-x", "-y", "-z")


def add_reading(group: Any) -> None:
    """Add the options to a parser or to a group of it; `reading_options` returns their values."""
    group.add_argument(
        "--layout",
        metavar="NAME",
        help="joints of files that do not name them: a layout (two joined by + for two bodies), or joint names separated by commas",
    )
    group.add_argument(
        "--rename", metavar="OLD=NEW", action="append", help="rename a joint; may be given several times"
    )
    group.add_argument(
        "--columns",
        metavar="NAMES",
        help="names of all columns of a table, separated by commas, or OLD=NEW,... for some of them",
    )
    group.add_argument("--fps", metavar="N", type=_positive, help="frames per second, overrides the files")
    group.add_argument(
        "--unit",
        choices=_UNITS,
        help="unit of coordinates, if the files do not state it (default: detected from the data)",
    )
    group.add_argument(
        "--up",
        choices=_AXES,
        metavar="AXIS",
        help="axis that points up, if the files do not state it: y, z, x or --up=-y ... (default: detected from the data)",
    )
    group.add_argument(
        "--flip",
        action=argparse.BooleanOptionalAction,
        help="axes are left-handed, or left and right are exchanged (default: detected from the data)",
    )
    group.add_argument(
        "--skip-broken", action="store_true", help="leave out files that cannot be used, with a warning"
    )


def reading_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of `add_reading` as keywords of `kerneton.load_folder`, except ``skip_broken``."""
    return {
        "layout": args.layout,
        "fps": args.fps,
        "columns": _columns(args.columns),
        "rename": dict(_pair(text, "--rename") for text in args.rename or ()) or None,
        "unit": args.unit,
        "up": args.up,
        "flip": args.flip,
    }


def tell_conversion(conversion: Conversion | None, args: argparse.Namespace) -> None:
    """Print one note on stderr about converted units and axes."""
    if conversion is not None and conversion.notes and not args.quiet:
        print("kerneton: note:", "; ".join(conversion.notes), file=sys.stderr)


def _columns(text: str | None) -> list[str] | dict[str, str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    return dict(_pair(name, "--columns") for name in names) if "=" in text else names


def _pair(text: str, option: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not old.strip() or not new.strip():
        raise ParameterError(f"{option} takes OLD=NEW, such as RigthHand=right_hand, got {text!r}")
    return old.strip(), new.strip()


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return value


def one_skeleton(data: SkeletonDataset, args: argparse.Namespace) -> SkeletonDataset:
    """The recordings with the joints that most of them have; the others are an error, or left out by ``--skip-broken``."""
    from kerneton.data.validation import common_layout, describe, grouped, layout_difference

    layout = common_layout(data)
    odd = {
        i: difference
        for i, s in enumerate(data)
        if layout and s.layout and (difference := layout_difference(s.layout, layout)) is not None
    }
    if not odd:
        return data
    told = grouped([(describe(data[i], i), difference) for i, difference in odd.items()])
    message = f"{len(odd)} of {len(data)} recordings cannot be used: {told}"
    if not args.skip_broken:
        raise DataError(
            f"{message}; --rename OLD=NEW corrects a name, --layout NAME chooses joints that all have, --skip-broken leaves these out"
        )
    warnings.warn(message, stacklevel=1)
    return data.select([i for i in range(len(data)) if i not in odd])
