"""Joint names of motion-capture files put into the package's vocabulary, and bones between named joints.

Capture suites name a joint after itself (``LeftElbow``), after the bone that starts there (``LeftForeArm``),
or, in ASF files, after the bone that ends there (``lhumerus``). The tables below list, for each of our names,
what it is called elsewhere. The first spelling that the file holds is taken, so ``LeftShoulder`` is the collar
bone where ``LeftArm`` stands beside it (MotionBuilder, Mixamo) and the shoulder where it does not. Sides are
recognised as ``Left``, ``L``, ``_l``, ``.L`` before or after the name, and as a single leading letter where the
file also holds the other side (``lfemur`` with ``rfemur``) or the rest is a known marker or bone (``LKNE``).
Prefixes of rigs (``mixamorig:``, ``Bip01``, ``ValveBiped``) are dropped. All other names are kept, in lower case
with underscores and the side first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence

# Each row: our name, then its spellings elsewhere, the most telling first.
SIDED = {
    "shoulder": ("arm", "uparm", "upperarm", "humerus", "shoulder", "shoulderjoint", "sho", "acromion"),
    "collar": ("shoulder", "collar", "clavicle", "collarbone", "clav"),
    "elbow": ("elbow", "forearm", "lowarm", "lowerarm", "radius", "elb", "elbowjoint"),
    "wrist": ("wrist", "hand", "wristjoint", "wri"),
    "hand": ("hand",),
    "hand_tip": ("handtip",),
    "hip": ("upleg", "upperleg", "thigh", "femur", "hip", "hipjoint"),
    "knee": ("knee", "leg", "lowleg", "lowerleg", "shin", "calf", "tibia", "kne", "kneejoint"),
    "ankle": ("ankle", "foot", "ank", "anklejoint"),
    "foot": ("foot", "toebase", "toe", "toes", "ball"),
}
CENTRAL = {
    "hip_center": ("hips", "pelvis", "hip", "midhip", "hipcenter", "hipscenter", "root", "bip1", "spinebase"),
    "spine": ("spinemid", "spinenavel", "spinenaval"),
    "chest": ("spinechest",),
    "shoulder_center": ("spineshoulder",),
    "neck": ("neck", "lowerneck", "neck1"),
    "head": ("head",),
}
# Joints of the trunk from the pelvis up; how many there are decides which of ours they are.
TRUNK = ("lowerback", "abdomen", "torso", "spine", "spine1", "spine2", "spine3")
# Bones of ASF files (HDM05, CMU), by the joint at their far end, as in `kerneton.data.layouts.HDM_31`.
SIDED_ENDS = {
    **{"shoulder": ("clavicle",), "elbow": ("humerus",), "forearm": ("radius",)},
    **{"hip": ("hipjoint",), "knee": ("femur",), "ankle": ("tibia",)},
}
CENTRAL_ENDS = {
    **{"hip_center": ("root",), "spine": ("lowerback",)},
    **{"shoulder_center": ("thorax",), "neck": ("lowerneck",)},
}

_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SIDE = {"left": "left", "l": "left", "right": "right", "r": "right"}
_RIG = {"mixamorig", "bip", "valvebiped", "cc", "base", "def", "j", "c"}
_LETTERED = {  # Plug-in Gait markers and ASF bones, which are known with one letter for the side
    *("fhd", "bhd", "sho", "elb", "wra", "wrb", "fin", "asi", "psi", "kne", "ank", "hee", "toe"),
    *("clavicle", "humerus", "radius", "hipjoint", "femur", "tibia"),
}
_PERSON = r"(p|person|body|skeleton|player|subject|actor)?[_ -]?(?P<n>[12])"
_BODY = (  # names of joints of two bodies: person1_head, P2.Head, head_2
    re.compile(rf"{_PERSON}[_ .:-]+(?P<joint>.+)", re.IGNORECASE),
    re.compile(rf"(?P<joint>.+?)[_ .:-]+{_PERSON}", re.IGNORECASE),
)
_CENTRES = {"head", "neck", "torso", "spine", "hips", "pelvis", "root", "hip_center", "palm", "wrist"}
_OURS = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def joint_names(raw: Sequence[str], *, ends: bool = False) -> list[str]:
    """Names of a file's joints in the package's vocabulary, unique and in the same order.

    ``ends`` is for ASF bones, which carry the name of the bone and the place of its far end.

    >>> joint_names(["mixamorig:Hips", "mixamorig:LeftShoulder", "mixamorig:LeftArm", "mixamorig:LeftForeArm"])
    ['hip_center', 'left_collar', 'left_shoulder', 'left_elbow']
    >>> joint_names(["root", "lfemur", "ltibia", "rfemur", "rtibia", "Prop 1"], ends=True)
    ['hip_center', 'left_knee', 'left_ankle', 'right_knee', 'right_ankle', 'prop1']
    """
    if (bodies := two_bodies(raw)) is not None:
        return [f"{joint}_{n}" for n, body in enumerate(bodies, 1) for joint in joint_names(body, ends=ends)]
    if any(name.startswith("left_") for name in raw) and all(_OURS.fullmatch(name) for name in raw):
        return _unique(raw)  # the file already uses our names
    split = _sides([_tokens(name) for name in raw])
    sided, central = (SIDED_ENDS, CENTRAL_ENDS) if ends else (SIDED, CENTRAL)
    known: dict[tuple[str, str], str] = {}
    for side in ("left", "right", ""):
        cores = {"".join(core) for where, core in split if where == side}
        for ours, spellings in (sided if side else central).items():
            found = next((s for s in spellings if s in cores and (side, s) not in known), None)
            if found is not None:
                known[side, found] = f"{side}_{ours}" if side else ours
        if not side and not ends:
            known.update((("", raw), ours) for raw, ours in _trunk(cores))
    names = []
    for side, core in split:
        kept = "_".join([side, *_words(core)] if side else _words(core)) or "joint"
        names.append(known.get((side, "".join(core)), kept))
    return _unique(names)


def two_bodies(raw: Sequence[str]) -> list[list[str]] | None:
    """The joints of two numbered bodies, all of the first before those of the second; None for one body.

    >>> two_bodies(["P1_Head", "P1_Hand", "P2_Head", "P2_Hand"]), two_bodies(["head_1", "neck_1", "head_2", "neck_2"])
    ([['Head', 'Hand'], ['Head', 'Hand']], [['head', 'neck'], ['head', 'neck']])
    >>> two_bodies(["thumb_1", "index_1", "thumb_2", "index_2"])
    """
    for pattern in _BODY:
        found = [pattern.fullmatch(name) for name in raw]
        parts = [[match["joint"] for match in found if match and match["n"] == n] for n in "12"]
        order = "".join(match["n"] for match in found if match)
        half = len(raw) // 2
        whole = any(joint.lower() in _CENTRES for joint in parts[0])  # else these may be two rows of knuckles
        if whole and half > 1 and parts[0] == parts[1] and order == "1" * half + "2" * half:
            return parts
    return None


def _trunk(cores: set[str]) -> Iterator[tuple[str, str]]:
    found = [core for core in TRUNK if core in cores]
    ours = ["spine"] if len(found) == 1 else ["spine_lower", "spine", "chest"]
    if len(found) == 2 and "chest" not in cores:
        ours = ["spine", "chest"]
    yield from zip(found, (name for name in ours if name not in cores or name in found), strict=False)


def _tokens(name: str) -> list[str]:
    tokens = [token.lower() for token in _TOKEN.findall(name.rpartition(":")[2])]
    while any(token.isalpha() for token in tokens[1:]) and (tokens[0] in _RIG or tokens[0].isdigit()):
        tokens.pop(0)
    return [token.lstrip("0") or "0" if token.isdigit() else token for token in tokens]


def _sides(names: Sequence[list[str]]) -> list[tuple[str, list[str]]]:
    whole = {"".join(tokens) for tokens in names}
    split = []
    for tokens in names:
        joined = "".join(tokens)
        twin = {"l": "r", "r": "l"}.get(joined[:1], "") + joined[1:]
        if len(tokens) > 1 and tokens[0] in _SIDE:
            split.append((_SIDE[tokens[0]], tokens[1:]))
        elif len(tokens) > 1 and tokens[-1] in _SIDE and not _lettered(tokens, names):
            split.append((_SIDE[tokens[-1]], tokens[:-1]))
        elif joined.startswith(("left", "right")) and joined not in _SIDE:
            side = "left" if joined.startswith("left") else "right"
            split.append((side, [tokens[0].removeprefix(side), *tokens[1:]]))
        elif joined[:1] in ("l", "r") and (twin in whole or joined[1:] in _LETTERED) and len(joined) > 1:
            split.append((_SIDE[joined[0]], [tokens[0][1:], *tokens[1:]]))
        else:
            split.append(("", tokens))
    return split


def _lettered(tokens: list[str], names: Sequence[list[str]]) -> bool:
    """Whether the last letter of a name is a counter, as in FingerA to FingerT, not a side."""
    if len(tokens[-1]) > 1:
        return False
    last = {name[-1] for name in names if name[:-1] == tokens[:-1] and len(name[-1]) == 1}
    return bool(last - {"l", "r"})


def _words(tokens: Iterable[str]) -> list[str]:
    """Numbers stay with the word before them: spine1, not spine_1."""
    words: list[str] = []
    for token in tokens:
        if token.isdigit() and words and not words[-1][-1:].isdigit():
            words[-1] += token
        elif token:
            words.append(token)
    return words


def _unique(names: Iterable[str]) -> list[str]:
    """Number repeated names: toe, toe_2."""
    counts: Counter[str] = Counter()
    unique: dict[str, None] = {}
    for name in names:
        new = name
        while new in unique:
            counts[name] += 1
            new = f"{name}_{counts[name] + 1}"
        unique[new] = None
    return list(unique)


_AXIS = ("neck", "shoulder_center", "chest", "spine", "spine_lower", "hip_center")
_PARENTS = {
    **{joint: _AXIS[i + 1 :] for i, joint in reversed(list(enumerate(_AXIS)))},
    "head": _AXIS,
    "nose": ("head", "neck"),
    "collar": _AXIS,
    "shoulder": ("collar", *_AXIS),
    "elbow": ("shoulder",),
    "wrist": ("elbow",),
    "hand": ("wrist",),
    "hip": _AXIS[::-1],
    "knee": ("hip",),
    "ankle": ("knee",),
    "heel": ("ankle",),
    "foot": ("ankle",),
    "big_toe": ("foot", "ankle"),
    "small_toe": ("big_toe",),
}


def marker_layout(name: str, joints: Sequence[str]) -> Layout:
    """A layout for bare points, with bones between the joints whose names are known.

    >>> layout = marker_layout("trc", ["left_elbow", "left_shoulder", "left_wrist", "clip"])
    >>> [(layout.joints[a], layout.joints[b]) for a, b in layout.bones]
    [('left_shoulder', 'left_elbow'), ('left_elbow', 'left_wrist')]
    """
    present = set(joints)
    bones = []
    for child, parents in _PARENTS.items():
        for side in ("left_", "right_", ""):
            candidates = (name for parent in parents for name in (side + parent, parent))
            found = next((name for name in candidates if name in present), None)
            if found is not None and side + child in present:
                bones.append((found, side + child))
    return Layout(name, joints, bones=bones, root="hip_center" if "hip_center" in present else None)


def unique_names(sequences: Sequence[SkeletonSequence]) -> list[str]:
    """A unique name per recording: repeated names are numbered.

    >>> import numpy as np
    >>> unique_names([SkeletonSequence(np.ones((1, 1, 3)), name=name) for name in ("a", "a", "", "a_2")])
    ['a', 'a_3', 'recording_3', 'a_2']
    """
    given = {sequence.name for sequence in sequences}
    count: Counter[str] = Counter()
    names: dict[str, None] = {}
    for i, sequence in enumerate(sequences, start=1):
        base = name = sequence.name or f"recording_{i}"
        while name in names or (name != sequence.name and name in given):
            count[base] += 1
            name = f"{base}_{count[base] + 1}"
        names[name] = None
    return list(names)
