"""Measurements: speed and memory against the peers, each row a ratio taken in one run."""
