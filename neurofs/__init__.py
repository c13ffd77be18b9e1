"""Feature selection for neural recordings: which channels, at which lags, carry the movement."""

__version__ = "0.1.0"
