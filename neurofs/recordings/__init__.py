"""Recordings: the checked value, the readers of files, writers, simulation, inspection."""
