"""Joint names of hands, as other programs write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kerneton.data.layouts import HAND_21

_FINGERS = {
    "thumb": ("thumb", "thm", "tmb"),
    "index": ("index", "idx", "ind", "fore", "pointer"),
    "middle": ("middle", "mid"),
    "ring": ("ring", "rng"),
    "pinky": ("pinky", "pky", "pnk", "pinkie", "little"),
}
_PARTS = (  # of a finger, from the wrist to the tip, in several ways of naming
    *(
        "0",
        "metacarpal",
        "cmc",
        "base",
        "mcp",
        "knuckle",
        "proximal",
        "1",
        "a",
        "pip",
        "intermediate",
        "mid",
    ),
    *("2", "b", "ip", "3", "c", "dip", "distal", "far", "4", "d", "tip", "end", "5"),
)
_FINGER = re.compile(
    rf"(?:hand_?)?({'|'.join(word for words in _FINGERS.values() for word in words)})(?:_?finger|_?knuckle(?=_?\d))?_?({'|'.join(_PARTS)})"
)


def finger_part(core: str) -> tuple[str, int] | None:
    """The finger that a joint belongs to and its rank from the wrist outwards.

    >>> finger_part("index_finger_mcp"), finger_part("hand_pinky2"), finger_part("thumb")
    (('index', 4), ('pinky', 12), None)
    """
    found = _FINGER.fullmatch(core)
    if found is None:
        return None
    finger = next(finger for finger, words in _FINGERS.items() if found[1] in words)
    return finger, _PARTS.index(found[2])


def hand_names(cores: Sequence[str]) -> list[str] | None:
    """The names of `hand21` for a wrist and five fingers of four joints, however they are named;
    None for anything else.

    >>> fingers = ("thumb", "idx", "mid", "rng", "pky")
    >>> words = ["wrist", *(f"{finger}_{i}" for finger in fingers for i in range(4))]
    >>> hand_names(words)[:6]
    ['wrist', 'thumb_cmc', 'thumb_mcp', 'thumb_ip', 'thumb_tip', 'index_mcp']
    """
    parts = [finger_part(core) for core in cores]
    bases = [core for core, part in zip(cores, parts, strict=True) if part is None]
    fingers = {
        finger: sorted(part[1] for part in parts if part is not None and part[0] == finger)
        for finger in _FINGERS
    }
    if len(bases) != 1 or bases[0] not in (
        "wrist",
        "hand",
        "root",
        "hand_wrist",
        "hand_root",
        "carpus",
        "palm",
    ):
        return None
    if any(len(set(ranks)) != 4 or len(ranks) != 4 for ranks in fingers.values()):
        return None
    place = {finger: 1 + 4 * i for i, finger in enumerate(_FINGERS)}
    return [
        HAND_21.joints[0 if part is None else place[part[0]] + fingers[part[0]].index(part[1])]
        for part in parts
    ]


def five_chains(names: Sequence[str]) -> tuple[int, dict[str, list[int]]] | None:
    """The positions of one joint and of the joints of five fingers, whose names are five words with
    numbers.

    >>> five_chains(["hand", *(f"{word}{n}" for word in "TIMRP" for n in (1, 2, 3))])[1]["i"]
    [4, 5, 6]
    """
    counted = [re.fullmatch(r"(.*[^\W\d_])[_ .-]?(\d)", name) for name in names]
    words: dict[str, dict[int, int]] = {}
    for i, found in enumerate(counted):
        if found is not None:
            words.setdefault(found[1].lower(), {})[int(found[2])] = i
    if (
        counted.count(None) != 1
        or len(words) != 5
        or sum(map(len, words.values())) != len(names) - 1
    ):
        return None
    if not all(
        3 <= len(own) <= 5 and max(own) - min(own) == len(own) - 1 for own in words.values()
    ):
        return None
    return counted.index(None), {word: [own[n] for n in sorted(own)] for word, own in words.items()}


def lettered_hand(names: Sequence[str]) -> list[str] | None:
    """The names of `hand21` where fingers are called by their first letters: hand_root, T1, ...,
    P4.

    >>> lettered_hand(["root", *(f"{word}{n}" for word in "TIMRL" for n in (1, 2, 3, 4))])[-2:]
    ['pinky_dip', 'pinky_tip']
    """
    found = five_chains(names)
    if found is None or set(found[1]) not in (set("timrp"), set("timrl")):
        return None
    words = {i: f"{word}{n}" for word, own in found[1].items() for n, i in enumerate(own, 1)}
    fingers = dict(zip("timrpl", (*_FINGERS, "pinky"), strict=True))
    cores = [
        fingers[words[i][0]] + words[i][1:] if i in words else "wrist" for i in range(len(names))
    ]
    return hand_names(cores)


def both_hands(joints: Sequence[tuple[str, str]]) -> list[str] | None:
    """The names of `hand21` for (side, name) of the joints of one hand, without its side, or of a
    left and a right one.

    >>> both_hands([("left", joint) for joint in HAND_21.joints])[0]
    'wrist'
    """
    sides = dict.fromkeys(side for side, _ in joints)
    hands = {side: hand_names([name for where, name in joints if where == side]) for side in sides}
    if None in hands.values() or (len(sides) > 1 and set(sides) != {"left", "right"}):
        return None
    names = {side: iter(found or ()) for side, found in hands.items()}
    return [
        f"{side}_{next(names[side])}" if len(sides) > 1 else next(names[side]) for side, _ in joints
    ]
