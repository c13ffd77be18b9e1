"""Feature selection for neural recordings: which channels, at which lags, carry the movement.

The path of the data is a handful of names, imported when they are first used:

>>> import neurofs
>>> session = neurofs.simulate_session(20, random_state=1)          # or neurofs.load("session.nwb")
>>> tensor = neurofs.build_tensor(session, "hand_velocity", bin_width=0.1, n_lags=10)
>>> samples, y, trial = neurofs.to_samples(tensor)
>>> samples.shape, y.shape
((271, 640), (271, 2))
"""

import difflib
import importlib
from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:  # so that editors and type checkers know what `neurofs.load` returns
    from neurofs.comparison.comparison import Comparison as Comparison, read as read, save as save
    from neurofs.comparison.contrast import compare_runs as compare_runs
    from neurofs.comparison.encoding import Encoding as Encoding, read_encoding as read_encoding
    from neurofs.comparison.time_course import (
        TimeCourse as TimeCourse,
        decode_around as decode_around,
        read_time_course as read_time_course,
    )
    from neurofs.comparison.variation import Variation as Variation, read_variation as read_variation
    from neurofs.decoders import DECODERS as DECODERS
    from neurofs.decoders.base import Decoder as Decoder, TunedDecoder as TunedDecoder
    from neurofs.decoders.kernel_rgs import KernelRGSDecoder as KernelRGSDecoder
    from neurofs.decoders.kernel_ridge import KernelRidgeMetric as KernelRidgeMetric
    from neurofs.decoders.model import Model as Model
    from neurofs.decoders.model_folder import read_model as read_model
    from neurofs.decoders.nearest import LocalLinear as LocalLinear, SoftKNN as SoftKNN
    from neurofs.decoders.online import OnlineDecoder as OnlineDecoder
    from neurofs.features.samples import Samples as Samples
    from neurofs.features.splits import BlockedKFold as BlockedKFold
    from neurofs.features.tensor import (
        build_tensor as build_tensor,
        map_features as map_features,
        to_samples as to_samples,
    )
    from neurofs.ground.method import Method as Method
    from neurofs.ground.works import Work as Work
    from neurofs.pipeline import encode as encode
    from neurofs.recordings.quality import inspect_file as inspect_file
    from neurofs.recordings.readers import load as load
    from neurofs.recordings.recording import Recording as Recording, Series as Series
    from neurofs.recordings.simulate import map_truth as map_truth, simulate_session as simulate_session
    from neurofs.recordings.writers import write as write
    from neurofs.report.encoding_page import draw_encoding as draw_encoding, render_encoding as render_encoding
    from neurofs.report.notebook import Plots as Plots, show_axes as show_axes, show_report as show_report
    from neurofs.report.page import render as render
    from neurofs.report.time_page import draw_time_course as draw_time_course, render_time_course as render_time_course
    from neurofs.report.variation_page import draw_variation as draw_variation, render_variation as render_variation
    from neurofs.running.comparing import compare as compare
    from neurofs.running.fitting import fit as fit
    from neurofs.running.planning import plan_experiment as plan_experiment
    from neurofs.running.session import decode as decode
    from neurofs.running.varying import vary as vary
    from neurofs.selectors import SELECTORS as SELECTORS
    from neurofs.selectors.base import Selector as Selector
    from neurofs.selectors.kernel_rgs import KernelRGS as KernelRGS
    from neurofs.selectors.rgs import RGS as RGS

_ROOMS = {
    "recordings.recording": "Recording Series",
    "recordings.readers": "load",
    "recordings.simulate": "simulate_session map_truth",
    "recordings.writers": "write",
    "recordings.quality": "inspect_file",
    "features.samples": "Samples",
    "features.tensor": "build_tensor to_samples map_features",
    "features.splits": "BlockedKFold",
    "selectors.rgs": "RGS",
    "selectors.kernel_rgs": "KernelRGS",
    "selectors": "SELECTORS",
    "selectors.base": "Selector",
    "decoders": "DECODERS",
    "decoders.nearest": "SoftKNN LocalLinear",
    "decoders.kernel_ridge": "KernelRidgeMetric",
    "decoders.kernel_rgs": "KernelRGSDecoder",
    "decoders.base": "Decoder TunedDecoder",
    "decoders.model": "Model",
    "decoders.model_folder": "read_model",
    "decoders.online": "OnlineDecoder",
    "pipeline": "encode",
    "comparison.comparison": "Comparison read save",
    "comparison.encoding": "Encoding read_encoding",
    "comparison.variation": "Variation read_variation",
    "comparison.contrast": "compare_runs",
    "comparison.time_course": "TimeCourse decode_around read_time_course",
    "report.page": "render",
    "report.notebook": "Plots show_axes show_report",
    "report.encoding_page": "draw_encoding render_encoding",
    "report.variation_page": "draw_variation render_variation",
    "report.time_page": "draw_time_course render_time_course",
    "running.comparing": "compare",
    "running.session": "decode",
    "running.fitting": "fit",
    "running.planning": "plan_experiment",
    "running.varying": "vary",
    "ground.method": "Method",
    "ground.works": "Work",
}
_HOMES = {name: f"neurofs.{home}" for home, names in _ROOMS.items() for name in names.split()}

__all__ = ["__version__", *_HOMES]


if not TYPE_CHECKING:  # else no name would be unknown to a type checker

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            near = difflib.get_close_matches(name, _HOMES, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise AttributeError(f"module 'neurofs' has no attribute {name!r}{hint}")
        return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
