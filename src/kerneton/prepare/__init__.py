"""From a recording to clean poses: gaps, centring, size, facing, mirroring."""
