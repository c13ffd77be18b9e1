"""A Python like that of Windows, as far as it can be had elsewhere.

The package finds none of the modules that only POSIX systems have, nobody can fork, and `multiprocessing` spawns.
Other libraries keep their modules: what is tested is what neurofs assumes.
"""

import builtins
import multiprocessing
import os

MODULES = frozenset({"resource", "fcntl", "pwd", "grp", "termios"})
FUNCTIONS = ("fork", "forkpty", "sched_getaffinity")


def hide() -> None:
    """Hide them, in this process."""
    if getattr(builtins.__import__, "__name__", "") == "import_what_windows_has":
        return
    original = builtins.__import__

    def import_what_windows_has(name, globals=None, locals=None, fromlist=(), level=0):
        if name in MODULES and str((globals or {}).get("__name__")).split(".")[0] == "neurofs":
            raise ImportError(f"No module named {name!r}", name=name)
        return original(name, globals, locals, fromlist, level)

    builtins.__import__ = import_what_windows_has
    for function in FUNCTIONS:
        if hasattr(os, function):
            delattr(os, function)
    multiprocessing.set_start_method("spawn", force=True)
