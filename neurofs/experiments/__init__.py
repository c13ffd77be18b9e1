"""Published experiments repeated, and benchmarks."""
