"""Optional GPU versions of the kernels, compiled by NVRTC; results equal those of the plain
versions up to rounding.
"""
