"""Recordings: the checked value, the readers and writers of files, inspection, simulation, the demo."""
