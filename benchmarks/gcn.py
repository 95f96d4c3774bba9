"""Graph networks of a PYSKL checkout on the same splits, trained on a GPU.

    python benchmarks/gcn.py --pyskl FOLDER [florence3d utkinect msr_wang msr_li utd_mhad]
    [--network stgcn++ ctrgcn] [--epochs 64]

FOLDER is a checkout of PYSKL (github.com/kennymckormick/pyskl), whose requirements (torch, mmcv)
are installed. Of every split the recordings are written as PYSKL's pickle: hip-centred, of equal
size, turned to the front, as a graph of the bones of their layout. PYSKL's own ST-GCN++ and CTR-GCN
are trained on joints and on bones with its published settings for NTU RGB+D (one GPU with a batch
of 16 and the learning rate that belongs to it, no validation: the last epoch counts), and the
scores of both streams are added. Printed are the accuracies of joints, bones and both. Needs the
recordings (KERNETON_DATA) and a GPU. Written for the files and options of PYSKL that are on GitHub;
it has not been run yet.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pickle
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from kerneton import Preprocess, load_dataset
from kerneton.datasets.protocols import get_protocol
from kerneton.report.intervals import of_splits
from kerneton.report.tables import aligned

TASKS = {
    "florence3d": ("florence3d", None),
    "utkinect": ("utkinect", None),
    "msr_wang": ("msr_action3d", "wang"),
    "msr_li": ("msr_action3d", "li"),
    "utd_mhad": ("utd_mhad", None),
}
NETWORKS = {
    "stgcn++": "dict(type='STGCN', gcn_adaptive='init', gcn_with_res=True, tcn_type='mstcn', graph_cfg=graph)",
    "ctrgcn": "dict(type='CTRGCN', graph_cfg=graph)",
}
STREAMS = {"joints": "j", "bones": "b"}
# PYSKL knows the graphs of a few skeletons by name. This adds one of ours before its tools run.
RUN = """
import runpy, sys
import numpy as np
sys.path.insert(0, {pyskl!r})
from pyskl.utils import graph as module
BONES, ROOT, N = {bones!r}, {root!r}, {n_joints!r}
def get_layout(self, layout):
    self.num_node, self.inward, self.center = N, [(child, parent) for parent, child in BONES], ROOT
    self.self_link = [(i, i) for i in range(N)]
    self.outward = [(j, i) for i, j in self.inward]
    self.neighbor = self.inward + self.outward
module.Graph.get_layout = get_layout
from pyskl.datasets.pipelines import pose_related
def pairs(self, *given, **options):
    before(self, *given, **options)
    self.pairs = [(child, parent) for parent, child in BONES] + [(ROOT, ROOT)]
