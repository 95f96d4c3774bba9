"""Units and axes of recordings that a reader already converted, if the user states others or the
data show others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kerneton.data.sequence import Conventions, Conversion, SkeletonSequence
from kerneton.data.units import UNITS, check_convention, converted, find_conventions

_WORDS = {
    "metre": "m",
    "centimetre": "cm",
    "millimetre": "mm",
    "inch": "in",
    "foot": "ft",
    "feet": "ft",
}


def restate(
    recordings: Sequence[SkeletonSequence],
    taken: Conventions,
    *,
    unit: str | None = None,
    up: str | None = None,
    flip: bool | None = None,
    kept: Conventions | None = None,
    find: bool = True,
) -> tuple[list[SkeletonSequence], Conversion]:
    """Recordings in metres, y up and right-handed, whose reader assumed the conventions ``taken``,
    and the conversion.

    In this order: what the user states, what was stated in the training of a model
    (``kept.stated``), what the file states (``taken.stated``), the axis of the training recordings
    (``kept``), what the data show, what the reader assumed.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> wave = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    >>> (larger,), done = restate([wave], Conventions("mm", "y", stated=("unit", "up")), unit="cm")
    >>> done.unit, (larger.joints / wave.joints).round(6)[0, 0].tolist()
    ('cm', [10.0, 10.0, 10.0])
    """
    unit = check_convention(unit, up)
    said = tuple(n for n, v in (("unit", unit), ("up", up), ("flip", flip)) if v is not None)
    kept = kept or Conventions()
    if "up" in taken.stated and "up" not in kept.stated:
        kept = replace(kept, up=None)
    known = [
        *taken.stated,
        *said,
        *(name for name in ("unit", "up") if getattr(kept, name) is not None),
    ]
    as_written = None
    found = Conventions()
    if find and (("unit" not in known and taken.unit) or "up" not in known):
        as_written = [_as_written(r, taken) for r in recordings]
        found = find_conventions(as_written)
    shown_unit = found.unit if taken.unit and "unit" not in taken.stated else None
    shown_up = found.up if "up" not in taken.stated else None
    from_model = tuple(
        n
        for n, v in (("unit", kept.unit), ("up", kept.up), ("flip", kept.mirrored))
        if v is not None
    )
    unit = unit or kept.unit or shown_unit or taken.unit
    up = up or kept.up or shown_up or taken.up or "y"
    flip = bool(kept.mirrored if flip is None else flip)
    done = Conversion(
        unit,
        up,
        flip,
        said,
        tuple(name for name in from_model if name not in said),
        count=len(recordings),
        stated=True,
        told=tuple(
            name for name in taken.stated if getattr(taken, name) == {"unit": unit, "up": up}[name]
        ),
    )
    if (unit, up) == (taken.unit, taken.up or "y"):
        return [converted(r, 1.0, "y", flip) if flip else r for r in recordings], done
    factor = UNITS[unit] if unit else 1.0
    as_written = as_written or [_as_written(r, taken) for r in recordings]
    return [converted(r, factor, up, flip) for r in as_written], done


def alike(
    recordings: Sequence[SkeletonSequence], taken: Sequence[Conventions]
) -> tuple[list[SkeletonSequence], Conventions]:
    """Recordings of files of one kind, with the vertical axis that most of their readers assumed.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> wave = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    >>> _, common = alike([wave] * 3, [Conventions("mm", up) for up in "zyz"])
    >>> common
    Conventions(unit='mm', up='z', mirrored=None, height=None)
    """
    ((most, _),) = Counter(taken).most_common(1)
    return [
        r
        if own.up == most.up
        else converted(converted(r, 1.0, _back(own), False), 1.0, most.up or "y", False)
        for r, own in zip(recordings, taken, strict=True)
    ], most


def _as_written(recording: SkeletonSequence, taken: Conventions) -> SkeletonSequence:
    """A recording with the coordinates of its file."""
    return converted(recording, 1 / UNITS[taken.unit] if taken.unit else 1.0, _back(taken), False)


def _back(taken: Conventions) -> str:
    """The axis that points up in the file, named in converted coordinates; turning it up again
    restores the axes of the file.
    """
    up = taken.up or "y"
    return up if up in ("y", "-y") else up.removeprefix("-") if up.startswith("-") else f"-{up}"


class Recordings(list[SkeletonSequence]):
    """The recordings of a file, in metres with y up, and the unit and vertical axis that their
    reader assumed.
    """

    def __init__(self, recordings: Sequence[SkeletonSequence], taken: Conventions) -> None:
        super().__init__(recordings)
        self.taken = taken


def unit_named(word: str) -> str | None:
    """The unit of length that a word means; None if it is none.

    >>> unit_named("Feet"), unit_named("mm"), unit_named("mile")
    ('ft', 'mm', None)
    """
    word = word.strip().lower().replace("meter", "metre").replace("inches", "inch")
    return word if word in UNITS else _WORDS.get(word.removesuffix("s"))
