"""A model behind the interface of the FALCON benchmark: `reset`, `predict`, `observe`, `on_done`.

    decoder = FalconDecoder(read_model("models/m2"), batch_size=4)
    FalconEvaluator(...).evaluate(decoder)                         # of the package falcon-challenge

The benchmark wants an estimate of every bin of 20 ms, also of the first ones of a trial. There, the bins that are not
known yet are taken to be the mean counts of training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neurofs.decoders.model import Model
from neurofs.decoders.online import OnlineDecoder


class FalconDecoder:
    """Decodes several sessions side by side, bin by bin.

    Parameters
    ----------
    model : Model
        Its channels are those of the benchmark, in that order; its bins are 20 ms, and it looks at no later ones.
    batch_size : int
        Sessions that are decoded side by side.

    Examples
    --------
    >>> import neurofs
    >>> day = neurofs.simulate_session(12, n_electrodes=2, random_state=1)
    >>> model = neurofs.fit(day, "hand_velocity", decoder="ridge", bin_width=0.02, n_lags=5, cross_validate=False)
    >>> decoder = FalconDecoder(model, batch_size=3)
    >>> decoder.reset(["a", "b", "c"])
    >>> decoder.predict(np.ones((3, 8))).shape
    (3, 2)
    """

    def __init__(self, model: Model, batch_size: int = 1) -> None:
        if model.head.classes or model.head.binning.step is not None:
            raise ValueError("the benchmark wants values in every bin; this model gives classes, or not every bin")
        self.model = model
        self._mean = np.array([channel.mean for channel in model.head.channels])
        self.set_batch_size(batch_size)

    def set_batch_size(self, batch_size: int) -> None:
        """Decode so many sessions side by side, each from its beginning."""
        self.batch_size = batch_size
        self._decoders = [OnlineDecoder(self.model) for _ in range(batch_size)]
        self.reset()

    def reset(self, dataset_tags: Sequence[str] = ("",)) -> None:
        """Begin other sessions."""
        self.on_done(np.ones(self.batch_size))

    def predict(self, neural_observations: Any) -> np.ndarray:
        """Return the estimates (batch, outputs) of one bin of counts (batch, channels).

        The last batch of the benchmark may hold fewer sessions than the others.
        """
        counts = np.asarray(neural_observations)
        return np.array([decoder.step(row)[0] for decoder, row in zip(self._first(len(counts)), counts, strict=True)])

    def observe(self, neural_observations: Any) -> None:
        """Take one bin of which no estimate is wanted."""
        self.predict(neural_observations)

    def on_done(self, dones: Any) -> None:
        """Begin a new window in each session whose trial has ended."""
        ended = np.asarray(dones).reshape(-1)
        for decoder, done in zip(self._first(len(ended)), ended, strict=True):
            if done:
                decoder.reset()
                for _ in range(decoder.n_before):
                    decoder.step(self._mean)

    def _first(self, n: int) -> list[OnlineDecoder]:
        """Return the decoders of so many sessions."""
        if n > self.batch_size:
            raise ValueError(f"at most {self.batch_size} sessions side by side; found {n}")
        return self._decoders[:n]
