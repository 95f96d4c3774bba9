"""Optional second forms of the kernels' hot sums, compiled by Numba; equal to the plain ones."""
