"""From a recording to samples: bins, targets, the channel × lag tensor, folds."""
