"""The converters in examples/converters, with recordings that the programs' own libraries write."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import published
import pytest
from numpy.testing import assert_allclose

import kerneton

CONVERTERS = Path(__file__).parents[2] / "examples" / "converters"


@pytest.fixture(scope="module")
def from_ros():
    pytest.importorskip("rosbags")
    spec = importlib.util.spec_from_file_location("from_ros", CONVERTERS / "from_ros.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_bag(path):
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    kinds = store.types
    header, stamp = kinds["std_msgs/msg/Header"], kinds["builtin_interfaces/msg/Time"]
    point, turn = kinds["geometry_msgs/msg/Point"], kinds["geometry_msgs/msg/Quaternion"]
    pose, array = kinds["geometry_msgs/msg/Pose"], kinds["geometry_msgs/msg/PoseArray"]
    with Writer(path) as writer:
        connection = writer.add_connection("/body", array.__msgtype__, typestore=store)
        for t, frame in enumerate(published.z_up(published.person())):
            poses = [pose(point(*map(float, place)), turn(0.0, 0.0, 0.0, 1.0)) for place in frame]
            message = array(header(t, stamp(t, 0), "map"), poses)
            content = store.serialize_ros1(message, array.__msgtype__)
            writer.write(connection, 40_000_000 * t, content)


def test_a_ros_recording_becomes_a_stream(from_ros, tmp_path):
    write_bag(tmp_path / "walk.bag")
    target = tmp_path / "walk.jsonl"
    assert from_ros.convert(tmp_path / "walk.bag", target, None) == published.N_FRAMES
    (found,) = kerneton.read(target, layout=",".join(published.MARKERS), up="z")
    assert_allclose(found.joints, published.person(), atol=1e-9)
    assert found.fps == 25
    assert np.isfinite(found.joints).all()
    with pytest.raises(SystemExit, match="poses are in none"):
        from_ros.convert(tmp_path / "walk.bag", target, "/other")
