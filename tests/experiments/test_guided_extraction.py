"""Guided extraction in small."""

import numpy as np
import pytest

from neurofs.experiments.reproduce import guided_extraction, list_claims, render


def test_features_against_loops_over_pixels():
    rng = np.random.default_rng(0)
    images, pool = rng.random((20, 8, 8)) < 0.4, guided_extraction.Pool(rng)
    features = [pool.draw_any() for _ in range(40)]
    slow = np.zeros((20, 40), bool)
    for i, image in enumerate(images):
        for f, (pixels, positive, shift) in enumerate(features):
            offsets = [o - (shift - 1) // 2 for o in range(shift)]
            for down, right in [(d, r) for d in offsets for r in offsets]:
                at = [(r + down, c + right) for r, c in pixels]
                on = [0 <= r < 8 and 0 <= c < 8 and bool(image[r, c]) for r, c in at]
                slow[i, f] |= on == positive.tolist()
    assert (guided_extraction.compute(images, features) == slow).all()


@pytest.mark.slow
def test_guided_extraction_in_small():
    table = guided_extraction.run(repetitions=1, n_rounds=2)
    assert len(list_claims("guided-extraction", table)) == 9
    assert "5.6 Error" in render("guided-extraction", table)
