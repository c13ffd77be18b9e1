"""RGS beside other learners of feature weights, on the task of `experiments.reproduce.planted`.

Each method runs in a process of its own, which tells seconds, memory, and how many of the 20 relevant features it
finds.
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from neurofs.experiments.bench.meters import MemoryMeter, run_alone
from neurofs.experiments.bench.row import Row

PATIENCE = 900  # seconds after which a peer is stopped


def _rgs(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    from neurofs.selectors import RGS

    return RGS(random_state=0).fit(X, y).weights_


def _ncafs(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    from ncafs import NCAFSR

    return np.abs(NCAFSR().fit(X.astype(np.float64), y).weights_)


def _mlkr(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the length of each feature's column in the matrix that MLKR learns; few steps, to save time."""
    from metric_learn import MLKR, _util
    from sklearn.utils import check_array, check_X_y

    for check in (check_X_y, check_array):  # metric-learn 0.7 uses a keyword that scikit-learn has renamed
        setattr(_util, check.__name__, partial(_renamed, check))
    learner = MLKR(n_components=20, max_iter=20, init="pca", random_state=0)
    return np.linalg.norm(learner.fit(X.astype(np.float64), y).components_, axis=0)


def _renamed(check: Callable[..., Any], *data: Any, force_all_finite: bool = True, **options: Any) -> Any:
    try:
        return check(*data, ensure_all_finite=force_all_finite, **options)
    except TypeError:  # an older scikit-learn
        return check(*data, force_all_finite=force_all_finite, **options)


PEERS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "RGS": ("neurofs", _rgs),
    "ncafs": ("ncafs", _ncafs),
    "MLKR (20 components, 20 steps)": ("metric_learn", _mlkr),
}


def measure_peers() -> Iterator[Row]:
    """Yield one row per method, and for each peer whether RGS was better in all three."""
    own: dict[str, float] = {}
    for name, (package, _) in PEERS.items():
        what = f"{name}, 20 of 640"
        if find_spec(package) is None:
            yield Row(what, f"skipped: {package} is not installed")
            continue
        try:
            seen = run_alone(measure, name, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            yield Row(what, f"stopped after {PATIENCE} s", "slower than RGS", True)
            continue
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip() or "no message").splitlines()[-1]
            yield Row(what, f"failed: {last[:70]}")
            continue
        own = own or seen
        text = f"{seen['seconds']:.1f} s, {seen['memory'] / 1e6:.0f} MB, found {seen['found']:.0f} of 20"
        if name == "RGS":
            yield Row(what, text)
        else:
            cheaper = all(own[cost] < seen[cost] for cost in ("seconds", "memory"))
            yield Row(what, text, "RGS better in all", cheaper and own["found"] > seen["found"])


def measure(name: str) -> dict[str, float]:
    """Return seconds, growth of the peak memory in bytes and features found, after a small warm-up."""
    from neurofs.experiments.reproduce.planted import draw, found

    X, y = draw("mixed", 0)
    method = PEERS[name][1]
    method(X[:60, :30], y[:60])
    memory, start = MemoryMeter(), time.perf_counter()
    scores = method(X, y)
    elapsed = time.perf_counter() - start
    return {"seconds": elapsed, "memory": memory.read(), "found": found(scores)}
