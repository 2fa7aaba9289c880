"""Displays as in scikit-learn: data in ``__init__``, drawing in ``plot``, artists as attributes.

matplotlib is imported on the first drawing; install it with ``pip install "mercer[plot]"``.
"""

from mercer._elsewhere import explain_names
from mercer.plot.geometry import MetricDisplay, SurfaceDisplay
from mercer.plot.images import ImageGridDisplay
from mercer.plot.matrices import GramDisplay, SpectrumDisplay
from mercer.plot.plane import (
    DecisionBoundaryDisplay,
    KernelPCAContoursDisplay,
    PreImagePathsDisplay,
)
from mercer.plot.results import BoundsDisplay, ParameterGridDisplay, ReductionDisplay

__all__ = [
    "BoundsDisplay",
    "DecisionBoundaryDisplay",
    "GramDisplay",
    "ImageGridDisplay",
    "KernelPCAContoursDisplay",
    "MetricDisplay",
    "ParameterGridDisplay",
    "PreImagePathsDisplay",
    "ReductionDisplay",
    "SpectrumDisplay",
    "SurfaceDisplay",
]
explain_names(__name__)
