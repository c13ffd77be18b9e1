"""The weighted distance: neighbors, compiled loops, and metrics that are learned."""
