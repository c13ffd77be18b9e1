"""Files, options and folders made to break neurofs, each tried in a child process with limits.

A verdict is one of: read and sane, or refused in one line with exit code 2. Everything else is a failure.
"""
