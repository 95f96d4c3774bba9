"""Recordings with the same joints: others are left out, or are an error that says how to leave them
out.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter

from kerneton.data.absence import in_pairs, never_seen, without_joints
from kerneton.data.checks import describe
from kerneton.data.differences import layout_difference
from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonDataset
from kerneton.data.wording import grouped, many
from kerneton.exceptions import DataError, KernetonWarning, ParameterError


def fitting(data: SkeletonDataset, layout: Layout, args: argparse.Namespace) -> SkeletonDataset:
    """The recordings with the joints of a layout that they contain; the others are an error, or
    left out by ``--skip-broken``.
    """
    odd = {
        i: difference
        for i, s in enumerate(data)
        if s.layout and (difference := layout_difference(s.layout, layout)) is not None
    }
    corrected = "--rename OLD=NEW corrects a name, --layout NAME chooses joints that all have"
    data = _without(data, odd, corrected, args)
    if any(s.layout is None for s in data):
        return data
    if chosen := [name.strip() for name in (args.without or "").split(",") if name.strip()]:
        if unknown := [joint for joint in chosen if joint not in layout.joints]:
            raise ParameterError(
                f"no recording has a joint {unknown[0]!r}; there are {', '.join(layout.joints)}"
            )
        data = _reduced(data, chosen, f"joints {', '.join(chosen)} (--without)")
    never = [set(never_seen(s)) for s in data]
    counts = Counter(joint for lost in never for joint in lost)
    # A joint that most recordings lack, such as the knees of people at a table, is left out for
    # all.
    seldom = {joint for joint, n in counts.items() if 2 * n >= len(never)}
    if seldom:
        assert data.layout is not None
        everywhere = {joint for joint in seldom if counts[joint] == len(never)}
        without = everywhere | set(in_pairs(data.layout, seldom - everywhere))
        joints = [joint for joint in data.layout.joints if joint in without]
        lack = (
            f"{min(counts[joint] for joint in seldom)} or more of {len(never)} recordings lack them"
        )
        told = f"joints {', '.join(joints)}: {'no recording contains them' if seldom == everywhere else lack}"
        if not args.quiet:
            print(f"kerneton: note: left out: {told}", file=sys.stderr)
        data = _reduced(data, joints, told)
        never = [lost - set(joints) for lost in never]
    some = {i: f"never contains {', '.join(sorted(lost))}" for i, lost in enumerate(never) if lost}
    if not some:
        return data
    assert data.layout is not None
    names = in_pairs(data.layout, set().union(*never))
    return _without(data, some, f"--without {','.join(names)} leaves these joints out", args)


def _reduced(data: SkeletonDataset, joints: list[str], told: str) -> SkeletonDataset:
    """The recordings without these joints; ``told`` says so in reports."""
    if len(joints) >= len(data[0].layout.joints if data[0].layout else ()):
        raise ParameterError("no joint remains")
    facts = {fact: getattr(data, fact) for fact in ("name", "conversion", "splits")}
    return SkeletonDataset(
        without_joints(list(data), joints), left_out=(*data.left_out, told), **facts
    )


def _without(
    data: SkeletonDataset, odd: dict[int, str], way: str, args: argparse.Namespace
) -> SkeletonDataset:
    """The recordings without odd ones, which are an error if ``--skip-broken`` is not given;
    ``way`` repairs them.
    """
    if not odd:
        return data
    told = grouped([(describe(data[i], i), problem) for i, problem in odd.items()])
    message = f"{len(odd)} of {many(len(data), 'recording')} cannot be used: {told}"
    if not args.skip_broken or len(odd) == len(data):
        skip = "" if len(odd) == len(data) else ", --skip-broken leaves these recordings out"
        raise DataError(f"{message}; {way}{skip}")
    warnings.warn(message, KernetonWarning, stacklevel=1)
    kept = data.select([i for i in range(len(data)) if i not in odd])
    kept.left_out += (message,)
    return kept
