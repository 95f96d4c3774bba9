"""A small recording in every format that can be read, as the bytes of its files."""

from __future__ import annotations

import csv
import functools
import gzip
import io
import json
import pickle
import struct
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import published

from kerneton.data.layouts import COCO_17, KINECT_20, KINECT_25, MEDIAPIPE_33, OPENPOSE_25, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.files import readers


@dataclass(frozen=True)
class Sample:
    """Files of one recording; ``target`` is what is read, a file's name or "." for the folder."""

    files: dict[str, bytes]
    target: str

    def place(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return folder / self.target


def mean_pose(X) -> np.ndarray:
    """One row of features for each recording; here, since the processes of a parallel run import
    it.
    """
    return np.array([s.joints.mean(axis=0).ravel() for s in X])


def motion(n_frames: int = 6, n_joints: int = 20, seed: int = 0) -> np.ndarray:
    """(T, J, 3) smooth random coordinates about the size of a person, in metres."""
    rng = np.random.default_rng(seed)
    rest = rng.uniform([-0.5, 0, 2], [0.5, 1.8, 3], size=(n_joints, 3))
    swing = rng.normal(scale=0.1, size=(n_joints, 3))
    return rest + np.sin(np.linspace(0, 3, n_frames))[:, None, None] * swing


def sequence(layout: Layout | None = KINECT_20, n_frames: int = 6, **fields) -> SkeletonSequence:
    n_joints = 20 if layout is None else len(layout.joints)
    fields = {"name": "wave_01", "label": "wave", "subject": "ann", "fps": 30.0} | fields
    return SkeletonSequence(motion(n_frames, n_joints), layout=layout, **fields)


def split_bodies(sequence: SkeletonSequence) -> list[SkeletonSequence]:
    """A recording of each body, with the names that its joints have alone; the recording itself
    where there is one body.
    """
    layout = sequence.layout
    if layout is None or len(layout.bodies) == 1:
        return [sequence]
    out = []
    for n, body in enumerate(layout.bodies, 1):
        place = {joint: i for i, joint in enumerate(body)}
        own = Layout(
            dict(enumerate(layout.name.split("+"), 1)).get(n, layout.name),
            [layout.joints[joint].removesuffix(f"_{n}") for joint in body],
            [(place[a], place[b]) for a, b in layout.bones if a in place and b in place],
            next((place[root] for root in layout.roots if root in place), None),
            {
                key: [place[joint] for joint in chosen if joint in place]
                for key, chosen in layout.sets.items()
                if not key.startswith("body ")
            },
        )
        confidence = None if sequence.confidence is None else sequence.confidence[:, list(body)]
        out.append(
            sequence.replace(
                joints=sequence.joints[:, list(body)], confidence=confidence, layout=own
            )
        )
    return out


def write_segments(path: Path, segments) -> None:
    """A table ``label,start,stop``."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [("label", "start", "stop"), *((s.label, s.start, s.stop) for s in segments)]
        )


def msr_text(n_frames: int = 6) -> bytes:
    rows = np.concatenate([motion(n_frames), np.ones((n_frames, 20, 1))], -1).reshape(-1, 4)
    return "".join(" ".join(f"{v:.6f}" for v in row) + "\n" for row in rows).encode()


def florence_text(videos: tuple[int, ...] = (1, 1, 1, 2, 2)) -> bytes:
    joints = 1000 * motion(len(videos), 15).reshape(len(videos), -1)
    return "".join(
        f"{video} {video + 3} 7 " + " ".join(f"{v:.4f}" for v in row) + "\n"
        for video, row in zip(videos, joints, strict=True)
    ).encode()


def utkinect_text(frames: tuple[int, ...] = (190, 192, 194, 194, 197)) -> bytes:
    joints = motion(len(frames)).reshape(len(frames), -1)
    return "".join(
        f"{frame}   " + "  ".join(f"{v:.6f}" for v in row) + "\n"
        for frame, row in zip(frames, joints, strict=True)
    ).encode()


def ntu_text(
    bodies: tuple[tuple[int, ...], ...] = ((1,), (1, 2), (2,), (1, 2)), state: str = " 2"
) -> bytes:
    joints = motion(len(bodies), 25)
    out = [str(len(bodies))]
    for frame, present in enumerate(bodies):
        out.append(str(len(present)))
        for body in present:
            out += [f"7205759403793110{body} 0 1 1 1 1 0 -0.437266 -0.117168 2", "25"]
            for x, y, z in joints[frame] + body:
                out.append(
                    f"{x:.7f} {y:.7f} {z:.7f} 277.4 191.8 1036.2 519.1 -0.2 0.03 0.97 -0.1{state}"
                )
    return ("\n".join(out) + "\n").encode()


def npz_bytes(**fields) -> bytes:
    out = io.BytesIO()
    np.savez(out, **fields)
    return out.getvalue()


def npy_bytes(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def pyskl_data(n: int = 2, m: int = 2, layout: Layout = COCO_17) -> dict:
    annotations = [
        {
            "frame_dir": f"clip_{i}",
            "total_frames": 6,
            "img_shape": (1080, 1920),
            "original_shape": (1080, 1920),
            "label": i,
            "keypoint": np.stack(
                [motion(6, len(layout.joints), 10 * i + k)[..., :2] for k in range(m)]
            ),
            "keypoint_score": np.full((m, 6, len(layout.joints)), 0.9, np.float16),
        }
        for i in range(n)
    ]
    return {"split": {"train": ["clip_0"], "test": ["clip_1"]}, "annotations": annotations}


def wide_csv(delimiter: str = ",", n_frames: int = 6) -> bytes:
    header = ["time", *(f"{joint}_{axis}" for joint in KINECT_20.joints for axis in "xyz")]
    rows = [[t / 30, *row] for t, row in enumerate(motion(n_frames).reshape(n_frames, -1))]
    return "\n".join(delimiter.join(map(str, row)) for row in [header, *rows]).encode()


def long_csv(n_frames: int = 4) -> bytes:
    rows = [
        f"{t},{joint},{x},{y},{z},0.9"
        for t, frame in enumerate(motion(n_frames))
        for joint, (x, y, z) in zip(KINECT_20.joints, frame, strict=True)
    ]
    return "\n".join(["frame,joint,x,y,z,confidence", *rows]).encode()


def written(name: str, *sequences: SkeletonSequence) -> bytes:
    """What `readers.write` makes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        readers.write(sequences, path)
        return path.read_bytes()


def c3d_bytes() -> bytes:
    import c3d

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = c3d.Writer(point_rate=120.0, analog_rate=0.0, point_scale=-1.0)
        writer.set_point_labels(["LSHO", "RSHO", "LELB", "RELB", "LANK", "RANK"])
        for frame in 1000 * motion(5, 6):
            rows = np.ones((6, 5), np.float32)
            rows[:, :3] = frame
            writer.add_frames([(rows, np.zeros((0, 0)))])
        out = io.BytesIO()
        writer.write(out)
    return out.getvalue()


def c3d_by_hand(processor: int = 86, scale: float = 0.001) -> bytes:
    """A small C3D file of any processor type, whose header and parameters contradict each other."""
    order = ">" if processor == 86 else "<"

    def real(value: float) -> bytes:
        if processor != 85:
            return struct.pack(order + "f", value)
        halves = struct.pack("<f", 4 * value)
        return halves[2:] + halves[:2]

    def whole(value: int) -> bytes:
        return struct.pack(order + "h", value)

    def entry(group: int, name: bytes, body: bytes) -> bytes:
        return struct.pack("bb", len(name), group) + name + whole(2 + len(body)) + body

    def parameter(group: int, name: bytes, kind: int, sizes: list[int], content: bytes) -> bytes:
        return entry(
            group, name, struct.pack("bB", kind, len(sizes)) + bytes(sizes) + content + b"\0"
        )

    points = motion(5, 6)
    labels = b"LSHORSHOLELBRELBLANKRANK"
    parameters = bytes([0, 0, 1, processor]) + b"".join(
        [
            entry(-1, b"POINT", b"\0"),
            parameter(1, b"USED", 2, [], whole(6)),
            parameter(1, b"SCALE", 4, [], real(2 * scale)),
            parameter(1, b"LABELS", -1, [4, 6], labels),
            parameter(1, b"UNITS", -1, [4], b"mete"),
            entry(-2, b"ANALOG", b"\0"),
            parameter(2, b"USED", 2, [], whole(2)),
        ]
    )
    header = bytes([2, 0x50]) + b"".join(whole(v) for v in (6, 4, 1, 5, 0)) + real(scale)
    header += whole(3) + whole(2) + real(50.0)
    frames = b""
    for frame in points:
        for point in frame:
            values = [*point, 0.0] if scale < 0 else [*(point / scale), 0]
            frames += b"".join(real(v) if scale < 0 else whole(round(v)) for v in values)
        frames += (real(7.0) if scale < 0 else whole(7)) * 4
    return header.ljust(512, b"\0") + parameters.ljust(512, b"\0") + frames


def crowdpose_json() -> bytes:
    points = np.concatenate([600 * motion(4, 14)[..., :2], np.full((4, 14, 1), 0.7)], -1).round(2)
    return json.dumps(
        [{"image_id": t, "keypoints": p.ravel().tolist()} for t, p in enumerate(points)]
    ).encode()


def labelled_csv() -> bytes:
    """A label per frame, one of them of two lines."""
    segments = [("wave", 1, 3), ("sit\ndown", 3, 5)]
    return written("x.csv", sequence(label=None, segments=segments), sequence(name="b"))


def trc_with_unnamed_points() -> bytes:
    lines = written("wave.trc", sequence()).decode().splitlines()
    return "\n".join(lines[:6] + [f"{line}\t1\t2\t3\t\t\t" for line in lines[6:]]).encode()


ASF = """:version 1.10
:name small
:units
  mass 1.0
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name lfemur
    direction 0.34 -0.94 0
    length 7.2
    axis 0 0 20 XYZ
    dof rx ry rz
    limits (-160 20)
           (-70 70)
           (-60 70)
  end
  begin
    id 2
    name ltibia
    direction 0.34 -0.94 0
    length 7.1
    axis 0 0 20 XYZ
    dof rx
    limits (-10 170)
  end
:hierarchy
  begin
    root lfemur
    lfemur ltibia
  end
"""
AMC = "#!OML:ASF\n:FULLY-SPECIFIED\n:DEGREES\n" + "".join(
    f"{t}\nroot 9.3 17.8 -17.3 -2 {t} -2\nlfemur {3 * t} 1 2\nltibia {5 * t}\n" for t in range(1, 5)
)


def openpose_files() -> dict[str, bytes]:
    frames = {}
    for t, frame in enumerate(motion(4, len(OPENPOSE_25.joints))):
        points = np.column_stack([600 * frame[:, 0], 600 * frame[:, 1], np.full(len(frame), 0.8)])
        people = [{"person_id": [-1], "pose_keypoints_2d": points.round(3).ravel().tolist()}]
        frames[f"walk_{t:012d}_keypoints.json"] = json.dumps(
            {"version": 1.3, "people": people}
        ).encode()
    return frames


def mediapipe_json() -> bytes:
    frames = [
        {
            "frame": t,
            "landmarks": [
                {"x": x, "y": y, "z": z, "visibility": 0.9} for x, y, z in frame.round(4).tolist()
            ],
        }
        for t, frame in enumerate(motion(4, len(MEDIAPIPE_33.joints)))
    ]
    return json.dumps(frames).encode()


def mediapipe_csv() -> bytes:
    header = ["frame", *(f"{axis}{i}" for i in range(33) for axis in ("x", "y", "z", "v"))]
    rows = [
        [t, *(v for point in frame.round(4).tolist() for v in (*point, 0.9))]
        for t, frame in enumerate(motion(4, 33))
    ]
    return "\n".join(",".join(map(str, row)) for row in [header, *rows]).encode()


def coco_json() -> bytes:
    annotations = []
    for t, frame in enumerate(motion(4, 17)):
        points = np.column_stack([600 * frame[:, 0], 600 * frame[:, 1], np.full(17, 2)])
        annotations.append(
            {
                "id": t,
                "image_id": t,
                "category_id": 1,
                "keypoints": points.round(2).ravel().tolist(),
            }
        )
    images = [
        {"id": t, "file_name": f"{t:06d}.jpg", "width": 1920, "height": 1080} for t in range(4)
    ]
    return json.dumps({"images": images, "annotations": annotations, "categories": []}).encode()


def _one(name: str, make: Callable[[], bytes]) -> Callable[[], Sample]:
    return functools.lru_cache(lambda: Sample({name: make()}, name))


SAMPLES: dict[str, list[Callable[[], Sample]]] = {
    "joint_rows": [
        _one("a01_s01_e01.txt", msr_text),
        _one("counts.txt", lambda: b"6 20\n" + msr_text().replace(b" ", b",")),
        _one("named.txt", lambda: b"frame 0\nHEAD 0 1.7 2\nNECK: 0 1.5 2\n" * 9),
    ],
    "florence_text": [_one("florence.txt", florence_text)],
    "utkinect_text": [_one("joints_s01_e01.txt", utkinect_text)],
    "mocap_tables": [
        _one("motive.csv", published.motive),
        _one("nexus.csv", published.nexus),
        _one("qualisys.tsv", published.qualisys),
        _one("visual3d.txt", published.visual3d),
    ],
    "opensim": [
        _one("bodies_pos_global.sto", published.body_kinematics),
        _one("markers.sto", published.vec3_sto),
    ],
    "jsonl": [_one("nod.jsonl", published.jsonl)],
    "columnar": [
        _one("nod.parquet", lambda: published.arrow(".parquet")),
        _one("nod.feather", lambda: published.arrow(".feather")),
    ],
    "mat": [
        _one(
            "nod.mat", lambda: published.mat(d_skel=np.ones((20, 3, 30)) * np.arange(30), fps=30.0)
        )
    ],
    "hdf5": [
        _one("mice.h5", published.sleap),
        _one("mouse.nc", published.movement),
        _one("dlc.h5", published.deeplabcut_h5),
    ],
    "gzip_file": [_one("nod.csv.gz", lambda: gzip.compress(published.wide_table(), mtime=0))],
    "zip_file": [
        _one(
            "all.zip",
            lambda: published.zipped(
                **{f"bow__{who}__1_dot_csv": published.wide_table() for who in ("ann", "bob")}
            ),
        )
    ],
    "deeplabcut": [_one("mice.csv", published.deeplabcut_csv)],
    "body_json": [
        _one("azure.json", published.azure_kinect),
        _one("zed.json", published.zed),
        _one("arkit.json", published.arkit),
        _one("vision.json", published.vision_pro),
    ],
    "mvnx": [_one("walk.mvnx", published.mvnx)],
    "gltf": [
        _one("raise.glb", published.gltf),
        _one("raise.gltf", lambda: published.gltf(binary=False)),
    ],
    "yolo": [functools.lru_cache(lambda: Sample(published.yolo_files(), "."))],
    "ntu": [_one("S001C002P003R002A013.skeleton", ntu_text)],
    "npz": [
        _one("wave.npz", lambda: written("wave.npz", sequence(), sequence(KINECT_25))),
        _one("mine.npz", lambda: npz_bytes(keypoints=motion()[..., :2], label="wave", fps=25)),
        _one("wave.npy", lambda: npy_bytes(motion().astype(np.float32))),
    ],
    "pyskl": [
        _one(
            "new.pkl",
            lambda: written("new.pkl", sequence(KINECT_25), sequence(KINECT_25, name="b")),
        ),
        _one("own.pkl", lambda: written("own.pkl", sequence(Layout("own", ["palm", "thumb"])))),
        *(_one(f"p{p}.pkl", lambda p=p: pickle.dumps(pyskl_data(), protocol=p)) for p in range(6)),
    ],
    "csv_table": [
        _one("wave.csv", wide_csv),
        _one("wave.tsv", lambda: wide_csv("\t")),
        _one("long.csv", long_csv),
        _one("labelled.csv", labelled_csv),
        _one("out.csv", lambda: written("out.csv", sequence(), sequence(name="b"))),
    ],
    "bvh": [_one("wave.bvh", lambda: written("wave.bvh", sequence()))],
    "trc": [
        _one("wave.trc", lambda: written("wave.trc", sequence())),
        _one("more.trc", trc_with_unnamed_points),
    ],
    "c3d": [
        _one("wave.c3d", c3d_bytes),
        *(
            _one(f"{kind}{scale}.c3d", lambda kind=kind, scale=scale: c3d_by_hand(kind, scale))
            for kind in (84, 85, 86)
            for scale in (-1.0, 0.001)
        ),
    ],
    "amc": [lambda: Sample({"01.asf": ASF.encode(), "01_02.amc": AMC.encode()}, "01_02.amc")],
    "openpose": [lambda: Sample(openpose_files(), ".")],
    "mediapipe": [_one("pose.json", mediapipe_json), _one("pose.csv", mediapipe_csv)],
    "coco": [_one("coco.json", coco_json), _one("crowd.json", crowdpose_json)],
}
