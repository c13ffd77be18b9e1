"""The command line, one file per command: its options, one import when it runs, one call, and what is printed."""
