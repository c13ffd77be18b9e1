"""Feature selectors: scikit-learn estimators that weigh and rank features."""

from neurofs.selectors.base import Selector
from neurofs.selectors.rgs import RGS

__all__ = ["RGS", "Selector"]
