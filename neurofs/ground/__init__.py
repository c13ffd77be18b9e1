"""The ground floor: errors, files, settings and threads, on which all rooms stand."""
