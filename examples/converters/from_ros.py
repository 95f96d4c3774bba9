"""Poses in a ROS recording (.bag, .mcap, or a folder of rosbag2) as Kerneton's .jsonl.

    pip install rosbags
    python from_ros.py walk.bag poses.jsonl --topic /body_tracking_data
    kerneton info poses.jsonl

Read are messages with positions: geometry_msgs/PoseArray, visualization_msgs/MarkerArray (a joint
per marker, in the order of their ids; other namespaces are other bodies) and tf2_msgs/TFMessage (a
joint per child frame that has the prefix --prefix). Units are metres in ROS, and z points up.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path


def joints_of(message, kind: str, prefix: str) -> Iterator[tuple[str, dict[str, list[float]]]]:
    """Body, and positions by joint, of each body in a message."""
    if kind.endswith("PoseArray"):
        places = [(f"joint_{i}", pose.position) for i, pose in enumerate(message.poses)]
        yield "", {name: [p.x, p.y, p.z] for name, p in places}
    elif kind.endswith("MarkerArray"):
        bodies: dict[str, dict[str, list[float]]] = {}
        for marker in sorted(message.markers, key=lambda marker: marker.id):
            p = marker.pose.position
            bodies.setdefault(marker.ns, {})[marker.text or f"joint_{marker.id}"] = [p.x, p.y, p.z]
        yield from bodies.items()
    elif kind.endswith("TFMessage"):
        moved = [t for t in message.transforms if t.child_frame_id.startswith(prefix)]
        places = [(t.child_frame_id.removeprefix(prefix), t.transform.translation) for t in moved]
        if places:
            yield "", {name.strip("/"): [p.x, p.y, p.z] for name, p in places}


def convert(source: Path, target: Path, topic: str | None, prefix: str = "") -> int:
    """Write the poses of a recording; returns the number of frames."""
    from rosbags.highlevel import AnyReader

    known = ("PoseArray", "MarkerArray", "TFMessage")
    written = 0
    names: dict[str, list[str]] = {}
    with AnyReader([source]) as reader, target.open("w", encoding="utf-8") as out:
        found = [
            c for c in reader.connections if c.msgtype.endswith(known) and topic in (None, c.topic)
        ]
        topics = sorted({c.topic for c in found})
        if len(topics) != 1:
            every = ", ".join(sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections}))
            sys.exit(
                f"{source}: name one topic with --topic; poses are in {topics or 'none'}; there are {every}"
            )
        for connection, time, data in reader.messages(connections=found):
            message = reader.deserialize(data, connection.msgtype)
            for body, joints in joints_of(message, connection.msgtype, prefix):
                order = names.setdefault(body, list(joints))
                frame = {"joints": [joints.get(name) for name in order], "time": time / 1e9}
                if body:
                    frame["body"] = body
                if len(joints) and written == 0:
                    frame["layout"] = json.dumps(
                        {"name": "ros", "joints": order, "bones": [], "root": None, "sets": {}}
                    )
                out.write(json.dumps(frame) + "\n")
                written += 1
    return written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--topic", help="the topic of the poses, if there are several")
    parser.add_argument("--prefix", default="", help="of the child frames that are joints, for tf")
    args = parser.parse_args()
    print(
        f"wrote {convert(args.source, args.target, args.topic, args.prefix)} frames to {args.target}"
    )
