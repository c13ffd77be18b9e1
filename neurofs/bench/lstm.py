"""A long short-term memory network on raw counts, through torch: the strongest rival in the league."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurofs.samples import Samples
from neurofs.tuning import Part, Rehearsal, TunedDecoder

__all__ = ["LSTM"]


class LSTM(TunedDecoder):
    """One LSTM layer over the lags, dropout, a linear read-out; Adam on the mean squared error.

    The number of epochs is chosen on the first hold-out. Feature weights are not used.

    Parameters
    ----------
    n_channels : int
        Features per lag.
    n_units : int
        Size of the layer.
    dropout : float
        Share of the units left out of the read-out while training.
    max_epochs : int
        Most passes over the rows.
    random_state : int
        Seed of the start and of the order of rows.
    """

    ALWAYS_TUNED = True
    BATCH = 64
    LEARNING_RATE = 2e-3

    def __init__(
        self,
        n_channels: int,
        n_units: int = 100,
        dropout: float = 0.3,
        max_epochs: int = 30,
        random_state: int = 0,
    ) -> None:
        self.n_channels = n_channels
        self.n_units = n_units
        self.dropout = dropout
        self.max_epochs = max_epochs
        self.random_state = random_state

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> Part:
        first = rehearsals[0]
        errors: list[float] = []
        self._train(first.train, first.targets, self.max_epochs, lambda net: errors.append(_rate(net, first)))
        n_epochs = int(np.argmin(errors)) + 1
        net = self._train(train, targets, n_epochs, lambda net: None)
        return Part(None, net, {"epochs": n_epochs})

    def _train(self, train: Samples, targets: np.ndarray, n_epochs: int, after_epoch: Any) -> Any:
        import torch

        torch.manual_seed(self.random_state)
        net = _network(self.n_channels, self.n_units, targets.shape[1], self.dropout)
        optimizer = torch.optim.Adam(net.parameters(), lr=self.LEARNING_RATE)
        X, Y = torch.from_numpy(np.asarray(train)), torch.from_numpy(targets.astype(np.float32))
        for _ in range(n_epochs):
            net.train()
            for rows in torch.randperm(len(X)).split(self.BATCH):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(net(X[rows]), Y[rows]).backward()
                optimizer.step()
            after_epoch(net)
        return net

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        return _predict(part.model, queries)


def _network(n_channels: int, n_units: int, n_outputs: int, dropout: float) -> Any:
    """Return the network; its class can only be made where torch is installed."""
    from torch import nn

    class Network(nn.Module):
        """(rows, lags · channels) to (rows, outputs)."""

        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(n_channels, n_units, batch_first=True)
            self.dropout, self.read_out = nn.Dropout(dropout), nn.Linear(n_units, n_outputs)

        def forward(self, X: Any) -> Any:
            hidden, _ = self.lstm(X.reshape(len(X), -1, n_channels))
            return self.read_out(self.dropout(hidden[:, -1]))

    return Network()


def _predict(net: Any, queries: Samples) -> np.ndarray:
    import torch

    net.eval()
    with torch.no_grad():
        return net(torch.from_numpy(np.asarray(queries))).numpy().astype(np.float64)


def _rate(net: Any, rehearsal: Rehearsal) -> float:
    return rehearsal.error(_predict(net, rehearsal.queries))
