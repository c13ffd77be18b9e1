"""A long short-term memory network on raw counts, through torch: the strongest rival in the league."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from neurofs.decoders.base import Part, Rehearsal, TunedDecoder
from neurofs.features.samples import Samples


@dataclass(eq=False, repr=False)
class LSTM(TunedDecoder):
    """One LSTM layer over the lags, dropout, a linear read-out; Adam on the mean squared error.

    The step falls as half a cosine over `max_epochs`. Everything is chosen on the first hold-out: the dropout of
    the counts with the smallest layer, then the size of the layer, and the number of epochs. Feature weights are
    not used. What else was tried is in ``experiments/NOTES.md``.

    Parameters
    ----------
    n_channels : int
        Features per lag.
    sizes : tuple of int
        Numbers of cells of the layer that are tried.
    max_epochs : int
        Most passes over the rows.
    random_state : int
        Seed of the start and of the order of rows.
    """

    ALWAYS_TUNED = True
    BATCH = 64
    LEARNING_RATE = 2e-3
    DROPOUT = 0.3  # share of the cells left out of the read-out while training
    INPUT_DROPOUTS = (0.0, 0.2)

    n_channels: int
    sizes: tuple[int, ...] = (100, 200)
    max_epochs: int = 30
    random_state: int = 0

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        small, *larger = self.sizes
        best = min(self._rehearse(rehearsals[0], small, dropout) for dropout in self.INPUT_DROPOUTS)
        best = min([best, *(self._rehearse(rehearsals[0], n_cells, best[2]) for n_cells in larger)])
        _, n_cells, dropout, n_epochs = best
        *_, net = islice(self._train(train, targets, n_cells, dropout), n_epochs)
        return Part(None, net, {"cells": n_cells, "input_dropout": dropout, "epochs": n_epochs})

    def _rehearse(self, t: Rehearsal, n_cells: int, dropout: float) -> tuple[float, int, float, int]:
        """Return the least error on a hold-out, with the settings and the epoch that gave it."""
        nets = self._train(t.train, t.targets, n_cells, dropout)
        return min((_rate(net, t), n_cells, dropout, epoch) for epoch, net in enumerate(nets, start=1))

    def _train(self, train: Samples, targets: np.ndarray, n_cells: int, input_dropout: float) -> Iterator[Any]:
        """Yield the network after each epoch; it is the same object, trained further."""
        import torch

        torch.set_num_threads(1)  # as all rows of the league
        torch.manual_seed(self.random_state)
        net = _network(self.n_channels, n_cells, targets.shape[1], self.DROPOUT, input_dropout)
        optimizer = torch.optim.Adam(net.parameters(), lr=self.LEARNING_RATE)
        X, Y = torch.from_numpy(np.asarray(train)), torch.from_numpy(targets.astype(np.float32))
        n_steps = self.max_epochs * -(-len(X) // self.BATCH)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
        for _ in range(self.max_epochs):
            net.train()
            for rows in torch.randperm(len(X)).split(self.BATCH):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(net(X[rows]), Y[rows]).backward()
                optimizer.step()
                schedule.step()
            yield net

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        return _predict(part.model, queries)


def _network(n_channels: int, n_cells: int, n_outputs: int, dropout: float, input_dropout: float) -> Any:
    """Return the network; its class can only be made where torch is installed."""
    from torch import nn

    class Network(nn.Module):
        """(rows, lags · channels) to (rows, outputs)."""

        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(n_channels, n_cells, batch_first=True)
            self.input_dropout, self.dropout = nn.Dropout(input_dropout), nn.Dropout(dropout)
            self.read_out = nn.Linear(n_cells, n_outputs)

        def forward(self, X: Any) -> Any:
            hidden, _ = self.lstm(self.input_dropout(X).reshape(len(X), -1, n_channels))
            return self.read_out(self.dropout(hidden[:, -1]))

    return Network()


def _predict(net: Any, queries: Samples) -> np.ndarray:
    import torch

    net.eval()
    with torch.no_grad():
        return net(torch.from_numpy(np.asarray(queries))).numpy().astype(np.float64)


def _rate(net: Any, rehearsal: Rehearsal) -> float:
    return rehearsal.error(_predict(net, rehearsal.queries))
