"""The paper's tables, figures, timing and complexity as runnable experiments, its results next to ours.

P. Koniusz, A. Cherian, F. Porikli, "Tensor Representations via Kernel Linearization for Action Recognition from 3D
Skeletons", ECCV 2016. Every experiment takes the folder of the published recordings, a folder to write to and a
progress bar, and returns plain data for `to_markdown`.
"""

from kerneton.experiments.paper._complexity import complexity
from kerneton.experiments.paper._figures import figures
from kerneton.experiments.paper._markdown import to_markdown
from kerneton.experiments.paper._oracle import oracle
from kerneton.experiments.paper._tables import tables
from kerneton.experiments.paper._timing import timing

__all__ = ["complexity", "figures", "oracle", "tables", "timing", "to_markdown"]
