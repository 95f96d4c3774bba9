"""Optional second forms of the kernels for a GPU, compiled by NVRTC; equal to the plain ones."""
