"""Many sessions from one file."""
