"""Kerneton on a GPU: `encode` computes features of fitted branches with kernels of its own.

Poses and signals are computed by the core; the kernels in ``*.cu`` make features of them. PyTorch
owns the GPU's memory and streams. Nothing outside this package knows of either, and
`kerneton.kernels.engine` alone decides whether it is used.
"""
