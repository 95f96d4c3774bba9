"""The contents of a set of recordings, and warnings about problems for training."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.checks import common_layout, describe
from kerneton.data.layouts import Layout, layout_words
from kerneton.data.sequence import Conversion, SkeletonSequence, missing_joints
from kerneton.data.units import find_conventions
from kerneton.data.wording import grouped, many

if TYPE_CHECKING:
    from kerneton.data.progress import Progress

_FEW = 2  # recordings of a label
_SHORT = 4  # frames of a recording
_SHOWN = 12  # names in one line
_KINDS = 3  # lines about the same problem, or rates in one line
_PERSON = re.compile(
    r"(p|s|vp|subj|subject|person|people|participant|actor|user|patient)[ _-]?\d+", re.IGNORECASE
)
_ALIKE = 1.05  # frame rates that differ by less are the same


@dataclass(frozen=True)
class Summary:
    """Counts, lengths, missing data and warnings of recordings; `str` makes it readable."""

    name: str
    n_recordings: int
    labels: dict[str, int]
    subjects: dict[str, int]
    n_frames: tuple[int, float, int]  # shortest, median, longest
    layouts: dict[str, int]
    fps: dict[str, int]
    missing: float  # share of joints in all frames
    warnings: list[str] = field(default_factory=list)
    joints: list[str] = field(default_factory=list)  # of most recordings, in order
    axes: str = ""  # unit and axes that the bodies show
    notes: list[str] = field(default_factory=list)  # conversions of unit and axes
    segments: dict[str, int] = field(default_factory=dict)  # of long recordings, by label
    annotated: float = 0.0  # share of the frames of recordings with segments that belong to one
    left_out: list[str] = field(
        default_factory=list
    )  # files or recordings that could not be used, and why

    def to_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        shortest, median, longest = self.n_frames
        lines = [
            f"{self.name or 'recordings'}: {many(self.n_recordings, 'recording')}, "
            f"{many(len({*self.labels, *self.segments}), 'label')}, {many(len(self.subjects), 'subject')}",
            f"  frames    {shortest} to {longest}, median {median:g}",
            f"  joints    {_counts(self.layouts, self.n_recordings)}",
            f"  rate      {_rates(self.fps, self.n_recordings)}",
            f"  missing   {self.missing:.1%} of joints",
        ]
        if self.joints:
            lines.insert(3, f"  names     {', '.join(self.joints)}")
        lines += [f"  axes      {self.axes}"] * bool(self.axes)
        lines += [f"  note      {note}" for note in self.notes]
        if self.labels:
            lines.append(f"  labels    {_counts(self.labels)}")
        if self.segments:
            n = many(sum(self.segments.values()), "segment")
            lines.append(
                f"  segments  {n} in {self.annotated:.0%} of the frames: {_counts(self.segments)}"
            )
        if self.subjects:
            lines.append(f"  subjects  {_counts(self.subjects)}")
        return "\n".join(lines + [f"  warning   {warning}" for warning in self.warnings])


def summarize(data: Iterable[SkeletonSequence], progress: Progress | None = None) -> Summary:
    """Count the contents of a set of recordings, and warn of problems for training.

    Warnings: labels with few recordings or one subject, subjects with one label, repeated
    recordings, different joints or frame rates, recordings without label, with few frames or mostly
    missing, segments that overlap or lie outside their recording.

    >>> import numpy as np
    >>> from kerneton.data.sequence import SkeletonDataset
    >>> rng = np.random.default_rng(0)
    >>> print(
    ...     summarize(
    ...         SkeletonDataset(
    ...             [
    ...                 SkeletonSequence(
    ...                     rng.normal(size=(30, 20, 3)), label=label, subject=subject, fps=30
    ...                 )
    ...                 for label in ("bow", "wave")
    ...                 for subject in ("ann", "bob", "cy")
    ...             ],
    ...             name="toy",
    ...         )
    ...     )
    ... )
    toy: 6 recordings, 2 labels, 3 subjects
      frames    30 to 30, median 30
      joints    20, unnamed
      rate      30 fps
      missing   0.0% of joints
      labels    bow 3, wave 3
      subjects  ann 2, bob 2, cy 2
    """
    sequences = list(data)
    lengths = [s.n_frames for s in sequences] or [0]
    missing, alike = [], defaultdict(list)
    shown = progress(sequences, desc="looking at recordings") if progress else sequences
    for s in shown:
        missing.append(int(missing_joints(s).sum()))
        content = np.ascontiguousarray(np.nan_to_num(s.joints, nan=1e9), np.float64)
        alike[hashlib.sha256(repr(content.shape).encode() + content.tobytes()).digest()].append(s)
    subjects = _tally(s.subject for s in sequences)
    layouts = _tally(
        layout_words(s.layout.name) if s.layout else f"{s.n_joints}, unnamed" for s in sequences
    )
    layout = common_layout(sequences)
    conversion = getattr(data, "conversion", None)
    long = [s for s in sequences if s.segments]
    inside = sum(_n_annotated(s) for s in long)
    fps = _tally("unknown" if s.fps is None else f"{s.fps:g} fps" for s in sequences)
    return Summary(
        name=getattr(data, "name", ""),
        n_recordings=len(sequences),
        labels=_tally(s.label for s in sequences),
        subjects=subjects,
        n_frames=(min(lengths), float(np.median(lengths)), max(lengths)),
        layouts=layouts,
        fps=fps,
        missing=sum(missing) / max(sum(s.n_frames * s.n_joints for s in sequences), 1),
        joints=[] if layout is None else list(layout.joints),
        axes=describe_axes(sequences, conversion),
        notes=[] if conversion is None else conversion.notes + conversion.statements,
        segments=_tally(part.label for s in long for part in s.segments),
        left_out=list(getattr(data, "left_out", ())),
        annotated=float(inside / sum(s.n_frames for s in long)) if long else 0.0,
        warnings=[
            *_balance_warnings(sequences, subjects),
            *_segment_warnings(long),
            *_mixture_warnings(sequences, layout, fps),
            *_duplicate_warnings([group for group in alike.values() if len(group) > 1]),
            *_quality_warnings(sequences, missing),
        ],
    )


def _balance_warnings(sequences: list[SkeletonSequence], subjects: dict[str, int]) -> list[str]:
    warnings = []
    shown = [(s.label, s.subject) for s in sequences]
    shown += [(segment.label, s.subject) for s in sequences for segment in s.segments]
    labels = _tally(label for label, _ in shown)
    no_label = [_name(s) for s in sequences if s.label is None and not s.segments]
    no_subject = [_name(s) for s in sequences if s.subject is None]
    people = [label for label in labels if _PERSON.fullmatch(label)]
    if 1 < len(people) == len(labels) and not any(map(_PERSON.fullmatch, subjects)):
        way = "; if they are subjects, name the folder above, with LABEL/SUBJECT/FILE"
        if subjects:
            way = f", subjects like actions ({_some(list(subjects), _KINDS)}): for folders SUBJECT/LABEL/FILE the pattern is "
            way += "{subject}/{label}/*; if you gave a pattern, exchange {label} and {subject}"
        warnings.append(f"labels look like people ({_some(people, _KINDS)}){way}")
    if no_label and len(no_label) == len(sequences):
        warnings.append(
            "no recording has a label: folders, a pattern of file names or an index give them"
        )
    for fact, without in (("label", no_label), ("subject", no_subject)):
        if 0 < len(without) < len(sequences):
            warnings.append(
                f"{many(len(without), 'recording')} without {fact}: {_some(without, _KINDS)}"
            )
    few = [f"{label} ({n})" for label, n in labels.items() if n <= _FEW]
    if few:
        warnings.append(f"labels with {_FEW} recordings or fewer: {_some(few)}")
    by_subject, by_label = defaultdict(set), defaultdict(set)
    for label, subject in shown:
        if label is not None and subject is not None:
            by_subject[subject].add(label)
            by_label[label].add(subject)
    if len(subjects) > 1 and len(labels) > 1:
        if lone := _lone(by_subject):
            warnings.append(f"subjects with one label: {lone}")
        if lone := _lone(by_label):
            warnings.append(
                f"labels with only one subject, which cannot be tested on others: {lone}"
            )
    return warnings


def _lone(members: dict[str, set[str]]) -> str:
    return _some(
        sorted(f"{key} ({', '.join(some)})" for key, some in members.items() if len(some) == 1)
    )


def _n_annotated(recording: SkeletonSequence) -> int:
    from kerneton.data.segments import frame_labels

    return int((frame_labels(recording.segments, recording.n_frames) != "").sum())


def _segment_warnings(long: list[SkeletonSequence]) -> list[str]:
    """Segments that overlap or lie outside, one line per recording, of some recordings."""
    if not long:
        return []
    from kerneton.data.segments import segment_problems, short_segments

    odd = [(_name(s), segment_problems(s.segments, s.n_frames)) for s in long]
    lines = [f"{name}: {_some(problems, _KINDS)}" for name, problems in odd if problems]
    if (more := len(lines) - _KINDS) > 0:
        rest = (
            f"{many(more, 'more recording')} with segments that overlap or end after the recording"
        )
        lines = [*lines[:_KINDS], rest]
    return lines + short_segments(part for s in long for part in s.segments)


def _mixture_warnings(
    sequences: list[SkeletonSequence], layout: Layout | None, fps: dict[str, int]
) -> list[str]:
    warnings, odd = [], []
    for i, sequence in enumerate(sequences if layout is not None else []):
        difference: str | None = f"has {many(sequence.n_joints, 'joint')} without names"
        if layout is not None and sequence.layout is not None:
            if sequence.layout.joints == layout.joints:
                continue
            from kerneton.data.differences import layout_difference

            difference = layout_difference(sequence.layout, layout)
        if difference is not None:
            odd.append((describe(sequence, i), difference))
    if odd:
        have = f"{len(odd)} of {len(sequences)} recordings {'has' if len(odd) == 1 else 'have'}"
        warnings.append(
            f"{have} different joints: {grouped(odd)}; rename={{'OLD': 'NEW'}} corrects a name"
        )
    counts = {many(n, "joint"): k for n, k in Counter(s.n_joints for s in sequences).items()}
    if layout is None and len(counts) > 1:
        warnings.append(f"mixed numbers of joints: {_counts(counts)}")
    rates = [sequence.fps for sequence in sequences if sequence.fps is not None]
    if rates and (len(rates) < len(sequences) or max(rates) > _ALIKE * min(rates)):
        most = Counter(s.fps for s in sequences).most_common(1)[0][0] or 0.0
        odd_ones = [
            _name(s) for s in sequences if not most / _ALIKE <= (s.fps or 0.0) <= most * _ALIKE
        ]
        few = f"; unlike most: {_some(odd_ones, _KINDS)}" * (5 * len(odd_ones) <= len(sequences))
        warnings.append(f"mixed frame rates: {_rates(fps, len(sequences))}{few}")
    return warnings


def describe_axes(
    sequences: Sequence[SkeletonSequence], conversion: Conversion | None = None
) -> str:
    """Unit, vertical axis and handedness that the bodies in recordings show; empty if they show
    nothing. After a conversion to metres the unit is known.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> describe_axes(make_actions(["wave"], n_subjects=1, n_takes=1))
    'y up, right-handed; 1.64 m from the feet to the head'
    """
    found = find_conventions(sequences)
    unseen = "left and right not checked" if found.up and found.height is not None else ""
    exchanged = "left and right seem to be exchanged (left-handed axes?)"
    side = unseen if found.mirrored is None else exchanged if found.mirrored else "right-handed"
    axes = ", ".join(filter(None, [f"{found.up} up" if found.up else "", side]))
    if found.height is None:
        return ", ".join(
            filter(None, [axes, f"{found.picture}, not metres" if found.picture else ""])
        )
    heads = any(s.layout is not None and {"head", "head_1"} & {*s.layout.joints} for s in sequences)
    converted = conversion is not None and conversion.unit is not None  # to metres
    unit = "m" if converted else found.unit or "of unknown unit"
    height = (
        f"{found.height:.3g} {unit} from the feet to {'the head' if heads else 'about the neck'}"
    )
    return f"{axes}; {height}" if axes else height


def _duplicate_warnings(repeated: list[list[SkeletonSequence]]) -> list[str]:
    warnings, contradicting = [], []
    for group in repeated:
        warning = f"the same recording {len(group)} times: {_some([_name(s) for s in group])}"
        if len(labels := sorted({str(s.label) for s in group})) > 1:
            warning += f", with the labels {', '.join(labels)}"
            contradicting.append(warning)
        warnings.append(warning)
    if len(repeated) > _KINDS:
        names = _some([_name(group[0]) for group in repeated], _KINDS)
        return [
            *contradicting[:_KINDS],
            f"{many(len(repeated), 'recording')} occur more than once: {names}",
        ]
    return warnings


def _quality_warnings(sequences: list[SkeletonSequence], missing: list[int]) -> list[str]:
    short = [f"{_name(s)} ({s.n_frames})" for s in sequences if s.n_frames <= _SHORT]
    warnings = [f"recordings of {_SHORT} frames or fewer: {_some(short)}"] * bool(short)
    known = [(s, n, s.n_frames * s.n_joints) for s, n in zip(sequences, missing, strict=True)]
    gaps = [f"{_name(s)} ({n / size:.0%})" for s, n, size in known if 2 * n > size]
    warnings += [f"recordings with more than half of their joints missing: {_some(gaps)}"] * bool(
        gaps
    )
    if lost := [s for s, n, _ in known if n >= s.n_frames]:
        from kerneton.data.absence import never_seen_warnings

        warnings += never_seen_warnings(lost)
    return warnings


def _name(sequence: SkeletonSequence) -> str:
    return sequence.name or "an unnamed recording"


def _tally(values: Iterable[str | None]) -> dict[str, int]:
    return dict(sorted(Counter(value for value in values if value is not None).items()))


def _counts(counts: dict[str, int], total: int | None = None) -> str:
    if len(counts) == 1 and total is not None:
        return next(iter(counts))
    return _some([f"{key} {n}" for key, n in counts.items()])


def _rates(counts: dict[str, int], total: int) -> str:
    """Few rates with their counts, many as a range."""
    known = [float(rate.split()[0]) for rate in counts if rate != "unknown"]
    if len(known) <= _KINDS:
        return _counts(counts, total)
    unknown = f", unknown {counts['unknown']}" if "unknown" in counts else ""
    return f"{min(known):g} to {max(known):g} fps{unknown}"


def _some(items: list[str], most: int = _SHOWN) -> str:
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
