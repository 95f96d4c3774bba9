"""Joint names of two bodies, with a common prefix, or of a hand, as other programs write them."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kerneton.data.layouts import HAND_21, other_side
from kerneton.data.notes import logger
from kerneton.data.wording import few
from kerneton.exceptions import FormatError, ParameterError
from kerneton.files.readers._hands import finger_part
from kerneton.files.readers._text import shorten

if TYPE_CHECKING:
    import numpy as np

_LOG = logger("kerneton.files.readers")
_NUMBERED = re.compile(
    r"(p|person|people|body|skeleton|skel|player|subject|actor|user|id|track|dancer)?[_ -]?\d{1,2}",
    re.IGNORECASE,
)
_BREAK = re.compile(r"[_ .:/-]+")
_GLUED = re.compile(r"(?<=[^\W\d_])(?=\d$)")  # head1, head2
_CENTRES = {
    "head",
    "neck",
    "torso",
    "spine",
    "hips",
    "pelvis",
    "root",
    "hip_center",
    "palm",
    "wrist",
    "nose",
}
# Words before or after joint names that do not distinguish persons: axes, places, cameras, kinds of
# values.
_NO_PERSONS = {
    *("x", "y", "z", "l", "r", "left", "right", "front", "back", "top", "bottom", "upper", "lower", "up", "down"),
    *("inner", "outer", "medial", "lateral", "in", "out", "start", "end", "base", "tip", "proximal", "distal"),
    *("world", "image", "screen", "local", "global", "depth", "color", "colour", "raw", "smooth", "filtered"),
    *("cam", "camera", "view", "sensor", "kinect", "pos", "rot", "vel", "acc", "gyr", "gyro", "mag", "pred", "true"),
}  # fmt: skip


class Bodies(NamedTuple):
    """What distinguishes two bodies, before or after the same joint names, and the positions of
    each one's joints.
    """

    tags: list[str]
    joints: list[str]
    places: list[list[int]]


def body_columns(names: Sequence[str], *, known: bool = True) -> Bodies | None:
    """The two bodies whose joints have these names; None for one body.

    There must be a joint on the axis of a body, and one with a left and a right, unless numbered
    persons stand one after the other; if joints need not be ``known``, five of any name. The second
    body has the order of the first.

    >>> body_columns(["P1_Head", "P1_Hand", "P2_Hand", "P2_Head"])
    Bodies(tags=['P1', 'P2'], joints=['Head', 'Hand'], places=[[0, 1], [3, 2]])
    >>> joints, people = ("head", "left_toe", "right_toe"), ("anna", "bert")
    >>> body_columns([f"{joint}-{who}" for joint in joints for who in people]).places
    [[0, 2, 4], [1, 3, 5]]
    >>> body_columns(["left_hand_wrist", "left_hand_tip", "right_hand_wrist", "right_hand_tip"])
    >>> body_columns(["thumb_1", "index_1", "thumb_2", "index_2"])
    """
    found = _bodies(names, known=known)
    return found if found is not None and len(found.tags) == 2 else None


def _bodies(names: Sequence[str], *, known: bool = True) -> Bodies | None:
    """Two bodies or more whose joints have these names; None for one body."""
    cuts = [[found.span() for found in _BREAK.finditer(name)] for name in names]
    ends = [[found.span() for found in _GLUED.finditer(name)] for name in names]
    # The tag is the first word, the first two, the last, the last two, or a number behind the last.
    for nth, spans in ((0, cuts), (1, cuts), (-1, cuts), (-2, cuts), (-1, ends)):
        places: dict[str, dict[str, int]] = {}
        for i, (name, breaks) in enumerate(zip(names, spans, strict=True)):
            if len(breaks) < (nth + 1 if nth >= 0 else -nth):
                break
            parts = name[: breaks[nth][0]], name[breaks[nth][1] :]
            tag, joint = parts if nth >= 0 else parts[::-1]
            if not tag or not joint:
                break
            places.setdefault(tag, {})[joint] = i
        else:
            tags = list(places)
            if (len(tags) == 2 or (known and len(tags) > 2)) and _are_bodies(
                tags, places, names, known
            ):
                tags = sorted(tags) if all(map(_NUMBERED.fullmatch, tags)) else tags
                joints = list(places[tags[0]])
                return Bodies(
                    tags, joints, [[places[tag][joint] for joint in joints] for tag in tags]
                )
    return None


def _are_bodies(
    tags: Sequence[str], places: Mapping[str, Mapping[str, int]], names: Sequence[str], known: bool
) -> bool:
    first = list(places[tags[0]])
    if any(own.keys() != set(first) for own in places.values()) or not 2 <= len(first) == len(
        names
    ) // len(tags):
        return False
    words = {word for tag in tags for word in _BREAK.split(tag.lower())}
    words |= {re.sub(r"\d+", "", word) for word in words if word[:2].isalpha()}  # cam1, but not x1
    if words & _NO_PERSONS or any(twin in tags for tag in tags for twin, _ in other_side(tag)):
        return False
    from kerneton.files.readers._names import _known_words, joint_names

    if not known:  # thumb_1, thumb_2, ... are joints of fingers, thigh_1, shank_1 are markers
        bare = [_BREAK.sub("", word.lower()) for word in tags]
        if any({word, f"left{word}"} & _known_words() for word in bare):
            return False
        return len(first) >= 5 and not any(
            finger_part(f"{word.lower()}1") for word in (*bare, *first)
        )
    ours = joint_names(first)
    if not _CENTRES & {*ours, *map(str.lower, first)}:
        return False
    sided = any(
        name.startswith("left_") and name.replace("left", "right", 1) in ours for name in ours
    )
    numbered = all(map(_NUMBERED.fullmatch, tags))
    apart = all(tags[0] in name for name in names[: len(first)])
    if len(tags) > 2 and not (apart or (numbered and not any(map(str.isdigit, tags)))):
        return (
            False  # head_1, head_2, head_3, neck_1: a cluster of markers on every part of one body
        )
    return sided or (numbered and apart) or set(ours) == set(HAND_21.joints)


def two_bodies(names: Sequence[str], *, known: bool = True) -> list[list[str]] | None:
    """The joints of two bodies, if all of the first stand before those of the second; None
    otherwise.

    >>> two_bodies(["head_1", "neck_1", "head_2", "neck_2"])
    [['head', 'neck'], ['head', 'neck']]
    """
    found = body_columns(names) or (None if known else body_columns(names, known=False))
    if found is None or [*found.places[0], *found.places[1]] != list(range(len(names))):
        return None
    return [found.joints, found.joints]


def together(names: Sequence[str], points: np.ndarray, path: Path) -> list[int] | None:
    """The order of columns in which those of the first body come before those of the second; None
    for one body.

    Joints (T, J, 3) with unknown names are two bodies unless they are fixed to each other. The
    interpretation of the names is logged, except for Kerneton's own: head_1, head_2. More than two
    bodies are refused.
    """
    found = _bodies(names)
    if found is None and (found := body_columns(names, known=False)) is not None:
        from kerneton.files.readers.csv_table import fixed

        found = None if fixed(points, found.places) else found
    if found is None:
        return None
    if len(found.tags) > 2:
        raise FormatError(
            f"{path}: joints of {len(found.tags)} bodies ({few(found.tags)}): a recording holds one body or two; "
            "keep the columns of one or two"
        )
    if found.tags != ["1", "2"] or not names[0].endswith(("_1", "_2")):
        one, two = (repr(shorten(tag)) for tag in found.tags)
        say(
            f"joints of {one} and joints of {two} were read as two bodies of {len(found.joints)} joints each"
        )
    return [*found.places[0], *found.places[1]]


@functools.lru_cache(maxsize=256)  # once is enough
def say(message: str) -> None:
    """Log how a file was interpreted, once for all files."""
    _LOG.warning(message)


def without_prefix(names: Sequence[str], known: Collection[str]) -> list[str]:
    """Names without one or two words before them that all share, if more of them are then known.

    ``known`` are joints in lower case without anything between words.

    >>> without_prefix(["XN_SKEL_HEAD", "XN_SKEL_LEFT_HAND"], {"head", "lefthand"})
    ['HEAD', 'LEFT_HAND']
    """

    def count(some: Sequence[str]) -> int:
        return sum(_BREAK.sub("", name.lower()) in known for name in some)

    tried = [list(names)]
    for n_words in (1, 2):
        cut = [_BREAK.split(name, maxsplit=n_words) for name in names]
        if (
            all(len(words) > n_words for words in cut)
            and len({tuple(words[:-1]) for words in cut}) == 1
        ):
            tried.append([words[-1] for words in cut])
    return max(tried, key=count)


def stated_joints(text: str, known: Collection[str]) -> list[str]:
    """Joints from a list with commas; a name that is nearly one of ``known`` is reported.

    >>> stated_joints("Head, LeftElbow", {"head", "left_elbow"})
    ['head', 'left_elbow']
    """
    from kerneton.files.readers._names import joint_names

    words = [word.strip() for word in text.split(",")]
    twice = sorted({word for word in words if words.count(word) > 1})
    if twice or not all(any(map(str.isalnum, word)) for word in words):
        wrong = f"{twice[0]!r} stands there twice" if twice else "some names are empty"
        raise ParameterError(
            f"{text!r} is no list of joints: {wrong}; every joint of the file needs its own name, in order"
        )
    names = joint_names(words)
    for word, name in zip(words, names, strict=True):
        bare = re.sub(r"_[12]$", "", name)
        near = difflib.get_close_matches(bare, known, n=1, cutoff=0.75) if bare not in known else []
        if near and finger_part(bare.partition("_")[2]) is None:
            say(
                f"{word!r} is no joint that Kerneton knows (did you mean {near[0]!r}?); it is used as a name of its own"
            )
    return names
