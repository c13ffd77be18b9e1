"""Selectors and decoders compared on folds: tasks, scores, statistics, summary."""
