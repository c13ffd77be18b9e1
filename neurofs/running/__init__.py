"""Runs: one session or a batch, with lock, log, progress and executors."""