before = pose_related.JointToBone.__init__
pose_related.JointToBone.__init__ = pairs
sys.argv = {argv!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""
CONFIG = """
graph = dict(layout='nturgb+d', mode='spatial')
model = dict(type='RecognizerGCN', backbone={network},
             cls_head=dict(type='GCNHead', num_classes={n_classes}, in_channels=256))
dataset_type, ann_file = 'PoseDataset', {file!r}
pipeline = [dict(type='GenSkeFeat', dataset='nturgb+d', feats=['{stream}']),
            dict(type='UniformSample', clip_len=60, num_clips=1), dict(type='PoseDecode'),
            dict(type='FormatGCNInput', num_person=1), dict(type='Collect', keys=['keypoint', 'label'], meta_keys=[]),
            dict(type='ToTensor', keys=['keypoint'])]
tests = [dict(type='GenSkeFeat', dataset='nturgb+d', feats=['{stream}']),
         dict(type='UniformSample', clip_len=60, num_clips=10), dict(type='PoseDecode'),
         dict(type='FormatGCNInput', num_person=1), dict(type='Collect', keys=['keypoint', 'label'], meta_keys=[]),
         dict(type='ToTensor', keys=['keypoint'])]
data = dict(videos_per_gpu=16, workers_per_gpu=2, test_dataloader=dict(videos_per_gpu=1),
            train=dict(type=dataset_type, ann_file=ann_file, pipeline=pipeline, split='train'),
            test=dict(type=dataset_type, ann_file=ann_file, pipeline=tests, split='test'))
optimizer = dict(type='SGD', lr=0.1 * 16 / 128, momentum=0.9, weight_decay=0.0005, nesterov=True)
optimizer_config = dict(grad_clip=None)
lr_config = dict(policy='CosineAnnealing', min_lr=0, by_epoch=False)
total_epochs = {epochs}
checkpoint_config = dict(interval={epochs})
log_config = dict(interval=100, hooks=[dict(type='TextLoggerHook')])
log_level, work_dir = 'WARNING', {work!r}
"""


def scores(
    pyskl: Path, network: str, stream: str, content: dict, layout, epochs: int
) -> np.ndarray:
    """Scores (n_tests, n_classes) of a network trained on one split."""
    n_classes = 1 + max(a["label"] for a in content["annotations"])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "data.pkl").write_bytes(pickle.dumps(content, protocol=4))
        facts = {"network": NETWORKS[network], "stream": STREAMS[stream]}
        settings = CONFIG.format(
            **facts,
            n_classes=n_classes,
            file=str(place / "data.pkl"),
            epochs=epochs,
            work=str(place / "work"),
        )
        (place / "config.py").write_text(settings)
        answer, last = str(place / "scores.pkl"), str(place / "work" / f"epoch_{epochs}.pth")
        skeleton = {"bones": layout.bones, "root": layout.root, "n_joints": len(layout.joints)}
        for arguments in (
            ["tools/train.py", str(place / "config.py"), "--launcher", "pytorch", "--seed", "0"],
            [
                "tools/test.py",
                str(place / "config.py"),
                "-C",
                last,
                "--out",
                answer,
                "--launcher",
                "pytorch",
            ],
        ):
            argv = [str(pyskl / arguments[0]), *arguments[1:]]
            (place / "run.py").write_text(RUN.format(pyskl=str(pyskl), argv=argv, **skeleton))
            where = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}
            done = subprocess.run(
                [sys.executable, str(place / "run.py")],
                cwd=pyskl,
                env={**os.environ, **where, "MASTER_PORT": "29533"},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                sys.exit(f"{arguments[0]} of PYSKL failed:\n{done.stderr[-2000:]}")
        return np.stack(pickle.loads(Path(answer).read_bytes()))  # written by the line above


def split_content(data, train: np.ndarray, test: np.ndarray) -> dict:
    """A split as PYSKL's pickle: poses fitted on the training recordings, labels as numbers."""
    classes = np.unique(data.labels[train]).tolist()
    poses = Preprocess(bones="size", facing="sequence").fit(data.select(train))
    annotations, names = [], {}
    for side, rows in (("train", train), ("test", test)):
        names[side] = [f"{side}{i}" for i in range(len(rows))]
        for name, row, recording in zip(
            names[side], rows, poses.transform(data.select(rows)), strict=True
        ):
            keypoint = recording.joints[None].astype(np.float32)
            label = classes.index(data.labels[row])
            facts = {"frame_dir": name, "label": label, "total_frames": keypoint.shape[1]}
            annotations.append({**facts, "keypoint": keypoint})
    return {"split": names, "annotations": annotations}


def main() -> None:
    """Train, test, print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=list(TASKS), help=", ".join(TASKS))
    parser.add_argument("--pyskl", type=Path, required=True, help="a checkout of PYSKL")
    parser.add_argument("--network", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--epochs", type=int, default=64)
    asked = parser.parse_args()
    if not (asked.pyskl / "tools" / "train.py").is_file():
        parser.error(f"{asked.pyskl} is no checkout of PYSKL: it has no tools/train.py")
    if unknown := sorted(set(asked.tasks) - set(TASKS)):
        parser.error(f"unknown data set {unknown[0]}; choose from {', '.join(TASKS)}")
    if asked.epochs < 1:
        parser.error(f"--epochs {asked.epochs}: expected at least 1")
    if lacking := [name for name in ("torch", "mmcv") if find_spec(name) is None]:
        parser.error(
            f"PYSKL needs {' and '.join(lacking)}, which this Python does not have; install "
            f"{asked.pyskl / 'requirements.txt'}"
        )
    if not importlib.import_module("torch").cuda.is_available():
        parser.error("PYSKL trains on a GPU, and torch finds none")
    rows = [["accuracy %", *asked.tasks]]
    for network in asked.network:
        columns: dict[str, list[str]] = {}
        for task in asked.tasks:
            name, protocol = TASKS[task]
            data = load_dataset(name)
            right: dict[str, list[np.ndarray]] = {}
            tested = []
            for train, test in get_protocol(protocol, data).split(data, data.labels, data.subjects):
                content = split_content(data, train, test)
                classes = np.unique(data.labels[train])
                parts = {
                    s: scores(asked.pyskl.resolve(), network, s, content, data.layout, asked.epochs)
                    for s in STREAMS
                }
                parts["both"] = sum(parts.values())
                tested.append(test)
                for stream, found in parts.items():
                    right.setdefault(stream, []).append(
                        classes[found.argmax(axis=1)] == data.labels[test]
                    )
            for stream, found in right.items():
                mean = float(np.mean([r.mean() for r in found]))
                known = of_splits(
                    np.concatenate(tested), np.concatenate(found), data.subjects, mean
                )
                columns.setdefault(stream, []).append(f"{100 * mean:.2f} ({known})")
        rows += [[f"{network}, {stream}", *values] for stream, values in columns.items()]
        print(aligned([rows[0], *rows[-len(columns) :]]), flush=True)


if __name__ == "__main__":
    main()
