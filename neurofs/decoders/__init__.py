"""`DECODERS`: the decoders by name, the same in Python and on the command line.

>>> DECODERS["wiener-cascade"](ridge=0.1)
WienerCascade(ridge=0.1)
"""

from neurofs.decoders.base import Decoder
from neurofs.decoders.classifiers import SVM, NaiveBayes, OneNN
from neurofs.decoders.kalman import Kalman
from neurofs.decoders.kernel_rgs import KernelRGSDecoder, SparseKernelRGSDecoder
from neurofs.decoders.kernel_ridge import KernelRidgeMetric
from neurofs.decoders.libraries import MLP, SVR, GradientBoosting
from neurofs.decoders.linear import Ridge, WienerCascade
from neurofs.decoders.lvq import LVQ
from neurofs.decoders.nearest import LocalLinear, SoftKNN
from neurofs.decoders.preferred import MetricAverage, PreferredDecoder
from neurofs.ground.method import Registry

DECODERS = Registry(
    "decoder",
    [
        PreferredDecoder,
        SoftKNN,
        LocalLinear,
        KernelRidgeMetric,
        MetricAverage,
        Ridge,
        WienerCascade,
        Kalman,
        SVR,
        GradientBoosting,
        MLP,
        SVM,
        NaiveBayes,
        OneNN,
        KernelRGSDecoder,
        SparseKernelRGSDecoder,
        LVQ,
    ],
    Decoder,
)

__all__ = ["DECODERS", "Decoder", *(kind.__name__ for kind in DECODERS.own.values())]
