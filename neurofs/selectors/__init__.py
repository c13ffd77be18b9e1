"""Feature selectors: scikit-learn estimators that weigh and rank features.

>>> from neurofs.selectors import SELECTORS
>>> SELECTORS["relief"](n_features_to_select=10)
Relief(n_features_to_select=10)
"""

from neurofs.ground.method import Registry
from neurofs.selectors.base import Selector
from neurofs.selectors.beam import OrderedFS, OrderedFS2, StandardWrap
from neurofs.selectors.best_subset import BestSubset
from neurofs.selectors.consistency import Focus1, Focus2, MutualInformationGreedy, SimpleGreedy, WeightedGreedy
from neurofs.selectors.filters import SKS, AllFeatures, CorrCoef, InfoGain, Random
from neurofs.selectors.kernel_rgs import KernelRGS
from neurofs.selectors.margin import GFlip, Simba
from neurofs.selectors.mufasa import Mufasa
from neurofs.selectors.pairs import Pairs
from neurofs.selectors.r2w2 import R2W2
from neurofs.selectors.relief import Relief, ReliefD, ReliefF, RReliefF
from neurofs.selectors.rgs import RGS
from neurofs.selectors.search import BackwardElimination, ForwardSelection
from neurofs.selectors.trees import EBFS

SELECTORS = Registry(
    "selector",
    [
        RGS,
        KernelRGS,
        CorrCoef,
        InfoGain,
        SKS,
        Pairs,
        RReliefF,
        ForwardSelection,
        BackwardElimination,
        BestSubset,
        OrderedFS,
        OrderedFS2,
        StandardWrap,
        Relief,
        ReliefD,
        ReliefF,
        Simba,
        GFlip,
        R2W2,
        EBFS,
        Focus1,
        Focus2,
        SimpleGreedy,
        MutualInformationGreedy,
        WeightedGreedy,
        Mufasa,
        Random,
        AllFeatures,
    ],
    Selector,
)

__all__ = ["SELECTORS", "Selector", *(kind.__name__ for kind in SELECTORS.own.values())]
