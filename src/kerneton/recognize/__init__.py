"""The recogniser: branches, presets, search, calibration, explanation."""
