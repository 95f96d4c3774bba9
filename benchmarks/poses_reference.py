"""MediaPipe's own landmarks of films, for ``benchmarks/poses.py``, which runs this in an
environment with mediapipe 0.10.21.

``python benchmarks/poses_reference.py TARGET.npz FILM``: landmarks (T, 33, 3) in pixels and
visibility, NaN where nobody is found, and the processor's time a picture, decoding included.
"""

import sys
import time

import av
import mediapipe
import numpy as np

target, film = sys.argv[1:]
pose = mediapipe.solutions.pose.Pose(model_complexity=1, smooth_landmarks=False)
pose.process(np.zeros((64, 64, 3), np.uint8))  # loads the networks
pose.reset()
found = []
begin = time.process_time()
with av.open(film) as container:
    container.streams.video[0].thread_type = "NONE"
    for frame in container.decode(video=0):
        pixels = frame.to_ndarray(format="rgb24")
        landmarks = pose.process(pixels).pose_landmarks
        height, width = pixels.shape[:2]
        found.append(
            np.full((33, 3), np.nan)
            if landmarks is None
            else [[p.x * width, p.y * height, p.visibility] for p in landmarks.landmark]
        )
seconds = time.process_time() - begin
np.savez(target, landmarks=np.array(found), seconds=seconds / len(found), size=(width, height))
