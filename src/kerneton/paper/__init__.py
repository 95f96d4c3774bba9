"""The paper's tables, figures, timing and complexity as runnable experiments, and results beyond
it, printed next to ours.

P. Koniusz, A. Cherian, F. Porikli, "Tensor Representations via Kernel Linearization for Action
Recognition from 3D Skeletons", ECCV 2016. Every experiment takes the folder of the published
recordings, a folder to write to and a progress bar, and returns plain data. ``kerneton reproduce``
runs them.
"""
