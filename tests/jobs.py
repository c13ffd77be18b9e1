"""Functions for workers in tests; they must live in a module that a child process can import."""

import importlib
import os
import time
from pathlib import Path

import numpy as np


def add(shared, item):
    return shared + item


def add_slowly(shared, item):
    time.sleep(0.05)
    return shared + item


def count_slowly(shared, item):
    time.sleep(0.1)
    return len(shared) + item


def wait(shared, item):
    time.sleep(item)
    return os.getpid()


def mark_and_wait(folder, seconds):
    """Leave a file named after this process, then wait."""
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(seconds)


def abort(shared, item):
    """Die like a library that calls abort(), if the item is odd."""
    if item % 2:
        os.write(2, b"free(): invalid pointer\n")
        os.abort()
    return item


def die_once(shared, item):
    """Die at the first try, which leaves a mark."""
    mark = Path(shared) / str(item)
    if not mark.exists():
        mark.touch()
        os.abort()
    return item


def leave(shared, item):
    """Raise something that no data can explain."""
    raise SystemExit("gone")


def fill(shared, n_bytes):
    return float(np.ones(n_bytes // 8).sum())


def work(shared, seconds):
    """Take so much time of the processor."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def read_environment(shared, name):
    return os.environ.get(name)


def read_attribute(shared, item):
    """Return what stands under a name in a module."""
    module, name = item
    return getattr(importlib.import_module(module), name)


def read_folder(shared, item):
    return os.getcwd()


def draw_unseeded(shared, item):
    return float(np.random.rand())  # noqa: NPY002  the state that all of a process shares


def print_much(shared, item):
    print("noise on standard output", flush=True)
    os.write(1, b"more noise")
    return item


def draw(shared, item):
    """Something numerical that depends on the shared value and the item."""
    return np.random.default_rng(item).normal(size=5) @ shared
