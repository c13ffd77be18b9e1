"""The published experiments, on a few repetitions."""

import numba
import numpy as np
import pytest

from neurofs.errors import UsageError
from neurofs.reproduce import navot2005, plain, planted, reproduce

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="slow uncompiled; test_kernels checks the kernels that way"
)


def test_figure_2_in_small():
    seen = []
    table, text = reproduce(
        "navot2005-fig2",
        progress=lambda done, total: seen.append((done, total)),
        repetitions=6,
        functions="ad",
        sizes=(60, 100),
    )
    assert len(table) == 2 * 5 * 2
    assert seen[-1] == (20, 20)
    rate = table.set_index(["function", "method", "m"])["ours"]
    assert rate["a", "rgs", 100] == rate["a", "corrcoef", 100] == rate["a", "sks", 100] == 100
    assert rate["d", "rgs", 100] >= 80 > 20 >= rate["d", "corrcoef", 100]
    assert "100.0 / 85.6" in text or "83.3 / 85.6" in text
    assert "(d) sin(2πx1) sin(2πx2)" in text


def test_forward_finds_what_adds_up():
    X, y = navot2005.draw("c", 100, 0)
    assert navot2005.succeeds(plain.forward(X, y, 2), 2)


def test_infogain_of_sparse_counts():
    X = np.array([[0, 0, 3], [0, 0, 3], [0, 0, 3], [1, 0, 3], [2, 0, 3]], float)
    gains = plain.infogain(X, np.array([0.0, 1, 2, 3, 4]))
    assert gains[0] > 0.9
    assert gains[1] == gains[2] == 0


def test_planted_features():
    table = planted.run(repetitions=1, methods=("rgs", "corrcoef"), tasks=("mixed",))
    found = table.set_index("method")["found"]
    assert found["rgs"] >= 14 > 12 >= found["corrcoef"]
    text = planted.render(table)
    assert "corrcoef" in text
    assert "mixed" in text


def test_a_pair_is_invisible_alone():
    X, y = planted.draw("mixed", 0)
    r = plain.corrcoef(X, y)
    assert r[:10].min() > 0.08
    assert r[10:20].max() < 0.15
    assert planted.draw("additive", 0)[1].shape == (2000,)


def test_unknown_experiment():
    with pytest.raises(UsageError, match="20-of-640"):
        reproduce("navot2004")
