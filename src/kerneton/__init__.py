"""Kerneton: action recognition from skeleton recordings with tensor kernels (SCK and DCK)."""
