"""Feature selectors: scikit-learn estimators that weigh and rank features.

>>> from neurofs.selectors import SELECTORS
>>> SELECTORS["relief"](n_features_to_select=10)
Relief(n_features_to_select=10)
"""

from neurofs.selectors.base import Selector
from neurofs.selectors.beam import OrderedFS, StandardWrap
from neurofs.selectors.consistency import (
    Focus1,
    Focus2,
    MutualInformationGreedy,
    SimpleGreedy,
    WeightedGreedy,
)
from neurofs.selectors.filters import SKS, AllFeatures, CorrCoef, InfoGain, Random
from neurofs.selectors.kernel_rgs import KernelRGS
from neurofs.selectors.margin import GFlip, Simba
from neurofs.selectors.meta import QualityMap, describe_features
from neurofs.selectors.mufasa import Mufasa
from neurofs.selectors.pairs import Pairs
from neurofs.selectors.relief import Relief, ReliefF, RReliefF
from neurofs.selectors.rgs import RGS
from neurofs.selectors.search import BackwardElimination, ForwardSelection
from neurofs.selectors.trees import EBFS

__all__ = [
    "EBFS",
    "RGS",
    "SELECTORS",
    "SKS",
    "AllFeatures",
    "BackwardElimination",
    "CorrCoef",
    "Focus1",
    "Focus2",
    "ForwardSelection",
    "GFlip",
    "InfoGain",
    "KernelRGS",
    "Mufasa",
    "MutualInformationGreedy",
    "OrderedFS",
    "Pairs",
    "QualityMap",
    "RReliefF",
    "Random",
    "Relief",
    "ReliefF",
    "Selector",
    "Simba",
    "SimpleGreedy",
    "StandardWrap",
    "WeightedGreedy",
    "describe_features",
]

SELECTORS: dict[str, type[Selector]] = {
    "rgs": RGS,
    "kernel-rgs": KernelRGS,
    "corrcoef": CorrCoef,
    "infogain": InfoGain,
    "sks": SKS,
    "pairs": Pairs,
    "rrelieff": RReliefF,
    "forward": ForwardSelection,
    "backward": BackwardElimination,
    "ordered-fs": OrderedFS,
    "standard-wrap": StandardWrap,
    "relief": Relief,
    "relieff": ReliefF,
    "simba": Simba,
    "gflip": GFlip,
    "ebfs": EBFS,
    "focus1": Focus1,
    "focus2": Focus2,
    "simple-greedy": SimpleGreedy,
    "mi-greedy": MutualInformationGreedy,
    "weighted-greedy": WeightedGreedy,
    "random": Random,
    "all": AllFeatures,
}
