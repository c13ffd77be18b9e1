"""The commands that have a file of their own; each parses, calls one function, and prints the result."""
