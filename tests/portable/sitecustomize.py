"""Loaded by Python when it starts, in every process that has this folder in its PYTHONPATH."""

from hidden import hide

hide()
