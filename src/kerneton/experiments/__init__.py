"""The paper's tables, comparisons of presets, benchmarks: imported by nobody but the command line."""
